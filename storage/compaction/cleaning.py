"""One round of cleaning over one partition: the offset map, the cleaned segments, the swap.

Reads and writes through the file layer; the rules are in the pure modules beside it. All segments of a round are
written and synced before the first is swapped in. Never does: taking locks, reading a clock, choosing partitions.
Source: Kafka's Cleaner.doClean, cleanSegments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...protocol.errors import KafkaError
from ...protocol.records.batch import BatchHeader, Buffer, check_crc, read_header
from ...protocol.records.errors import CorruptRecordError, UnsupportedForMessageFormatError
from ...protocol.records.record import iterate_records
from ..batch_scan import scan_batches
from ..file_names import CLEANED_SUFFIX, INDEX_SUFFIXES, LOG_SUFFIX, SEGMENT_SUFFIXES, segment_path
from ..files import CREATE, READ_ONLY, Files
from ..log_config import LogConfig
from ..segment import MAX_RELATIVE_OFFSET
from .cleaned_indexes import CleanedIndexes
from .grouping import CleanableRange, SegmentFacts, group_segments
from .offset_map import OffsetMap
from .pace import Pace, full_speed
from .partition_facts import PartitionFacts
from .retention import Round, retain
from .swap import swap_in
from .transactions import CleanedTransactions

WRITE_CHUNK = 1 << 20


@dataclass(slots=True)
class RoundResult:
    """What a round did, or would do. Sizes are bytes of log files; `cleaned_up_to` is the next first dirty offset."""

    cleaned_up_to: int
    bytes_before: int = 0
    bytes_after: int = 0
    segments_before: int = 0
    segments_after: int = 0
    records_read: int = 0
    records_kept: int = 0
    records_without_key: int = 0
    map_entries: int = 0
    is_changed: bool = False


@dataclass(slots=True)
class CleanedGroup:
    """Segments that become one, of `size` bytes; its `.cleaned` files are there once it was written."""

    sources: list[SegmentFacts]
    size: int = 0
    is_changed: bool = False

    @property
    def base_offset(self) -> int:
        """Of the first source, and of the segment to be."""
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
    ) -> None:
        """So many bytes are read, and written, at a time; `pace` hears of each."""
        self._pace = pace or full_speed()
        self._buffer_bytes = buffer_bytes
        self._files = files
        self._directory = directory
        self._config = config
        self._now_ms = now_ms

    def clean(
        self, facts: PartitionFacts, offsets: CleanableRange, *, max_map_entries: int, is_dry_run: bool = False
    ) -> RoundResult:
        """Cleans everything in front of the range's end, by the keys in the range. `facts` are stale afterwards.

        Nobody else may use the partition meanwhile. Raises CorruptRecordError or InvalidRecordError (the log is then as
        it was), OSError.
        """
        result, groups = self.write_cleaned(facts, offsets, max_map_entries=max_map_entries, is_dry_run=is_dry_run)
        if not is_dry_run:
            self._swap(groups)
        return result

    def write_cleaned(
        self, facts: PartitionFacts, offsets: CleanableRange, *, max_map_entries: int, is_dry_run: bool = False
    ) -> tuple[RoundResult, list[CleanedGroup]]:
        """As `clean`, but leaves the `.cleaned` files to be swapped in. Raises CleaningStoppedError too."""
        offset_map = self.build_offset_map(facts, offsets, max_map_entries)
        end_offset = offset_map.latest_offset + 1
        result = RoundResult(max(end_offset, offsets.first_dirty_offset), map_entries=len(offset_map))
        sources = [segment for segment in facts.segments if segment.base_offset < end_offset]
        if not sources:
            return result, []
        round_ = Round(
            self._now_ms,
            self._config.delete_retention_ms,
            offset_map,
            offsets.first_uncleanable_offset,
            facts.last_records,
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
            self._clean_group(facts, group, round_, is_dry_run=is_dry_run)
        if not is_dry_run:
            self._files.sync_directory(self._directory)  # or an index could be swapped in whose log lost its name
        result.bytes_before = sum(segment.size for segment in sources)
        result.bytes_after = sum(group.size for group in groups)
        result.segments_before, result.segments_after = len(sources), len(groups)
        result.records_read, result.records_kept = round_.records_read, round_.records_kept
        result.records_without_key = round_.records_without_key
        result.is_changed = any(group.is_changed for group in groups)
        return result, groups

    def build_offset_map(self, facts: PartitionFacts, offsets: CleanableRange, max_entries: int) -> OffsetMap:
        """The latest offset of each key in the range; of its beginning only when the map gets full.

        Keys of control batches and of aborted transactions don't count.
        """
        start, end = offsets
        offset_map = OffsetMap(max_entries)
        if start >= end:
            offset_map.advance_to(end - 1)  # nothing is dirty: only horizons that have passed are looked for
            return offset_map
        transactions = CleanedTransactions()
        transactions.add_aborted(facts.aborted_between(start, end))
        dirty = [s for s in facts.segments if s.base_offset < end and facts.next_offsets[s.base_offset] > start]
        for index, segment in enumerate(dirty):
            for _, header, batch in self._batches(segment):
                if header.last_offset < start:
                    continue
                if header.is_control:
                    first = next(iterate_records(batch, header), None)
                    transactions.is_discardable(header, None if first is None else first.key)
                elif not transactions.is_aborted(header):
                    latest = {
                        record.key: record.offset
                        for record in iterate_records(batch, header)
                        if record.key is not None and record.offset >= start
                    }
                    if not len(offset_map) and len(latest) > max_entries:
                        offset_map.max_entries = len(latest)  # one batch must fit, or the cleaner never gets on
                    if not offset_map.put_all(latest):
                        return offset_map
                offset_map.advance_to(header.last_offset)
            offset_map.advance_to((dirty[index + 1].base_offset if index + 1 < len(dirty) else end) - 1)
        return offset_map

    def _batches(self, segment: SegmentFacts) -> Iterator[tuple[int, BatchHeader, memoryview]]:
        """(position, header, bytes) of the batches of a segment. Raises CorruptRecordError for a wrong CRC too."""
        path = segment_path(self._directory, segment.base_offset, LOG_SUFFIX)
        position = 0
        fd = self._files.open(path, READ_ONLY)
        try:
            least = segment.base_offset
            for position, header, batch in scan_batches(self._files, fd, 0, segment.size, self._buffer_bytes):
                if header.base_offset < least:  # which no CRC covers
                    raise CorruptRecordError(f"base offset {header.base_offset}, {least} or more was expected")
                least = header.next_offset
                check_crc(batch, 0, header)
                self._pace.read(len(batch))
                yield position, header, batch
                position += len(batch)
        except CorruptRecordError as error:
            raise CorruptRecordError(f"{path}, position {position}: {error.message}") from error
        except UnsupportedForMessageFormatError as error:
            raise UnsupportedForMessageFormatError(f"{path}, position {position}: {error.message}") from error
        finally:
            self._files.close(fd)

    # Writing -----------------------------------------------------------------

    def _clean_group(self, facts: PartitionFacts, group: CleanedGroup, round_: Round, *, is_dry_run: bool) -> None:
        """Writes the `.cleaned` files of a group, or only counts."""
        base_offset = group.base_offset
        indexes = CleanedIndexes(base_offset, self._config.index_interval_bytes)
        path = segment_path(self._directory, base_offset, LOG_SUFFIX + CLEANED_SUFFIX)
        is_changed = len(group.sources) > 1
        fd = -1 if is_dry_run else self._files.open(path, CREATE)
        try:
            parts: list[Buffer] = []
            pending = 0
            for data, is_verbatim in self._filtered(facts, group, round_):
                is_changed |= not is_verbatim
                if not data:
                    continue
                header = read_header(data)
                if header.last_offset - base_offset > MAX_RELATIVE_OFFSET:
                    raise CorruptRecordError(f"{path}: offset {header.last_offset} is too far from {base_offset}")
                indexes.append(header)
                parts.append(data)
                pending += len(data)
                if fd >= 0 and pending >= self._buffer_bytes:
                    self._files.write_all(fd, parts, indexes.size - pending)
                    self._pace.written(pending)
                    parts, pending = [], 0
                elif fd < 0:
                    parts.clear()
            if fd >= 0:
                if parts:
                    self._files.write_all(fd, parts, indexes.size - pending)
                    self._pace.written(pending)
                self._files.truncate(fd, indexes.size)
                self._files.sync(fd)
        finally:
            if fd >= 0:
                self._files.close(fd)
        indexes.append_aborted(round_.transactions.take_kept_aborts())
        group.size = indexes.size
        group.is_changed = self._finish_indexes(base_offset, indexes, is_dry_run=is_dry_run) or is_changed
        if not is_dry_run:
            self._keep_attributes(group)

    def _filtered(self, facts: PartitionFacts, group: CleanedGroup, round_: Round) -> Iterator[tuple[Buffer, bool]]:
        """(bytes to write, whether they are as before) for each batch of a group; no bytes for one that goes."""
        for index, segment in enumerate(group.sources):
            following = index + 1 < len(group.sources)
            upper = group.sources[index + 1].base_offset if following else facts.next_offsets[segment.base_offset]
            round_.transactions.add_aborted(facts.aborted_between(segment.base_offset, upper))
            for position, header, batch in self._batches(segment):
                try:
                    kept = retain(round_, header, batch)
                except KafkaError as error:
                    path = segment_path(self._directory, segment.base_offset, LOG_SUFFIX)
                    raise KafkaError(error.error_code, f"{path}, position {position}: {error.message}") from error
                yield kept or (b"", False)

    def _finish_indexes(self, base_offset: int, indexes: CleanedIndexes, *, is_dry_run: bool) -> bool:
        """Writes the index files of a cleaned segment; whether they differ from those that are there."""
        built = indexes.files()
        is_changed = False
        for suffix in INDEX_SUFFIXES:
            current = segment_path(self._directory, base_offset, suffix)
            before = self._files.read_file(current) if self._files.exists(current) else None
            is_changed |= before != built.get(suffix)
            if not is_dry_run and suffix in built:
                path = segment_path(self._directory, base_offset, suffix + CLEANED_SUFFIX)
                fd = self._files.open(path, CREATE)
                try:
                    self._files.write_all(fd, [built[suffix]], 0)
                    self._files.truncate(fd, len(built[suffix]))
                    self._files.sync(fd)
                finally:
                    self._files.close(fd)
        return is_changed

    def _keep_attributes(self, group: CleanedGroup) -> None:
        """Owner and mode of the first source; the time of the last: it steers retention of records without time."""
        model = segment_path(self._directory, group.base_offset, LOG_SUFFIX)
        last = segment_path(self._directory, group.sources[-1].base_offset, LOG_SUFFIX)
        for suffix in SEGMENT_SUFFIXES:
            path = segment_path(self._directory, group.base_offset, suffix + CLEANED_SUFFIX)
            if self._files.exists(path):
                self._files.copy_attributes(model, last, path)

    def _swap(self, groups: Sequence[CleanedGroup]) -> None:
        """Swaps in from the first changed group to the last; what lies between must come along (see swap_in)."""
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
