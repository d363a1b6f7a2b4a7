"""A pool of processes of this machine that outlives its workers: a task whose worker dies is tried once more.

Shell. Each worker has a pipe, and gets a task when it has sent the result of the one before, so the pool knows which
task a dead worker had. Workers also send how many bytes they have read. A task whose second worker dies too fails, but
only after all other tasks are done. Never forks this process, because its other threads (of Arrow or a JVM) may hold
locks: a fork server imports the job's module once for all workers. Source: multiprocessing; engines.py calls it.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from time import monotonic
from typing import Any

from .job import Job, Result, Task, TaskError, task_error

TICK_S = 1.0
"""How often the progress is called without news, and how often a worker sends what it has read."""
MOST_STILLBORN = 3
"""So many workers that end before they begin are a fault of the program or the system, not of a task."""
_READY, _READ, _DONE, _FAILED = "ready", "read", "done", "failed"


def run_in_processes(job: Job[Task, Result], workers: int) -> Iterator[tuple[int, Result]]:
    """Yields (index, result) of each task when it finishes; the largest tasks begin first.

    Raises TaskError for the first task that fails, and at the end for tasks whose workers died twice.
    """
    order = list(range(len(job.tasks)))
    if job.sizes is not None:
        order.sort(key=job.sizes.__getitem__, reverse=True)
    pool = _Pool(job, order)
    try:
        for _ in range(workers):
            pool.start_worker()
        yield from pool.results()
    finally:
        pool.close()


@dataclass(slots=True)
class _Worker:
    """A worker: its process, its pipe, and the task that it has; None if it has none."""

    process: Any
    pipe: Connection
    index: int | None = None
    is_ready: bool = False
    """Whether it has imported what it needs."""
    told: int = 0
    """The bytes of its task that it has told of."""


class _Pool:
    """The workers of one job, and the tasks that wait for one."""

    def __init__(self, job: Job[Task, Any], order: list[int]) -> None:
        self._job = job
        self._waiting = deque(order)
        self._tried: set[int] = set()
        self._lost: list[str] = []
        self._stillborn = 0
        self._workers: list[_Worker] = []
        self._context = _process_context(job.function)

    def start_worker(self) -> None:
        """Starts a worker and gives it the next task."""
        mine, theirs = self._context.Pipe()
        arguments = (theirs, self._job.function, self._job.tell is not None, self._job.begin)
        process = self._context.Process(target=_work, args=arguments, daemon=False)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        worker = _Worker(process, mine)
        self._workers.append(worker)
        self._assign(worker)

    def _assign(self, worker: _Worker) -> None:
        """Gives a worker the next task, or ends it if there is none."""
        worker.index, worker.told = None, 0
        if not self._waiting:
            worker.pipe.close()  # the worker reads the end of its pipe
            self._workers.remove(worker)
            worker.process.join()
            return
        worker.index = self._waiting.popleft()
        with suppress(BrokenPipeError, ConnectionResetError):  # it died: the next read from its pipe says so
            worker.pipe.send((self._job.task_name(worker.index), self._job.tasks[worker.index]))

    def results(self) -> Iterator[tuple[int, Any]]:
        """Yields the results. Raises as run_in_processes does."""
        while self._workers:
            by_pipe = {worker.pipe: worker for worker in self._workers}
            for pipe in wait(list(by_pipe), timeout=TICK_S):
                worker = by_pipe[pipe]  # type: ignore[index]
                try:
                    kind, value = worker.pipe.recv()
                except (EOFError, ConnectionResetError):
                    self._bury(worker)
                    continue
                if kind == _READY:
                    worker.is_ready = True
                    continue
                if kind == _READ:
                    worker.told += value[1]
                    self._tell(*value)
                    continue
                index = worker.index
                assert index is not None
                self._assign(worker)
                if kind == _FAILED:
                    raise value
                yield index, value
            self._tell("", 0)
        if self._lost:
            raise TaskError(f"{self._job.name}: {'; '.join(self._lost)}; all else was done")

    def _tell(self, name: str, count: int) -> None:
        if self._job.tell is not None:
            self._job.tell(name, count)

    def _bury(self, worker: _Worker) -> None:
        """Replaces a worker that died. Its task is the next one, unless it had died with it before."""
        worker.process.join()
        worker.pipe.close()
        self._workers.remove(worker)
        exit_code = worker.process.exitcode
        if exit_code == -signal.SIGINT:
            raise KeyboardInterrupt  # Ctrl-C on a terminal reaches the workers too
        index = worker.index
        assert index is not None
        self._tell("", -worker.told)
        name = self._job.task_name(index)
        if not worker.is_ready:
            self._stillborn += 1
            if self._stillborn >= MOST_STILLBORN:
                raise TaskError(f"{self._job.name}: worker processes can't start: the last {_end_text(exit_code)}")
            self._waiting.appendleft(index)
        elif index in self._tried:
            self._lost.append(f"{name}: the second worker process {_end_text(exit_code)}, too")
        else:
            self._tried.add(index)
            self._waiting.appendleft(index)
            said = (
                f"{self._job.name}: worker {worker.process.pid} {_end_text(exit_code)} at {name}, which is tried again"
            )
            print(said, file=sys.stderr, flush=True)
        if self._waiting:
            self.start_worker()

    def close(self) -> None:
        """Ends the workers. Waits for those that are at a task: they may be writing."""
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join()


def _end_text(exit_code: int | None) -> str:
    """How a process ended."""
    if exit_code is not None and exit_code < 0:
        name = signal.Signals(-exit_code).name
        hint = ", perhaps because the system ran out of memory (see dmesg)" if -exit_code == signal.SIGKILL else ""
        return f"was killed by {name}{hint}"
    return f"ended with exit code {exit_code}"


def _process_context(function: Callable[..., object]) -> BaseContext:
    """The way to start workers: a fork server, or `spawn` if the system has none."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([function.__module__])
    return context


# In a worker -------------------------------------------------------------------


def _work(pipe: Connection, function: Callable[..., Any], tells: bool, begin: Callable[[], None] | None) -> None:
    """Runs tasks until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    if begin is not None:
        begin()
    with suppress(BrokenPipeError, ConnectionResetError):
        pipe.send((_READY, None))
    while True:
        try:
            name, task = pipe.recv()
        except (EOFError, OSError):
            return  # there are no more tasks, or the job has failed
        telling = _Telling(pipe)
        answer: tuple[str, Any]
        try:
            answer = (_DONE, function(task, tell=telling.tell) if tells else function(task))
        except Exception as error:  # noqa: BLE001 - the driver raises it
            answer = (_FAILED, task_error(name, error))
        telling.send()
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionResetError):
            return


class _Telling:
    """Sends what a task has read, at most once in TICK_S."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._name = ""
        self._count = 0
        self._next_s = 0.0

    def tell(self, name: str, count: int) -> None:
        """Counts bytes that were read of the partition `name`."""
        self._name = name
        self._count += count
        if monotonic() >= self._next_s:
            self._next_s = monotonic() + TICK_S
            self.send()

    def send(self) -> None:
        """Sends what was counted since the last time."""
        count, self._count = self._count, 0
        with suppress(BrokenPipeError, ConnectionResetError):  # the job has failed; the task ends as it would
            self._pipe.send((_READ, (self._name, count)))


def _exit_with_parent() -> None:
    """Ends this process when the one that started it ends.

    Otherwise the workers of a killed compaction would continue to write after its lock is released.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
