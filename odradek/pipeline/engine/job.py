"""Describes a job for an engine: its tasks, and the errors that end it. Pure.

Owns: the description. Never does: run a task. Source: engines.py, spark_tasks.py.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from odradek.storage.files.regular_files import fault_text

Task = TypeVar("Task")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
Tell = Callable[[str, int], None]


class EngineError(Exception):
    """The engine can't run a job to its end. The text says why and what to do."""


class EngineMissingError(EngineError):
    """The engine is Spark, and pyspark or Java is not installed."""


class TaskError(EngineError):
    """A task failed. The text has the task's name, and the type and text of the error."""


class OutputFaultError(TaskError):
    """The output can't be written: its disk is full, for example. The text names the output, and says what was kept."""


@contextmanager
def writing(output: Path, kept: str) -> Iterator[None]:
    """Names the output in an OSError of the block, which the engine would otherwise report as one of the task's input.

    `kept`: what is in the output afterwards. Raises OutputFaultError.
    """
    try:
        yield
    except OSError as error:
        raise OutputFaultError(f"the output {output} can't be written: {fault_text(error)}; {kept}") from error


def untold(_name: str, _count: int) -> None:
    """A `tell` that does nothing."""


class Job(Generic[Task, Result]):
    """The work to run, for either engine.

    `place` returns where a task works, usually a path. A Spark executor without that path refuses the task. Errors name
    the place, or `label` if it is given. `sizes`: the bytes that each task reads. The largest begin first; a job below
    SMALL_BYTES runs without a pool. `progress` is called with (tasks done, tasks in all), or the sums of their
    `weights`. `tell`: `function` then takes an argument of that name, a function to call with the partition that it
    reads, and with the bytes that it has read since the last call. `tell` gets these calls from local workers, and one
    with ("", 0) each second.
    `max_workers`: maximum size of the local pool; default: the number of cores. `begin`: a function that each worker of
    the local pool calls first.
    """

    __slots__ = (
        "begin",
        "function",
        "label",
        "max_workers",
        "name",
        "places",
        "progress",
        "sizes",
        "tasks",
        "tell",
        "weights",
    )

    def __init__(
        self,
        tasks: Sequence[Task],
        function: Callable[..., Result],
        name: str,
        *,
        place: Callable[[Task], object] | None = None,
        label: Callable[[Task], str] | None = None,
        sizes: Sequence[int] | None = None,
        weights: Sequence[int] | None = None,
        progress: Progress | None = None,
        tell: Tell | None = None,
        max_workers: int | None = None,
        begin: Callable[[], None] | None = None,
    ) -> None:
        self.tasks = tasks
        self.function = function
        self.name = name
        self.places = None if place is None else [str(place(task)) for task in tasks]
        self.label = label
        self.sizes = sizes
        self.weights = [1] * len(tasks) if weights is None else weights
        self.progress = progress
        self.tell = tell
        self.max_workers = max_workers
        self.begin = begin

    def task_name(self, index: int) -> str:
        """The name of a task in errors."""
        if self.label is not None:
            return self.label(self.tasks[index])
        return self.places[index] if self.places is not None else f"task {index + 1} of {len(self.tasks)}"


def task_error(task_name: str, error: Exception) -> TaskError:
    """The TaskError for an error of a task. An error that already is a TaskError is returned unchanged."""
    if isinstance(error, TaskError):
        return error
    return TaskError(f"{task_name}: {type(error).__name__}: {error}")
