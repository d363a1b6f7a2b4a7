"""A job for either engine: its tasks, and the errors that end it. Pure.

Owns: the description. Never does: running. Source: engines.py, spark_tasks.py.
"""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]


class EngineError(Exception):
    """A job that its engine can't run to the end; the text says why and what to do."""


class EngineMissingError(EngineError):
    """Spark was asked for, and it or its Java is not installed."""


class TaskError(EngineError):
    """A task that failed: where, and the error's kind and text."""


class Job(Generic[Task, Result]):
    """The work to run, for either engine.

    `place` says where a task works, usually a path: errors name it, and on Spark an executor that has no such path
    refuses the task. `sizes` are the bytes that each task reads: the largest begin first, and what is small altogether
    needs no pool. `progress` gets (tasks done, tasks in all), each counted with its one of `weights` where these are
    given. `max_workers` bounds the local pool below the cores.
    """

    __slots__ = ("function", "max_workers", "name", "places", "progress", "sizes", "tasks", "weights")

    def __init__(
        self,
        tasks: Sequence[Task],
        function: Callable[[Task], Result],
        name: str,
        *,
        place: Callable[[Task], object] | None = None,
        sizes: Sequence[int] | None = None,
        weights: Sequence[int] | None = None,
        progress: Progress | None = None,
        max_workers: int | None = None,
    ) -> None:
        self.tasks = tasks
        self.function = function
        self.name = name
        self.places = None if place is None else [str(place(task)) for task in tasks]
        self.sizes = sizes
        self.weights = [1] * len(tasks) if weights is None else weights
        self.progress = progress
        self.max_workers = max_workers

    def task_name(self, index: int) -> str:
        """How an error names a task."""
        return self.places[index] if self.places is not None else f"task {index + 1} of {len(self.tasks)}"


def task_error(task_name: str, error: Exception) -> TaskError:
    """The error that names the task; one that the task has named itself stays as it is."""
    if isinstance(error, TaskError):
        return error
    return TaskError(f"{task_name}: {type(error).__name__}: {error}")
