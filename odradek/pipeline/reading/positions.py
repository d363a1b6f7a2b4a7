"""Finds the position of an offset in a segment, from the positions in its index.

Checks each position that it uses, by the first bytes of the batch there. Reads only a few of them.
"""

from collections.abc import Sequence

from odradek.protocol.errors import KafkaError
from odradek.protocol.records.batch import HEADER_UP_TO_MAGIC_SIZE, MAGIC, MAGIC_POSITION, batch_size
from odradek.protocol.records.record import first_offset

from ..directories.file_access import RangeReader, is_unreadable
from ..directories.segment_files import SegmentFile, open_segment


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
            first = _first_offset(file, positions[middle])
            if first is None or first < segment.base_offset:
                return 0  # the index is damaged: read the whole segment
            if first <= offset:
                low = middle + 1
            else:
                high = middle
    return positions[low - 1] if low else 0


def first_offset_at(segment: SegmentFile, position: int) -> int | None:
    """The offset of the first record of the batch at a position; None if no batch of the segment seems to begin there.

    Raises OSError.
    """
    with open_segment(segment) as file:
        offset = _first_offset(file, position)
    return None if offset is None or offset < segment.base_offset else offset


def _first_offset(file: RangeReader, position: int) -> int | None:
    """Reads magic and length only, unless the batch is a wrapper (message format 0 or 1), which is decompressed."""
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
