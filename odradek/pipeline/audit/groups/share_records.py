"""Reads the state of share partitions from the records of one partition of ``__share_group_state``.

Keeps the records since the last snapshot of each share partition, and replays them at the end as the share coordinator
does when it loads (share_state.py). Memory: at most MOST_UPDATES records and one state for each share partition.
Source: Kafka's ShareCoordinatorShard.replay.
"""

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy

from odradek.protocol.errors import ProtocolError
from odradek.protocol.internal_records.coordinator_serde import PREFIX_BYTES
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state import ShareState
from odradek.protocol.internal_records.share_state_records import Snapshot, Unreadable, Update, decode_record
from odradek.protocol.messages.share_records import ShareSnapshotKey, ShareUpdateKey

from ...decode.batch_table import BatchTable
from ...decode.records import DecodedRecords
from ...tables.log_reading import CONTROL
from ..findings import Finding
from ..tasks import MAX_FINDINGS_OF_A_KIND, AuditTask, PartitionReport
from .share_facts import RecordPlace, ShareStateFacts

MOST_UPDATES = 1_000
"""Kept updates are applied when there are so many. Kafka writes a snapshot after 500 by default."""
_UPDATES_A_SNAPSHOT = 1
_SNAPSHOT = ShareSnapshotKey.API_KEY
_KNOWN_TYPES = (_SNAPSHOT, ShareUpdateKey.API_KEY)


class _StoredChange(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    position: int

    @property
    def type(self) -> int:
        """The type before the key; -1 if there is none."""
        if self.key is None or len(self.key) < PREFIX_BYTES:
            return -1
        return int.from_bytes(self.key[:PREFIX_BYTES], "big", signed=True)


class _StateHistory:
    """The records of one share partition since its last snapshot, and the state before them."""

    __slots__ = ("is_deleted", "kept", "last", "name", "state")

    def __init__(self, name: SharePartitionKey) -> None:
        self.name = name
        self.kept: list[_StoredChange] = []
        self.last: _StoredChange | None = None
        self.state = ShareState()
        self.is_deleted = False


class ShareStateRecords:
    """Collects the decoded records of a partition. `close` writes the results into the report."""

    def __init__(self, task: AuditTask) -> None:
        self._segments = task.replica.segments
        self._bases = [segment.base_offset for segment in task.replica.segments]
        self._at_ms = task.at_ms
        self._partitions: dict[bytes, _StateHistory] = {}
        self._later: dict[bytes, _StoredChange] = {}
        self._faults: list[tuple[str, _StoredChange, str]] = []
        self._touched: set[bytes] = set()
        self._chunk: BatchTable | None = None

    def read(self, chunk: BatchTable, item: DecodedRecords) -> None:
        """Reads some of a chunk's records, in any order. Chunks are passed in log order."""
        if chunk is not self._chunk:
            self._settle()
            self._chunk = chunk
        is_control = (chunk.column("attributes")[item.batches] & CONTROL) != 0
        columns: list[list[Any]] = [item.columns.column(name).to_pylist() for name in _StoredChange._fields[:4]]
        positions = chunk.places[item.batches]
        for row in numpy.flatnonzero(~is_control).tolist():
            self._read_record(_StoredChange._make([*(column[row] for column in columns), int(positions[row])]))

    def _read_record(self, record: _StoredChange) -> None:
        if record.key is None or record.type not in _KNOWN_TYPES:
            is_unknown = record.type >= 0
            name = "group-record-type-unknown" if is_unknown else "share-state-undecodable"
            self._faults.append((name, record, f"its key has type {record.type}" if is_unknown else "it has no type"))
            return
        name_bytes = record.key[PREFIX_BYTES:]
        if self._at_ms is not None and record.timestamp > self._at_ms:
            self._later.setdefault(name_bytes, record)
            return
        found = self._partitions.get(name_bytes)
        if found is None:
            try:
                decoded = decode_record(record.key, None)
            except ProtocolError as error:
                self._faults.append(("share-state-undecodable", record, str(error)))
                return
            assert decoded is not None
            found = self._partitions[name_bytes] = _StateHistory(decoded.key)
        found.kept.append(record)
        self._touched.add(name_bytes)

    def _settle(self) -> None:
        """Drops the records before the last snapshot of each share partition that the chunk has changed."""
        for name_bytes in self._touched:
            found = self._partitions[name_bytes]
            found.kept.sort(key=_offset_of)
            snapshots = [index for index, record in enumerate(found.kept) if record.type == _SNAPSHOT]
            if snapshots:
                del found.kept[: snapshots[-1]]
            if len(found.kept) > MOST_UPDATES:
                self._replay(found)
        self._touched.clear()

    def _replay(self, found: _StateHistory) -> None:
        for record in found.kept:
            decoded = decode_record(record.key, record.value)
            assert decoded is not None
            found.last = record
            match decoded.value:
                case None:
                    found.is_deleted, found.state = True, ShareState()
                case Snapshot() as snapshot:
                    found.is_deleted = False
                    found.state.take(snapshot, _UPDATES_A_SNAPSHOT)
                case Update() as update:
                    found.is_deleted = False
                    found.state.change(update)
                case Unreadable(reason):
                    self._faults.append(("share-state-undecodable", record, f"group {found.name.group_id}: {reason}"))
        found.kept.clear()

    def close(self, report: PartitionReport) -> None:
        """Writes `share_states` and findings into the report."""
        self._settle()
        report.share_states = []
        for found in self._partitions.values():
            self._replay(found)
            if found.is_deleted or found.last is None:
                continue
            state = found.state
            report.share_states.append(
                ShareStateFacts(
                    found.name,
                    report.partition,
                    self._place(found.last),
                    found.last.timestamp,
                    True,
                    state.state_epoch,
                    state.leader_epoch,
                    state.start_offset,
                    state.batches,
                )
            )
        for name_bytes, record in self._later.items():
            if name_bytes not in self._partitions and record.value is not None:
                decoded = decode_record(record.key, None)
                assert decoded is not None
                place = self._place(record)
                report.share_states.append(ShareStateFacts(decoded.key, report.partition, place, record.timestamp))
        for name, record, detail in self._faults:
            self._find(name, record, detail, report)

    def _find(self, name: str, record: _StoredChange, detail: str, report: PartitionReport) -> None:
        place = self._place(record)
        text = f"the record at offset {record.offset}: {detail}"
        same = [index for index, found in enumerate(report.findings) if found.name == name]
        if len(same) >= MAX_FINDINGS_OF_A_KIND:
            last = report.findings[same[-1]]
            report.findings[same[-1]] = last._replace(occurrences=last.occurrences + 1)
        else:
            report.findings.append(Finding(name, report.topic, report.partition, *place, text))

    def _place(self, record: _StoredChange) -> RecordPlace:
        segment = self._segments[max(bisect_right(self._bases, record.offset) - 1, 0)]
        return RecordPlace(str(segment.path), record.position, record.offset)


def _offset_of(record: _StoredChange) -> int:
    return record.offset
