"""Returns the memory of received bytes to the system while they are read for the last time (Linux).

Owns: nothing. Never does: deciding that bytes are not needed any more, which the caller must know. Invariant: only
whole pages between the first and the last of the consumed bytes are returned, and only those of a frame that
:class:`..framing.FrameReader` has mapped for itself. They read as zeros afterwards.
"""

import mmap
import sys
from collections.abc import Callable
from mmap import PAGESIZE

DONTNEED: int | None = getattr(mmap, "MADV_DONTNEED", None) if sys.platform == "linux" else None
"""The advice that gives pages back at once; None where it does not."""
STEP_BYTES = 1024 * 1024
"""Bytes that are returned by one call of the system: 0.1 ms."""


def consumer_of(view: memoryview) -> Callable[[int], None]:
    """A function that is called with the number of bytes of ``view`` that will not be read again, from its start on.

    It does nothing if the bytes are not those of a mapped frame, or if the system has no such call.
    """
    mapped = view.obj
    if DONTNEED is None or not isinstance(mapped, mmap.mmap) or view.readonly:
        return _nothing
    advice = DONTNEED
    from ctypes import addressof, c_char  # not needed by a start

    first = addressof(c_char.from_buffer(view)) - addressof(c_char.from_buffer(mapped))
    returned = -(-first // PAGESIZE) * PAGESIZE

    def consumed(count: int) -> None:
        nonlocal returned
        end = (first + count) // PAGESIZE * PAGESIZE
        if end - returned >= STEP_BYTES:
            mapped.madvise(advice, returned, end - returned)
            returned = end

    return consumed


def _nothing(count: int) -> None:
    """The consumer of bytes that stay."""
