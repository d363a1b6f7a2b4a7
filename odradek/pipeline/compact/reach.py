"""Checks that an executor sees the same log directory that the driver has locked, before a task changes it.

The same path may be another directory on another host. The executor tries to lock the directory's lock file. If that
fails, the driver holds the lock, so it is the same directory. If it succeeds, it is another one. Never changes a file.
Source: fcntl's record locks, which NFS 4 carries between hosts.
"""

import fcntl
import os
import socket
from pathlib import Path

from odradek.storage.directory.directory_lock import LOCK_FILE


def why_out_of_reach(directory: Path) -> str:
    """Why this process can't work on the log directory that the driver has locked; "" if it can."""
    host = socket.gethostname()
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR)
    except OSError as error:
        return f"{directory} cannot be opened on {host} ({error.strerror}): every executor needs it under this path"
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return ""  # it is held: by the driver
    finally:
        os.close(descriptor)
    return (
        f"{directory} on {host} is not the directory that was locked here, or its file system does not share locks "
        "between hosts: use --engine local on the broker's host"
    )
