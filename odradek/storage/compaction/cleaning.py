"""One round of cleaning over one partition: the offset map, the cleaned segments, the swap.

Reads and writes through the file layer; the rules are in the pure modules beside it. All segments of a round are
written and synced before the first is swapped in. Never does: taking locks, reading a clock, choosing partitions.
Source: Kafka's Cleaner.doClean, cleanSegments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..files.file_names import CLEANED_SUFFIX, LOG_SUFFIX, SEGMENT_SUFFIXES, segment_path
from ..files.files import Files
from ..log.log_config import LARGEST_RECORD_BYTES, LogConfig
from .batch_chunk import BatchChunk, read_chunks
from .batch_records import with_small_records
from .grouping import CleanableRange, SegmentInfo, group_segments
from .latest_records import LatestRecords, find_latest
from .offset_map import UNLIMITED, KeyLimit
from .pace import Pace, full_speed
from .partition_facts import PartitionFacts
from .plain_steps import PlainSteps
from .record_steps import Piece, RecordSteps, RetentionInput
from .retention import Round, retain
from .segment_writer import SegmentWriter, write_indexes
from .swap import swap_in

WRITE_CHUNK = 1 << 21
"""Large enough to make the fixed cost of a chunk small, small enough for a processor's caches."""


@dataclass(slots=True)
class RoundResult:
    """The result of a round, or of a dry run. Sizes are bytes of log files; `cleaned_up_to` is the next first dirty
    offset.
    """

    cleaned_up_to: int
    bytes_before: int = 0
    bytes_after: int = 0
    segments_before: int = 0
    segments_after: int = 0
    records_read: int = 0
    records_kept: int = 0
    records_without_key: int = 0
    map_entries: int = 0
    key_ranges: int = 1
    """The number of key ranges that the round took, one after the other."""
    is_changed: bool = False


@dataclass(slots=True)
class CleanedGroup:
    """Segments that become one segment of `size` bytes. Its `.cleaned` files exist after it was written."""

    sources: list[SegmentInfo]
    size: int = 0
    is_changed: bool = False

    @property
    def base_offset(self) -> int:
        """The base offset of the first source and of the new segment."""
        return self.sources[0].base_offset


class PartitionCleaner:
    """Cleans one partition's directory by `config` as of `now_ms`."""

    def __init__(
        self,
        files: Files,
        directory: Path,
        config: LogConfig,
        now_ms: int,
        *,
        pace: Pace | None = None,
        buffer_bytes: int = WRITE_CHUNK,
        steps: RecordSteps | None = None,
    ) -> None:
        """`pace` is called after each read and write. The default of `steps` is PlainSteps."""
        self._steps = steps or PlainSteps()
        self._pace = pace or full_speed()
        self._buffer_bytes = buffer_bytes
        self._files = files
        self._directory = directory
        self._config = config
        self._now_ms = now_ms

    def clean(
        self,
        facts: PartitionFacts,
        offsets: CleanableRange,
        *,
        max_map_entries: int = UNLIMITED,
        max_map_bytes: int = UNLIMITED,
        is_dry_run: bool = False,
    ) -> RoundResult:
        """Cleans the segments before the range's end: removes records if the range has a later one with their key.

        More keys than `max_map_entries` end the round early. More than fit into `max_map_bytes` are split into ranges
        (latest_records.py). No one else may use the partition at the same time, and `facts` are stale afterwards.
        Raises CorruptRecordError or InvalidRecordError (the log is then unchanged), OSError.
        """
        limit = KeyLimit(max_map_entries, max_map_bytes)
        result, groups = self.write_cleaned(facts, offsets, limit, is_dry_run=is_dry_run)
        if not is_dry_run:
            self._swap(groups)
        return result

    def write_cleaned(
        self, facts: PartitionFacts, offsets: CleanableRange, limit: KeyLimit, *, is_dry_run: bool = False
    ) -> tuple[RoundResult, list[CleanedGroup]]:
        """As `clean`, but the caller swaps the `.cleaned` files in. Also raises CleaningStoppedError."""
        latest = find_latest(self._steps, partial(self._chunks, checks_crcs=False), facts, offsets, limit)
        end_offset = latest.latest_offset + 1
        result = RoundResult(
            max(end_offset, offsets.first_dirty_offset), map_entries=latest.entries, key_ranges=latest.ranges
        )
        sources = [segment for segment in facts.segments if segment.base_offset < end_offset]
        if not sources:
            return result, []
        round_ = Round(
            self._now_ms,
            self._config.delete_retention_ms,
            self._steps,
            offsets.high_watermark,
            facts.last_records,
            first_dirty_offset=offsets.first_dirty_offset,
        )
        groups = [
            CleanedGroup(group)
            for group in group_segments(
                sources,
                segment_bytes=self._config.segment_bytes,
                segment_index_bytes=self._config.segment_index_bytes,
                first_uncleanable_offset=offsets.first_uncleanable_offset,
            )
        ]
        for group in groups:
            self._clean_group(facts, group, round_, latest, is_dry_run=is_dry_run)
        if not is_dry_run:
            self._files.sync_directory(
                self._directory
            )  # otherwise an index could be swapped in whose log lost its name
        result.bytes_before = sum(segment.size for segment in sources)
        result.bytes_after = sum(group.size for group in groups)
        result.segments_before, result.segments_after = len(sources), len(groups)
        result.records_read, result.records_kept = round_.records_read, round_.records_kept
        result.records_without_key = round_.records_without_key
        result.is_changed = any(group.is_changed for group in groups)
        return result, groups

    def _chunks(self, segment: SegmentInfo, *, checks_crcs: bool = True) -> Iterator[BatchChunk]:
        """The batches of a segment. Raises KafkaError for damage, with its place; InvalidRecordError for a record of a
        compressed batch beyond max.decompressed.message.bytes.
        """
        path = segment_path(self._directory, segment.base_offset, LOG_SUFFIX)
        chunks = read_chunks(
            self._files,
            path,
            segment.base_offset,
            segment.size,
            self._buffer_bytes,
            self._pace,
            self._steps.chunk_type,
            checks_crcs=checks_crcs,
        )
        most = self._config.max_decompressed_message_bytes
        return chunks if most >= LARGEST_RECORD_BYTES else with_small_records(chunks, most)

    def _clean_group(
        self, facts: PartitionFacts, group: CleanedGroup, round_: Round, latest: LatestRecords, *, is_dry_run: bool
    ) -> None:
        """Writes the `.cleaned` files of a group, or only counts their bytes. Raises SegmentOffsetOverflowError."""
        base_offset = group.base_offset
        indexes = self._steps.indexes(base_offset, self._config.index_interval_bytes)
        group.is_changed = len(group.sources) > 1
        pieces = self._retained(facts, group, round_, latest)
        if is_dry_run:
            for piece in pieces:
                indexes.append(piece.batches)
        else:
            with SegmentWriter(
                self._files, self._directory, indexes, base_offset, self._pace, self._buffer_bytes
            ) as writer:
                for piece in pieces:
                    writer.append(piece)
                writer.flush()
        indexes.append_aborted(round_.transactions.take_kept_aborts())
        group.size = indexes.size
        group.is_changed |= write_indexes(
            self._files, self._directory, base_offset, indexes.files(), is_dry_run=is_dry_run
        )
        if not is_dry_run:
            self._keep_attributes(group)

    def _retained(
        self, facts: PartitionFacts, group: CleanedGroup, round_: Round, latest: LatestRecords
    ) -> Iterator[Piece]:
        """The retained parts of a group's batches. Sets in the group whether anything changes."""
        legacy_horizon_ms = self._legacy_horizon_ms(facts, round_.first_dirty_offset)
        for index, segment in enumerate(group.sources):
            following = index + 1 < len(group.sources)
            upper = group.sources[index + 1].base_offset if following else facts.next_offsets[segment.base_offset]
            round_.transactions.add_aborted(facts.aborted_between(segment.base_offset, upper))
            order = RetentionInput(
                latest.of_segment(segment.base_offset),
                latest.latest_offset,
                self._now_ms,
                self._modified_ms(segment) <= legacy_horizon_ms,
            )
            for chunk in self._chunks(segment):
                for pieces, is_changed in retain(round_, chunk, order):
                    group.is_changed |= is_changed
                    yield from pieces

    def _legacy_horizon_ms(self, facts: PartitionFacts, first_dirty_offset: int) -> int:
        """The time up to which a segment's tombstones of message format 0 and 1 are removed; 0 if nothing is clean."""
        clean = [segment for segment in facts.segments if segment.base_offset < first_dirty_offset]
        return self._modified_ms(clean[-1]) - self._config.delete_retention_ms if clean else 0

    def _modified_ms(self, segment: SegmentInfo) -> int:
        return self._files.modified_ms(segment_path(self._directory, segment.base_offset, LOG_SUFFIX))

    def _keep_attributes(self, group: CleanedGroup) -> None:
        """Copies owner and mode of the first source, and the time of the last: retention uses it for records without
        timestamps.
        """
        model = segment_path(self._directory, group.base_offset, LOG_SUFFIX)
        last = segment_path(self._directory, group.sources[-1].base_offset, LOG_SUFFIX)
        for suffix in SEGMENT_SUFFIXES:
            path = segment_path(self._directory, group.base_offset, suffix + CLEANED_SUFFIX)
            if self._files.exists(path):
                self._files.copy_attributes(model, last, path)

    def _swap(self, groups: Sequence[CleanedGroup]) -> None:
        """Swaps in all groups from the first changed one to the last, with the unchanged ones between (see swap_in)."""
        changed = [index for index, group in enumerate(groups) if group.is_changed]
        replaced = groups[changed[0] : changed[-1] + 1] if changed else []
        for group in groups:
            if group not in replaced:
                for suffix in SEGMENT_SUFFIXES:
                    base_offset = group.base_offset
                    self._files.remove(segment_path(self._directory, base_offset, suffix + CLEANED_SUFFIX))
        if replaced:
            swap_in(
                self._files,
                self._directory,
                [group.base_offset for group in replaced],
                [segment.base_offset for group in replaced for segment in group.sources],
            )
