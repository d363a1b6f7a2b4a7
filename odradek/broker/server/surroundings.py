"""What a test can replace in a broker: files, clocks, the handlers of requests, intervals that no config sets.

Owns: the defaults, which are the real ones. Never does: I/O.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from odradek.protocol.common.holder import holder
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.storage.files.files import Files

from ..dispatch.served import Handler
from ..replicas.directories.disk_watch import COUNT_INTERVAL_MS
from ..timers.timers import Loop


def own_clock(loop: asyncio.AbstractEventLoop) -> Loop:
    """The clock of the event loop itself."""
    return loop


@holder()
class FixedSettings:
    """Intervals and sizes that no config sets."""

    key_store_check_ms: int = 10_000
    """The interval of checks whether the files of key stores have changed."""
    deleted_files_check_ms: int = 10_000
    """The interval of the search for deleted files whose delay has passed."""
    file_count_ms: int = COUNT_INTERVAL_MS
    """The interval of full counts of file sizes under a cap."""
    host_again_s: float = 1.0
    """The pause before a partition that lacked descriptors or disk space is hosted again. It doubles up to 30 s."""
    cleaner_thread_bytes: int = 1 << 20
    """Cleaning rounds of at most this size run on a thread: about 60 ms of work, less than the start of a process
    takes."""


@holder()
class Surroundings:
    """Where a broker reads files and clocks. ``files`` returns the file layer of a directory; ``clock_ms`` reads the
    wall clock (ms since the epoch); ``timer_loop`` gives the clock and the wake-ups of timers. ``intercept`` gets an
    API key and its handler, and returns what serves its requests; it may be left out while ``is_intercepting`` returns
    False. ``settings``: intervals and sizes.
    """

    files: Callable[[Path], Files] = ReservedFiles
    clock_ms: Callable[[], int] = clock_ms
    timer_loop: Callable[[asyncio.AbstractEventLoop], Loop] = own_clock
    intercept: Callable[[int, Handler], Handler] | None = None
    is_intercepting: Callable[[], bool] = lambda: True
    settings: FixedSettings = FixedSettings()
