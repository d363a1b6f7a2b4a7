"""Reads of a log that are checked before they are served: a consumer gets the written data, or an error that names the
damage.

Owns: nothing. Never does: repairing. The CRC is checked. Base offset and leader epoch, which it does not cover, are
compared with the neighbouring batches and the partition's epochs. A batch that is cut off at the end of a read is
checked by the read that gets it whole. Source: our own (`odradek.fetch.check.crcs`); consumers check CRCs themselves
(check.crcs), and Kafka's broker never does.
"""

from odradek.protocol.records.batch import BatchHeader, check_crc, iterate_headers, read_header
from odradek.protocol.records.errors import CorruptRecordError

from ..files.file_names import TRANSACTION_INDEX_SUFFIX, segment_path
from .log import AbortedTransaction, Log
from .read_result import ReadResult, in_memory


def read_checked(log: Log, offset: int, max_bytes: int, upper_bound_offset: int, *, min_one_batch: bool) -> ReadResult:
    """As `Log.read`, always in memory. Also raises CorruptRecordError, with file, position, offset and problem."""
    result = log.read(offset, max_bytes, upper_bound_offset=upper_bound_offset, min_one_batch=min_one_batch)
    data = in_memory(result.data)
    position = 0
    try:
        expected = -1
        for position, header in iterate_headers(data):
            check_crc(data, position, header)
            _check_place(log, header, expected, offset)
            expected = header.next_offset
    except CorruptRecordError as damage:
        raise CorruptRecordError(f"{_place(log, offset, position)}: {damage.message}") from damage
    return ReadResult(data, result.first_offset)


def check_aborted(log: Log, aborted: list[AbortedTransaction]) -> None:
    """Raises CorruptRecordError if the log lacks one of the transactions: the transaction index, which has no
    checksum, is then damaged.
    """
    for entry in aborted:
        for offset, is_marker in ((entry.last_offset, True), (entry.first_offset, False)):
            if offset < log.log_start_offset:
                continue
            problem = "the log ends before that offset"
            if offset < log.log_end_offset:
                header = read_header(in_memory(log.read(offset, 1).data))
                if header.producer_id == entry.producer_id and (header.is_control or not is_marker):
                    continue
                problem = f"the batch at offset {header.base_offset} is from producer {header.producer_id}"
            segment = log.segments.floor(entry.last_offset) or log.segments.first
            path = segment_path(segment.file.directory, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
            raise CorruptRecordError(f"{path}: {entry}, but {problem}")


def _check_place(log: Log, header: BatchHeader, expected: int, offset: int) -> None:
    """Checks the fields that the CRC does not cover. Gaps are allowed: compaction leaves them."""
    if header.base_offset < expected or not offset <= header.last_offset < log.log_end_offset:
        raise CorruptRecordError(f"its base offset is {header.base_offset}, expected {max(expected, 0)} or higher")
    epoch = log.offsets.epoch_of(max(header.base_offset, log.log_start_offset))
    if epoch != header.partition_leader_epoch and epoch >= 0:
        raise CorruptRecordError(f"its leader epoch is {header.partition_leader_epoch}, expected {epoch}")


def _place(log: Log, offset: int, position: int) -> str:
    """File and position of the byte `position` bytes after the start of a read from `offset`."""
    for segment in log.segments.reaching(offset):
        place = segment.indexes.find(offset)
        if place is not None:
            return f"{segment.path}, position {place.position + position}"
    return str(log.directory)
