"""Finds records of a segment by their own timestamps, and the timestamp of a record.

Owns: the scan of one segment's file. Never does: changing the segment, deciding which segment to search
(`LogFiles.search_timestamp` does). The indexes give the start; the batches' greatest timestamps decide which batches to
decode. A batch may claim a timestamp that none of its records has. A scan may run on any thread, since it holds its
file open and knows the end of the batches. Source: Kafka's LogSegment.findOffsetByTimestamp,
FileRecords.searchForTimestamp, KIP-734.
"""

from collections.abc import Callable, Generator

from odradek.protocol.common.steps import Steps
from odradek.protocol.records.batch import BatchHeader
from odradek.protocol.records.errors import CorruptRecordError
from odradek.protocol.records.record import RECORDS_A_STEP
from odradek.protocol.records.record_facts import UNLIMITED_RECORD, iterate_facts

from ..errors import StorageError
from ..files.files import Files
from ..segment.batch_scan import scan_headers
from ..segment.segment import Segment
from .read_result import FileRegion, TimestampAndOffset

UNREAD_BYTES = 1 << 20
"""`first_from` does not read batches of more bytes than this. It runs on the event loop; a read of 1 MiB takes 0.3 ms.
"""


class SegmentScan:
    """Searches a part of a segment for the first record with a timestamp.

    `close` releases the file. Call it on the thread of the log, even if another thread runs the steps.
    """

    def __init__(
        self,
        files: Files,
        segment: Segment,
        position: int,
        storage_error: Callable[[OSError], StorageError],
        max_record_size: int = UNLIMITED_RECORD,
    ) -> None:
        """Begins at `position`, a batch's start. `storage_error` makes the error to raise for a disk error.

        A search raises InvalidRecordError for a record of a compressed batch that is larger than `max_record_size`.
        """
        self._max_record_size = max_record_size
        self._files = files
        self._path = segment.path
        self._region = FileRegion(segment.file.hold_open().hold(), position, segment.size - position)
        self._storage_error = storage_error

    def close(self) -> None:
        """Releases the file. A second call does nothing."""
        self._region.close()

    def first_at_or_after(self, timestamp: int, starting_offset: int) -> Steps[TimestampAndOffset | None]:
        """The first record from `starting_offset` on whose own timestamp is `timestamp` or later."""

        def is_wanted(header: BatchHeader) -> bool:
            return header.max_timestamp >= timestamp and header.last_offset >= starting_offset

        def is_found(offset: int, found: int) -> bool:
            return found >= timestamp and offset >= starting_offset

        return self._search(is_wanted, is_found, lambda _: None)

    def first_with(self, timestamp: int) -> Steps[TimestampAndOffset | None]:
        """The first record whose own timestamp is `timestamp`. All records of a batch with LogAppendTime have its
        timestamp. Records of message format 0 have none.
        """

        def is_wanted(header: BatchHeader) -> bool:
            return header.max_timestamp == timestamp and header.magic > 0

        def time_of(header: BatchHeader) -> int | None:
            return header.max_timestamp if header.is_log_append_time and not header.is_wrapper else None

        return self._search(is_wanted, lambda _, found: found == timestamp, time_of)

    def first_from(self, offset: int) -> Steps[TimestampAndOffset | None]:
        """The first record from `offset` on that is not a control record, with its own timestamp.

        A batch over UNREAD_BYTES is not read: the result is its base offset and the timestamp of its first record.
        """

        def is_wanted(header: BatchHeader) -> bool:
            return header.last_offset >= offset and not header.is_control

        def time_of(header: BatchHeader) -> int | None:
            if header.is_wrapper:  # its first offset is unknown
                return header.max_timestamp if header.size_in_bytes > UNREAD_BYTES else None
            if header.is_log_append_time or (header.has_delete_horizon and header.size_in_bytes > UNREAD_BYTES):
                return header.max_timestamp  # a delete horizon takes the place of the base timestamp
            is_first = header.base_offset >= offset or header.size_in_bytes > UNREAD_BYTES
            return header.base_timestamp if is_first and not header.has_delete_horizon else None

        return self._search(is_wanted, lambda found, _: found >= offset, time_of)

    def _search(
        self,
        is_wanted: Callable[[BatchHeader], bool],
        is_found: Callable[[int, int], bool],
        time_of: Callable[[BatchHeader], int | None],
    ) -> Steps[TimestampAndOffset | None]:
        """The first record for which `is_found`, among the batches for which `is_wanted`; None if there is none.

        `time_of` returns the timestamp to take from a batch's header instead, or None to read the batch's records.
        """
        fd, start = self._region.fd, self._region.position
        steps = 0
        try:
            for place, header in scan_headers(self._files, fd, start, start + len(self._region)):
                steps += 1
                if not steps % RECORDS_A_STEP:
                    yield
                if not is_wanted(header):
                    continue
                if (known := time_of(header)) is not None:
                    return TimestampAndOffset(known, header.base_offset, header.partition_leader_epoch)
                batch = self._files.read(fd, header.size_in_bytes, place)
                for offset, timestamp, _ in iterate_facts(batch, header, max_record_size=self._max_record_size):
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
    """A request of a search to run `steps`, on any thread. The search then continues with their result."""

    __slots__ = ("scan", "steps")

    def __init__(self, scan: SegmentScan, steps: Steps[TimestampAndOffset | None]) -> None:
        self.scan = scan
        self.steps = steps


TimestampSearch = Generator[ScanNeeded | None, TimestampAndOffset | None, TimestampAndOffset | None]
"""A search through a log's segments, on the log's thread. It yields None to let other work run."""
