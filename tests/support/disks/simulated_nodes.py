"""The files and directories of a simulated disk: the current state, the synced state, and the changes between them.

Owns: what a power failure may leave of each (simulated_disk.py describes it). Never does: paths, descriptors, faults.
"""

import os
import random
from pathlib import Path

PAGE = 4096
START_MS = 1_700_000_000_000


class SimulatedFile:
    """A file: its content, and the writes since the last sync."""

    __slots__ = ("data", "durable", "journal", "modified_ms")

    def __init__(self, durable: bytes = b"", modified_ms: int = START_MS) -> None:
        self.durable = durable
        self.data = bytearray(durable)
        self.journal: list[tuple[int, bytes | None]] = []
        """The changes since the last sync: (position, bytes written), or (length, None) for a truncation."""
        self.modified_ms = modified_ms

    def note(self, position: int, data: bytes | None) -> None:
        apply_write(self.data, position, data)
        self.journal.append((position, data))

    def sync(self) -> None:
        self.durable = bytes(self.data)
        self.journal.clear()

    def after_power_loss(self, chance: random.Random, luck: "Luck") -> bytes:
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
            apply_write(data, position, written)
        return bytes(data)


def apply_write(data: bytearray, position: int, written: bytes | None) -> None:
    """One entry of a journal; a gap before the written bytes is filled with zeros."""
    if written is None:
        del data[position:]
        data += bytes(position - len(data))
        return
    if position > len(data):
        data += bytes(position - len(data))
    data[position : position + len(written)] = written


class SimulatedDirectory:
    """A directory: its names, and the changes of names since the last sync."""

    __slots__ = ("durable", "journal", "names")

    def __init__(self) -> None:
        self.names: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}
        self.journal: list[tuple[str | None, str | None, Node]] = []
        """Changes since the last sync: (removed name, added name, its file)."""

    def note(self, gone: str | None, come: str | None, node: "Node") -> None:
        _rename(self.names, gone, come, node)
        self.journal.append((gone, come, node))

    def sync(self) -> None:
        self.durable = dict(self.names)
        self.journal.clear()

    def after_power_loss(self, chance: random.Random, luck: "Luck") -> "dict[str, Node]":
        """The names that the directory may have after a power failure."""
        names = dict(self.durable)
        for gone, come, node in self.journal:
            if luck.has_happened(chance):
                _rename(names, gone, come, node)
        return names


Node = SimulatedFile | SimulatedDirectory


def _rename(names: dict[str, Node], gone: str | None, come: str | None, node: Node) -> None:
    if gone is not None and (come is None or names.get(gone) is node):
        names.pop(gone, None)
    if come is not None:
        names[come] = node


class Luck:
    """What one power failure does to unsynced changes: all are lost, all are kept, or each is decided at random."""

    def __init__(self, chance: random.Random) -> None:
        self.kept = chance.choice([0.0, 0.1, 0.5, 0.5, 0.9, 1.0])

    def has_happened(self, chance: random.Random) -> bool:
        return chance.random() < self.kept

    def version(self, chance: random.Random, versions: int) -> int:
        """The number of entries of a journal that have reached the disk."""
        if self.has_happened(chance):
            return versions
        return chance.choice([0, 0, chance.randint(0, versions)]) if self.kept else 0


class SimulatedEntry:
    """An entry of `Files.list` for a simulated file: with the part of os.DirEntry that the code uses."""

    __slots__ = ("_node", "name", "path")

    def __init__(self, directory: Path, name: str, node: Node) -> None:
        self.name = name
        self.path = f"{directory}/{name}"
        self._node = node

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return isinstance(self._node, SimulatedFile)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return isinstance(self._node, SimulatedDirectory)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return _status(self._node)


def _status(node: Node) -> os.stat_result:
    is_file = isinstance(node, SimulatedFile)
    size = len(node.data) if isinstance(node, SimulatedFile) else 0
    seconds = node.modified_ms // 1000 if isinstance(node, SimulatedFile) else 0
    return os.stat_result((0o100644 if is_file else 0o40755, 0, 0, 1, 0, 0, size, seconds, seconds, seconds))
