"""Runs the tasks of a job on Spark: one Spark task for each. The driver gets a result when its task finishes.

Owns: the Spark context, if none is running. It has no session: to load the classes of Spark SQL takes a third of the
processor time of a start, and no task needs them. Executors send results through an accumulator, because collect()
returns nothing before the last task has finished. Spark merges the accumulator once for each task, even if it retries
the task. Speculation is off, because a task may write (compaction), and must not run twice at once. Source: pyspark's
RDD API; Spark's DAGScheduler.handleTaskCompletion; Spark's launcher (SparkSubmitCommandBuilder) for SPARK_SUBMIT_OPTS.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, TypeVar

from .frozen_objects import freeze_once
from .job import EngineError, EngineMissingError, Job, TaskError, task_error

Task = TypeVar("Task")
Result = TypeVar("Result")

_INSTALL = "install odradek with the extra 'spark' (README.md, Install)"
_ANSWER_S = 30
_JVM_OPTIONS = "SPARK_SUBMIT_OPTS"
_QUICK_START = "-XX:TieredStopAtLevel=1"
"""Option for a JVM that only starts tasks and passes their results on. The optimizing compiler would take as long as
all else that the JVM does, and gain nothing: Python does the work.
"""
_LOCAL = "or use --engine local, which needs neither"
_TASK_ERROR = re.compile(r"TaskError: (.*?)\s*(?:\n\s*(?:\n|at |SQLSTATE|Driver stacktrace)|$)", re.DOTALL)


class _Finished(SimpleQueue[Any]):
    """The queue of finished results in the driver: lists of (index, result), then None at the end of the job."""


class _Collecting:
    """Tells Spark how to merge results: an executor collects a list, the driver puts each list into its queue."""

    def zero(self, _value: object) -> list[Any]:
        """The empty list of results with which Spark starts each task."""
        return []

    def addInPlace(self, collected: Any, more: list[Any]) -> Any:  # noqa: N802  (pyspark's name)
        """Adds results: on an executor to the list of the task, in the driver to the queue."""
        if isinstance(collected, _Finished):
            collected.put(more)
            return collected
        return collected + more


@dataclass(frozen=True, slots=True)
class _Work:
    """The function that an executor runs for each (index, name, path or None, task)."""

    function: Callable[[Any], Any]
    results: Any

    def __call__(self, item: tuple[int, str, str | None, Any]) -> None:
        index, name, path, task = item
        if path is not None and not os.path.exists(path):
            raise TaskError(
                f"{path} does not exist on the executor {socket.gethostname()}: every executor needs the directory "
                "under the same path as the driver; --engine local runs on this machine alone"
            )
        try:
            result = self.function(task)
        except Exception as error:
            raise task_error(name, error) from error
        self.results.add([(index, result)])
        freeze_once()


def run_on_spark(job: Job[Task, Result]) -> Iterator[tuple[int, Result]]:
    """Yields (index, result) of each task when it finishes. Raises EngineMissingError, EngineError, TaskError."""
    with spark_context(job.name) as context:
        finished = _Finished()
        work = _Work(job.function, context.accumulator(finished, _Collecting()))
        items = [(index, job.task_name(index), _local_path(job, index), task) for index, task in enumerate(job.tasks)]
        group = f"{job.name} {uuid.uuid4()}"
        failures: list[Exception] = []
        runner = threading.Thread(target=_run, args=(context, items, work, group, job.name, finished, failures))
        runner.start()
        is_over = False
        try:
            while (some := finished.get()) is not None:
                yield from some
            is_over = True
        finally:
            if not is_over:  # the reader left early
                context.cancelJobGroup(group)
            runner.join()
        if failures:
            raise _job_error(failures[0]) from failures[0]


def _local_path(job: Job[Task, Result], index: int) -> str | None:
    """The path that must exist on the executor; None if the task has no place or its place is a URL."""
    place = None if job.places is None else job.places[index]
    return place if place is not None and os.path.isabs(place) else None


def _run(
    context: Any,
    items: list[Any],
    work: _Work,
    group: str,
    name: str,
    finished: _Finished,
    failures: list[Exception],
) -> None:
    """Runs the Spark job on a separate thread. Puts None into the queue after the last result."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    context.setJobGroup(group, name, interruptOnCancel=True)
    try:
        context.parallelize(items, len(items)).foreach(work)
    except (Py4JError, PySparkException) as error:
        failures.append(error)
    finally:
        finished.put(None)


def _job_error(error: Exception) -> EngineError:
    text = str(error)
    found = _TASK_ERROR.search(text)
    return TaskError(found.group(1).strip()) if found else EngineError(f"Spark could not run the job: {text}")


def missing_for_spark() -> str:
    """What this machine lacks to start Spark; "" if it has pyspark and a program named java."""
    if find_spec("pyspark") is None:
        return f"pyspark is not installed: {_INSTALL}"
    return "" if _java() is not None else "Java was found neither on the PATH nor at JAVA_HOME"


def _java() -> str | None:
    """The program that Spark starts; None if there is none."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java") if home else "java")


def _java_error(error: Exception) -> EngineError:
    """Why Java did not start Spark: it is missing, or it failed, which its version may explain."""
    java = _java()
    if java is None:
        return EngineMissingError(
            f"--engine spark needs Java 17 or newer (java on the PATH, or JAVA_HOME), {_LOCAL}: {error}"
        )
    try:
        asked = subprocess.run([java, "-version"], capture_output=True, text=True, check=False, timeout=_ANSWER_S)
        lines = (asked.stderr or asked.stdout).strip().splitlines()
        said = f"{java} -version says: {lines[0] if lines else 'nothing'} (exit code {asked.returncode})"
    except (OSError, subprocess.TimeoutExpired) as fault:
        said = f"{java} -version fails: {fault}"
    return EngineError(
        f"Java is there, but Spark did not start with it. It needs Java 17 or newer and some hundred MB of memory; "
        f"{said}, {_LOCAL}: {error}"
    )


@contextmanager
def spark_context(name: str) -> Iterator[Any]:
    """The running Spark context, or a new one that is stopped at the end of the block.

    Raises EngineMissingError, EngineError.
    """
    try:
        from pyspark import SparkContext
        from pyspark.errors import PySparkException
        from pyspark.sql.utils import is_remote
    except ImportError as error:
        raise EngineMissingError(f"--engine spark needs Java 17 and pyspark: {_INSTALL}, {_LOCAL}") from error
    if is_remote():
        raise EngineError("--engine spark needs a classic Spark session: Spark Connect (SPARK_REMOTE) runs no RDD jobs")
    running = SparkContext._active_spark_context  # None if there is none; it counts if another thread started it, too
    if running is not None:
        if running.getConf().get("spark.speculation", "false") == "true":
            raise EngineError(
                "the running Spark session has spark.speculation=true, so two tasks could write the same file:"
                " set it to false"
            )
        yield running
        return
    try:
        context = _new_context(name)
    except PySparkException as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise EngineError(f"Spark did not start: {error}") from error
        raise _java_error(error) from error
    try:
        yield context
    finally:
        context.stop()


def _new_context(name: str) -> Any:
    """Starts Spark, in a JVM of ours unless spark-submit or an earlier session has started one.

    Java options of the user come after ours, and win. Raises PySparkException, EngineError.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # not python3 of the PATH, which may lack packages
    settings = {"spark.speculation": "false", "spark.ui.showConsoleProgress": "false"}
    given = os.environ.get(_JVM_OPTIONS)
    os.environ[_JVM_OPTIONS] = f"{_QUICK_START} {given or ''}".strip()
    try:
        return SparkContext(conf=SparkConf().setAppName(name).setAll(list(settings.items())))
    except Py4JError as error:
        raise EngineError(f"Spark did not start: {error}") from error
    finally:
        if given is None:
            del os.environ[_JVM_OPTIONS]
        else:
            os.environ[_JVM_OPTIONS] = given
