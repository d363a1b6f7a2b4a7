"""Waits for changes that a test can only see by polling: those of other processes, threads and background tasks.

The only module of the tests that sleeps; ``tests/test_tidy.py`` refuses others. If the event itself
can be awaited (an ``asyncio.Event``, a future, a queue, ``Popen.wait``, a read that blocks), await that instead.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

PATIENCE_S = 120.0
"""The timeout. It is longer than a busy machine needs, so it is reached only if the event never happens."""

LOOK_S = 0.02
"""The default time between the first polls."""
LONGEST_LOOK_S = 0.1
"""The default time between polls after half a second: most polls ask a broker, which costs its processor and ours."""
SLOWING = 1.2
"""The factor from one pause to the next."""

Seen = TypeVar("Seen")


def eventually(
    what: str | Callable[[], str],
    look: Callable[[], Seen],
    *,
    patience_s: float = PATIENCE_S,
    every_s: float | None = None,
) -> Seen:
    """Calls ``look`` until its result is true, and returns it. ``look`` may raise if the event cannot happen any more.

    ``every_s``: the time between two polls; without it they begin at LOOK_S and become rarer.

    Raises AssertionError with ``what`` after ``patience_s``. If ``what`` is a function, it is called only then.
    """
    deadline = time.monotonic() + patience_s
    pauses = _pauses() if every_s is None else itertools.repeat(every_s)
    while not (seen := look()):
        assert time.monotonic() < deadline, _complaint(what, patience_s)
        time.sleep(next(pauses))
    return seen


async def eventually_in_loop(
    what: str | Callable[[], str], look: Callable[[], Seen], *, patience_s: float = PATIENCE_S
) -> Seen:
    """Waits as :func:`eventually` does, while the event loop continues to run."""
    deadline = time.monotonic() + patience_s
    pauses = _pauses()
    while not (seen := look()):
        assert time.monotonic() < deadline, _complaint(what, patience_s)
        await asyncio.sleep(next(pauses))
    return seen


def _pauses() -> Iterator[float]:
    pause = LOOK_S
    while True:
        yield pause
        pause = min(pause * SLOWING, LONGEST_LOOK_S)


def _complaint(what: str | Callable[[], str], patience_s: float) -> str:
    return f"not seen within {patience_s:.0f} s: {what if isinstance(what, str) else what()}"
