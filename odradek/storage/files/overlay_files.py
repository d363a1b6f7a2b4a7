"""Files whose changes stay in memory. They show what an operation would do to a directory, without doing it.

Owns: the changes, as a layer over the real files. Never does: changing the disk. Invariants: an unchanged file is open
under a real descriptor; a descriptor stays valid if its file changes later, since readers may hold it for sendfile; any
thread may call. Source: union mounts (a layer of changes, and marks for removed files).
"""

import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import Literal, NamedTuple, cast

from .files import EXISTING, READ_ONLY, Buffer, Files
from .regular_files import check_regular, open_regular

LARGEST_IN_MEMORY = 64 << 20
"""A changed file above this size goes to the system's directory for temporary files."""
COPY_BYTES = 4 << 20

Entries = list[os.DirEntry[str]]
Kind = Literal["create", "remove", "rename", "rewrite", "truncate", "append", "create directory", "remove directory"]


class Change(NamedTuple):
    """One difference between the disk and the overlay. `detail` is a text for people."""

    kind: Kind
    path: Path
    detail: str


class _File:
    """A file in the overlay: the first `size` bytes of a real file, or our own bytes."""

    __slots__ = ("mode", "modified_ns", "own", "real", "size")

    def __init__(self, real: Path | None, size: int, mode: int, modified_ns: int) -> None:
        self.real = real
        self.own: int | None = None
        self.size = size
        self.mode = mode
        self.modified_ns = modified_ns

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        """Frees the memory once the file has no name and is not open."""
        if self.own is not None:
            close(self.own)


class OverlayEntry:
    """An entry that `list` returns: the part of `os.DirEntry` that storage uses."""

    __slots__ = ("_file", "name", "path")

    def __init__(self, path: str, file: _File | None) -> None:
        self.path = path
        self.name = os.path.basename(path)
        self._file = file

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a directory."""
        return self._file is None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Whether it is a file."""
        return self._file is not None

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Mode, size and times only."""
        file = self._file
        if file is None:
            return os.stat_result((stat.S_IFDIR | 0o755, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        seconds = file.modified_ns // 1_000_000_000
        return os.stat_result((file.mode, 0, 0, 1, 0, 0, file.size, seconds, seconds, seconds))


class OverlayFiles(Files):
    """The real files, overlaid with the changes."""

    def __init__(self, *, in_memory: bool = True) -> None:
        """Without `in_memory`, all changed files go to the system's directory for temporary files."""
        self._largest_in_memory = LARGEST_IN_MEMORY if in_memory else -1
        self._lock = RLock()
        self._seen: dict[str, _File | None] = {}
        """Files that were opened or changed; None for a removed file."""
        self._directories: set[str] = set()
        self._gone_directories: set[str] = set()
        self._open: dict[int, _File] = {}

    # Looking up ------------------------------------------------------------------

    def _find(self, path: Path | str) -> _File | None:
        """The file of that name, or None."""
        key = os.path.abspath(path)
        if key in self._seen:
            return self._seen[key]
        if self._is_hidden(key):
            return None
        try:
            facts = os.stat(key)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if stat.S_ISDIR(facts.st_mode):
            return None
        return _File(Path(key), facts.st_size, facts.st_mode, facts.st_mtime_ns)

    def _existing(self, path: Path | str) -> _File:
        file = self._find(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        self._seen[os.path.abspath(path)] = file
        return file

    def _is_hidden(self, key: str) -> bool:
        """Whether the path lies in a directory that was removed here."""
        if not self._gone_directories:
            return False
        while key != (parent := os.path.dirname(key)):
            if key in self._gone_directories:
                return True
            key = parent
        return False

    def _is_directory(self, path: Path | str) -> bool:
        key = os.path.abspath(path)
        return key in self._directories or (not self._is_hidden(key) and os.path.isdir(key))

    def exists(self, path: Path) -> bool:
        """Whether there is a file or directory of that name."""
        with self._lock:
            return self._find(path) is not None or self._is_directory(path)

    def modified_ms(self, path: Path) -> int:
        """When a file was last written, ms since 1970."""
        with self._lock:
            return self._existing(path).modified_ns // 1_000_000

    def list(self, path: Path) -> Entries:
        """The entries of a directory, in the order of their names."""
        with self._lock:
            entries = [OverlayEntry(child, file) for child, file in self._children(os.path.abspath(path))]
        return cast(Entries, sorted(entries, key=lambda entry: entry.name))

    def _children(self, key: str) -> Iterator[tuple[str, _File | None]]:
        """(path, file or None for a directory) of each entry of a directory. Raises FileNotFoundError."""
        if not self._is_directory(key):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), key)
        names = {os.path.basename(child) for child in self._seen if os.path.dirname(child) == key}
        names |= {os.path.basename(child) for child in self._directories if os.path.dirname(child) == key}
        if not self._is_hidden(key) and os.path.isdir(key):
            names |= set(os.listdir(key))
        for name in names:
            child = os.path.join(key, name)
            file = self._find(child)
            if file is not None or self._is_directory(child):
                yield child, file

    # Open files --------------------------------------------------------------------

    def open(self, path: Path, flags: int = EXISTING) -> int:
        """Opens a regular file and returns its descriptor, which is the real file's (for reading) until the file
        changes.
        """
        with self._lock:
            file = self._find(path)
            if file is None and self._is_directory(path):
                check_regular(stat.S_IFDIR, path)
            if file is None and flags & os.O_CREAT:
                if not self._is_directory(Path(path).parent):
                    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
                file = _File(None, 0, stat.S_IFREG | 0o644, time.time_ns())
                file.own = self._new_file(0)
                self._seen[os.path.abspath(path)] = file
            file = self._existing(path)
            if file.own is not None:
                descriptor = os.dup(file.own)
            else:
                assert file.real is not None
                descriptor = open_regular(Path(file.real), READ_ONLY)
            self._open[descriptor] = file
            return descriptor

    def close(self, descriptor: int) -> None:
        """Closes a descriptor."""
        with self._lock:
            self._open.pop(descriptor, None)
            super().close(descriptor)

    def _make_own(self, file: _File) -> int:
        """Copies the real file into one of our own, to which its open descriptors now refer."""
        if file.own is None:
            file.own = self._new_file(file.size)
            assert file.real is not None
            source = os.open(file.real, READ_ONLY)
            try:
                position = 0
                while position < file.size:
                    chunk = os.pread(source, min(COPY_BYTES, file.size - position), position)
                    if not chunk:
                        break
                    position += os.pwrite(file.own, chunk, position)
            finally:
                os.close(source)
            os.ftruncate(file.own, file.size)
            for descriptor, held in self._open.items():
                if held is file:
                    os.dup2(file.own, descriptor, inheritable=False)
        file.modified_ns = time.time_ns()
        return file.own

    def _new_file(self, size: int) -> int:
        """An empty file without a name: in memory, or a temporary file if `size` is large."""
        if sys.platform == "linux" and size <= self._largest_in_memory:
            return os.memfd_create("odradek", os.MFD_CLOEXEC)
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        """Writes the parts at `position`, in the overlay only."""
        with self._lock:
            file = self._open[descriptor]
            written = os.pwritev(self._make_own(file), parts, position)
            file.size = max(file.size, position + written)
            return written

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the file's end."""
        file = self._open[descriptor]
        return os.pread(descriptor, max(0, min(size, file.size - position)), position)

    def size(self, descriptor: int) -> int:
        """The length of an open file."""
        return self._open[descriptor].size

    def truncate(self, descriptor: int, size: int) -> None:
        """Cuts (or grows) an open file. For a real file that is cut, only the new size is stored."""
        with self._lock:
            file = self._open[descriptor]
            if size == file.size:
                return
            if size > file.size or file.own is not None:
                os.ftruncate(self._make_own(file), size)
            file.size = size
            file.modified_ns = time.time_ns()

    def allocate(self, descriptor: int, size: int) -> None:
        """Makes a file at least that long."""
        if self.size(descriptor) < size:
            self.truncate(descriptor, size)

    def lock(self, descriptor: int) -> None:
        """Does nothing: the disk is never changed, so no lock is needed."""

    def sync(self, descriptor: int) -> None:
        """Does nothing: the changes are never written to the disk."""

    def sync_directory(self, path: Path) -> None:
        """Does nothing: the changes are never written to the disk."""

    # Names ---------------------------------------------------------------------------

    def rename(self, source: Path, target: Path) -> None:
        """Renames a file or a directory, over an existing file too."""
        with self._lock:
            if self._find(source) is None and self._is_directory(source):
                self._rename_directory(os.path.abspath(source), os.path.abspath(target))
                return
            file = self._existing(source)
            if not self._is_directory(target.parent):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(target))
            self._seen[os.path.abspath(source)] = None
            self._seen[os.path.abspath(target)] = file

    def _rename_directory(self, source: str, target: str) -> None:
        children = list(self._children(source))
        self._directories.add(target)
        for child, file in children:
            moved = os.path.join(target, os.path.basename(child))
            if file is None:
                self._rename_directory(child, moved)
            else:
                self._seen[child] = None
                self._seen[moved] = file
        self._directories.discard(source)
        if os.path.isdir(source):
            self._gone_directories.add(source)

    def remove(self, path: Path) -> None:
        """Removes a file, if it exists."""
        with self._lock:
            if self._find(path) is not None:
                self._seen[os.path.abspath(path)] = None

    def remove_directory(self, path: Path) -> None:
        """Removes an empty directory."""
        with self._lock:
            key = os.path.abspath(path)
            if any(True for _ in self._children(key)):
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), key)
            self._directories.discard(key)
            if os.path.isdir(key):
                self._gone_directories.add(key)

    def make_directory(self, path: Path) -> None:
        """Creates a directory with its parents, unless it exists."""
        with self._lock:
            for key in (*reversed([str(parent) for parent in Path(os.path.abspath(path)).parents]), str(path)):
                if not self._is_directory(key):
                    self._directories.add(os.path.abspath(key))

    def set_mode(self, path: Path, mode: int) -> None:
        """Changes the permissions of a file, in the overlay only."""
        with self._lock:
            file = self._existing(path)
            file.mode = stat.S_IFREG | mode

    def copy_attributes(self, owner: Path, times: Path, target: Path) -> None:
        """Gives `target` the mode of one file and the modification time of another."""
        with self._lock:
            file = self._existing(target)
            file.mode = self._existing(owner).mode
            file.modified_ns = self._existing(times).modified_ns

    # What has changed -------------------------------------------------------------------

    def changes(self) -> Sequence[Change]:
        """The differences between the overlay and the disk, by path. Raises OSError."""
        with self._lock:
            found = [change for key, file in self._seen.items() if (change := self._change(key, file)) is not None]
            made = [key for key in self._directories if not os.path.isdir(key)]
            gone = [key for key in self._gone_directories if not self._is_directory(key)]
        found += [Change("create directory", Path(key), "") for key in made]
        found += [Change("remove directory", Path(key), "") for key in gone]
        return sorted(found, key=lambda change: change.path)

    def _change(self, key: str, file: _File | None) -> Change | None:
        path = Path(key)
        if file is None:
            return Change("remove", path, f"{path.stat().st_size} bytes") if path.is_file() else None
        if file.real is not None and file.real != path:
            return Change("rename", path, f"from {file.real}")
        if not path.is_file():
            return Change("create", path, f"{file.size} bytes")
        before = path.stat().st_size
        if file.own is None:
            return None if file.size == before else Change("truncate", path, f"from {before} bytes to {file.size}")
        common = min(before, file.size)
        if not _same_bytes(path, file.own, common):
            return Change("rewrite", path, f"{before} bytes become {file.size} others")
        if file.size == before:
            return None
        kind: Kind = "truncate" if file.size < before else "append"
        return Change(kind, path, f"from {before} bytes to {file.size}")


def _same_bytes(path: Path, own: int, size: int) -> bool:
    descriptor = os.open(path, READ_ONLY)
    try:
        for position in range(0, size, COPY_BYTES):
            count = min(COPY_BYTES, size - position)
            if os.pread(descriptor, count, position) != os.pread(own, count, position):
                return False
        return True
    finally:
        os.close(descriptor)
