"""Waits for what a test can only see by looking again: what other processes, threads and background tasks have done.

The only module of the tests that sleeps between two looks; ``tests/test_tidy.py`` refuses others. If the event itself
can be awaited (an ``asyncio.Event``, a future, a queue, ``Popen.wait``, a read that blocks), await that instead.
"""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 120.0
"""More than a busy machine needs: reached only if the event does not come at all."""

LOOK_S = 0.02
"""The time between two looks, unless a look is expensive or the moment must be met closely."""

Seen = TypeVar("Seen")


def eventually(
    what: str | Callable[[], str],
    look: Callable[[], Seen],
    *,
    patience_s: float = PATIENCE_S,
    every_s: float = LOOK_S,
) -> Seen:
    """Looks until the answer is true, and returns it. ``look`` may raise if the event cannot come any more.

    AssertionError with ``what`` after ``patience_s``; a function is called only then, to say what is there instead.
    """
    deadline = time.monotonic() + patience_s
    while not (seen := look()):
        assert time.monotonic() < deadline, _complaint(what, patience_s)
        time.sleep(every_s)
    return seen


async def eventually_in_loop(
    what: str | Callable[[], str], look: Callable[[], Seen], *, patience_s: float = PATIENCE_S
) -> Seen:
    """Waits as :func:`eventually` does, while the event loop continues to run."""
    deadline = time.monotonic() + patience_s
    while not (seen := look()):
        assert time.monotonic() < deadline, _complaint(what, patience_s)
        await asyncio.sleep(LOOK_S)
    return seen


def _complaint(what: str | Callable[[], str], patience_s: float) -> str:
    return f"not seen within {patience_s:.0f} s: {what if isinstance(what, str) else what()}"
