"""Compares two replicas of a partition, batch by batch.

Streams both logs. Memory: a chunk of each. Two batches are the same if base offset, last offset, leader epoch and CRC
are equal (the CRC covers neither base offset nor leader epoch). Each broker compacts its replica independently below
its cleaner checkpoint. In a compacted topic, batches are therefore compared only above the higher of the two
checkpoints; below it, every key of one replica must be in the other (replica_keys.py). Above the lower high watermark
replicas may differ, because a follower truncates its log there. Source: Kafka's ReplicaVerificationTool, KIP-101.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy

from ..decode.damage import Damage
from ..decode.segment_chunks import read_chunks
from ..decode.spans import Int64s
from ..directories.file_access import is_gone
from ..directories.log_directories import PartitionDirectory, partition_at
from ..directories.restarts import attempts
from ..directories.segment_files import indexed_positions
from .findings import Finding
from .replica_keys import missing_keys
from .tasks import RECORDS, AuditTask, PartitionReport


class ReplicaTask(NamedTuple):
    """Two replicas to compare: their batches from offset `start` up to `end` must be equal. `one` is the longer log."""

    one: PartitionDirectory
    other: PartitionDirectory
    log_start_offset: int
    start: int
    end: int
    one_end: int
    high_watermark: int
    compares_keys: bool
    one_broker: int | None = None
    other_broker: int | None = None
    """The node ids of the brokers; None if a directory has no readable meta.properties."""

    @classmethod
    def of(cls, longest: "AuditedReplica", other: "AuditedReplica") -> "ReplicaTask":
        """The comparison of two audited replicas. The first one is the longer one."""
        (task, report, broker), (other_task, other_report, other_broker) = longest, other
        log_start = max(report.log_start_offset, other_report.log_start_offset)
        is_compacted = task.policy.is_compacted is not False
        cleaned_to = max(task.cleaned_to, other_task.cleaned_to) if is_compacted else -1
        marks = [found.high_watermark for found in (report, other_report) if found.high_watermark >= 0]
        return cls(
            task.replica,
            other_task.replica,
            log_start,
            max(log_start, cleaned_to),
            other_report.log_end_offset,
            report.log_end_offset,
            min(marks, default=other_report.log_end_offset),
            task.level == RECORDS and cleaned_to > log_start,
            broker,
            other_broker,
        )

    @property
    def one_name(self) -> str:
        """The first replica as findings name it."""
        return _named(self.one, self.one_broker)

    @property
    def other_name(self) -> str:
        """The second replica as findings name it."""
        return _named(self.other, self.other_broker)


class AuditedReplica(NamedTuple):
    """A replica, the report of its own audit, and the node id of its broker."""

    task: AuditTask
    report: PartitionReport
    broker: int | None


def _named(replica: PartitionDirectory, broker: int | None) -> str:
    return str(replica.path) if broker is None else f"{replica.path} of broker {broker}"


class _Row(NamedTuple):
    """A batch and its position."""

    base_offset: int
    last_offset: int
    leader_epoch: int
    crc: int
    file: str
    position: int


class _Stream:
    """The batches of one replica that overlap `[start, end)`, as columns of one chunk at a time."""

    def __init__(self, replica: PartitionDirectory, start: int, end: int) -> None:
        self._chunks = self._read(replica, start, end)
        self.columns: Int64s = numpy.zeros((4, 0), numpy.int64)
        self._places: Int64s = numpy.zeros(0, numpy.int64)
        self._file = str(replica.path)
        self.fill()

    def _read(self, replica: PartitionDirectory, start: int, end: int) -> Iterator[tuple[str, Int64s, Int64s]]:
        following = [segment.base_offset for segment in replica.segments[1:]]
        for segment, after in zip(replica.segments, [*following, end + 1], strict=True):
            if after <= start or segment.base_offset >= end:
                continue
            for item in read_chunks(segment.path, batch_positions=indexed_positions(segment), inode=segment.inode):
                if isinstance(item, Damage):
                    continue  # the replica's own audit reports it
                bases = item.column("base_offset")
                epochs = item.column("partition_leader_epoch")
                columns = numpy.stack([bases, item.last_offsets, epochs, item.column("crc")])
                chosen = (bases >= start) & (bases < end)
                yield str(segment.path), columns[:, chosen], item.places[chosen]

    def fill(self) -> bool:
        """Reads the next chunk if all batches of the current one are dropped. Returns False at the end of the log."""
        while not self.columns.shape[1]:
            try:
                self._file, self.columns, self._places = next(self._chunks)
            except StopIteration:
                return False
        return True

    def drop(self, count: int) -> None:
        """Skips the first batches."""
        self.columns, self._places = self.columns[:, count:], self._places[count:]

    def row(self, index: int) -> _Row:
        """One batch of the chunk."""
        base, last, epoch, crc = self.columns[:, index].tolist()
        return _Row(base, last, epoch, crc, self._file, int(self._places[index]))


def compare_replicas(task: ReplicaTask) -> list[Finding]:
    """Finds the first difference; returns `partition-changing` if files change during every attempt. Raises OSError."""
    for _ in attempts():
        try:
            return _compared(task)
        except OSError as error:
            if not is_gone(error):
                raise
        now = [partition_at((task.one.topic, task.one.partition), found.path) for found in (task.one, task.other)]
        if now[0] is None or now[1] is None:
            break
        task = task._replace(one=now[0], other=now[1])
    one = task.one
    detail = f"{one.path} and {task.other.path} could not be compared"
    return [Finding("partition-changing", one.topic, one.partition, str(one.path), -1, -1, detail)]


def _compared(task: ReplicaTask) -> list[Finding]:
    one, other = task.one, task.other
    findings = []
    parted = _first_difference(task)
    if parted is not None:
        mine, theirs = parted
        place = mine if mine is not None else theirs
        assert place is not None
        offset = min(row.base_offset for row in parted if row is not None)
        detail = f"{_shown(mine)} in {task.one_name}, {_shown(theirs)} in {task.other_name}"
        name = "replica-tail-differs" if offset >= task.high_watermark else "replicas-diverge"
        findings.append(Finding(name, one.topic, one.partition, place.file, place.position, offset, detail))
    if task.end < task.one_end:
        detail = f"{task.other_name} ends at {task.end}, {task.one_name} at {task.one_end}"
        findings.append(Finding("replica-behind", one.topic, one.partition, str(other.path), -1, task.end, detail))
    if task.compares_keys:
        for left, right in ((one, other), (other, one)):
            findings += missing_keys(left, right, task.log_start_offset, task.start, min(task.end, task.one_end))
    return findings


def _first_difference(task: ReplicaTask) -> tuple[_Row | None, _Row | None] | None:
    """The first pair of different batches; None for a replica that has no further batch."""
    one, other = (_Stream(replica, task.start, task.end) for replica in (task.one, task.other))
    while True:
        has_one, has_other = one.fill(), other.fill()
        if not has_one and not has_other:
            return None
        if not has_one or not has_other:
            return (one.row(0) if has_one else None), (other.row(0) if has_other else None)
        count = min(one.columns.shape[1], other.columns.shape[1])
        differs = (one.columns[:, :count] != other.columns[:, :count]).any(axis=0)
        if differs.any():
            first = int(numpy.flatnonzero(differs)[0])
            return one.row(first), other.row(first)
        one.drop(count)
        other.drop(count)


def _shown(row: _Row | None) -> str:
    if row is None:
        return "no further batch"
    return f"offsets {row.base_offset} to {row.last_offset} with epoch {row.leader_epoch} and CRC {row.crc}"
