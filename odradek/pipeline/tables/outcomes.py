"""Finds the outcomes of transactions, from the markers in one partition.

Pure. The first marker of a producer id after a record ends the record's transaction (KIP-98). Source: Kafka's
ProducerStateManager.completeTxn.
"""

from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.control import ControlRecordType, control_record_type

from ..directories.log_directories import PartitionDirectory
from .log_reading import LogRecord, control_batches, read_records


class Outcome(StrEnum):
    """The outcome of a transaction; PENDING if it has no marker."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    PENDING = "pending"


Markers = dict[int, list[tuple[int, bool]]]
"""Producer id -> list of (offset of a marker, whether it is a commit marker), with rising offsets."""


def outcome(markers: Markers, producer_id: int, offset: int) -> Outcome:
    """The outcome of the transaction to which a producer's record at `offset` belongs."""
    ends = markers.get(producer_id, [])
    slot = bisect_right(ends, (offset, True))
    if slot == len(ends):
        return Outcome.PENDING
    return Outcome.COMMITTED if ends[slot][1] else Outcome.ABORTED


def marker_kind(record: LogRecord) -> ControlRecordType:
    """The type of a control record; UNKNOWN if its key can't be decoded."""
    try:
        return control_record_type(record.key)
    except KafkaError:
        return ControlRecordType.UNKNOWN


def read_markers(partition: PartitionDirectory) -> Markers:
    """The transaction markers of a partition. Decodes only control batches. Raises OSError.

    Leaves out a marker that can't be read. Its transaction then has the outcome of the producer's next marker, or is
    pending. The caller reads the log again and returns a row for that damage.
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
