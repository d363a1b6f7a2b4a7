"""The name of the socket at which a running broker tells where its logs end, for `odradek storage snapshot`.

Owns: the name. The socket is in Linux's abstract namespace, so it leaves no file behind: its name has the device and
the inode of the log directory. It has no permissions of its own, so both sides look at the user id of the other one.
Our own; Kafka has no snapshots of a running broker.
"""

import os
import socket
import struct
from pathlib import Path

MOST_BYTES = 64 * 1024 * 1024
"""The longest answer. Requests are a few bytes."""
_CREDENTIALS = struct.Struct("3i")


def socket_name(directory: Path) -> str:
    """The name of the socket of a log directory. Raises OSError."""
    status = os.stat(directory)
    return f"\0odradek-snapshot-{status.st_dev:x}-{status.st_ino:x}"


def has_abstract_sockets() -> bool:
    """Whether this system has abstract sockets and tells the user at the other end: Linux does."""
    return hasattr(socket, "SO_PEERCRED")


def user_of_peer(connection: socket.socket) -> int:
    """The user id of the process at the other end. Raises OSError."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(data)[1])
