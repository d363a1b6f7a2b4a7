"""Where snapshots are kept: a folder on a disk, or in object storage.

Shell. Owns: the files below the folder. Never does: choosing what to save. Invariants: a snapshot on a disk has the
name `….unfinished` until it is complete, one in object storage is complete when it has a manifest. A file of a snapshot
is never changed. On the file system of the log directory, a closed segment is saved as a hard link, which takes no
space. A segment that an earlier snapshot holds is linked from there, or in object storage referred to.
"""

import errno
import fcntl
import os
import shutil
import stat
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..directories.file_access import is_local
from .broker_link import SnapshotError
from .manifest import MANIFEST, Manifest, SavedFile, decode_manifest

CHUNK_BYTES = 8 << 20
UNFINISHED = ".unfinished"
LOCK = ".lock"
NO_LINK = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP)
"""The errors of a hard link to another file system or to a file of another user, or on a system without them."""


def store_at(root: Path) -> "Store":
    """The store of snapshots in a folder, or in object storage. Raises SnapshotError, OSError."""
    return DiskStore(root) if is_local(root) else ObjectStore(root)


class Store(ABC):
    """A folder of snapshots. Methods raise OSError."""

    def __init__(self, root: Path) -> None:
        """Finds the latest complete snapshot, whose segments need not be saved again."""
        self.root = root
        self.name = ""
        names = self.names()
        self._earlier_name = names[-1] if names else ""
        earlier = [] if not names else self.manifest(names[-1]).files
        self._earlier = {file.path: file for file in earlier}
        self.new_bytes = 0
        """The bytes that were copied, without those that were linked or are there already."""

    def begin(self, at_ms: int) -> None:
        """Begins a snapshot, which is named after its instant in ms since 1970."""
        instant = datetime.fromtimestamp(at_ms / 1000, UTC)
        self.name = f"{instant:%Y%m%dT%H%M%S}.{at_ms % 1000:03}Z"
        self._begin()

    @abstractmethod
    def names(self) -> list[str]:
        """The names of the complete snapshots, oldest first."""

    def manifest(self, name: str) -> Manifest:
        """The manifest of a snapshot. Raises SnapshotError."""
        try:
            return decode_manifest((self.root / name / MANIFEST).read_bytes(), str(self.root / name))
        except ValueError as error:
            raise SnapshotError(str(error)) from error

    def save_file(
        self, path: str, link: Path | None, descriptor: int, size: int, *, is_closed: bool, stay: Callable[[], None]
    ) -> SavedFile:
        """Saves the first `size` bytes of an open file. `is_closed`: appends do not change the file any more. `link`:
        the file's name, if a hard link to it does, else None. `stay` is called between the parts of a large file."""
        status = os.fstat(descriptor)
        mode = stat.S_IMODE(status.st_mode)
        earlier = self._earlier.get(path)
        if is_closed and earlier is not None and earlier.is_of(size, status.st_ino, status.st_mtime_ns):
            saved = self._keep(path, earlier)
            if saved is not None:
                return saved
        if link is not None and size == status.st_size and self._link(path, link, status.st_ino):
            return SavedFile(path, size, status.st_ino, status.st_mtime_ns, mode)
        at = self._copy(path, descriptor, size, stay)
        self.new_bytes += size
        return SavedFile(path, size, status.st_ino, status.st_mtime_ns, mode, at)

    @abstractmethod
    def save_bytes(self, path: str, data: bytes) -> SavedFile:
        """Saves a small file with this content."""

    @abstractmethod
    def finish(self, manifest: Manifest) -> Path:
        """Completes the snapshot. Returns its path."""

    @abstractmethod
    def discard(self) -> None:
        """Removes what was saved of a snapshot that can't be completed."""

    @abstractmethod
    def keep_only(self, count: int) -> list[str]:
        """Removes the oldest snapshots beyond `count`. Returns their names. Raises SnapshotError."""

    @abstractmethod
    def close(self) -> None:
        """Lets another command write here."""

    @abstractmethod
    def _begin(self) -> None: ...

    @abstractmethod
    def _keep(self, path: str, earlier: SavedFile) -> SavedFile | None: ...

    @abstractmethod
    def _link(self, path: str, source: Path, inode: int) -> bool: ...

    @abstractmethod
    def _copy(self, path: str, descriptor: int, size: int, stay: Callable[[], None]) -> str: ...


class DiskStore(Store):
    """A folder of snapshots on a disk."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        super().__init__(root)
        self._lock = os.open(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            raise SnapshotError(f"{root}: another command writes a snapshot here; wait until it has ended") from error
        for left in root.glob(f"*{UNFINISHED}"):  # of a command that was killed
            shutil.rmtree(left)

    def names(self) -> list[str]:
        """As `Store.names`."""
        return sorted(
            entry.name
            for entry in self.root.iterdir()
            if not entry.name.endswith(UNFINISHED) and (entry / MANIFEST).is_file()
        )

    @property
    def _folder(self) -> Path:
        return self.root / (self.name + UNFINISHED)

    def _begin(self) -> None:
        self._folder.mkdir()

    def _keep(self, path: str, earlier: SavedFile) -> SavedFile | None:
        try:
            os.link(self.root / self._earlier_name / path, self._place(path))
        except OSError as error:
            if error.errno not in (*NO_LINK, errno.ENOENT):
                raise
            return None
        return earlier

    def _link(self, path: str, source: Path, inode: int) -> bool:
        place = self._place(path)
        try:
            os.link(source, place)
        except OSError as error:
            if error.errno not in (*NO_LINK, errno.ENOENT):
                raise
            return False
        if place.stat().st_ino != inode:  # the cleaner has put another file in its place meanwhile
            place.unlink()
            return False
        return True

    def _copy(self, path: str, descriptor: int, size: int, stay: Callable[[], None]) -> str:
        target = os.open(self._place(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            position = 0
            while position < size:
                count = os.sendfile(target, descriptor, position, min(CHUNK_BYTES, size - position))
                if not count:
                    raise SnapshotError(f"{path}: the file has {position} bytes instead of {size}")
                position += count
                stay()
            os.fchmod(target, stat.S_IMODE(os.fstat(descriptor).st_mode))
        finally:
            os.close(target)
        return ""

    def save_bytes(self, path: str, data: bytes) -> SavedFile:
        """As `Store.save_bytes`."""
        self._place(path).write_bytes(data)
        return SavedFile(path, len(data), 0, 0)

    def finish(self, manifest: Manifest) -> Path:
        """As `Store.finish`."""
        self.save_bytes(MANIFEST, manifest.encode())
        os.sync()  # one for all: a sync of each of some ten thousand small files takes minutes
        done = self.root / self.name
        self._folder.rename(done)
        os.sync()
        return done

    def discard(self) -> None:
        """As `Store.discard`."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def keep_only(self, count: int) -> list[str]:
        """As `Store.keep_only`."""
        names = self.names()[:-count]
        for name in names:
            (self.root / name).rename(self.root / (name + UNFINISHED))
            shutil.rmtree(self.root / (name + UNFINISHED))
        return names

    def close(self) -> None:
        """As `Store.close`."""
        os.close(self._lock)

    def _place(self, path: str) -> Path:
        place = self._folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place


class ObjectStore(Store):
    """A prefix of object storage."""

    def __init__(self, root: Path) -> None:
        self._written: list[Any] = []
        super().__init__(root)

    def names(self) -> list[str]:
        """As `Store.names`."""
        if not self.root.exists():
            return []
        return sorted(entry.name for entry in self.root.iterdir() if (entry / MANIFEST).exists())

    def _begin(self) -> None:
        """Nothing: folders are parts of names."""

    def _keep(self, path: str, earlier: SavedFile) -> SavedFile | None:
        return earlier

    def _link(self, path: str, source: Path, inode: int) -> bool:
        return False

    def _copy(self, path: str, descriptor: int, size: int, stay: Callable[[], None]) -> str:
        at = f"{self.name}/{path}"
        self._written.append(self.root / at)
        with (self.root / at).open("wb") as target:
            position = 0
            while position < size:
                data = os.pread(descriptor, min(CHUNK_BYTES, size - position), position)
                if not data:
                    raise SnapshotError(f"{path}: the file has {position} bytes instead of {size}")
                target.write(data)
                position += len(data)
                stay()
        return at

    def save_bytes(self, path: str, data: bytes) -> SavedFile:
        """As `Store.save_bytes`."""
        at = f"{self.name}/{path}"
        self._written.append(self.root / at)
        (self.root / at).write_bytes(data)
        return SavedFile(path, len(data), 0, 0, at=at)

    def finish(self, manifest: Manifest) -> Path:
        """As `Store.finish`."""
        (self.root / self.name / MANIFEST).write_bytes(manifest.encode())
        return self.root / self.name

    def discard(self) -> None:
        """As `Store.discard`."""
        for path in self._written:
            if path.exists():
                path.unlink()

    def keep_only(self, count: int) -> list[str]:
        """Refuses: later snapshots refer to objects of earlier ones."""
        raise SnapshotError("--keep needs a folder on a disk: in object storage, later snapshots need earlier ones")

    def close(self) -> None:
        """Nothing is open."""
