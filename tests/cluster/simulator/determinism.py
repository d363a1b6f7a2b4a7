"""Takes time, chance and threads away from a Python process, before anything of Odradek is imported.

Owns: the virtual clock, the sources of chance, the executors. Invariant: after :func:`install` everything that happens
follows from the seed. The process does nothing else: nothing is put back.
"""

import concurrent.futures
import contextvars
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

EPOCH_S = 1_700_000_000.0
"""The wall clock at the start of a life."""
PERF_STEP_S = 0.00002
"""Each look at the performance counter takes so long: work in slices ends its slices."""


class VirtualClock:
    """Seconds since the start of the life; only the event loop moves it."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._looks = 0

    def monotonic(self) -> float:
        return self.now_s + 1_000

    def monotonic_ns(self) -> int:
        return int(self.monotonic() * 1e9)

    def perf_counter(self) -> float:
        self._looks += 1
        return self.now_s + self._looks * PERF_STEP_S

    def time(self) -> float:
        return EPOCH_S + self.now_s + wall_skew_s.get()

    def time_ns(self) -> int:
        return int(self.time() * 1e9)

    def clock_gettime(self, clock: int) -> float:
        return self.time() if clock == time.CLOCK_REALTIME else self.monotonic()


clock = VirtualClock()
wall_skew_s: contextvars.ContextVar[float] = contextvars.ContextVar("wall_skew_s", default=0.0)
"""By which the wall clock of a process is wrong."""
ids = random.Random(0)
"""Random ids, and the seeds of everything that chooses by itself."""
run_later: Callable[[Callable[[], None]], None] | None = None
"""Set by the event loop: runs a thread's work at a later moment."""

_Random = random.Random


class SeededRandom(_Random):
    """What ``random.Random`` is in the simulation: without a seed it takes one of the simulation."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(ids.getrandbits(64) if seed is None else seed)


class SimulatedExecutor(concurrent.futures.Executor):
    """Threads of a pool: their work is done in one piece, at a later moment of the event loop."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "concurrent.futures.Future[Any]":
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - as a thread pool does
                future.set_exception(error)

        assert run_later is not None, "threads run only under the simulated event loop"
        run_later(work)
        return future

    def map(
        self, fn: Callable[..., Any], *iterables: Iterable[Any], timeout: float | None = None, chunksize: int = 1
    ) -> Iterator[Any]:
        """The caller waits for all of them: they are done at once."""
        return iter([fn(*arguments) for arguments in zip(*iterables, strict=False)])


def replace(owner: object, name: str, value: object) -> None:
    """Puts something else in the place of a module's or a class' attribute, for good."""
    assert hasattr(owner, name), f"{owner} has no {name}"
    setattr(owner, name, value)


def _no_thread(self: threading.Thread) -> None:
    raise AssertionError(f"a thread is started in the simulation: {self.name}")


def install(seed: int) -> None:
    """Replaces clocks, chance and threads in this process, for good."""
    ids.seed(seed)
    for name in ("monotonic", "monotonic_ns", "perf_counter", "time", "time_ns", "clock_gettime"):
        replace(time, name, getattr(clock, name))
    replace(os, "urandom", ids.randbytes)
    random.seed(seed)
    replace(random, "Random", SeededRandom)
    replace(concurrent.futures, "ThreadPoolExecutor", SimulatedExecutor)
    replace(threading.Thread, "start", _no_thread)
