"""Runs the tasks of a job: in this process, in a pool of processes of this machine, or on a Spark cluster.

Tasks and results are picklable values. Functions are top-level functions of this package, so that workers find them by
name. Never retries a task itself (Spark does). Invariant: `run_tasks` returns the same results in the same order with
every engine. multiprocessing is imported only for the first pool, because a small job needs none. Source:
concurrent.futures; spark_tasks.py for the cluster.
"""

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .job import Job, Result, Task, TaskError, task_error

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.context import BaseContext

LOCAL = "local"
SPARK = "spark"
ENGINES = (LOCAL, SPARK)
POOL = "pool"
"""As LOCAL, but with a pool of processes for a job of any size. No command offers it."""

SMALL_BYTES = 64 << 20
"""LOCAL runs tasks that read fewer bytes than this in all in this process: they take less than the 0.5 s to start a
pool.
"""


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
        from .spark_tasks import run_on_spark

        finished = run_on_spark(job)
    elif _workers(job) > 1 and (engine == POOL or not _is_small(job)):
        finished = _in_a_pool(job)
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
            result = job.function(task)
        except Exception as error:
            raise task_error(job.task_name(index), error) from error
        yield index, result


def _in_a_pool(job: Job[Task, Result]) -> Iterator[tuple[int, Result]]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from concurrent.futures.process import BrokenProcessPool

    order = list(range(len(job.tasks)))
    if job.sizes is not None:
        order.sort(key=job.sizes.__getitem__, reverse=True)
    pool = ProcessPoolExecutor(_workers(job), mp_context=_process_context(job.function), initializer=_begin_worker)
    indexes: dict[Future[Result], int] = {}
    try:
        for index in order:
            indexes[pool.submit(job.function, job.tasks[index])] = index
        for future in as_completed(list(indexes)):
            index = indexes.pop(future)  # drops the future, which would keep the result in memory
            yield index, _outcome(future, job, index)
    except BrokenProcessPool as error:
        raise TaskError(
            f"{job.name}: a worker process was killed, perhaps because the system ran out of memory (see dmesg)"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _outcome(future: "Future[Result]", job: Job[Task, Result], index: int) -> Result:
    from concurrent.futures.process import BrokenProcessPool

    try:
        return future.result()
    except BrokenProcessPool:
        raise
    except Exception as error:
        raise task_error(job.task_name(index), error) from error


def _process_context(function: Callable[..., object]) -> "BaseContext":
    """The way to start workers: a fork server, or `spawn` if the system has none.

    Never forks this process, because its other threads (of Arrow or a JVM) may hold locks. The fork server imports the
    job's module once for all workers.
    """
    import multiprocessing

    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    return context


def _begin_worker() -> None:
    """Prepares a worker to end silently at Ctrl-C, or when the process that started it ends.

    Otherwise the workers of a killed compaction would continue to write after its lock is released.
    """
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    import multiprocessing
    from multiprocessing.connection import wait

    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
