"""Finds the process that has a log directory's lock, without taking the lock.

Never does: locking, changing. Source: POSIX record locks (F_GETLK).
"""

import fcntl
import os
import struct
import sys
from pathlib import Path

from ..files.regular_files import open_regular
from .directory_lock import LOCK_FILE

FLOCK = {"linux": ("hhqqi", 0, 4), "darwin": ("qqihh", 3, 2)}
"""`struct flock` of each system: its layout, and the positions of the lock's type and the process id among its five
fields.
"""


def lock_holder(directory: Path) -> int | None:
    """The process that has the directory's lock; None if it is free, 0 if the system can't tell.

    It only queries the lock, so a broker that is starting is not disturbed.
    """
    try:
        descriptor = open_regular(directory / LOCK_FILE)
    except FileNotFoundError:
        return None
    try:
        if sys.platform not in FLOCK:
            return 0
        layout, type_at, process_at = FLOCK[sys.platform]
        lock_fields = [0] * 5  # the whole file: from SEEK_SET, start 0, length 0
        lock_fields[type_at] = fcntl.F_WRLCK
        answer = struct.unpack(layout, fcntl.fcntl(descriptor, fcntl.F_GETLK, struct.pack(layout, *lock_fields)))
        return None if answer[type_at] == fcntl.F_UNLCK else int(answer[process_at])
    finally:
        os.close(descriptor)
