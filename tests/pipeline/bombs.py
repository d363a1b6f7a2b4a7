"""Small batches that contain or declare more bytes than a job should hold in memory."""

import struct
from collections.abc import Callable

import numpy

from odradek.protocol.records.batch import ATTRIBUTES_POSITION, CRC_POSITION
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.checksum import crc32c
from odradek.protocol.records.compression import CompressionType, compress
from odradek.protocol.records.varint import encode_varlong

BATCH_SIZE_FIELD, RECORDS_COUNT_POSITION, LAST_DELTA_POSITION = 8, 57, 23


def batch_of(records: bytes, count: int, codec: CompressionType, *, base_offset: int = 0, claimed: int = -1) -> bytes:
    """A batch with these bytes as compressed records section. `claimed`: the record count in its header."""
    builder = BatchBuilder()
    builder.append(1, b"k", b"v")
    header = bytearray(builder.build()[:61])
    section = compress(codec, records)
    struct.pack_into(">q", header, 0, base_offset)
    struct.pack_into(">i", header, BATCH_SIZE_FIELD, 49 + len(section))
    struct.pack_into(">h", header, ATTRIBUTES_POSITION, int(codec))
    struct.pack_into(">i", header, LAST_DELTA_POSITION, max(count - 1, 0))
    struct.pack_into(">qq", header, 27, 1, 1)
    struct.pack_into(">i", header, RECORDS_COUNT_POSITION, count if claimed < 0 else claimed)
    batch = header + section
    struct.pack_into(">I", batch, CRC_POSITION, crc32c(bytes(batch[ATTRIBUTES_POSITION:])))
    return bytes(batch)


def record(delta: int, key: bytes, value: bytes) -> bytes:
    """One record with this offset delta."""
    body = b"\0\0" + encode_varlong(delta)
    body += encode_varlong(len(key)) + key + encode_varlong(len(value)) + value + b"\0"
    return encode_varlong(len(body)) + body


def tiny_records(codec: CompressionType, base_offset: int, count: int = 4_000_000) -> bytes:
    """Records of eleven bytes."""
    deltas = 2 * numpy.arange(count)  # zigzag
    rows = numpy.zeros((count, 11), numpy.uint8)
    rows[:, 0] = 20  # the record's length: 10
    for place in range(4):
        rows[:, 3 + place] = ((deltas >> (7 * place)) & 0x7F) | (0x80 if place < 3 else 0)
    rows[:, 7], rows[:, 8] = 2, ord("k")
    return batch_of(rows.tobytes(), count, codec, base_offset=base_offset)


def large_values(codec: CompressionType, base_offset: int) -> bytes:
    """A hundred records of a megabyte of zeros: 100 MB."""
    return batch_of(b"".join(record(n, b"k", bytes(1 << 20)) for n in range(100)), 100, codec, base_offset=base_offset)


def one_record(codec: CompressionType, base_offset: int) -> bytes:
    """One record of 120 MB."""
    return batch_of(record(0, b"k", bytes(120 << 20)), 1, codec, base_offset=base_offset)


def one_record_and_a_replaced_one(codec: CompressionType, base_offset: int) -> bytes:
    """One record of 120 MB between two of another key, so that a compaction rebuilds the batch."""
    records = record(0, b"x", b"old"), record(1, b"k", bytes(120 << 20)), record(2, b"x", b"new")
    return batch_of(b"".join(records), 3, codec, base_offset=base_offset)


def zeros_without_end(codec: CompressionType, base_offset: int) -> bytes:
    """Zeros that are not records: 400 MB."""
    return batch_of(bytes(400 << 20), 1_000_000, codec, base_offset=base_offset)


def a_lying_count(codec: CompressionType, base_offset: int) -> bytes:
    """One record in a batch whose header says two billion."""
    return batch_of(record(0, b"k", b"v"), 1, codec, base_offset=base_offset, claimed=(1 << 31) - 1)


BOMBS: dict[str, Callable[[CompressionType, int], bytes]] = {
    bomb.__name__: bomb for bomb in (tiny_records, large_values, one_record, zeros_without_end, a_lying_count)
}
