"""Runs the tasks of a job: in this process, in a pool of processes of this machine, or on a Spark cluster.

Tasks and results are picklable values. Functions are top-level functions of this package, so that workers find them by
name. A task that raises is not tried again (Spark does), one whose worker dies is. Invariant: `run_tasks` returns the
same results in the same order with every engine. multiprocessing is imported only for the first pool, because a small
job needs none. Source: pool.py for processes, spark_tasks.py for the cluster.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports

from .job import Job, Result, Task, task_error

with lazy_imports:
    from . import pool, spark_tasks

LOCAL = "local"
SPARK = "spark"
ENGINES = (LOCAL, SPARK)
POOL = "pool"
"""As LOCAL, but with a pool of processes for a job of any size. No command offers it."""

SMALL_BYTES = 64 << 20
"""LOCAL runs tasks that read fewer bytes than this in all in this process: they take less than the 0.5 s to start a
pool.
"""


def started(engine: str, name: str) -> AbstractContextManager[Any]:
    """Keeps Spark running in the block, so that the jobs of a command start it once. Raises EngineError."""
    return spark_tasks.spark_context(name) if engine == SPARK else nullcontext()


def run_tasks(engine: str, job: Job[Task, Result]) -> Iterator[Result]:
    """Yields the result of every task, in the tasks' order, as soon as it and all earlier ones are done.

    Raises EngineMissingError, and TaskError for the first task that fails.
    """
    early: dict[int, Result] = {}
    following = 0
    for index, result in finished_tasks(engine, job):
        early[index] = result
        while following in early:
            yield early.pop(following)
            following += 1


def finished_tasks(engine: str, job: Job[Task, Result]) -> Iterator[tuple[int, Result]]:
    """Yields (index of the task, its result), in the order in which tasks finish. Raises as run_tasks does."""
    if not job.tasks:
        return
    if engine == SPARK:
        finished = spark_tasks.run_on_spark(job)
    elif _workers(job) > 1 and (engine == POOL or not _is_small(job)):
        finished = pool.run_in_processes(job, _workers(job))
    else:
        finished = _here(job)
    done, total = 0, sum(job.weights)
    for item in finished:
        done += job.weights[item[0]]
        if job.progress is not None:
            job.progress(done, total)
        yield item


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _is_small(job: Job[Task, Result]) -> bool:
    return job.sizes is not None and sum(job.sizes) < SMALL_BYTES


def _workers(job: Job[Task, Result]) -> int:
    return min(len(job.tasks), available_cores(), job.max_workers or len(job.tasks))


def _here(job: Job[Task, Result]) -> Iterator[tuple[int, Result]]:
    for index, task in enumerate(job.tasks):
        try:
            result = job.function(task) if job.tell is None else job.function(task, tell=job.tell)
        except Exception as error:
            raise task_error(job.task_name(index), error) from error
        yield index, result


AUTO = "auto"
MOST_BYTES_A_CORE = 64 << 30
"""What one core reads in some minutes: up to this, more machines gain little."""


class EngineChoice(NamedTuple):
    """The engine, and a sentence that says why it was chosen."""

    engine: str
    reason: str


def choose_engine(work: int, cores: int, missing: Callable[[], str]) -> EngineChoice:
    """Chooses for `work` bytes on a machine with `cores`. `missing`: what Spark lacks here; "" if it can start.

    Spark on the same machine is slower than local processes: it gains where a cluster has more cores and disks.
    """
    most = MOST_BYTES_A_CORE * cores
    sizes = f"{work / (1 << 30):.1f} GiB to read, {most >> 30} GiB are the limit for {cores} cores"
    if work <= most:
        return EngineChoice(LOCAL, f"--engine auto chose local: {sizes}")
    lack = missing()
    if lack:
        return EngineChoice(LOCAL, f"--engine auto chose local although there are {sizes}: {lack}")
    return EngineChoice(SPARK, f"--engine auto chose spark: {sizes}")
