"""Reads a segment's file in chunks of whole batches. Skips damage if the offset index names a later batch.

Owns: the open file while it is read. Memory: one chunk, or one batch if that is larger. Damaged bytes, and bytes that
the system refuses to read, are returned as Damage between the chunks. Reading continues at the next batch in the index.
Messages of format 0 and 1 are returned as batches (legacy_table.py). Never writes. Invariant: every batch is in exactly
one chunk.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct

from odradek.protocol.records.batch import BATCH_HEADER_SIZE, LOG_OVERHEAD, MAGIC, batch_size
from odradek.protocol.records.errors import CorruptRecordError
from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import RangeReader, is_unreadable, open_ranges
from .batch_hop import ScanEnd
from .batch_table import BatchTable
from .damage import Damage, DamageKind
from .legacy_table import first_message_size, read_messages

DEFAULT_CHUNK_BYTES = 4 << 20
MOST_BATCH_BYTES = 64 << 20
"""The maximum size of a batch, which is read whole. A larger one is Damage. Kafka's default of message.max.bytes is
1 MiB."""
_ZEROS_AT_ONCE = 1 << 20
_SECTOR_BYTES = 4096
"""A failed read is repeated with half the size, down to this one, so that a bad sector makes few batches unreadable."""
_FRONT = Struct(">qiib")
_KINDS = {
    ScanEnd.INCOMPLETE: DamageKind.INCOMPLETE,
    ScanEnd.BAD_LENGTH: DamageKind.LENGTH,
    ScanEnd.BAD_MAGIC: DamageKind.MAGIC,
}


def read_chunks(
    path: Path,
    *,
    start: int = 0,
    end: int | None = None,
    batch_positions: Sequence[int] = (),
    chunk_bytes: int = DEFAULT_CHUNK_BYTES,
    inode: int = 0,
) -> Iterator[BatchTable | Damage]:
    """Yields the batches of `path` from `start` (a batch's first byte) to `end` in chunks, and the damage between them.

    `batch_positions`: batch starts from the offset index. After a batch with an impossible length, or bytes that can't
    be read, reading continues at the next of them, or ends if there is none. Raises FileNotFoundError and other errors
    for which `is_gone` is true if the file is gone, or if its inode is not `inode` (0: any). Raises OSError for errors
    that do not concern this file.
    """
    try:
        with open_ranges(path, inode) as file:
            limit = file.size if end is None else min(end, file.size)
            yield from _ChunkReader(path, file, limit, batch_positions, chunk_bytes).chunks(start)
    except OSError as error:
        if not is_unreadable(error, path):
            raise
        yield Damage(DamageKind.UNREADABLE, start, max((end or 0) - start, 0), -1, fault_text(error))


class _ChunkReader:
    """Reads an open file in chunks. `wanted`: the size of the next read."""

    def __init__(self, path: Path, file: RangeReader, limit: int, positions: Sequence[int], chunk_bytes: int) -> None:
        self.path = path
        self.file = file
        self.limit = limit
        self.positions = positions
        self.chunk_bytes = self.wanted = chunk_bytes
        self.is_shrunk = self.is_one_batch = False

    def chunks(self, position: int) -> Iterator[BatchTable | Damage]:
        """Yields the chunks and the damage from `position` on. Raises OSError as read_chunks does."""
        while position < self.limit:
            data = self._read(position)
            if data is None:
                continue  # reads again, with a smaller size
            if isinstance(data, Damage):
                yield data
                position += data.size
                continue
            if not data:
                return
            size = first_message_size(data)
            if size is not None and size <= len(data):
                for item in read_messages(data, position):
                    yield item
                    position = (
                        item.position + item.size if isinstance(item, Damage) else item.file_position + item.stopped_at
                    )
                self._reset()
                continue
            chunk = BatchTable(data, position)
            if len(chunk):
                yield chunk
                position += chunk.stopped_at
                self.is_one_batch = False
                if not self.is_shrunk:
                    self.wanted = self.chunk_bytes
                continue
            damage = self._damage(chunk, data, position)
            if damage is not None:
                yield damage
                position += damage.size
                self._reset()

    def _reset(self) -> None:
        self.wanted = self.chunk_bytes
        self.is_shrunk = self.is_one_batch = False

    def _read(self, position: int) -> bytes | Damage | None:
        """Returns the next bytes, None to retry with a smaller read, or damage if the system refuses to read."""
        try:
            return self.file.read(position, min(self.wanted, self.limit - position))
        except OSError as error:
            if not is_unreadable(error, self.path):
                raise
            if not self.is_one_batch and self.wanted > _SECTOR_BYTES:
                self.wanted = max(self.wanted // 2, _SECTOR_BYTES)
                self.is_shrunk = True
                return None
            self._reset()
            size = self._next_batch(position) - position
            return Damage(DamageKind.UNREADABLE, position, size, -1, fault_text(error))

    def _damage(self, chunk: BatchTable, data: bytes, position: int) -> Damage | None:
        """The damage if the bytes are not a whole batch; None if they begin a batch that is larger than the read."""
        size = _claimed_size(data)
        left = self.limit - position
        is_legacy = first_message_size(data) is not None
        end = ScanEnd.INCOMPLETE if is_legacy else chunk.end
        if end is ScanEnd.INCOMPLETE and size <= left and len(data) < left:
            if size <= MOST_BATCH_BYTES:
                self.wanted = max(size, self.wanted + BATCH_HEADER_SIZE)
                self.is_one_batch = True
                return None
            base_offset = _FRONT.unpack_from(data)[0]
            message = f"the batch at {position} has {size} bytes, more than the limit of {MOST_BATCH_BYTES}"
            return Damage(DamageKind.TOO_LARGE, position, size, base_offset, message)
        if not any(data[:BATCH_HEADER_SIZE]) and self._is_zero(position):
            return Damage(DamageKind.ZEROS, position, left, -1, f"the last {left} bytes, from {position} on, are zeros")
        return _damage(end, data, position, self._next_batch(position) - position, size)

    def _is_zero(self, position: int) -> bool:
        """True if the file has only zeros from the position on."""
        while position < self.limit:
            try:
                data = self.file.read(position, min(_ZEROS_AT_ONCE, self.limit - position))
            except OSError:
                return False  # the next read reports the error
            if data.count(0) != len(data) or not data:
                return False
            position += len(data)
        return True

    def _next_batch(self, position: int) -> int:
        """The position of the next batch in the index that has a plausible header; the end if there is none."""
        for candidate in self.positions[bisect_right(self.positions, position) :]:
            if candidate >= self.limit:
                break
            try:
                front = self.file.read(candidate, _SECTOR_BYTES)[: _FRONT.size]
            except OSError:
                continue  # this candidate can't be read either
            if len(front) < _FRONT.size:
                break
            try:
                size = batch_size(front)
            except CorruptRecordError:
                continue
            if size is not None and size <= self.limit - candidate and _FRONT.unpack(front)[0] >= 0:
                return candidate
        return self.limit


def _claimed_size(data: bytes) -> int:
    """The size in the first batch's header; the size of a header if the header is incomplete."""
    if len(data) < _FRONT.size:
        return BATCH_HEADER_SIZE
    return int(_FRONT.unpack_from(data)[1]) + LOG_OVERHEAD


def _damage(end: ScanEnd, data: bytes, position: int, lost: int, size: int) -> Damage:
    kind = _KINDS[end]
    base_offset = _FRONT.unpack_from(data)[0] if len(data) >= _FRONT.size else -1
    if kind is DamageKind.MAGIC:
        message = f"expected magic {MAGIC} at {position + 16}, found {data[16]}"
    elif kind is DamageKind.LENGTH:
        message = f"the length field of the batch at {position} says {size} bytes"
    else:
        message = f"the batch at {position} has {size} bytes, only {len(data)} are left"
    return Damage(kind, position, lost, base_offset, message)
