"""Reads messages of format 0 and 1 (Kafka before 0.11) as a table of batches, so that all later code sees batches.

Pure. Each message, or wrapper with its messages, becomes one batch of format 2 in memory; the table also has its place
and size in the file, its magic and its CRC. A message with a wrong CRC, or with malformed records, is damage. Cost:
15 us a message, 5 us a record. Source: protocol/records/up_conversion.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import MAGIC, MAGIC_POSITION, BatchHeader, batch_size, crc_of, read_header
from odradek.protocol.records.errors import CorruptRecordError, RecordTooLargeError
from odradek.protocol.records.up_conversion import up_convert

from .batch_table import BatchTable
from .damage import Damage, DamageKind
from .spans import Flags, Int64s


class _Message(NamedTuple):
    """A message in the file, and the batch that stands for it."""

    place: int
    header: BatchHeader
    batch: bytes


class LegacyTable(BatchTable):
    """Adjacent messages as batches: `positions` are those in `data`, `places` those in the file."""

    __slots__ = ("_disk_sizes", "_messages", "_places")

    def __init__(self, messages: list[_Message]) -> None:
        super().__init__(b"".join(message.batch for message in messages))
        self._messages = messages
        self.file_position = messages[0].place
        self._places: Int64s = numpy.array([message.place for message in messages], dtype=numpy.int64)
        sizes = [message.header.size_in_bytes for message in messages]
        self._disk_sizes: Int64s = numpy.array(sizes, dtype=numpy.int64)
        self.table["magic"] = [message.header.magic for message in messages]
        self.table["crc"] = [message.header.crc for message in messages]
        self.stopped_at = int(self._places[-1] + self._disk_sizes[-1]) - self.file_position

    @property
    def places(self) -> Int64s:
        """The position of each message in the file."""
        return self._places

    @property
    def disk_sizes(self) -> Int64s:
        """The size of each message in the file."""
        return self._disk_sizes

    @property
    def wrapper_offsets(self) -> Int64s:
        """The offset that each message has in the file: of a wrapper that of its last message, if it is right."""
        return numpy.array([message.header.base_offset for message in self._messages], dtype=numpy.int64)

    def crc_matches(self) -> Flags:
        """True for each: messages with a wrong CRC are damage."""
        return numpy.ones(len(self), numpy.bool_)

    def from_batch(self, index: int) -> BatchTable:
        """The table without the messages before this one."""
        return LegacyTable(self._messages[index:])


def first_message_size(data: bytes | memoryview) -> int | None:
    """The size of the message of format 0 or 1 at the start of `data`; None if there is none."""
    if len(data) <= MAGIC_POSITION or data[MAGIC_POSITION] >= MAGIC:
        return None
    try:
        return batch_size(data)
    except CorruptRecordError:
        return None  # zeros, for example


def read_messages(data: bytes | memoryview, position: int) -> Iterator[LegacyTable | Damage]:
    """Yields the whole messages at the start of `data`, which lies at `position` in the file, and the damage between
    them.
    """
    messages: list[_Message] = []
    start = 0
    view = memoryview(data)
    while (size := first_message_size(view[start:])) is not None and start + size <= len(view):
        header = read_header(view, start)
        found = _read(view, start, position + start, header)
        if isinstance(found, _Message):
            messages.append(found)
        else:
            if messages:
                yield LegacyTable(messages)
                messages = []
            yield found
        start += size
    if messages:
        yield LegacyTable(messages)


def _read(view: memoryview, start: int, place: int, header: BatchHeader) -> _Message | Damage:
    size, offset = header.size_in_bytes, header.base_offset
    if crc_of(view, start, header) != header.crc:
        message = f"the CRC-32 of the message at {place} is not the {header.crc} in its header"
        return Damage(DamageKind.CRC, place, size, offset, message)
    try:
        return _Message(place, header, up_convert(view, header, start))
    except KafkaError as error:
        kind = DamageKind.TOO_LARGE if isinstance(error, RecordTooLargeError) else DamageKind.RECORDS
        text = f"the records of the message at {place} can't be decoded: {error.message}"
        return Damage(kind, place, size, offset, text)
