"""The only place where storage touches files, so that tests can make any operation fail.

Owns: the system calls, and replacements for missing ones (macOS has neither fdatasync nor posix_fallocate). Never does:
interpreting the bytes. Invariants: OSError passes through unchanged; `write` reports short writes and does not repeat
them. Source: POSIX; Kafka's Utils.atomicMoveWithFallback and flushDir; fcntl(2) of macOS.
"""

import errno
import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .disk_errors import NO_DESCRIPTOR
from .regular_files import open_regular

Buffer = bytes | bytearray | memoryview

CREATE = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
EXISTING = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
READ_ONLY = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
MODE = 0o644
ZEROS_BYTES = 1 << 20
"""The number of zeros written at a time if posix_fallocate is missing."""
NOT_HERE = (errno.EINVAL, errno.ENOTSUP, errno.ENOTTY)
"""The errors of F_FULLFSYNC on a file system that does not support it, such as a network share."""


@contextmanager
def _failed_sync() -> Iterator[None]:
    """Raises EIO if a sync fails with EMFILE or ENFILE: after those two, callers repeat the operation, which is safe
    for an open, but not for a sync.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_DESCRIPTOR:
            raise OSError(errno.EIO, f"the file system failed to sync: {error.strerror}") from error
        raise


class Files:
    """The real file system. Every method raises OSError as the system call does; sizes and positions are bytes."""

    def open(self, path: Path, flags: int = EXISTING) -> int:
        """Opens a regular file and returns its descriptor. Raises NotRegularFileError for a FIFO, a device and the
        like.
        """
        return open_regular(path, flags, MODE)

    def close(self, descriptor: int) -> None:
        """Closes a descriptor."""
        os.close(descriptor)

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        """Writes the parts one after the other at `position`. Returns the number of bytes that the system took."""
        return os.pwritev(descriptor, parts, position)

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`; fewer at the file's end."""
        return os.pread(descriptor, size, position)

    def size(self, descriptor: int) -> int:
        """The length of an open file."""
        return os.fstat(descriptor).st_size

    def truncate(self, descriptor: int, size: int) -> None:
        """Cuts (or grows) an open file."""
        os.ftruncate(descriptor, size)

    def allocate(self, descriptor: int, size: int) -> None:
        """Allocates blocks for the first `size` bytes of an open file, and makes it at least that long.

        Without posix_fallocate, zeros are written after the file's end; holes before it stay. A failure leaves the
        length unchanged.
        """
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
            return
        before = position = self.size(descriptor)
        try:
            while position < size:
                position += os.pwrite(descriptor, bytes(min(ZEROS_BYTES, size - position)), position)
        except OSError:
            os.ftruncate(descriptor, before)
            raise

    def space(self, path: Path) -> tuple[int, int]:
        """(bytes free to this user, total bytes) of the file system that holds a path."""
        facts = os.statvfs(path)
        return facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize

    def lock(self, descriptor: int) -> None:
        """Takes the POSIX lock on a whole file until it is closed. Fails with EACCES or EAGAIN if another process has
        it.
        """
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def sync(self, descriptor: int) -> None:
        """Makes a file's data durable (fdatasync: the length too, not the access times).

        On macOS, fsync leaves the data in the drive's cache, which a power failure empties; F_FULLFSYNC doesn't. If a
        file system in user space answers that it has no descriptor left (EMFILE, ENFILE), this raises EIO.
        """
        with _failed_sync():
            self._sync(descriptor)

    def _sync(self, descriptor: int) -> None:
        if hasattr(fcntl, "F_FULLFSYNC"):
            try:
                fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
                return
            except OSError as error:
                if error.errno not in NOT_HERE:
                    raise
        if hasattr(os, "fdatasync"):
            os.fdatasync(descriptor)
        else:
            os.fsync(descriptor)

    def sync_directory(self, path: Path) -> None:
        """Makes names created, renamed or removed in a directory durable."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            with _failed_sync():
                os.fsync(descriptor)
            if hasattr(fcntl, "F_FULLFSYNC"):
                self.sync(descriptor)  # the names, too, leave the drive's cache
        finally:
            os.close(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        """Renames, over an existing target too."""
        os.replace(source, target)

    def remove(self, path: Path) -> None:
        """Removes a file, if it exists."""
        path.unlink(missing_ok=True)

    def remove_directory(self, path: Path) -> None:
        """Removes an empty directory."""
        path.rmdir()

    def make_directory(self, path: Path) -> None:
        """Creates a directory with its parents, unless it exists."""
        path.mkdir(parents=True, exist_ok=True)

    def make_directory_durably(self, path: Path) -> None:
        """As `make_directory`, and syncs the new names, so that they survive a power failure."""
        missing = []
        while not self.exists(path):
            missing.append(path)
            path = path.parent
        for made in reversed(missing):
            self.make_directory(made)
            self.sync_directory(made.parent)

    def list(self, path: Path) -> "list[os.DirEntry[str]]":
        """The entries of a directory, in the order of their names."""
        with os.scandir(path) as entries:
            return sorted(entries, key=lambda entry: entry.name)

    def exists(self, path: Path) -> bool:
        """Whether there is a file or directory of that name."""
        return path.exists()

    def inode(self, path: Path) -> int:
        """The inode of a file."""
        return os.stat(path).st_ino

    def modified_ms(self, path: Path) -> int:
        """When a file was last written, ms since 1970."""
        return path.stat().st_mtime_ns // 1_000_000

    def set_mode(self, path: Path, mode: int) -> None:
        """Changes the permissions of a file."""
        os.chmod(path, mode)

    def copy_attributes(self, owner: Path, times: Path, target: Path) -> None:
        """Gives `target` the owner, group and mode of one file and the access and modification times of another."""
        status = owner.stat()
        os.chmod(target, status.st_mode & 0o7777)
        if (status.st_uid, status.st_gid) != ((now := target.stat()).st_uid, now.st_gid):
            os.chown(target, status.st_uid, status.st_gid)
        modified = times.stat()
        os.utime(target, ns=(modified.st_atime_ns, modified.st_mtime_ns))

    def read_file(self, path: Path) -> bytes:
        """All bytes of a file."""
        descriptor = self.open(path, READ_ONLY)
        try:
            size = self.size(descriptor)
            data = b""
            while len(data) < size and (chunk := self.read(descriptor, size - len(data), len(data))):
                data = data + chunk if data else chunk
            return data
        finally:
            self.close(descriptor)

    def write_file(self, path: Path, data: Buffer, *, sync: bool = True) -> None:
        """Replaces a file's content atomically: after a crash the file has either the old or the new content.

        Writes `<name>.tmp` and renames it, as Kafka's CheckpointFile does. With `sync`, durable on return.
        """
        temporary = path.with_name(path.name + ".tmp")
        descriptor = self.open(temporary, CREATE)
        try:
            self.truncate(descriptor, 0)
            self.write_all(descriptor, [data], 0)
            if sync:
                self.sync(descriptor)
        finally:
            self.close(descriptor)
        self.rename(temporary, path)
        if sync:
            self.sync_directory(path.parent)

    def overwrite(self, path: Path, data: Buffer) -> None:
        """Replaces a file's content in place. For files that can be rebuilt if a crash leaves them half written."""
        descriptor = self.open(path, CREATE)
        try:
            self.truncate(descriptor, len(data))
            if data:
                self.write_all(descriptor, [data], 0)
        finally:
            self.close(descriptor)

    def write_all(self, descriptor: int, parts: Sequence[Buffer], position: int) -> None:
        """Writes all bytes of the parts, or raises OSError."""
        total = sum(len(part) for part in parts)
        written = self.write(descriptor, parts, position)
        if written == total:
            return
        rest = b"".join(bytes(part) for part in parts)
        while written < total:
            count = self.write(descriptor, [memoryview(rest)[written:]], position + written)
            if count <= 0:
                raise OSError(28, "the file system accepted no more bytes")
            written += count
