"""Builds a batch of large records as BatchBuilder does, but compresses them as they are added.

Owns: the compressed section so far. Invariant: besides the record that is being added, at most twice GATHERED_BYTES of
uncompressed records are held. A large value is compressed from the caller's bytes without a copy; a large key is
copied. Pure. Source: Kafka's MemoryRecordsBuilder, which also compresses a stream.
"""

from collections.abc import Sequence

from .builder import BatchBuilder
from .compression import Compressor, compressor
from .record import Record

GATHERED_BYTES = 1 << 20
"""The uncompressed bytes that are collected before they are compressed; also the size from which a value is large."""


class LargeBatchBuilder:
    """Adds records to ``builder``, which must be empty, and compresses them as they come.

    The result has the same bytes as that of the builder, except for zstd: its frame does not contain the content size.
    """

    def __init__(self, builder: BatchBuilder) -> None:
        self._builder = builder
        self._compressor: Compressor | None = None
        self._section = bytearray()

    def append(self, record: Record, parts: Sequence[bytes] | None = None) -> None:
        """Adds a record. ``parts``: its value in parts; None: the value is in the record. Raises ValueError as
        :meth:`BatchBuilder.append` does.
        """
        builder = self._builder
        offset, timestamp, key, value, headers = record
        if parts is None:
            parts = () if value is None else (value,)
        size = sum(map(len, parts))
        if size < GATHERED_BYTES:
            builder.append(timestamp, key, None if value is None else b"".join(parts), headers, offset)
            if builder.size_in_bytes > GATHERED_BYTES:
                self._compress(builder.take_records())
            return
        self._compress(builder.take_records())
        before, after = builder.append_around(timestamp, key, size, headers, offset)
        for part in (before, *parts, after):
            self._compress(part)

    def build(self, last_offset: int) -> bytes:
        """The bytes of the batch; may be called once. ``last_offset`` may be greater than that of the last record.

        Raises ValueError as :meth:`BatchBuilder.build` does.
        """
        if self._compressor is None:
            return self._builder.build(last_offset)
        self._compress(self._builder.take_records())
        self._section += self._compressor.finish()
        return self._builder.build_of(bytes(self._section), last_offset)

    def _compress(self, data: bytes) -> None:
        if self._compressor is None:
            self._compressor = compressor(self._builder.compression_type, self._builder.compression_level)
        self._section += self._compressor.add(data)
