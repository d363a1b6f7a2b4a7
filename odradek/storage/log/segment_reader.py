"""Reads the segments of one log: batches by offset, records by timestamp, aborted transactions.

Owns: which older segments keep their indexes in memory. Never does: changing files, checking offsets against the log's
(`Log` does). Source: Kafka's LocalLog.read, UnifiedLog.fetchOffsetByTimestamp.
"""

from collections.abc import Callable, Collection

from odradek.protocol.common.steps import Steps

from ..errors import StorageError
from ..files.files import Files
from ..segment.segment import Segment
from ..segment.transaction_index import AbortedTransaction
from .log_segments import LogSegments
from .read_result import FileRegion, ReadResult, TimestampAndOffset
from .timestamp_search import ScanNeeded, SegmentScan, TimestampSearch

REGION_BYTES = 64 * 1024
"""Reads of at least this size return a region of the file, for sendfile."""
LOADED_INDEXES = 4
"""How many older segments keep their indexes in memory after a read."""
NOTHING = ReadResult(b"", -1)


class SegmentReader:
    """The reads of a log. Methods raise OSError."""

    def __init__(self, files: Files, segments: LogSegments) -> None:
        """`segments` change when the log does."""
        self._files = files
        self.segments = segments
        self._indexes_in_use: list[Segment] = []

    def forget(self, segments: Collection[Segment]) -> None:
        """Forgets segments that were removed from the log."""
        self._indexes_in_use = [segment for segment in self._indexes_in_use if segment not in segments]

    def read(self, offset: int, max_bytes: int, bound: int | None, *, min_one_batch: bool) -> ReadResult:
        """Reads from the batch that holds `offset`, or the next one, up to the batch that holds `bound`.

        Without `bound`: up to the end. See `Log.read`.
        """
        active = self.segments.active
        segment: Segment | None = active if offset >= active.base_offset else self.segments.floor(offset)
        segment = segment or self.segments.first
        while segment is not None:
            if segment is not active:
                self._use_indexes(segment)
            place = segment.indexes.find(offset)
            following = None if segment is active else self.segments.after(segment)
            if place is None:
                segment = following
                continue
            end = segment.file.size
            if bound is not None and (following is None or bound < following.base_offset):
                limit = segment.indexes.find(bound)
                end = end if limit is None else limit.position
            most_bytes = max(max_bytes, place.size) if min_one_batch else max_bytes
            length = min(end - place.position, most_bytes)
            if most_bytes < place.size or length <= 0:
                return NOTHING
            descriptor = segment.file.try_hold() if length >= REGION_BYTES else None
            if descriptor is None:
                # Slow readers hold too many files open. Reads into memory instead, and less.
                length = min(length, max(place.size, REGION_BYTES))
                return ReadResult(segment.file.read_bytes(place.position, length), offset)
            return ReadResult(FileRegion(descriptor, place.position, length), offset)
        return NOTHING

    def _use_indexes(self, segment: Segment) -> None:
        """Keeps the indexes of only a few older segments in memory."""
        in_use = self._indexes_in_use
        if segment not in in_use:
            in_use.append(segment)
            if len(in_use) > LOADED_INDEXES:
                in_use.pop(0).indexes.unload()

    def search_timestamp(
        self,
        timestamp: int | None,
        starting_offset: int,
        storage_error: Callable[[OSError], StorageError],
        max_record_size: int,
    ) -> TimestampSearch:
        """The first record from `starting_offset` on whose own timestamp is `timestamp` or later; see `Log`."""
        if timestamp is None:
            return (yield from self._search_max_timestamp(storage_error, max_record_size))
        segment: Segment | None = self.segments.first
        while segment is not None:
            if segment.size and segment.largest_timestamp >= timestamp:
                self._use_indexes(segment)
                _, near_offset = segment.indexes.time.lookup(timestamp)
                position = segment.indexes.offset.lookup(max(near_offset, starting_offset))
                if position < segment.size:
                    scan = SegmentScan(self._files, segment, position, storage_error, max_record_size)
                    found = yield ScanNeeded(scan, scan.first_at_or_after(timestamp, starting_offset))
                    if found is not None:
                        return found
            yield None
            segment = self.segments.after(segment)
        return None

    def find_record(
        self, offset: int, storage_error: Callable[[OSError], StorageError]
    ) -> Steps[TimestampAndOffset | None]:
        """The first record from `offset` on that is not a control record; see `SegmentScan.first_from`."""
        segment: Segment | None = next(iter(self.segments.reaching(offset)), None)
        while segment is not None:
            if segment is not self.segments.active:
                self._use_indexes(segment)
            position = segment.indexes.offset.lookup(offset)
            if position < segment.size:
                scan = SegmentScan(self._files, segment, position, storage_error)
                try:
                    found = yield from scan.first_from(offset)
                finally:
                    scan.close()
                if found is not None:
                    return found
            yield
            segment = self.segments.after(segment)
        return None

    def _search_max_timestamp(
        self, storage_error: Callable[[OSError], StorageError], max_record_size: int
    ) -> TimestampSearch:
        """The first record with the greatest timestamp of the log; None without records."""
        newest = segment = self.segments.first
        while (following := self.segments.after(segment)) is not None:
            segment = following
            if segment.indexes.max_timestamp > newest.indexes.max_timestamp:
                newest = segment
            yield None
        position = newest.indexes.offset.lookup(newest.indexes.max_timestamp_offset)
        if position >= newest.size:
            return None
        scan = SegmentScan(self._files, newest, position, storage_error, max_record_size)
        return (yield ScanNeeded(scan, scan.first_with(newest.indexes.max_timestamp)))

    def offset_after(self, offset: int, size: int) -> int | None:
        """An offset after the `size` bytes that a read from `offset` has returned: the next one of the index, else the
        base offset of the next segment. None if there is neither. Source: LocalLog.addAbortedTransactions.
        """
        for segment in self.segments.reaching(offset):
            if segment is not self.segments.active:
                self._use_indexes(segment)
            place = segment.indexes.find(offset)
            if place is not None:
                indexed = segment.indexes.offset.first_offset_from(place.position + size)
                following = self.segments.after(segment)
                return following.base_offset if indexed is None and following is not None else indexed
        return None

    def aborted_transactions(self, fetch_offset: int, upper_bound_offset: int) -> list[AbortedTransaction]:
        """The aborted transactions that overlap `[fetch_offset, upper_bound_offset)`, in the order of their markers."""
        found: list[AbortedTransaction] = []
        for segment in self.segments.reaching(fetch_offset):
            entries, is_complete = segment.indexes.transaction.collect(fetch_offset, upper_bound_offset)
            found += entries
            if is_complete:
                break
        return found
