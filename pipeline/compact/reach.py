"""Whether an executor sees the very directory whose lock the driver holds, before anything of it is changed.

A path may exist on another host and be another directory: what the driver has locked can't be locked once more through
the same file, elsewhere it can. Never changes a file. Source: fcntl's record locks, which NFS 4 carries between hosts.
"""

import fcntl
import os
import socket
from pathlib import Path

from ...storage.directory.directory_lock import LOCK_FILE


def why_out_of_reach(directory: Path) -> str:
    """Why this process can't work on the log directory that another one has locked; "" if it can."""
    host = socket.gethostname()
    try:
        descriptor = os.open(directory / LOCK_FILE, os.O_RDWR)
    except OSError as error:
        return f"{directory} can't be reached from {host} ({error.strerror}): every executor must have it there"
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return ""  # it is held: by the driver
    finally:
        os.close(descriptor)
    return (
        f"{directory} on {host} is not the directory that was locked here, or its file system carries no locks between "
        "hosts: use --engine local on the broker's host"
    )
