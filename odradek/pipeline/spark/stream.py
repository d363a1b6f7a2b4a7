"""Follows log directories that a broker writes: ``spark.readStream.format("kafkalog").load(DIR)``.

Stream offsets are JSON as in Spark's Kafka source, with the next offset to read: {"topic": {"0": 23}}. The driver plans
micro-batches from file names and batch headers, up to the last complete batch. The same start and end give the same
rows again, which a restart from a checkpoint requires. New topics and partitions are read from their start. Offsets
that were deleted before they were read give a row in mode PERMISSIVE, and end the query in mode FAILFAST. Source:
Spark's KafkaMicroBatchStream.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.files.regular_files import fault_text

from ..decode.living_log import END_OF_OFFSETS
from ..directories.file_access import attempts, is_gone, is_unreadable
from ..directories.log_directories import PartitionDirectory, find_partitions, partition_at
from ..reading.columns import CORRUPT_COLUMN, DIRECTORY, corrupt_row
from ..reading.log_end import LogEnd
from ..reading.log_start import NO_LOG_STARTS, LogStarts, read_log_starts
from ..reading.offset_options import EARLIEST, LATEST
from ..reading.options import Mode, ReadOptions
from ..reading.split_reader import CorruptLogError, Reading, read_split, unread_rows
from ..reading.splits import (
    PACKED_BYTES,
    LogSplit,
    UnreadPartition,
    expand_paths,
    offset_asked_for,
    pack,
    plan_partition,
)
from .portion import items_of, portions

logger = logging.getLogger(__name__)

Offsets = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class LostOffsets:
    """Offsets `[first_offset, end_offset)` that were deleted or truncated before they were read."""

    directory: str
    topic: str
    partition: int
    first_offset: int
    end_offset: int

    @property
    def text(self) -> str:
        """The text in a row or an error."""
        return (
            f"offsets-lost: {self.topic}-{self.partition}: offsets {self.first_offset} to {self.end_offset - 1} were "
            "deleted or truncated before they were read"
        )


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches on the driver, and reads them on executors. The driver has one reader for the whole query."""

    def __init__(self, options: ReadOptions, names: Sequence[str]) -> None:
        self.options = options
        self.names = tuple(names)
        self.ends: dict[TopicPartition, LogEnd] = {}
        self.starts: dict[Path, LogStarts] = {}
        """The log start offsets of each log directory, as of the last listing."""
        self.unread: list[UnreadPartition] = []
        """The partitions that could not be listed or followed last time. Their stream offsets are kept."""
        self.final: dict[TopicPartition, int] | None = None
        """With Trigger.AvailableNow: the end offsets when the query began."""

    def initialOffset(self) -> Offsets:  # noqa: N802  (pyspark's names, here and below)
        """The start of a query that has no checkpoint."""
        return _as_json({key: self._first(*there) for key, there in self._follow().items()})

    def _first(self, directory: Path, found: PartitionDirectory) -> int:
        log_start = self._log_start(directory, found)
        offset = offset_asked_for(found, self.options.start, log_start)
        if offset in (LATEST, END_OF_OFFSETS):
            return self._end(found)
        return min(log_start, self._end(found)) if offset == EARLIEST else offset

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit of a micro-batch: maxOffsetsPerTrigger, if it is set."""
        most = self.options.max_offsets_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Stores the current end offsets, at which the query will end."""
        self.final = {key: self._end(found) for key, (_, found) in self._follow().items()}

    def reportLatestOffset(self) -> Offsets:  # noqa: N802
        """The current end offsets, for the progress report of the query."""
        return _as_json({key: self._end(found) for key, (_, found) in self._follow().items()})

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:  # noqa: N802
        """The end of the next micro-batch. A limit is divided among partitions in proportion to their new offsets."""
        begins = _from_json(start)
        ends = dict(begins)  # a partition that is gone keeps its offset: it may return in another directory
        for key, (directory, found) in self._follow().items():
            ends[key] = self._end(found)
            begins.setdefault(key, min(self._log_start(directory, found), ends[key]))
            if self.final is not None:
                ends[key] = min(ends[key], self.final.get(key, begins[key]))
        if isinstance(limit, ReadMaxRows):
            ends = limit_ends(begins, ends, limit.max_rows)
        return _as_json(ends)

    def partitions(self, start: Offsets, end: Offsets) -> Sequence[InputPartition]:
        """The inputs of the tasks of a micro-batch."""
        begins = _from_json(start)
        items: list[LogSplit | LostOffsets | UnreadPartition] = []
        there = self._follow()
        for key, stop in _from_json(end).items():
            directory, found = there.get(key, (Path(), PartitionDirectory(*key, Path(), ())))
            first = begins.get(key, min(self._log_start(directory, found), stop))
            items += self._plan(directory, found, first, stop)
        items += self.unread
        groups = pack(items, _size, min(PACKED_BYTES, self.options.max_partition_bytes))
        return portions(groups)

    def _plan(
        self, directory: Path, found: PartitionDirectory, first: int, stop: int
    ) -> Iterator[LogSplit | LostOffsets]:
        kept = self._log_start(directory, found) if found.segments else END_OF_OFFSETS
        if stop < first:  # the log was truncated, or its topic deleted and created again
            yield LostOffsets(str(directory), found.topic, found.partition, stop, first)
        elif first < kept and first < stop:
            yield LostOffsets(str(directory), found.topic, found.partition, first, min(kept, stop))
        if found.segments:
            end = self.ends[found.topic, found.partition]
            most = self.options.max_partition_bytes
            end.forget_aborted(first)
            yield from plan_partition(directory, found, max(first, kept), stop, most, end.positions, end.aborted)

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Yields the record batches of a task."""
        options = self.options
        reading = Reading(
            self.names, options.mode, options.is_committed_only, names_deleted=True, decoding=options.decoding
        )
        for item in items_of(partition):
            if isinstance(item, LogSplit):
                yield from read_split(item, reading)
            elif isinstance(item, UnreadPartition):
                yield from unread_rows(item, reading)
            else:
                assert isinstance(item, LostOffsets)
                yield from _lost_row(item, reading)

    def _log_start(self, directory: Path, found: PartitionDirectory) -> int:
        return self.starts.get(directory, NO_LOG_STARTS).of(found)

    def _end(self, found: PartitionDirectory) -> int:
        return self.ends[found.topic, found.partition].readable_offset

    def _follow(self) -> dict[TopicPartition, tuple[Path, PartitionDirectory]]:
        """Lists the partitions, and follows the end of each log. Returns those that have segments."""
        there: dict[TopicPartition, tuple[Path, PartitionDirectory]] = {}
        unread: list[UnreadPartition] = []
        for directory in expand_paths(self.options.paths):
            starts = NO_LOG_STARTS if self.options.includes_deleted else read_log_starts(directory)
            self.starts[directory] = starts
            if starts.fault:
                unread.append(UnreadPartition(str(directory), None, None, starts.fault))
            for listed in find_partitions(directory, self.options.topics.listed):
                key = (listed.topic, listed.partition)
                if not self.options.topics.has(*key):
                    continue
                found, fault = self._followed(listed)
                if fault:
                    unread.append(UnreadPartition(str(directory), *key, fault))
                elif found is None or not found.segments:
                    continue
                elif key in there:
                    raise ValueError(
                        f"{found.name} is in {there[key][0]} and in {directory}: a stream reads one replica"
                    )
                else:
                    there[key] = directory, found
        for partition in unread:
            if self.options.mode is Mode.FAILFAST:
                raise CorruptLogError(partition.text)
            if partition not in self.unread:
                logger.warning("%s", partition.text)  # without new offsets no micro-batch would contain its row
        self.unread = unread
        return there

    def _followed(self, listed: PartitionDirectory) -> tuple[PartitionDirectory | None, str]:
        """Follows the end of a partition's log. Returns (the partition as listed then, "" or why it can't be read).

        Returns None for a partition that is gone; its stream offset is kept. Raises OSError, also if a file vanished
        during each attempt.
        """
        key = (listed.topic, listed.partition)
        found: PartitionDirectory | None = listed
        for is_last in attempts():
            if found is None:
                return None, ""
            if found.fault:
                return found, found.fault_sentence
            end = self.ends.setdefault(key, LogEnd(is_committed_only=self.options.is_committed_only))
            try:
                end.follow(found)
                return found, ""
            except OSError as error:
                if is_unreadable(error, found.path):
                    return found, f"file-unreadable: {error.filename or found.path}: {fault_text(error)}"
                if is_last or not is_gone(error):
                    raise
            found = partition_at(key, found.path)
        raise AssertionError("the last attempt returns or raises")


def limit_ends(
    begins: dict[TopicPartition, int], ends: dict[TopicPartition, int], most: int
) -> dict[TopicPartition, int]:
    """End offsets for about `most` offsets in all, divided in proportion to partitions' sizes (KafkaOffsetReader)."""
    sizes = {key: max(end - begins.get(key, end), 0) for key, end in ends.items()}
    total = sum(sizes.values())
    if total <= most:
        return ends
    shared = {}
    for key, end in ends.items():
        share = most * sizes[key] / total
        whole = math.ceil(share) if share < 1 else math.floor(share)
        shared[key] = min(end, begins.get(key, end) + whole)
    return shared


def _lost_row(lost: LostOffsets, reading: Reading) -> Iterator[Any]:
    if reading.mode is Mode.FAILFAST:
        raise CorruptLogError(lost.text)
    if reading.mode is Mode.PERMISSIVE and CORRUPT_COLUMN in reading.names:
        known = {"topic": lost.topic, "partition": lost.partition, "offset": lost.first_offset}
        yield corrupt_row(reading.names, known | {DIRECTORY: lost.directory, CORRUPT_COLUMN: lost.text})


def _size(item: LogSplit | LostOffsets | UnreadPartition) -> int:
    return item.end - item.start if isinstance(item, LogSplit) else 0


def _as_json(offsets: dict[TopicPartition, int]) -> Offsets:
    found: Offsets = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def _from_json(offsets: Offsets) -> dict[TopicPartition, int]:
    return {(topic, int(p)): offset for topic, found in offsets.items() for p, offset in found.items()}
