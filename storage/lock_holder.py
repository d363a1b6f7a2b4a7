"""Which process has a log directory's lock, asked without taking it.

Never does: locking, changing. Source: POSIX record locks (F_GETLK).
"""

import fcntl
import os
import struct
import sys
from pathlib import Path

from .directory_lock import LOCK_FILE

LINUX_FLOCK = "hhqqi"
"""`struct flock`: type, whence, start, length, process id."""


def lock_holder(directory: Path) -> int | None:
    """The process that has the directory's lock; None without one, 0 where that can't be asked on this system.

    Asks, and takes no lock: a broker that starts just now is not disturbed.
    """
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        if not sys.platform.startswith("linux"):
            return 0
        wanted = struct.pack(LINUX_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, process = struct.unpack(LINUX_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, wanted))
        return None if kind == fcntl.F_UNLCK else process
    finally:
        os.close(descriptor)
