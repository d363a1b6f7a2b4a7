"""A disk in memory that records what was synced, so that a crash can undo any unsynced change.

Owns: files and directories, each in its current state and in the states that a power failure may leave. Never does:
touching the real file system. Invariants: every operation that changes anything is one write point and has a number.
Data for which `sync` or `sync_directory` has returned survives every crash.

    data of a file        each page of 4 KiB that changed since the last sync has, independently, its old, its current
                          or an intermediate content; so has the length. Pages without any of these are zeros
    names of a directory  each creation, renaming and removal since the last sync has, independently, happened or not

A file system with a journal keeps names in order and seldom leaves such states. A file system that only
guarantees what POSIX requires may leave all of them. Source: POSIX fsync; "All File Systems Are Not Created Equal"
(OSDI 2014).
"""

import errno
import os
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from odradek.storage.files.files import EXISTING, Buffer, Files
from support.disks.simulated_nodes import (
    START_MS,
    Luck,
    Node,
    SimulatedDirectory,
    SimulatedEntry,
    SimulatedFile,
    apply_write,
)

FIRST_DESCRIPTOR = 1 << 20  # no real descriptor: a system call that bypasses this layer fails


class Crash(BaseException):
    """The process dies at this point. Not an OSError, so that no `except OSError` catches it."""


class SimulatedDisk(Files):
    """Files below `root`. The directory may also exist on the real disk, where locks are taken; its files are not used.

    `before` is called before every write point with its number and the operation: it may call
    `survivors`, or raise. `crash_at`: the number of the write point before which the process ends, so that this
    call and all later ones raise `Crash`.
    """

    def __init__(self, root: Path, now_ms: int = START_MS) -> None:
        self.root = root
        self.now_ms = now_ms
        self.operations = 0
        self.crash_at: int | None = None
        self.before: Callable[[int, str], None] | None = None
        self.faults: dict[int, int] = {}
        """Write point -> the errno with which it fails. A write first writes half of its bytes."""
        self._tree = SimulatedDirectory()
        self._open: dict[int, SimulatedFile] = {}
        self._next_descriptor = FIRST_DESCRIPTOR
        self._is_dead = False
        self._half_done: tuple[SimulatedFile, int, bytes] | None = None

    # Crashes -----------------------------------------------------------------

    def _write_point(self, what: str) -> None:
        if self._is_dead:
            raise Crash
        number = self.operations
        self.operations += 1
        if self.crash_at == number:
            self._is_dead = True
            raise Crash(what)
        if self.before is not None:
            self.before(number, what)
        if number in self.faults:
            raise OSError(self.faults[number], os.strerror(self.faults[number]), what)

    def survivors(self, root: Path, chance: random.Random, *, has_power: bool) -> "SimulatedDisk":
        """The disk that the next start finds below `root`.

        If the power stays on, only the process has died: all completed operations are kept, and any part of a write
        that was about to happen; unsynced data can still be lost in a later power failure. Otherwise each unsynced
        change is either kept or lost.
        """
        disk = type(self)(root, self.now_ms)
        copies: dict[int, SimulatedFile] = {}
        luck = Luck(chance)
        torn = self._half_done
        part = b"" if torn is None else torn[2][: chance.choice([0, len(torn[2]), chance.randint(0, len(torn[2]))])]

        def file_of(node: SimulatedFile) -> SimulatedFile:
            if id(node) not in copies:
                is_torn = torn is not None and torn[0] is node and bool(part)
                if is_torn:
                    assert torn is not None
                    node.journal.append((torn[1], part))
                    saved = bytes(node.data)
                    apply_write(node.data, torn[1], part)
                if has_power:
                    copy = SimulatedFile(node.durable, node.modified_ms)
                    copy.data = bytearray(node.data)
                    copy.journal = list(node.journal)
                else:
                    copy = SimulatedFile(node.after_power_loss(chance, luck), node.modified_ms)
                if is_torn:
                    node.journal.pop()
                    node.data[:] = saved
                copies[id(node)] = copy
            return copies[id(node)]

        def node_of(node: Node) -> Node:
            return file_of(node) if isinstance(node, SimulatedFile) else directory_of(node)

        directories: dict[int, SimulatedDirectory] = {}

        def directory_of(node: SimulatedDirectory) -> SimulatedDirectory:
            if id(node) in directories:
                return directories[id(node)]
            copy = directories[id(node)] = SimulatedDirectory()
            if has_power:
                copy.names = {name: node_of(child) for name, child in node.names.items()}
                copy.durable = {name: node_of(child) for name, child in node.durable.items()}
                copy.journal = [(gone, come, node_of(child)) for gone, come, child in node.journal]
            else:
                names = node.after_power_loss(chance, luck)
                copy.names = {name: node_of(names[name]) for name in sorted(names)}
                copy.durable = dict(copy.names)
            return copy

        disk._tree = directory_of(self._tree)
        return disk

    @property
    def open_files(self) -> int:
        """The number of open descriptors."""
        return len(self._open)

    # The tree ----------------------------------------------------------------

    def _parts(self, path: Path) -> tuple[str, ...]:
        return path.relative_to(self.root).parts

    def _find(self, path: Path) -> Node | None:
        node: Node | None = self._tree
        for part in self._parts(path):
            if not isinstance(node, SimulatedDirectory):
                return None
            node = node.names.get(part)
        return node

    def _directory_at(self, path: Path) -> SimulatedDirectory:
        node = self._find(path)
        if isinstance(node, SimulatedDirectory):
            return node
        raise _error(errno.ENOENT if node is None else errno.ENOTDIR, path)

    def _file(self, path: Path) -> SimulatedFile:
        node = self._find(path)
        if isinstance(node, SimulatedFile):
            return node
        raise _error(errno.ENOENT if node is None else errno.EISDIR, path)

    def files_below(self, path: Path) -> Iterable[tuple[Path, bytes]]:
        """(path, content) of every file below a directory, sorted by name."""
        for entry in self.list(path):
            if entry.is_dir():
                yield from self.files_below(path / entry.name)
            else:
                yield path / entry.name, bytes(self._file(path / entry.name).data)

    def put(self, path: Path, data: bytes) -> None:
        """Writes a durable file. This is not a write point. For tests that damage a directory."""
        parent = self._directory_at(path.parent)
        parent.names[path.name] = parent.durable[path.name] = SimulatedFile(data, self.now_ms)

    # Files -------------------------------------------------------------------

    def open(self, path: Path, flags: int = EXISTING) -> int:
        parent = self._directory_at(path.parent)
        if path.name not in parent.names and flags & os.O_CREAT:
            self._write_point(f"create {path}")
            parent.note(None, path.name, SimulatedFile(modified_ms=self.now_ms))
        elif self._is_dead:
            raise Crash
        file = self._file(path)
        if flags & os.O_TRUNC and file.data:
            self._write_point(f"truncate {path} to 0")
            file.note(0, None)
        descriptor = self._next_descriptor
        self._next_descriptor += 1
        self._open[descriptor] = file
        return descriptor

    def close(self, descriptor: int) -> None:
        del self._open[descriptor]

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        file = self._open[descriptor]
        data = b"".join(bytes(part) for part in parts)
        self._half_done = file, position, data
        try:
            self._write_point(f"write {len(data)} bytes at {position}")
        except OSError:
            file.note(position, data[: len(data) // 2])
            raise
        finally:
            if not self._is_dead:
                self._half_done = None
        file.note(position, data)
        file.modified_ms = self.now_ms
        return len(data)

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        if self._is_dead:
            raise Crash
        return bytes(memoryview(self._open[descriptor].data)[position : position + size])

    def size(self, descriptor: int) -> int:
        return len(self._open[descriptor].data)

    def truncate(self, descriptor: int, size: int) -> None:
        file = self._open[descriptor]
        if size != len(file.data):
            self._write_point(f"truncate to {size}")
            file.note(size, None)
            file.modified_ms = self.now_ms

    def allocate(self, descriptor: int, size: int) -> None:
        if size > len(self._open[descriptor].data):
            self.truncate(descriptor, size)

    def lock(self, descriptor: int) -> None:
        """Does nothing: no other process uses this disk."""

    def space(self, path: Path) -> tuple[int, int]:
        return 1 << 40, 1 << 41

    def sync(self, descriptor: int) -> None:
        self._write_point("sync")
        self._open[descriptor].sync()

    # Names -------------------------------------------------------------------

    def sync_directory(self, path: Path) -> None:
        directory = self._directory_at(path)
        self._write_point(f"sync directory {path}")
        directory.sync()

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent, "a renaming between directories is not simulated"
        parent = self._directory_at(source.parent)
        if source.name not in parent.names:
            raise _error(errno.ENOENT, source)
        self.check_unused(source)
        self.check_unused(target)
        self._write_point(f"rename {source} to {target.name}")
        parent.note(source.name, target.name, parent.names[source.name])

    def remove(self, path: Path) -> None:
        parent = self._directory_at(path.parent)
        node = parent.names.get(path.name)
        if node is not None:
            self.check_unused(path)
            self._write_point(f"remove {path}")
            parent.note(path.name, None, node)

    def check_unused(self, path: Path) -> None:
        """Raises OSError if a file must not be renamed or removed now. Here that is always allowed."""

    def remove_directory(self, path: Path) -> None:
        if self._directory_at(path).names:
            raise _error(errno.ENOTEMPTY, path)
        self._write_point(f"remove directory {path}")
        parent = self._directory_at(path.parent)
        parent.note(path.name, None, parent.names[path.name])

    def make_directory(self, path: Path) -> None:
        at = self.root
        for part in self._parts(path):
            parent = self._directory_at(at)
            at = at / part
            if part not in parent.names:
                self._write_point(f"make directory {at}")
                parent.note(None, part, SimulatedDirectory())
        self._directory_at(path)

    def list(self, path: Path) -> "list[os.DirEntry[str]]":
        if self._is_dead:
            raise Crash
        names = self._directory_at(path).names
        return [SimulatedEntry(path, name, names[name]) for name in sorted(names)]  # type: ignore[misc]

    def exists(self, path: Path) -> bool:
        return self._find(path) is not None

    def modified_ms(self, path: Path) -> int:
        return self._file(path).modified_ms

    def set_mode(self, path: Path, mode: int) -> None:
        self._file(path)
        self._write_point(f"set the mode of {path.name}")

    def copy_attributes(self, owner: Path, times: Path, target: Path) -> None:
        self._file(owner)
        self._file(target).modified_ms = self._file(times).modified_ms


class StrictDisk(SimulatedDisk):
    """Refuses to rename or remove an open file, or a directory with an open file, as Windows does.

    `refused`: the attempts, so that a test also notices code that ignores the error.
    """

    def __init__(self, root: Path, now_ms: int = START_MS) -> None:
        super().__init__(root, now_ms)
        self.refused: list[Path] = []

    def check_unused(self, path: Path) -> None:
        node = self._find(path)
        if node is not None and any(self._is_below(node, file) for file in self._open.values()):
            self.refused.append(path)
            raise _error(errno.EACCES, path)

    def _is_below(self, node: Node, file: SimulatedFile) -> bool:
        if isinstance(node, SimulatedDirectory):
            return any(self._is_below(child, file) for child in node.names.values())
        return node is file


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
