"""Finds records of a segment by their own timestamps.

Owns: the way through one segment's file. Never does: changing the segment, deciding which segment to search
(`LogFiles.search_timestamp` does). The indexes say where to begin, the batches' greatest timestamps which to look into;
a batch may claim one that none of its records has. A scan may run on any thread, since it holds its file open and knows
where the batches end. Source: Kafka's LogSegment.findOffsetByTimestamp, FileRecords.searchForTimestamp, KIP-734.
"""

from collections.abc import Callable, Generator

from ...protocol.records.batch import BatchHeader
from ...protocol.records.errors import CorruptRecordError
from ...protocol.records.record import RECORDS_A_STEP
from ...protocol.records.record_facts import iterate_facts
from ...protocol.steps import Steps
from ..errors import StorageError
from ..files.files import Files
from ..segment.batch_scan import scan_headers
from ..segment.segment import Segment
from .read_result import FileRegion, TimestampAndOffset


class SegmentScan:
    """Looks for the first record of a part of a segment that has a timestamp.

    `close` gives the file back. It is called on the thread of the log, whatever thread takes the steps.
    """

    def __init__(
        self, files: Files, segment: Segment, position: int, storage_error: Callable[[OSError], StorageError]
    ) -> None:
        """Begins at `position`, a batch's start. `storage_error`: what to raise for an error of the disk."""
        self._files = files
        self._path = segment.path
        self._region = FileRegion(segment.hold_open(), position, segment.size - position)
        self._storage_error = storage_error

    def close(self) -> None:
        """Gives the file back; a second call does nothing."""
        self._region.close()

    def first_at_or_after(self, timestamp: int, starting_offset: int) -> Steps[TimestampAndOffset | None]:
        """The first record from `starting_offset` on whose own timestamp is `timestamp` or later."""

        def is_wanted(header: BatchHeader) -> bool:
            return header.max_timestamp >= timestamp and header.last_offset >= starting_offset

        def is_found(offset: int, found: int) -> bool:
            return found >= timestamp and offset >= starting_offset

        return self._search(is_wanted, is_found, by_header=False)

    def first_with(self, timestamp: int) -> Steps[TimestampAndOffset | None]:
        """The first record whose own timestamp is `timestamp`; of a batch of append time its base offset."""

        def is_wanted(header: BatchHeader) -> bool:
            return header.max_timestamp == timestamp

        return self._search(is_wanted, lambda _, found: found == timestamp, by_header=True)

    def _search(
        self, is_wanted: Callable[[BatchHeader], bool], is_found: Callable[[int, int], bool], *, by_header: bool
    ) -> Steps[TimestampAndOffset | None]:
        fd, start = self._region.fd, self._region.position
        steps = 0
        try:
            for place, header in scan_headers(self._files, fd, start, start + len(self._region)):
                steps += 1
                if not steps % RECORDS_A_STEP:
                    yield
                if not is_wanted(header):
                    continue
                if by_header and header.is_log_append_time:
                    return TimestampAndOffset(header.max_timestamp, header.base_offset, header.partition_leader_epoch)
                batch = self._files.read(fd, header.size_in_bytes, place)
                for offset, timestamp, _ in iterate_facts(batch, header):
                    if is_found(offset, timestamp):
                        return TimestampAndOffset(timestamp, offset, header.partition_leader_epoch)
                    steps += 1
                    if not steps % RECORDS_A_STEP:
                        yield
        except OSError as error:
            raise self._storage_error(error) from error
        except CorruptRecordError as damage:
            raise CorruptRecordError(f"{self._path}: {damage.message}") from damage
        return None


class ScanNeeded:
    """What a search asks for: that `steps` are taken, on any thread. Then it goes on with their result."""

    __slots__ = ("scan", "steps")

    def __init__(self, scan: SegmentScan, steps: Steps[TimestampAndOffset | None]) -> None:
        self.scan = scan
        self.steps = steps


TimestampSearch = Generator[ScanNeeded | None, TimestampAndOffset | None, TimestampAndOffset | None]
"""A search through a log's segments, on the log's thread: yields None to let others have their turn."""
