"""Where log directories lie: on a local disk (NFS too), or in object storage under a URL such as ``s3://bucket/data``.

A directory is a ``pathlib.Path``, or for a URL a path of universal-pathlib, which has the same methods on fsspec's file
systems; both are what the type ``Path`` says here. Owns how files are listed with their sizes and read in ranges: by
one system call each locally, without any layer between; by one request each in object storage. Never writes. fsspec is
imported with the first URL only. For what `storage` reads whole there is a file layer. Source: pathlib, fsspec's
AbstractFileSystem.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any, NamedTuple, Protocol, cast

from ...storage.files.files import Files
from ...storage.files.regular_files import fault_text, kind_of, open_regular

URL_MARK = "://"
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ESTALE)
_OF_THIS_PROCESS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
_MOST_LISTINGS = 4


class ObjectsMissingError(OSError):
    """A URL was given, and what reads it is not installed; the text says how to install it."""


class RangeReader(Protocol):
    """An open file that is read at positions."""

    size: int

    def read(self, position: int, size: int) -> bytes:
        """`size` bytes from `position` on, fewer at the end. Raises OSError."""
        ...


class _LocalFile:
    """A file of the local file system."""

    __slots__ = ("descriptor", "size")

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.size = os.fstat(descriptor).st_size

    def read(self, position: int, size: int) -> bytes:
        """See RangeReader."""
        return os.pread(self.descriptor, size, position)


class _RemoteFile:
    """An object of an object store: each read is a request for a range, nothing is kept."""

    __slots__ = ("path", "size", "system")

    def __init__(self, path: Any) -> None:
        self.system = path.fs
        self.path = path.path
        self.size = int(self.system.size(self.path))

    def read(self, position: int, size: int) -> bytes:
        """See RangeReader."""
        return bytes(self.system.cat_file(self.path, start=position, end=min(position + size, self.size)))


def path_of(text: str | Path) -> Path:
    """The path of a directory or file: local, or a URL's. Raises ObjectsMissingError, ValueError for a URL unknown."""
    if isinstance(text, Path) or URL_MARK not in str(text):
        return Path(text)
    try:
        from upath import UPath

        path: Any = UPath(text)
        path.fs  # noqa: B018 - imports what speaks to this kind of store, or says what is missing
    except ImportError as error:
        raise ObjectsMissingError(
            f"{text}: {error}; the extra 'objects' of odradek reads object storage (README.md, Install)"
        ) from error
    return cast(Path, path)


def is_local(path: Path) -> bool:
    """Whether the operating system has the file."""
    return isinstance(path, PurePath)


@contextmanager
def open_ranges(path: Path, inode: int = 0) -> Iterator[RangeReader]:
    """The file, for reads at positions. Raises OSError.

    With an `inode` (not 0) another file under that name counts as gone: the cleaner has replaced the one that was
    listed, and positions in that one mean nothing here.
    """
    if not is_local(path):
        yield _RemoteFile(path)
        return
    descriptor = open_regular(path, follows_links=False)
    try:
        if inode and os.fstat(descriptor).st_ino != inode:
            raise OSError(errno.ESTALE, "another file has taken its name", str(path))
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
    """Whether the error is this one file's, so that a job can go on with the others.

    False for a file that is gone (the caller lists again), for limits of this process, and for an object store that
    fails with more than a refusal: then nothing else would be read either.
    """
    if is_gone(error) or error.errno in _OF_THIS_PROCESS:
        return False
    return is_local(path) or isinstance(error, PermissionError)


def unreadable_text(path: Path, error: OSError) -> str:
    """What rows and errors say of a file that can't be read."""
    return f"file-unreadable: {path}: {fault_text(error)}"


class FileEntry(NamedTuple):
    """An entry of a directory. `size` is bytes; `inode` is 0 in object storage.

    `fault` says why it can't be read: it is neither a file nor a directory, or it can't even be looked at.
    """

    name: str
    size: int
    is_directory: bool
    inode: int = 0
    fault: str = ""


def list_directory(directory: Path) -> list[FileEntry]:
    """The entries of a directory; see `list_steadily`. Raises OSError."""
    return list_steadily(directory)[0]


def list_steadily(directory: Path) -> tuple[list[FileEntry], bool]:
    """The entries of a directory, and whether they are its state at one moment. Raises OSError.

    The system gives the names in several portions, and each entry is looked at later. A file that is renamed in between
    can miss under both names. A listing counts only if no entry vanished and a second one has the same names; the
    last of _MOST_LISTINGS is returned as it is. A remote directory is listed by one request: objects have no renames.
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
    """The entries of a local directory; False if one vanished before it was looked at. Raises OSError."""
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
    """Looks at an entry without following a link: what a link leads to is not the directory's."""
    status = entry.stat(follow_symlinks=False)
    if stat.S_ISREG(status.st_mode):
        return FileEntry(entry.name, status.st_size, is_directory=False, inode=status.st_ino)
    if stat.S_ISDIR(status.st_mode):
        return FileEntry(entry.name, 0, is_directory=True, inode=status.st_ino)
    fault = f"{kind_of(status.st_mode)} in the place of a file or directory"
    return FileEntry(entry.name, 0, is_directory=False, inode=status.st_ino, fault=fault)


def modified_ms(path: Path) -> int:
    """When a file was last written, ms since 1970; in object storage when it was put there. Raises OSError."""
    if is_local(path):
        return os.stat(path, follow_symlinks=False).st_mtime_ns // 1_000_000
    remote: Any = path
    return int(remote.fs.modified(remote.path).timestamp() * 1000)


def check_reachable(directory: Path) -> None:
    """Asks an object store for a directory once. Raises OSError where it can't be asked: no credentials, no network."""
    if is_local(directory):
        return
    try:
        directory.is_dir()
    except OSError:
        raise
    except Exception as error:  # each store's client has errors of its own, which are no OSError
        raise OSError(f"{directory}: {type(error).__name__}: {error}") from error


class PathFiles(Files):
    """The file layer of `storage` for reading whole files by the path's own method, which URLs have, too."""

    def read_file(self, path: Path) -> bytes:
        """All bytes of a file. Raises OSError."""
        return read_file(path)


def size_and_inode(path: Path) -> tuple[int, int]:
    """Bytes and inode of a file (of a link, if it is one); an object's inode is 0. Raises OSError."""
    if not is_local(path):
        return path.stat().st_size, 0
    status = os.stat(path, follow_symlinks=False)
    return status.st_size, status.st_ino
