"""Opens files that should be regular, in directories that may hold anything.

Owns: the check before and after the open. A FIFO would block its opener, a device may react to being opened, and a link
may lead anywhere. Each of them raises an OSError instead. Never writes. Source: POSIX open(2).
"""

import errno
import os
import stat
from pathlib import Path

READ_ONLY = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
NONBLOCKING = getattr(os, "O_NONBLOCK", 0)
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISBLK, "a block device"),
    (stat.S_ISCHR, "a character device"),
)


class NotRegularFileError(OSError):
    """The path is a directory, FIFO, socket, device or link. Its errno is EISDIR, ELOOP (a link) or EINVAL."""


def kind_of(mode: int) -> str:
    """The kind of file that a mode (st_mode) stands for, for a message; empty for a regular file."""
    return next((name for is_kind, name in _KINDS if is_kind(mode)), "")


def check_regular(mode: int, path: Path) -> None:
    """Raises NotRegularFileError unless the mode (st_mode) is a regular file's."""
    kind = kind_of(mode)
    if kind:
        code = errno.EISDIR if stat.S_ISDIR(mode) else errno.ELOOP if stat.S_ISLNK(mode) else errno.EINVAL
        raise NotRegularFileError(code, f"{kind} instead of a file", str(path))


def open_regular(path: Path, flags: int = READ_ONLY, mode: int = 0o644, *, follows_links: bool = True) -> int:
    """Opens a regular file and returns its descriptor. Raises NotRegularFileError, OSError.

    Checks the file before the open, since opening a device may already do harm, and again through the descriptor, since
    another file may have taken the name in between. `follows_links` False also refuses a link.
    """
    try:
        found = os.stat(path, follow_symlinks=follows_links).st_mode
    except FileNotFoundError:
        if not flags & os.O_CREAT:
            raise
    else:
        check_regular(found, path)
    descriptor = os.open(path, flags | NONBLOCKING | (0 if follows_links else _NO_FOLLOW), mode)
    try:
        check_regular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path, *, follows_links: bool = True) -> bytes:
    """All bytes of a regular file. Raises NotRegularFileError, OSError."""
    descriptor = open_regular(path, follows_links=follows_links)
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def fault_text(error: OSError) -> str:
    """The error's number, symbol and text, in the form that findings use."""
    symbol = errno.errorcode.get(error.errno or 0, "unknown")
    return f"errno {error.errno} ({symbol}): {error.strerror or error}"
