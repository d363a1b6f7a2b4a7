"""Makes a Python process deterministic, before Odradek is imported: simulated time, seeded randomness, no threads.

Owns: the virtual clock, the sources of randomness, the executors. Invariant: after :func:`install` everything that
happens follows from the seed. The process has no other purpose, so nothing is restored.
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
"""The time that each read of the performance counter takes, so that slices of work end."""


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
"""The error of the wall clock of a process."""
ids = random.Random(0)
"""The source of random ids, and of the seeds of other random sources."""
run_later: Callable[[Callable[[], None]], None] | None = None
"""Runs a thread's work at a later moment. Set by the event loop."""

_Random = random.Random


class SeededRandom(_Random):
    """Replaces ``random.Random``: without a seed it takes one from the simulation."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(ids.getrandbits(64) if seed is None else seed)


class SimulatedExecutor(concurrent.futures.Executor):
    """Replaces a thread pool: work is done in one piece, at a later moment of the event loop."""

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
        """Runs all at once, because the caller waits for them."""
        return iter([fn(*arguments) for arguments in zip(*iterables, strict=False)])


def replace(owner: object, name: str, value: object) -> None:
    """Replaces an attribute of a module or class permanently."""
    assert hasattr(owner, name), f"{owner} has no {name}"
    setattr(owner, name, value)


def _no_thread(self: threading.Thread) -> None:
    raise AssertionError(f"a thread is started in the simulation: {self.name}")


def install(seed: int) -> None:
    """Replaces clocks, randomness and threads in this process permanently."""
    ids.seed(seed)
    for name in ("monotonic", "monotonic_ns", "perf_counter", "time", "time_ns", "clock_gettime"):
        replace(time, name, getattr(clock, name))
    replace(os, "urandom", ids.randbytes)
    random.seed(seed)
    replace(random, "Random", SeededRandom)
    replace(concurrent.futures, "ThreadPoolExecutor", SimulatedExecutor)
    replace(threading.Thread, "start", _no_thread)
