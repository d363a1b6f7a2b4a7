"""Messages of format 0 and 1, as Kafka before 0.11 wrote them, from records: for tests of what reads them."""

from collections.abc import Sequence

from odradek.protocol.records.compression import CompressionType, compress
from odradek.protocol.records.legacy import encode_message
from odradek.protocol.records.lz4_codec import Lz4CompressorOfFormat0
from odradek.protocol.records.record import Record

LEGACY_CODECS = (CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4)


def messages(
    magic: int,
    records: Sequence[Record],
    codec: CompressionType = CompressionType.NONE,
    append_time: int | None = None,
) -> bytes:
    """One message for each record, or with a codec a wrapper of all of them. `append_time`: of format 1."""
    flag = 0 if append_time is None else 0x08
    if codec is CompressionType.NONE:
        return b"".join(
            encode_message(
                magic, flag, record.offset, record.timestamp if append_time is None else append_time, *record[2:4]
            )
            for record in records
        )
    first = records[0].offset if magic else 0
    inner = b"".join(
        encode_message(magic, 0, record.offset - first, record.timestamp, record.key, record.value)
        for record in records
    )
    newest = max(record.timestamp for record in records) if append_time is None else append_time
    return encode_message(magic, codec | flag, records[-1].offset, newest, None, _compressed(magic, codec, inner))


def as_read(magic: int, records: Sequence[Record], append_time: int | None = None) -> list[Record]:
    """The records that a reader of :func:`messages` sees: without headers, in format 0 without timestamps."""
    return [
        record._replace(
            timestamp=-1 if not magic else record.timestamp if append_time is None else append_time, headers=[]
        )
        for record in records
    ]


def _compressed(magic: int, codec: CompressionType, inner: bytes) -> bytes:
    if codec is CompressionType.LZ4 and magic == 0:
        compressor = Lz4CompressorOfFormat0()
        return compressor.add(inner) + compressor.finish()
    return compress(codec, inner)
