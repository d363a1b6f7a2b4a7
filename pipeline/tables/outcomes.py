"""How transactions ended: the markers of one partition, by producer.

Pure. A record of a transaction is decided by the first marker of its producer id behind it (KIP-98). Source: Kafka's
ProducerStateManager.completeTxn.
"""

from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum

from ...protocol.errors import KafkaError
from ...protocol.records.control import ControlRecordType, control_record_type
from ..directories.log_directories import PartitionDirectory
from .log_reading import LogRecord, control_batches, read_records


class Outcome(StrEnum):
    """What became of a transaction."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    PENDING = "pending"


Markers = dict[int, list[tuple[int, bool]]]
"""Producer id -> (offset of a marker, whether it commits), offsets rising."""


def outcome(markers: Markers, producer_id: int, offset: int) -> Outcome:
    """How the transaction ended that the record at `offset` is part of."""
    ends = markers.get(producer_id, [])
    slot = bisect_right(ends, (offset, True))
    if slot == len(ends):
        return Outcome.PENDING
    return Outcome.COMMITTED if ends[slot][1] else Outcome.ABORTED


def marker_kind(record: LogRecord) -> ControlRecordType:
    """The type of a control record, UNKNOWN where its key is none."""
    try:
        return control_record_type(record.key)
    except KafkaError:
        return ControlRecordType.UNKNOWN


def read_markers(partition: PartitionDirectory) -> Markers:
    """The markers of a partition; reads its control batches only. Raises OSError.

    A marker that can't be read is left out, and a later one of its producer decides, or none: the caller reads the log
    once more and gives it a row as damage.
    """
    markers: Markers = {}
    for producer_id, offset, is_commit in _markers(partition):
        markers.setdefault(producer_id, []).append((offset, is_commit))
    return markers


def _markers(partition: PartitionDirectory) -> Iterator[tuple[int, int, bool]]:
    for record in read_records(partition, control_batches):
        if isinstance(record, LogRecord):
            kind = marker_kind(record)
            if kind in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
                yield record.producer_id, record.offset, kind is ControlRecordType.COMMIT
