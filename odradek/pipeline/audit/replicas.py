"""Compares two replicas of a partition, batch by batch.

Streams both logs. Memory: a chunk of each. Two batches are the same if base offset, last offset, leader epoch and CRC
are equal (the CRC covers neither base offset nor leader epoch). Each broker compacts its replica independently below
its cleaner checkpoint. In a compacted topic, batches are therefore compared only above the higher of the two
checkpoints; below it, every key of one replica must be in the other (replica_keys.py). Above the lower high watermark
replicas may differ, because a follower truncates its log there. With `--state`, batches that the sums of both replicas
show to be the same are not read again (replica_points.py); the result is the same. Source: Kafka's
ReplicaVerificationTool, KIP-101.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy

from ..decode.damage import Damage
from ..decode.segment_chunks import read_chunks
from ..decode.spans import Int64s
from ..directories.file_access import attempts, is_gone
from ..directories.log_directories import PartitionDirectory, partition_at
from ..directories.segment_files import indexed_positions
from .findings import Finding
from .known_segments import KnownSegments
from .replica_keys import missing_keys
from .replica_points import PointsOfSegment, equal_ranges, other_ranges
from .tasks import GROUP_TOPICS, RECORDS, AuditTask, PartitionReport, ReadingCounts


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
    audited: "tuple[AuditTask, AuditTask] | None" = None
    """The tasks of both replicas, if sums of their segments are kept."""

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
            None if task.state is None else (task, other_task),
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


def bytes_to_read(longest: AuditedReplica, other: AuditedReplica) -> int:
    """About the bytes of the other replica that a comparison reads."""
    size = sum(segment.size for segment in other.task.replica.segments)
    read = [item.report.reading.bytes_read for item in (longest, other) if item.report.reading is not None]
    has_sums = other.task.state is not None and other.task.replica.topic not in GROUP_TOPICS
    return min(size, max(read, default=size)) if has_sums else size


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


_Pair = tuple[_Row | None, _Row | None]
"""A batch of each replica; None for one that has no further batch."""
_NO_OFFSET = (1 << 63) - 1


class ReplicaComparison(NamedTuple):
    """The findings of a comparison, and the bytes of batches that were read for it."""

    findings: list[Finding]
    reading: ReadingCounts


class _Stream:
    """The batches of one replica that overlap `[start, end)`, as columns of one chunk at a time.

    `is_ordered`: whether each batch that was read begins in the offsets of its segment.
    """

    def __init__(self, replica: PartitionDirectory, start: int, end: int, reading: ReadingCounts) -> None:
        self._chunks = self._read(replica, start, end)
        self._reading = reading
        self.is_ordered = True
        self.columns: Int64s = numpy.zeros((4, 0), numpy.int64)
        self._places: Int64s = numpy.zeros(0, numpy.int64)
        self._file = str(replica.path)
        self.fill()

    def _read(self, replica: PartitionDirectory, start: int, end: int) -> Iterator[tuple[str, Int64s, Int64s]]:
        following = [segment.base_offset for segment in replica.segments[1:]]
        for segment, after in zip(replica.segments, [*following, _NO_OFFSET], strict=True):
            if after <= start or segment.base_offset >= end:
                continue
            for item in read_chunks(segment.path, batch_positions=indexed_positions(segment), inode=segment.inode):
                if isinstance(item, Damage):
                    continue  # the replica's own audit reports it
                self._reading.bytes_read += int(item.disk_sizes.sum())
                bases = item.column("base_offset")
                self.is_ordered &= bool(((bases >= segment.base_offset) & (bases < after)).all())
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


def compare_replicas(task: ReplicaTask) -> ReplicaComparison:
    """Finds the first difference; returns `partition-changing` if files change during every attempt. Raises OSError."""
    reading = ReadingCounts()
    for _ in attempts():
        try:
            return ReplicaComparison(_compared(task, reading), reading)
        except OSError as error:
            if not is_gone(error):
                raise
        now = [partition_at((task.one.topic, task.one.partition), found.path) for found in (task.one, task.other)]
        if now[0] is None or now[1] is None:
            break
        task = task._replace(one=now[0], other=now[1])
    one = task.one
    detail = f"{one.path} and {task.other.path} could not be compared"
    changing = Finding("partition-changing", one.topic, one.partition, str(one.path), -1, -1, detail)
    return ReplicaComparison([changing], reading)


def _compared(task: ReplicaTask, reading: ReadingCounts) -> list[Finding]:
    one, other = task.one, task.other
    findings = []
    parted = _first_difference(task, reading)
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


def _first_difference(task: ReplicaTask, reading: ReadingCounts) -> _Pair | None:
    """The first pair of different batches.

    Reads only what the sums of the replicas do not show to be the same. A batch outside of its segment's offsets may
    come before or after any other one: then all is read.
    """
    same = [] if task.audited is None else _same_ranges(*task.audited, task)
    for start, end in other_ranges(same, task.start, task.end):
        parted, is_ordered = _difference(task, start, end, reading)
        if parted is not None and is_ordered:  # the batch of the other replica may be further on
            parted, is_ordered = _difference(task, start, task.end, reading)
        if not is_ordered:
            return _difference(task, task.start, task.end, reading)[0]
        if parted is not None:
            return parted
    return None


def _same_ranges(one: AuditTask, other: AuditTask, task: ReplicaTask) -> list[tuple[int, int]]:
    return equal_ranges(_known_points(one, task.one), _known_points(other, task.other))


def _known_points(audited: AuditTask, replica: PartitionDirectory) -> Iterator[PointsOfSegment]:
    """The closed segments whose sums are known. Raises OSError."""
    assert audited.state is not None
    # The audit has just read the segments whose turn it was.
    audited = replace(audited, replica=replica, state=audited.state._replace(scrub_every=0))
    known = KnownSegments(audited)
    known.begin(audited)
    for segment, following in pairwise(replica.segments):
        sums = known.known_sums(segment)
        if sums is not None and sums.points is not None:
            found = PointsOfSegment(segment.base_offset, following.base_offset, sums.points)
            if found.is_inside:
                yield found


def _difference(task: ReplicaTask, start: int, end: int, reading: ReadingCounts) -> tuple[_Pair | None, bool]:
    """The first pair of different batches in `[start, end)`, and whether all batches up to there are in order."""
    one, other = (_Stream(replica, start, end, reading) for replica in (task.one, task.other))
    parted = _first_of(one, other)
    return parted, one.is_ordered and other.is_ordered


def _first_of(one: _Stream, other: _Stream) -> _Pair | None:
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
