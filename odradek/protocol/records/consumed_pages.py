"""Returns the memory of received bytes to the system as soon as they have been read for the last time (Linux).

Owns: nothing. Never does: deciding that bytes are not needed any more; the caller does. Invariant: only whole pages of
consumed bytes are returned, and only of a frame in an anonymous memory map (:class:`..framing.frames.FrameReader`).
They read as zeros afterwards.
"""

import mmap
import sys
from collections.abc import Callable
from mmap import PAGESIZE

from ..common.lazy_imports import lazy_imports

with lazy_imports:
    import ctypes

DONTNEED: int | None = getattr(mmap, "MADV_DONTNEED", None) if sys.platform == "linux" else None
"""The madvise advice that returns pages at once; None on systems without it."""
STEP_BYTES = 1024 * 1024
"""The smallest number of bytes that one system call returns; the call takes 0.1 ms."""


def consumer_of(view: memoryview) -> Callable[[int], None]:
    """Returns a function to call with the number of bytes, from the start of ``view``, that will not be read again.

    It does nothing if ``view`` is not of a mapped frame, or if the system has no such call.
    """
    mapped = view.obj
    if DONTNEED is None or not isinstance(mapped, mmap.mmap) or view.readonly:
        return _nothing
    advice = DONTNEED
    first = ctypes.addressof(ctypes.c_char.from_buffer(view)) - ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    returned = -(-first // PAGESIZE) * PAGESIZE

    def consumed(count: int) -> None:
        nonlocal returned
        end = (first + count) // PAGESIZE * PAGESIZE
        if end - returned >= STEP_BYTES:
            mapped.madvise(advice, returned, end - returned)
            returned = end

    return consumed


def _nothing(count: int) -> None:
    """Does nothing: for bytes whose memory can't be returned."""
