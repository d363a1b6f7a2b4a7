"""Reads a segment's file in chunks of whole batches, past damage where the offset index shows a way.

Owns: the open file while it is read. Memory: one chunk, or one batch where that is larger. Damage comes out as a value
in its place. Never writes. Invariant: every batch is in exactly one chunk.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct

from ...protocol.records.batch import BATCH_HEADER_SIZE, LOG_OVERHEAD, MAGIC
from ..file_access import RangeReader, open_ranges
from .batch_hop import ScanEnd
from .batch_table import BatchTable
from .damage import Damage, DamageKind

DEFAULT_CHUNK_BYTES = 4 << 20
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
) -> Iterator[BatchTable | Damage]:
    """The batches of `path` from byte `start` (a batch's) up to `end`, in chunks; damage in between.

    `batch_positions` are where the offset index says that batches begin: behind a batch whose length can't be believed,
    reading goes on at the next of them, else it ends. Raises OSError.
    """
    with open_ranges(path) as file:
        limit = file.size if end is None else min(end, file.size)
        position = start
        wanted = chunk_bytes
        while position < limit:
            data = file.read(position, min(wanted, limit - position))
            if not data:
                return
            chunk = BatchTable(data, position)
            if len(chunk):
                yield chunk
                position += chunk.stopped_at
                wanted = chunk_bytes
                continue
            size = _claimed_size(data)
            if chunk.end is ScanEnd.INCOMPLETE and size <= limit - position and len(data) < limit - position:
                wanted = max(size, wanted + BATCH_HEADER_SIZE)  # a batch larger than a chunk
                continue
            following = _next_batch(file, position, limit, batch_positions)
            yield _damage(chunk.end, data, position, following - position, size)
            position = following
            wanted = chunk_bytes


def _claimed_size(data: bytes) -> int:
    """The size that the first batch says it has; a header's where not even that is there."""
    if len(data) < _FRONT.size:
        return BATCH_HEADER_SIZE
    return int(_FRONT.unpack_from(data)[1]) + LOG_OVERHEAD


def _next_batch(file: RangeReader, position: int, limit: int, batch_positions: Sequence[int]) -> int:
    """Where the index says that a later batch begins, if one does; else the end."""
    for candidate in batch_positions[bisect_right(batch_positions, position) :]:
        if candidate >= limit:
            break
        front = file.read(candidate, _FRONT.size)
        if len(front) < _FRONT.size:
            break
        base_offset, length, _, magic = _FRONT.unpack(front)
        if magic == MAGIC and base_offset >= 0 and LOG_OVERHEAD + length <= limit - candidate and length >= 49:
            return candidate
    return limit


def _damage(end: ScanEnd, data: bytes, position: int, lost: int, size: int) -> Damage:
    kind = _KINDS[end]
    base_offset = _FRONT.unpack_from(data)[0] if len(data) >= _FRONT.size else -1
    if kind is DamageKind.MAGIC:
        message = f"byte {MAGIC} was expected as magic at {position + 16}, found {data[16]}"
    elif kind is DamageKind.LENGTH:
        message = f"the batch at {position} claims {size} bytes"
    else:
        message = f"the batch at {position} claims {size} bytes, {len(data)} are left"
    return Damage(kind, position, lost, base_offset, message)
