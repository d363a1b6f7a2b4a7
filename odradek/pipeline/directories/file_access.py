"""Lists and reads log directories on a local disk or NFS, or in object storage (a URL such as ``s3://bucket/data``).

A directory is a ``pathlib.Path``, or for a URL a path of universal-pathlib, which has the same methods. The type
``Path`` stands for both here. Owns: listing files with their sizes, and reading ranges. Each takes one system call on a
disk, one request in object storage. Never writes. fsspec is imported only for the first URL. PathFiles lets `storage`
read whole files from both. `attempts` limits how often a job reads anew what a running broker changes. Source: pathlib,
fsspec's AbstractFileSystem.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from time import sleep
from typing import Any, NamedTuple, Protocol, cast

from odradek.storage.files.files import Files
from odradek.storage.files.regular_files import fault_text, kind_of, open_regular

from .background_reading import READING

URL_MARK = "://"
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)
_OF_THIS_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
_MOST_LISTINGS = 4
_TICK_NS, _WHOLE_SECONDS_NS = 50_000_000, 2_000_000_000
"""Writes that are less than this apart may have the same time. Some file systems have whole or even seconds only."""
_OBJECT_TAGS = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "created")
"""The names that stores of fsspec give to the tag of an object's bytes, or to its time."""


class ObjectsMissingError(OSError):
    """The package that reads a given URL is not installed. The text says how to install it."""


class RangeReader(Protocol):
    """An open file that is read at positions."""

    size: int

    def read(self, position: int, size: int) -> bytes:
        """`size` bytes from `position` on, fewer at the end of the file. Raises OSError."""
        ...


class _LocalFile:
    """A file of the local file system."""

    __slots__ = ("_background", "descriptor", "size")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = os.fstat(descriptor).st_size
        self._background = READING.get()
        if self._background is not None:
            self._background.begin(descriptor)

    def read(self, position: int, size: int) -> bytes:
        """`size` bytes from `position` on, fewer at the end of the file. Raises OSError."""
        if self._background is not None:
            return self._background.read(self.descriptor, size, position)
        return os.pread(self.descriptor, size, position)


class _RemoteFile:
    """An object of an object store. Each read is a request for a range; nothing is cached."""

    __slots__ = ("path", "size", "system")

    def __init__(self, path: Any) -> None:
        self.system = path.fs
        self.path = path.path
        self.size = int(self.system.size(self.path))

    def read(self, position: int, size: int) -> bytes:
        """`size` bytes from `position` on, fewer at the end of the object. Raises OSError."""
        end = min(position + size, self.size)
        if position >= end:
            return b""  # S3 refuses a range that has no byte, such as any range of an empty object
        return bytes(self.system.cat_file(self.path, start=position, end=end))


def path_of(text: str | Path) -> Path:
    """The path of a local file or of a URL. Raises ObjectsMissingError, ValueError for an unknown kind of URL."""
    if isinstance(text, Path) or URL_MARK not in str(text):
        return Path(text)
    try:
        from upath import UPath

        path: Any = UPath(text)
        path.fs  # noqa: B018 - imports the package for this kind of store; raises ImportError if it is missing
    except ImportError as error:
        raise ObjectsMissingError(
            f"{text}: {error}; for object storage, install odradek with the extra 'objects' (README.md, Install)"
        ) from error
    return cast(Path, path)


def is_local(path: Path) -> bool:
    """Whether the path is in a file system of this machine (NFS included), not in object storage."""
    return isinstance(path, PurePath)


@contextmanager
def open_ranges(path: Path, inode: int = 0) -> Iterator[RangeReader]:
    """Opens a file for reads at positions. Raises OSError.

    If `inode` is not 0 and the file has another inode, raises an error for which `is_gone` is true: the cleaner has
    replaced the file that was listed, so positions in that file do not apply to this one.
    """
    if not is_local(path):
        yield _RemoteFile(path)
        return
    descriptor = open_regular(path, follows_links=False)
    try:
        if inode and os.fstat(descriptor).st_ino != inode:
            raise OSError(errno.ESTALE, "another file has replaced it", str(path))
        yield _LocalFile(descriptor)
    finally:
        os.close(descriptor)


def read_file(path: Path) -> bytes:
    """All bytes of a regular file or an object. Raises OSError (NotRegularFileError for a link, a FIFO, a device)."""
    if not is_local(path):
        return path.read_bytes()
    with os.fdopen(open_regular(path, follows_links=False), "rb") as file:
        return file.read()


def is_gone(error: OSError) -> bool:
    """Whether the error means that the file or its directory was deleted, renamed or replaced."""
    return error.errno in _GONE or isinstance(error, FileNotFoundError)


def is_unreadable(error: OSError, path: Path) -> bool:
    """Whether the error concerns only this file, so that a job can continue with other files.

    False for a file that is gone (the caller lists the directory again), for limits of this process such as open files,
    and for every error of an object store except a refused permission: other objects would then fail too.
    """
    if is_gone(error) or error.errno in _OF_THIS_PROCESS:
        return False
    return is_local(path) or isinstance(error, PermissionError)


def unreadable_text(path: Path, error: OSError) -> str:
    """The text in rows and errors for a file that can't be read."""
    return f"file-unreadable: {path}: {fault_text(error)}"


class FileEntry(NamedTuple):
    """An entry of a directory. `size` is bytes; `inode` is 0 in object storage.

    `fault`: why it can't be read. It is neither a file nor a directory, or the system refuses to read its status.
    """

    name: str
    size: int
    is_directory: bool
    inode: int = 0
    fault: str = ""


def list_directory(directory: Path) -> list[FileEntry]:
    """The entries of a directory, read as by `list_steadily`. Raises OSError."""
    return list_steadily(directory)[0]


def list_steadily(directory: Path) -> tuple[list[FileEntry], bool]:
    """The entries of a directory, and whether they are its state at one moment. Raises OSError.

    The system returns names in several portions, and the status of each entry is read later. A file that is renamed
    meanwhile can be missing under both names. The directory is therefore listed until no entry vanished and a second
    listing has the same names, at most _MOST_LISTINGS times. Object storage needs one request: it has no renames.
    """
    if not is_local(directory):
        remote: Any = directory
        return [
            FileEntry(entry["name"].rstrip("/").rpartition("/")[2], int(entry["size"] or 0), entry["type"] != "file")
            for entry in remote.fs.ls(remote.path, detail=True)
        ], True
    found: list[FileEntry] = []
    for _ in range(_MOST_LISTINGS):
        found, is_whole = _scan(directory)
        if is_whole and {entry.name for entry in found} == set(os.listdir(directory)):
            return found, True
    return found, False


def _scan(directory: Path) -> tuple[list[FileEntry], bool]:
    """The entries of a local directory; False if one vanished before its status was read. Raises OSError."""
    found = []
    is_whole = True
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                found.append(_entry(entry))
            except FileNotFoundError:  # a running broker deletes and renames files
                is_whole = False
            except OSError as error:
                if not is_unreadable(error, directory):
                    raise
                found.append(FileEntry(entry.name, 0, is_directory=False, fault=fault_text(error)))
    return found, is_whole


def _entry(entry: "os.DirEntry[str]") -> FileEntry:
    """Reads the status of an entry. Does not follow links: the target of a link does not belong to the directory."""
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        return FileEntry(entry.name, status.st_size, is_directory=False, inode=status.st_ino)
    if stat.S_ISDIR(status.st_mode):
        return FileEntry(entry.name, 0, is_directory=True, inode=status.st_ino)
    fault = f"{kind_of(status.st_mode)} instead of a file or directory"
    return FileEntry(entry.name, 0, is_directory=False, inode=status.st_ino, fault=fault)


def modified_ms(path: Path) -> int:
    """When a file was last written, ms since 1970. In object storage, when the object was created. Raises OSError."""
    if is_local(path):
        return os.stat(path, follow_symlinks=False).st_mtime_ns // 1_000_000
    remote: Any = path
    return int(remote.fs.modified(remote.path).timestamp() * 1000)


def file_prints(directory: Path) -> dict[str, str]:
    """What the file system says of each file of a directory: another text if its bytes were written since.

    On a disk: size, time of the last write, inode. In object storage: size and the entity tag, or what the store has
    for it. "" for a file that was written so lately that another write may have the same time. Raises OSError.
    """
    if not is_local(directory):
        remote: Any = directory
        entries = remote.fs.ls(remote.path, detail=True, refresh=True)
        return {entry["name"].rpartition("/")[2]: _object_print(entry) for entry in entries}
    found = {}
    now_ns = time.time_ns()
    with os.scandir(directory) as listed:
        for entry in listed:
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # a running broker deletes and renames files
            tick_ns = _WHOLE_SECONDS_NS if status.st_mtime_ns % 1_000_000_000 == 0 else _TICK_NS
            is_old = stat.S_ISREG(status.st_mode) and status.st_mtime_ns < now_ns - tick_ns
            found[entry.name] = f"{status.st_size} {status.st_mtime_ns} {status.st_ino}" if is_old else ""
    return found


def _object_print(entry: dict[str, Any]) -> str:
    """The size and tags of an object; "" without a tag."""
    tags = [f"{name}={entry[name]}" for name in _OBJECT_TAGS if entry.get(name)]
    return " ".join([str(entry["size"]), *tags]) if tags else ""


def check_reachable(directory: Path) -> None:
    """Checks that an object store answers. Raises OSError if it does not, such as without credentials or network."""
    if is_local(directory):
        return
    try:
        directory.is_dir()
    except OSError:
        raise
    except Exception as error:  # clients of object stores have their own errors, which are not OSErrors
        raise OSError(f"{directory}: {type(error).__name__}: {error}") from error


class PathFiles(Files):
    """The file layer that lets `storage` read whole files, also those of a URL."""

    def read_file(self, path: Path) -> bytes:
        """All bytes of a file. Raises OSError."""
        return read_file(path)


def size_and_inode(path: Path) -> tuple[int, int]:
    """Size in bytes and inode of a file. A link is not followed; an object's inode is 0. Raises OSError."""
    if not is_local(path):
        return path.stat().st_size, 0
    status = os.stat(path, follow_symlinks=False)
    return status.st_size, status.st_ino


MOST_RESTARTS = 3
PAUSE_S = 0.2
"""Seconds before each new attempt. The renames of one deletion or swap take milliseconds."""


def attempts(restarts: int = MOST_RESTARTS) -> Iterator[bool]:
    """Yields at most `restarts` + 1 times, True for the last attempt. Sleeps PAUSE_S before each but the first."""
    for restart in range(restarts + 1):
        if restart:
            sleep(PAUSE_S)
        yield restart == restarts
