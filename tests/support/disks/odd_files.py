"""Things other than regular files that may be in a log directory, and must not be opened without a check."""

import os
import socket
from collections.abc import Callable
from pathlib import Path


def make_fifo(path: Path) -> None:
    """A FIFO, which blocks a process that opens it."""
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    """A Unix socket."""
    with socket.socket(socket.AF_UNIX) as one:
        here = os.open(path.parent, os.O_RDONLY)
        try:
            one.bind(f"/proc/self/fd/{here}/{path.name}")  # a socket's path is short
        finally:
            os.close(here)


def link_to_zeros(path: Path) -> None:
    """A link to a device that never ends."""
    path.symlink_to("/dev/zero")


def link_out(path: Path) -> None:
    """A link to a file outside of the log directory."""
    outside = path.parents[2] / "outside.log"
    outside.write_bytes(b"secret" * 1000)
    path.symlink_to(outside)


def link_loop(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path.name)


ODD: dict[str, tuple[Callable[[Path], None], str]] = {
    "fifo": (make_fifo, "EINVAL"),
    "socket": (make_socket, "EINVAL"),
    "directory": (Path.mkdir, "EISDIR"),
    "zeros": (link_to_zeros, "ELOOP"),
    "out": (link_out, "ELOOP"),
    "loop": (link_loop, "ELOOP"),
}
"""Name -> the function that makes such a thing instead of a file, and the errno that a reader reports."""
