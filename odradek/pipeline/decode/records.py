"""Decodes the records of a chunk: decompresses them within a limit, finds their fields, builds Arrow columns.

Pure. Decodes compressed batches in groups and large ones in parts, which bounds memory. Rows keep the log's order;
damage is returned separately. Returns the same records as protocol/records/record.py, with numba or only with numpy
(tests compare them). Imports Arrow only to build columns: an audit needs only spans.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import BATCH_HEADER_SIZE
from odradek.protocol.records.compression import (
    DEFAULT_MAX_DECOMPRESSED_SIZE,
    CompressionType,
    compression_type_of,
    decompress,
)
from odradek.protocol.records.errors import RecordTooLargeError

from ..engine.compiled import IS_COMPILED
from . import record_walk, vector_walk
from .batch_table import BatchTable
from .damage import Damage, DamageKind
from .large_batches import USUAL_SIZES, DecodeSizes, damage_of, walk_large
from .lz4_sections import SectionBuffer, bytes_needed
from .spans import FAULTS, RECORD_COLUMNS, Bytes, Flags, Int64s, Sections, WalkedRecords

with lazy_imports:
    from . import arrow_columns

_LEAST_BASE_OFFSET, _GREATEST_BASE_OFFSET = -(1 << 31), (1 << 63) - 1 - (1 << 31)


class DecodedRecords(NamedTuple):
    """Records of some batches of a chunk: their columns as a record batch, and each row's batch in the chunk."""

    columns: Any
    batches: Int64s


def decode_chunk(
    chunk: BatchTable,
    selected: Flags,
    *,
    columns: Sequence[str] = RECORD_COLUMNS,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
    sizes: DecodeSizes = USUAL_SIZES,
    is_compiled: bool = IS_COMPILED,
) -> Iterator[DecodedRecords | Damage]:
    """Yields the records of the selected batches of a chunk, and the damage of batches that can't be decoded.

    `columns`: names in RECORD_COLUMNS and BATCH_COLUMNS. Only these are built.
    """
    walked = walk_chunk(
        chunk, selected, max_decompressed_size=max_decompressed_size, sizes=sizes, is_compiled=is_compiled
    )
    for item in walked:
        if isinstance(item, Damage):
            yield item
        elif len(item.spans.offsets):
            yield DecodedRecords(
                arrow_columns.columns_of(chunk, item, columns, is_compiled=is_compiled), item.spans.batches
            )


def walk_chunk(
    chunk: BatchTable,
    selected: Flags,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
    sizes: DecodeSizes = USUAL_SIZES,
    is_compiled: bool = IS_COMPILED,
) -> Iterator[WalkedRecords | Damage]:
    """Yields the spans of the selected batches' records, some batches at a time, in the log's order.

    A payload is valid until the next item is requested: the next group reuses its memory. A large
    batch (`sizes`) comes in several parts.
    """
    base_offsets = chunk.column("base_offset")
    in_range = (base_offsets >= _LEAST_BASE_OFFSET) & (base_offsets <= _GREATEST_BASE_OFFSET)
    is_full = chunk.column("records_count") != 0
    chosen = selected & is_full & in_range
    for index in numpy.flatnonzero(selected & is_full & ~in_range).tolist():
        yield damage_of(chunk, index, DamageKind.RECORDS, "its base offset is too high")
    group = numpy.flatnonzero(chosen)
    if not (chunk.column("attributes")[group] & 7).any() and not _is_one_large(chunk, sizes):
        if len(group):
            starts = chunk.positions[group] + BATCH_HEADER_SIZE
            ends = chunk.positions[group] + chunk.sizes[group]
            yield from _walk_group(chunk, chunk.data, group, starts, ends, 0, is_compiled=is_compiled)
        return
    for item in _unpacked(chunk, group, max_decompressed_size, sizes):
        if isinstance(item, Damage):
            yield item
        elif isinstance(item, int):
            yield from walk_large(chunk, item, max_decompressed_size, sizes, is_compiled=is_compiled)
        else:
            group, bounds = numpy.array(item[0]), item[1].bounds()
            starts, ends = bounds[:-1], bounds[1:]
            is_packed = (chunk.column("attributes")[group] & 7) != 0
            unpacked_size = int((ends - starts)[is_packed].sum())
            payload = item[1].payload[: bounds[-1]]
            yield from _walk_group(chunk, payload, group, starts, ends, unpacked_size, is_compiled=is_compiled)


def _is_one_large(chunk: BatchTable, sizes: DecodeSizes) -> bool:
    """True if the chunk is one batch that is walked in parts. A batch that is larger than a chunk is always alone."""
    return len(chunk) == 1 and int(chunk.sizes[0]) > sizes.large_batch


def _unpacked(
    chunk: BatchTable, chosen: Int64s, max_size: int, sizes: DecodeSizes
) -> Iterator[tuple[list[int], SectionBuffer] | Damage | int]:
    """Yields groups of batches with their sections, damage of batches that can't be decompressed, and large batches.

    LZ4 frames are unpacked in place, because copies would take a third of the time. Sections that are not
    compressed are copied, so that alternating batches of both kinds form one group.
    """
    batches: list[int] = []
    buffer = SectionBuffer(sizes.group)
    most = min(max_size, sizes.large_batch)
    starts = (chunk.positions[chosen] + BATCH_HEADER_SIZE).tolist()
    ends = (chunk.positions[chosen] + chunk.sizes[chosen]).tolist()
    codecs = (chunk.column("attributes")[chosen] & 7).tolist()
    for index, start, end, codec in zip(chosen.tolist(), starts, ends, codecs, strict=True):
        section: memoryview | bytes | Damage | None
        size = bytes_needed(chunk.view, start, end, most) if codec == CompressionType.LZ4 else -1
        try:
            if codec == CompressionType.NONE:
                section = chunk.view[start:end] if end - start <= most else None
            else:
                section = _decompressed(chunk, index, start, end, most) if size < 0 else None
            if isinstance(section, memoryview | bytes):
                size = len(section)
            is_large = section is None and size < 0
            if not is_large and not buffer.has_room(size):
                if batches:
                    yield batches, buffer
                batches = []
                buffer.empty(size)
            if section is None and not is_large and not buffer.unpack(chunk.view, start):
                section = _decompressed(chunk, index, start, end, most)  # returns the damage
        except RecordTooLargeError:
            is_large = True
        if is_large:
            if batches:
                yield batches, buffer
            batches = []
            buffer.empty(0)
            yield index
            continue
        if isinstance(section, Damage):
            yield section
            continue
        if section is not None:
            buffer.add(section)
        batches.append(index)
    if batches:
        yield batches, buffer


def _walk_group(
    chunk: BatchTable,
    payload: Bytes,
    group: Int64s,
    starts: Int64s,
    ends: Int64s,
    unpacked_size: int,
    *,
    is_compiled: bool,
) -> Iterator[WalkedRecords | Damage]:
    headers = (chunk.column(name)[group] for name in ("records_count", "base_offset", "base_timestamp"))
    walk_records = record_walk.walk_records if is_compiled else vector_walk.walk_records
    spans = walk_records(payload, Sections(starts, ends, *headers))
    for fault in numpy.flatnonzero(spans.faults).tolist():
        yield damage_of(chunk, int(group[fault]), DamageKind.RECORDS, FAULTS[int(spans.faults[fault])])
    batches = spans.batches if len(group) == len(chunk) else group[spans.batches]
    timestamps = spans.timestamps
    is_append_time = (chunk.column("attributes") & 8) != 0
    if is_append_time.any():
        append_times = chunk.column("max_timestamp")[batches]
        timestamps = numpy.where(is_append_time[batches], append_times, timestamps)
    yield WalkedRecords(payload, spans._replace(batches=batches, timestamps=timestamps), unpacked_size)


def _decompressed(chunk: BatchTable, index: int, start: int, end: int, most: int) -> bytes | Damage:
    """The decompressed section. Raises RecordTooLargeError if it has more than `most` bytes."""
    section = bytes(chunk.view[start:end])
    try:
        return decompress(compression_type_of(int(chunk.table["attributes"][index]) & 7), section, most)
    except RecordTooLargeError:
        raise
    except KafkaError as error:
        return damage_of(chunk, index, DamageKind.RECORDS, str(error))
