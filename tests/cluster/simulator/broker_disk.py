"""The disk of one log directory of a simulated broker: it can fill up, and it can fail.

Owns: the free space, and whether every operation fails. Never does: choosing a fault. Invariants: bytes within the
blocks of a file need no space; a removed or truncated file releases its blocks. :class:`ReservedFiles` is the broker's
own class, so its reserve, its rules for client records and the watch of free space are under test.
"""

import errno
import os
import random
from collections.abc import Sequence
from pathlib import Path

from odradek.storage.files.disk_reserve import RESERVE_FILE, ReservedFiles
from odradek.storage.files.files import EXISTING, Buffer
from support.disks.simulated_disk import SimulatedDisk
from support.disks.simulated_nodes import START_MS, SimulatedFile

TOTAL_BYTES = 16 << 20
"""The size of the file system: its reserve is 512 KiB, and clients' records are refused below 1 MiB."""


class LimitedDisk(SimulatedDisk):
    """A disk in memory with a limit. ``room``: free bytes, None without a limit. ``is_broken``: every operation that
    reaches the device fails with EIO. ``sync_error``: the errno with which each sync fails, 0 for none.
    """

    def __init__(self, root: Path, now_ms: int = START_MS) -> None:
        super().__init__(root, now_ms)
        self.room: int | None = None
        self.is_broken = False
        self.sync_error = 0
        self._blocks: dict[SimulatedFile, int] = {}
        """The bytes of each file's blocks, for files that were used since the disk filled up."""

    # Faults ------------------------------------------------------------------

    def fill_up(self, room: int) -> None:
        """Leaves ``room`` bytes free."""
        self.room = room

    def empty(self) -> None:
        """Removes the limit."""
        self.room = None
        self._blocks.clear()

    def survivors(self, root: Path, chance: random.Random, *, has_power: bool) -> "LimitedDisk":
        """As :meth:`SimulatedDisk.survivors`. The new disk has the same free space and faults."""
        disk = super().survivors(root, chance, has_power=has_power)
        assert isinstance(disk, LimitedDisk)
        disk.room, disk.is_broken, disk.sync_error = self.room, self.is_broken, self.sync_error
        return disk

    def _check_works(self, what: str) -> None:
        if self.is_broken:
            raise OSError(errno.EIO, os.strerror(errno.EIO), what)

    def _write_point(self, what: str) -> None:
        super()._write_point(what)
        self._check_works(what)

    # Free space --------------------------------------------------------------

    def _take(self, file: SimulatedFile, end: int) -> int:
        """Allocates blocks up to the position ``end``, as far as space allows; returns the position that they reach."""
        if self.room is None:
            return end
        held = self._blocks.setdefault(file, len(file.data))
        taken = min(max(0, end - held), self.room)
        self.room -= taken
        self._blocks[file] = held + taken
        return held + taken

    def _give_back(self, file: SimulatedFile, end: int) -> None:
        """Releases the blocks after ``end``."""
        if self.room is not None:
            held = self._blocks.setdefault(file, len(file.data))
            self.room += max(0, held - end)
            self._blocks[file] = min(held, end)

    def _need_room(self, what: object) -> None:
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(what))

    def space(self, path: Path) -> tuple[int, int]:
        self._check_works(f"space of {path}")
        return TOTAL_BYTES if self.room is None else self.room, TOTAL_BYTES

    # Files -------------------------------------------------------------------

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self._check_works(f"open {path}")
        is_new = not self.exists(path)
        if is_new and flags & os.O_CREAT:
            self._need_room(path)
        elif flags & os.O_TRUNC:
            self._give_back(self._file(path), 0)
        descriptor = super().open(path, flags)
        if is_new and self.room is not None:
            self._blocks[self._open[descriptor]] = 0
        return descriptor

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        data = b"".join(bytes(part) for part in parts)
        reached = self._take(self._open[descriptor], position + len(data))
        if data and reached <= position:
            self._need_room(f"write {len(data)} bytes")
        return super().write(descriptor, [data[: reached - position]], position)

    def truncate(self, descriptor: int, size: int) -> None:
        file = self._open[descriptor]
        if self.room is not None:
            self._blocks.setdefault(file, len(file.data))  # bytes that are added now have no blocks
        super().truncate(descriptor, size)
        self._give_back(file, size)

    def allocate(self, descriptor: int, size: int) -> None:
        file = self._open[descriptor]
        if self._take(file, size) < size:
            self._need_room(f"allocate {size} bytes")
        if size > len(file.data):
            super().truncate(descriptor, size)

    def read(self, descriptor: int, size: int, position: int) -> bytes:
        self._check_works("read")
        return super().read(descriptor, size, position)

    def sync(self, descriptor: int) -> None:
        if self.sync_error:
            raise OSError(self.sync_error, os.strerror(self.sync_error), "sync")
        super().sync(descriptor)

    # Names -------------------------------------------------------------------

    def remove(self, path: Path) -> None:
        node = self._find(path)
        super().remove(path)
        if isinstance(node, SimulatedFile):
            self._give_back(node, 0)

    def rename(self, source: Path, target: Path) -> None:
        replaced = self._find(target)
        super().rename(source, target)
        if isinstance(replaced, SimulatedFile):
            self._give_back(replaced, 0)

    def make_directory(self, path: Path) -> None:
        if not self.exists(path):
            self._need_room(path)
        super().make_directory(path)

    def list(self, path: Path) -> "list[os.DirEntry[str]]":
        self._check_works(f"list {path}")
        return super().list(path)


class BrokerDisk(ReservedFiles, LimitedDisk):
    """A limited disk with the broker's disk reserve."""

    def __init__(self, root: Path, now_ms: int = START_MS) -> None:
        LimitedDisk.__init__(self, root, now_ms)
        ReservedFiles.__init__(self, root)

    def use_up_reserve(self) -> None:
        """Empties the reserve."""
        if self.exists(self.root / RESERVE_FILE):
            self.put(self.root / RESERVE_FILE, b"")

    def names(self) -> list[str]:
        """The names in the directory, even if the disk has failed."""
        return list(self._tree.names)
