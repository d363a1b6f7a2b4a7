"""The files `%020d.snapshot`: a partition's producers as they were at an offset.

    file        int16 version (1), uint32 CRC-32C of the rest, int32 number of producers, then the producers
    producer    int64 id, int16 epoch, int32 last sequence, int64 last offset, int32 offset delta, int64 timestamp (ms),
                int32 coordinator epoch, int64 first offset of the open transaction or -1

Owns: the list of snapshots. Never does: deciding when to take one (the log does). Invariant: an incomplete file is
never used. Source: Kafka's ProducerStateManager and its message schema ProducerSnapshot.
"""

from collections.abc import Iterable
from pathlib import Path
from struct import Struct

from odradek.protocol.records.checksum import crc32c

from ..errors import CorruptSnapshotError
from ..files.file_names import SNAPSHOT_SUFFIX, base_offset_of, segment_path
from ..files.files import Files
from .producer_state import BatchMetadata, ProducerEntry, ProducerStateManager

VERSION = 1
CRC_POSITION = 2
ENTRIES_POSITION = 6
HEADER = Struct(">hIi")
ENTRY = Struct(">qhiqiqiq")


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """The file's bytes."""
    packed = []
    for entry in entries:
        last = entry.batches[-1] if entry.batches else BatchMetadata(-1, -1, 0, -1)
        first_offset = entry.transaction_first_offset
        packed.append(
            ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                -1 if first_offset is None else first_offset,
            )
        )
    body = len(packed).to_bytes(4, "big") + b"".join(packed)
    return VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """The producers in a file. Raises CorruptSnapshotError."""
    if len(data) < HEADER.size:
        raise CorruptSnapshotError(f"the snapshot has {len(data)} bytes, at least {HEADER.size} needed")
    version, crc, count = HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptSnapshotError(f"Snapshot contained an unknown file version {version}")
    computed = crc32c(data[ENTRIES_POSITION:])
    if crc != computed:
        raise CorruptSnapshotError(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc: {computed}"
        )
    if count < 0 or HEADER.size + count * ENTRY.size != len(data):
        raise CorruptSnapshotError(
            f"the snapshot says that it has {count} producers, but its size is {len(data)} bytes"
        )
    entries = []
    for fields in ENTRY.iter_unpack(data[HEADER.size :]):
        producer_id, epoch, sequence, last_offset, delta, timestamp, coordinator_epoch, first_offset = fields
        batches = [BatchMetadata(sequence, last_offset, delta, timestamp)] if last_offset >= 0 else []
        open_from = first_offset if first_offset >= 0 else None
        entries.append(ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp, open_from, batches))
    return entries


class ProducerSnapshots:
    """The snapshot files of one partition, by offset."""

    __slots__ = ("_directory", "_files", "_offsets")

    def __init__(self, directory: Path, files: Files, names: Iterable[str]) -> None:
        """`names`: the names of the directory's files."""
        self._directory = directory
        self._files = files
        self._offsets = sorted(
            offset for name in names if name.endswith(SNAPSHOT_SUFFIX) and (offset := base_offset_of(name)) is not None
        )

    @property
    def offsets(self) -> list[int]:
        """The offsets of the snapshots, rising."""
        return list(self._offsets)

    @property
    def latest_offset(self) -> int | None:
        """The offset of the newest snapshot."""
        return self._offsets[-1] if self._offsets else None

    def path(self, offset: int) -> Path:
        """The file of the snapshot at an offset."""
        return segment_path(self._directory, offset, SNAPSHOT_SUFFIX)

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        self._directory = directory

    def take(self, state: ProducerStateManager) -> Path | None:
        """Writes a snapshot of the producers at the state's end offset, without a sync.

        Returns its path, or None if the newest snapshot has that offset already. Raises OSError.
        """
        offset = state.map_end_offset
        if offset <= (self._offsets[-1] if self._offsets else 0):
            return None
        self.write(offset, state.producers.values(), sync=False)
        return self.path(offset)

    def write(self, offset: int, entries: Iterable[ProducerEntry], *, sync: bool) -> None:
        """Writes a snapshot. Raises OSError."""
        self._files.write_file(self.path(offset), encode_snapshot(entries), sync=sync)
        if offset not in self._offsets:
            self._offsets = sorted([*self._offsets, offset])

    def read(self, offset: int) -> list[ProducerEntry]:
        """The producers of a snapshot. Raises CorruptSnapshotError, OSError."""
        return decode_snapshot(self._files.read_file(self.path(offset)))

    def forget(self, offset: int) -> bool:
        """Removes a snapshot from the list, but not its file. Returns whether it was in the list."""
        if offset not in self._offsets:
            return False
        self._offsets.remove(offset)
        return True

    def remove(self, offset: int) -> None:
        """Removes a snapshot and its file."""
        if self.forget(offset):
            self._files.remove(self.path(offset))

    def remove_strays(self, base_offsets: Iterable[int]) -> None:
        """Removes the snapshots at offsets where no segment begins, such as those of removed segments.

        Keeps the last one if it is after the last segment's start: a clean stop wrote it.
        """
        bases = set(base_offsets)
        last_base = max(bases, default=0)
        strays = [offset for offset in self._offsets if offset not in bases]
        for offset in strays:
            if offset != strays[-1] or offset < last_base:
                self.remove(offset)
