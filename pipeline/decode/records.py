"""Decodes the records of a chunk: CRC, decompression within a limit, walk, Arrow.

Pure. Batches are taken in groups, so that no more than a limit of decompressed bytes is held at a time. Damage comes
out beside the rows. Equal to protocol/records/record.py record by record (a test says so).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from ...protocol.errors import KafkaError
from ...protocol.records.batch import BATCH_HEADER_SIZE, read_header
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_SIZE, compression_type_of, decompress
from ...protocol.records.record import Record, iterate_records
from ..compiled import IS_COMPILED
from .arrow_columns import columns_of_records, columns_of_spans
from .batch_table import BatchTable, Bytes, Flags, Int64s
from .damage import Damage, DamageKind
from .record_walk import FAULTS, Spans, walk_records

GROUP_BYTES = 64 << 20
_LEAST_BASE_OFFSET, _GREATEST_BASE_OFFSET = -(1 << 31), (1 << 63) - 1 - (1 << 31)
_GREATEST_BASE_TIMESTAMP = (1 << 63) - 65


class DecodedRecords(NamedTuple):
    """Records of some batches of a chunk: a record batch of RECORD_SCHEMA, and each row's batch in the chunk."""

    columns: Any
    batches: Int64s


class WalkedRecords(NamedTuple):
    """Spans of records in their payload, before they become columns; `batches` of the spans are the chunk's."""

    payload: Bytes
    spans: Spans


def check_crcs(chunk: BatchTable) -> tuple[Flags, list[Damage]]:
    """Which batches have the right CRC, and the damage of the others."""
    matches = chunk.crc_matches()
    damage = []
    for index in numpy.flatnonzero(~matches).tolist():
        header = read_header(chunk.view, int(chunk.positions[index]))
        position = chunk.file_position + int(chunk.positions[index])
        message = f"the batch at {position} has another CRC-32C than the {header.crc} in its header"
        damage.append(Damage(DamageKind.CRC, position, header.size_in_bytes, header.base_offset, message))
    return matches, damage


def decode_chunk(
    chunk: BatchTable,
    selected: Flags,
    *,
    max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE,
    is_compiled: bool = IS_COMPILED,
) -> Iterator[DecodedRecords | Damage]:
    """The records of the selected batches of a chunk, and the batches whose records can't be decoded."""
    if not is_compiled:
        yield from _decode_without_compiler(chunk, selected, max_decompressed_size)
        return
    types = (chunk.column("attributes") >> 3) & 1
    for item in walk_chunk(chunk, selected, max_decompressed_size=max_decompressed_size):
        if isinstance(item, Damage):
            yield item
        elif len(item.spans.offsets):
            yield DecodedRecords(columns_of_spans(item.payload, item.spans, types), item.spans.batches)


def walk_chunk(
    chunk: BatchTable, selected: Flags, *, max_decompressed_size: int = DEFAULT_MAX_DECOMPRESSED_SIZE
) -> Iterator[WalkedRecords | Damage]:
    """The spans of the records of the selected batches, some batches at a time. Needs numba."""
    base_offsets, base_timestamps = chunk.column("base_offset"), chunk.column("base_timestamp")
    in_range = (
        (base_offsets >= _LEAST_BASE_OFFSET)
        & (base_offsets <= _GREATEST_BASE_OFFSET)
        & (numpy.abs(base_timestamps) <= _GREATEST_BASE_TIMESTAMP)
    )
    chosen = selected & in_range & (chunk.column("records_count") != 0)
    for index in numpy.flatnonzero(selected & ~in_range).tolist():
        yield _damage(chunk, index, "its base offset or timestamp leaves no room for deltas")
    is_compressed = (chunk.column("attributes") & 7) != 0
    plain = numpy.flatnonzero(chosen & ~is_compressed)
    if len(plain):
        starts = chunk.positions[plain] + BATCH_HEADER_SIZE
        yield from _walk_group(chunk, chunk.data, plain, starts, chunk.positions[plain] + chunk.sizes[plain])
    group: list[int] = []
    sections: list[bytes] = []
    for index in numpy.flatnonzero(chosen & is_compressed).tolist():
        section = _decompressed(chunk, index, max_decompressed_size)
        if isinstance(section, Damage):
            yield section
            continue
        group.append(index)
        sections.append(section)
        if sum(map(len, sections)) >= GROUP_BYTES:
            yield from _walk_sections(chunk, group, sections)
            group, sections = [], []
    yield from _walk_sections(chunk, group, sections)


def _walk_sections(chunk: BatchTable, group: list[int], sections: list[bytes]) -> Iterator[WalkedRecords | Damage]:
    """Walks batches that were decompressed."""
    if group:
        ends = numpy.cumsum([len(section) for section in sections], dtype=numpy.int64)
        starts = numpy.concatenate([[0], ends[:-1]]).astype(numpy.int64)
        payload = numpy.frombuffer(b"".join(sections), dtype=numpy.uint8)
        yield from _walk_group(chunk, payload, numpy.array(group, dtype=numpy.int64), starts, ends)


def _walk_group(
    chunk: BatchTable, payload: Bytes, group: Int64s, starts: Int64s, ends: Int64s
) -> Iterator[WalkedRecords | Damage]:
    counts = chunk.column("records_count")[group]
    bases, times = chunk.column("base_offset")[group], chunk.column("base_timestamp")[group]
    spans = walk_records(payload, starts, ends, counts, bases, times)
    for fault in numpy.flatnonzero(spans.faults).tolist():
        yield _damage(chunk, int(group[fault]), FAULTS[int(spans.faults[fault])])
    batches = group[spans.batches]
    is_append_time = ((chunk.column("attributes") >> 3) & 1).astype(bool)[batches]
    timestamps = numpy.where(is_append_time, chunk.column("max_timestamp")[batches], spans.timestamps)
    yield WalkedRecords(payload, spans._replace(batches=batches, timestamps=timestamps))


def _decompressed(chunk: BatchTable, index: int, max_size: int) -> bytes | Damage:
    start = int(chunk.positions[index])
    section = chunk.data[start + BATCH_HEADER_SIZE : start + int(chunk.sizes[index])].tobytes()
    try:
        return decompress(compression_type_of(int(chunk.table["attributes"][index]) & 7), section, max_size)
    except KafkaError as error:
        return _damage(chunk, index, str(error))


def _damage(chunk: BatchTable, index: int, message: str) -> Damage:
    position = chunk.file_position + int(chunk.positions[index])
    offset = int(chunk.table["base_offset"][index])
    text = f"the records of the batch at {position} can't be decoded: {message}"
    return Damage(DamageKind.RECORDS, position, int(chunk.sizes[index]), offset, text)


def _decode_without_compiler(
    chunk: BatchTable, selected: Flags, max_decompressed_size: int
) -> Iterator[DecodedRecords | Damage]:
    """The same by the protocol room's decoder, batch by batch."""
    view = chunk.view
    records: list[Record] = []
    types: list[int] = []
    batches: list[int] = []
    for index in numpy.flatnonzero(selected).tolist():
        position = int(chunk.positions[index])
        header = read_header(view, position)
        try:
            decoded = list(iterate_records(view, header, position, max_decompressed_size=max_decompressed_size))
        except KafkaError as error:
            yield _damage(chunk, index, str(error))
            continue
        records += decoded
        types += [int(header.is_log_append_time)] * len(decoded)
        batches += [index] * len(decoded)
    if records:
        yield DecodedRecords(columns_of_records(records, types), numpy.array(batches, dtype=numpy.int64))
