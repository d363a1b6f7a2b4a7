"""A disk in memory that knows what was synced, so that a crash can undo any part of the rest.

Owns: files and directories, each in its current state and in the states that a power failure may leave. Never does:
touching the real file system. Invariants: every operation that changes anything is one write point and has a number.
Data for which `sync` or `sync_directory` has returned survives every crash.

    data of a file        each page of 4 KiB that changed since the last sync has, independently, its old, its current
                          or an intermediate content; so has the length. Pages without any of these are zeros
    names of a directory  each creation, renaming and removal since the last sync has, independently, happened or not

A file system with a journal keeps names in order and seldom leaves such states. One that only keeps POSIX's promises
may leave all of them. Source: POSIX fsync; "All File Systems Are Not Created Equal" (OSDI 2014).
"""

import errno
import os
import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from odradek.storage.files.files import EXISTING, Buffer, Files

PAGE = 4096
FIRST_DESCRIPTOR = 1 << 20  # no real file has it: a system call past this layer fails
START_MS = 1_700_000_000_000


class Crash(BaseException):
    """The process ended here. No `except OSError` may catch it."""


class _File:
    __slots__ = ("data", "durable", "journal", "modified_ms")

    def __init__(self, durable: bytes = b"", modified_ms: int = START_MS) -> None:
        self.durable = durable
        self.data = bytearray(durable)
        self.journal: list[tuple[int, bytes | None]] = []
        """Since the last sync: (position, bytes written), or (length, None)."""
        self.modified_ms = modified_ms

    def note(self, position: int, data: bytes | None) -> None:
        _apply(self.data, position, data)
        self.journal.append((position, data))

    def sync(self) -> None:
        self.durable = bytes(self.data)
        self.journal.clear()

    def after_power_loss(self, chance: random.Random, luck: "_Luck") -> bytes:
        """A state that the disk may have after a power failure."""
        if not self.journal:
            return self.durable
        versions = len(self.journal)
        length = len(self._version(luck.version(chance, versions)))
        found = bytearray(length)
        cached: dict[int, bytes] = {}
        for start in range(0, length, PAGE):
            version = luck.version(chance, versions)
            if version not in cached:
                cached[version] = self._version(version)
            page = cached[version][start : start + PAGE]
            found[start : start + len(page)] = page[: length - start]
        return bytes(found)

    def _version(self, number: int) -> bytes:
        """The content after this many entries of the journal."""
        if number == len(self.journal):
            return bytes(self.data)
        data = bytearray(self.durable)
        for position, written in self.journal[:number]:
            _apply(data, position, written)
        return bytes(data)


def _apply(data: bytearray, position: int, written: bytes | None) -> None:
    """One entry of a journal; a gap before the written bytes is filled with zeros."""
    if written is None:
        del data[position:]
        data += bytes(position - len(data))
        return
    if position > len(data):
        data += bytes(position - len(data))
    data[position : position + len(written)] = written


class _Directory:
    __slots__ = ("durable", "journal", "names")

    def __init__(self) -> None:
        self.names: dict[str, _Node] = {}
        self.durable: dict[str, _Node] = {}
        self.journal: list[tuple[str | None, str | None, _Node]] = []
        """Changes since the last sync: (removed name, added name, its file)."""

    def note(self, gone: str | None, come: str | None, node: "_Node") -> None:
        _rename(self.names, gone, come, node)
        self.journal.append((gone, come, node))

    def sync(self) -> None:
        self.durable = dict(self.names)
        self.journal.clear()

    def after_power_loss(self, chance: random.Random, luck: "_Luck") -> "dict[str, _Node]":
        """The names that the disk may hold."""
        names = dict(self.durable)
        for gone, come, node in self.journal:
            if luck.has_happened(chance):
                _rename(names, gone, come, node)
        return names


_Node = _File | _Directory


def _rename(names: dict[str, _Node], gone: str | None, come: str | None, node: _Node) -> None:
    if gone is not None and (come is None or names.get(gone) is node):
        names.pop(gone, None)
    if come is not None:
        names[come] = node


class _Luck:
    """How one power failure treats unsynced changes: all are lost, all are kept, or each is decided on its own."""

    def __init__(self, chance: random.Random) -> None:
        self.kept = chance.choice([0.0, 0.1, 0.5, 0.5, 0.9, 1.0])

    def has_happened(self, chance: random.Random) -> bool:
        return chance.random() < self.kept

    def version(self, chance: random.Random, versions: int) -> int:
        """Up to which entry of a journal something has reached the disk."""
        if self.has_happened(chance):
            return versions
        return chance.choice([0, 0, chance.randint(0, versions)]) if self.kept else 0


class SimulatedEntry:
    """An entry of `Files.list` for a simulated file: the part of os.DirEntry that is used."""

    __slots__ = ("_node", "name", "path")

    def __init__(self, directory: Path, name: str, node: _Node) -> None:
        self.name = name
        self.path = f"{directory}/{name}"
        self._node = node

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return isinstance(self._node, _File)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return isinstance(self._node, _Directory)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return _status(self._node)


def _status(node: _Node) -> os.stat_result:
    is_file = isinstance(node, _File)
    size = len(node.data) if isinstance(node, _File) else 0
    seconds = node.modified_ms // 1000 if isinstance(node, _File) else 0
    return os.stat_result((0o100644 if is_file else 0o40755, 0, 0, 1, 0, 0, size, seconds, seconds, seconds))


class SimulatedDisk(Files):
    """Files below `root`, which may exist on the real disk too (locks are taken there). Nothing is shared with it.

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
        """Write point -> the errno with which it fails; of a write, half of the bytes are taken first."""
        self._tree = _Directory()
        self._open: dict[int, _File] = {}
        self._next_descriptor = FIRST_DESCRIPTOR
        self._is_dead = False
        self._half_done: tuple[_File, int, bytes] | None = None

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
        """The disk that the next start finds, as seen from `root`.

        With power only the process has died: everything is there, and of a write that is about to happen any part;
        what was not synced can still be lost later. Without, what was not synced is there or not.
        """
        disk = type(self)(root, self.now_ms)
        copies: dict[int, _File] = {}
        luck = _Luck(chance)
        torn = self._half_done
        part = b"" if torn is None else torn[2][: chance.choice([0, len(torn[2]), chance.randint(0, len(torn[2]))])]

        def file_of(node: _File) -> _File:
            if id(node) not in copies:
                is_torn = torn is not None and torn[0] is node and bool(part)
                if is_torn:
                    assert torn is not None
                    node.journal.append((torn[1], part))
                    saved = bytes(node.data)
                    _apply(node.data, torn[1], part)
                if has_power:
                    copy = _File(node.durable, node.modified_ms)
                    copy.data = bytearray(node.data)
                    copy.journal = list(node.journal)
                else:
                    copy = _File(node.after_power_loss(chance, luck), node.modified_ms)
                if is_torn:
                    node.journal.pop()
                    node.data[:] = saved
                copies[id(node)] = copy
            return copies[id(node)]

        def node_of(node: _Node) -> _Node:
            return file_of(node) if isinstance(node, _File) else directory_of(node)

        directories: dict[int, _Directory] = {}

        def directory_of(node: _Directory) -> _Directory:
            if id(node) in directories:
                return directories[id(node)]
            copy = directories[id(node)] = _Directory()
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

    def _find(self, path: Path) -> _Node | None:
        node: _Node | None = self._tree
        for part in self._parts(path):
            if not isinstance(node, _Directory):
                return None
            node = node.names.get(part)
        return node

    def _directory(self, path: Path) -> _Directory:
        node = self._find(path)
        if isinstance(node, _Directory):
            return node
        raise _error(errno.ENOENT if node is None else errno.ENOTDIR, path)

    def _file(self, path: Path) -> _File:
        node = self._find(path)
        if isinstance(node, _File):
            return node
        raise _error(errno.ENOENT if node is None else errno.EISDIR, path)

    def files_below(self, path: Path) -> Iterable[tuple[Path, bytes]]:
        """(path, content) of every file there, in the order of their names."""
        for entry in self.list(path):
            if entry.is_dir():
                yield from self.files_below(path / entry.name)
            else:
                yield path / entry.name, bytes(self._file(path / entry.name).data)

    def put(self, path: Path, data: bytes) -> None:
        """Places a file, durable, without being a write point: for tests that damage a directory."""
        parent = self._directory(path.parent)
        parent.names[path.name] = parent.durable[path.name] = _File(data, self.now_ms)

    # Files -------------------------------------------------------------------

    def open(self, path: Path, flags: int = EXISTING) -> int:
        parent = self._directory(path.parent)
        if path.name not in parent.names and flags & os.O_CREAT:
            self._write_point(f"create {path}")
            parent.note(None, path.name, _File(modified_ms=self.now_ms))
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
        """Nothing: no other process sees this disk."""

    def space(self, path: Path) -> tuple[int, int]:
        return 1 << 40, 1 << 41

    def sync(self, descriptor: int) -> None:
        self._write_point("sync")
        self._open[descriptor].sync()

    # Names -------------------------------------------------------------------

    def sync_directory(self, path: Path) -> None:
        directory = self._directory(path)
        self._write_point(f"sync directory {path}")
        directory.sync()

    def rename(self, source: Path, target: Path) -> None:
        assert source.parent == target.parent, "a renaming between directories is not simulated"
        parent = self._directory(source.parent)
        if source.name not in parent.names:
            raise _error(errno.ENOENT, source)
        self.check_unused(source)
        self.check_unused(target)
        self._write_point(f"rename {source} to {target.name}")
        parent.note(source.name, target.name, parent.names[source.name])

    def remove(self, path: Path) -> None:
        parent = self._directory(path.parent)
        node = parent.names.get(path.name)
        if node is not None:
            self.check_unused(path)
            self._write_point(f"remove {path}")
            parent.note(path.name, None, node)

    def check_unused(self, path: Path) -> None:
        """Raises OSError if a file must not be renamed or removed now; here it always may be."""

    def remove_directory(self, path: Path) -> None:
        if self._directory(path).names:
            raise _error(errno.ENOTEMPTY, path)
        self._write_point(f"remove directory {path}")
        parent = self._directory(path.parent)
        parent.note(path.name, None, parent.names[path.name])

    def make_directory(self, path: Path) -> None:
        at = self.root
        for part in self._parts(path):
            parent = self._directory(at)
            at = at / part
            if part not in parent.names:
                self._write_point(f"make directory {at}")
                parent.note(None, part, _Directory())
        self._directory(path)

    def list(self, path: Path) -> "list[os.DirEntry[str]]":
        if self._is_dead:
            raise Crash
        names = self._directory(path).names
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
    """Refuses to rename or remove a file that is open, or a directory that holds one, as Windows does.

    `refused` are the attempts: code that goes on after the error must be found all the same.
    """

    def __init__(self, root: Path, now_ms: int = START_MS) -> None:
        super().__init__(root, now_ms)
        self.refused: list[Path] = []

    def check_unused(self, path: Path) -> None:
        node = self._find(path)
        if node is not None and any(self._is_below(node, file) for file in self._open.values()):
            self.refused.append(path)
            raise _error(errno.EACCES, path)

    def _is_below(self, node: _Node, file: _File) -> bool:
        if isinstance(node, _Directory):
            return any(self._is_below(child, file) for child in node.names.values())
        return node is file


def _error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
