"""Finds the position of an offset in a segment, from the positions in its index.

Checks each position that it uses, by the first bytes of the batch there. Reads only a few of them.
"""

from collections.abc import Sequence

from ...protocol.errors import KafkaError
from ...protocol.records.batch import HEADER_UP_TO_MAGIC_SIZE, MAGIC, MAGIC_POSITION, batch_size
from ...protocol.records.errors import CorruptRecordError
from ...protocol.records.record import first_offset
from ..directories.file_access import RangeReader, is_unreadable
from ..directories.log_directories import SegmentFile, open_segment


def position_before(segment: SegmentFile, positions: Sequence[int], offset: int) -> int:
    """The last of `positions` whose batch has a base offset of at most `offset`; 0 if there is none.

    Also 0 if the index is damaged, or if the system refuses to read the file, which the later read reports. Raises
    OSError as `read_chunks` does.
    """
    try:
        return _searched(segment, positions, offset) if positions else 0
    except OSError as error:
        if not is_unreadable(error, segment.path):
            raise
        return 0


def _searched(segment: SegmentFile, positions: Sequence[int], offset: int) -> int:
    low, high = 0, len(positions)
    with open_segment(segment) as file:
        while low < high:
            middle = (low + high) // 2
            if not is_batch_at(file, positions[middle], segment.base_offset):
                return 0  # the index is damaged: read the whole segment
            if int.from_bytes(file.read(positions[middle], 8), "big") <= offset:
                low = middle + 1
            else:
                high = middle
    return positions[low - 1] if low else 0


def is_batch_at(file: RangeReader, position: int, least_offset: int) -> bool:
    """Whether a batch seems to begin at the position: magic and length are possible, its base offset is at least
    `least_offset`.
    """
    front = file.read(position, HEADER_UP_TO_MAGIC_SIZE)
    try:
        return batch_size(front) is not None and int.from_bytes(front[:8], "big", signed=True) >= least_offset
    except CorruptRecordError:
        return False


def first_offset_at(segment: SegmentFile, position: int) -> int | None:
    """The offset of the first record of the batch at a position; None if that can't be read.

    A wrapper (message format 0 or 1) has only its last offset in its header: it is decompressed. Raises OSError.
    """
    with open_segment(segment) as file:
        front = file.read(position, HEADER_UP_TO_MAGIC_SIZE)
        try:
            size = batch_size(front)
            if size is None:
                return None
            if front[MAGIC_POSITION] >= MAGIC:
                return int.from_bytes(front[:8], "big", signed=True)
            return first_offset(file.read(position, size))
        except KafkaError:
            return None
