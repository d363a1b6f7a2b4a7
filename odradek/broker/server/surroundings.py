"""What a test can replace in a broker: files, clocks, and the handlers of requests.

Owns: the defaults, which are the real ones. Never does: I/O.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.storage.files.files import Files

from ..dispatch.served import Handler
from ..timers.timers import Loop


def own_clock(loop: asyncio.AbstractEventLoop) -> Loop:
    """The clock of the event loop itself."""
    return loop


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a broker reads files and clocks. ``files`` returns the file layer of a directory; ``clock_ms`` reads the
    wall clock (ms since the epoch); ``timer_loop`` gives the clock and the wake-ups of timers. ``intercept`` gets an
    API key and its handler, and returns what serves its requests; it may be left out while ``is_intercepting`` returns
    False.
    """

    files: Callable[[Path], Files] = ReservedFiles
    clock_ms: Callable[[], int] = clock_ms
    timer_loop: Callable[[asyncio.AbstractEventLoop], Loop] = own_clock
    intercept: Callable[[int, Handler], Handler] | None = None
    is_intercepting: Callable[[], bool] = lambda: True
