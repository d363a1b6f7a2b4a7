"""All that a partition holds in fetched bytes: records, control records, and the state of their transactions.

Pure. A consumer skips control records and those of aborted transactions; the console shows them, marked. A search is
plain text and never an expression: a filter that runs code has been a way to run any code in other consoles
(CVE-2023-52251). Source:
``consumer.internals.CompletedFetch`` for which transaction a record belongs to; KIP-98.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from odradek.protocol.records.batch import COMPRESSION_TYPE_MASK, BatchHeader, check_crc, iterate_headers
from odradek.protocol.records.compression import compression_name
from odradek.protocol.records.control import ControlRecordType, control_record_type, end_transaction_marker
from odradek.protocol.records.record import Record, iterate_records

from ..context import Json
from .shown_bytes import DETAIL_BYTES, outlined, shown

COMMITTED, ABORTED, UNSTABLE = "committed", "aborted", "unstable"
"""The states of a transactional record. Unstable: at or after the last stable offset, so a reader with read_committed
does not get it yet."""


class FoundRecord(NamedTuple):
    """A record or a control record, and where it was found."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]]
    header: BatchHeader
    state: str
    """The state of its transaction; empty for a record that belongs to none."""
    control: str
    """What a control record says; empty for the records of applications."""

    def row(self) -> dict[str, Json]:
        """The entry in a list: key, value and headers are cut."""
        return {
            **self._common(),
            "key": outlined(self.key),
            "value": outlined(self.value),
            "headers": [{"name": name[:200], "value": outlined(value)} for name, value in self.headers[:20]],
            "headerCount": len(self.headers),
        }

    def detail(self) -> dict[str, Json]:
        """The one entry that is open: text, JSON and hex, and the batch that it is in."""
        return {
            **self._common(),
            "key": shown(self.key, DETAIL_BYTES),
            "value": shown(self.value, DETAIL_BYTES),
            "headers": [{"name": name, "value": shown(value, DETAIL_BYTES)} for name, value in self.headers],
            "headerCount": len(self.headers),
            "leaderEpoch": self.header.partition_leader_epoch,
            "producerId": str(self.header.producer_id),
            "producerEpoch": self.header.producer_epoch,
            "sequence": self._sequence(),
            "batchOffset": str(self.header.base_offset),
        }

    def _sequence(self) -> int:
        if self.header.base_sequence < 0 or self.header.is_legacy:
            return -1
        return (self.header.base_sequence + self.offset - self.header.base_offset) & 0x7FFFFFFF

    def _common(self) -> dict[str, Json]:
        return {
            "partition": self.partition,
            "offset": str(self.offset),
            "time": str(self.timestamp),
            "timeType": "LogAppendTime" if self.header.is_log_append_time else "CreateTime",
            "state": self.state,
            "control": self.control,
        }


class Fetched(NamedTuple):
    """The answer of a Fetch for one partition."""

    data: bytes
    aborted: Sequence[tuple[int, int]]
    """(Producer id, first offset) of each aborted transaction in these bytes."""
    is_stable: bool
    """Whether all of it is before the last stable offset."""


def entries(partition: int, fetched: Fetched, first: int, end: int) -> Iterator[FoundRecord]:
    """The entries with offsets from ``first`` to before ``end``. Raises CorruptRecordError at damaged bytes."""
    waiting = deque(sorted(fetched.aborted, key=lambda transaction: transaction[1]))
    aborting: set[int] = set()
    for position, header in iterate_headers(fetched.data):
        while waiting and waiting[0][1] <= header.last_offset:
            aborting.add(waiting.popleft()[0])
        check_crc(fetched.data, position, header)
        state = _state(header, fetched.is_stable, aborting)
        for record in iterate_records(fetched.data, header, position):
            control = _control_text(record) if header.is_control else ""
            if header.is_control and control_record_type(record.key) == ControlRecordType.ABORT:
                aborting.discard(header.producer_id)
            if first <= record.offset < end:
                yield FoundRecord(partition, *record, header, state, control)
        if header.next_offset >= end:
            return


def next_offset(fetched: Fetched, first: int) -> int:
    """The offset after the last whole batch of the bytes; ``first`` if they have none."""
    last = first
    for _, header in iterate_headers(fetched.data):
        last = max(last, header.next_offset)
    return last


def _state(header: BatchHeader, is_stable: bool, aborting: set[int]) -> str:
    if not header.is_transactional or header.is_control:
        return ""
    if not is_stable:
        return UNSTABLE
    return ABORTED if header.producer_id in aborting else COMMITTED


def _control_text(record: Record) -> str:
    kind = control_record_type(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        marker = end_transaction_marker(record.key, record.value)
        return f"{kind.name}, coordinator epoch {marker.coordinator_epoch}"
    return kind.name


def batch_row(position: int, header: BatchHeader, is_sound: bool) -> dict[str, Json]:
    """A batch's header, in the order of the bytes. ``is_sound``: whether the CRC matches."""
    return {
        "position": str(position),
        "baseOffset": str(header.base_offset),
        "lastOffset": str(header.last_offset),
        "size": str(header.size_in_bytes),
        "leaderEpoch": header.partition_leader_epoch,
        "magic": header.magic,
        "crc": f"{header.crc:08x}",
        "isSound": is_sound,
        "attributes": header.attributes,
        "compression": compression_name(header.attributes & COMPRESSION_TYPE_MASK),
        "timeType": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "deleteHorizon": None if header.delete_horizon_ms is None else str(header.delete_horizon_ms),
        "baseTime": str(header.base_timestamp),
        "maxTime": str(header.max_timestamp),
        "producerId": str(header.producer_id),
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "records": header.records_count,
    }


PARTS = ("key", "value", "headers")


class Needle(NamedTuple):
    """What to look for. An empty needle is in every record."""

    data: bytes
    """The bytes to find; in lower case unless ``matches_case``."""
    parts: tuple[str, ...] = PARTS
    """Where to look: key, value, headers."""
    matches_case: bool = False

    def finds(self, entry: FoundRecord) -> bool:
        """Whether the record contains the text. A search finds control records only if it is empty."""
        if not self.data:
            return True
        if entry.control:
            return False
        return any(self._is_in(data) for part in self.parts for data in _bytes_of(entry, part))

    def _is_in(self, data: bytes | None) -> bool:
        return data is not None and self.data in (data if self.matches_case else data.lower())


EVERYTHING = Needle(b"")


def needle_of(text: str, parts: tuple[str, ...] = PARTS, *, matches_case: bool = False) -> Needle:
    """The needle for a text. Without ``matches_case``, letters from A to Z are found in either case."""
    data = text.encode()
    return Needle(data if matches_case else data.lower(), parts, matches_case)


def _bytes_of(entry: FoundRecord, part: str) -> list[bytes | None]:
    if part == "key":
        return [entry.key]
    if part == "value":
        return [entry.value]
    return [data for name, value in entry.headers for data in (name.encode(), value)]
