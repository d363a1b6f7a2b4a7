"""Where in a segment an offset lies, by the positions that an index names; none of them is believed unseen.

Reads the first bytes of a few batches.
"""

from collections.abc import Sequence

from ...protocol.records.batch import MAGIC
from ..directories.file_access import RangeReader, is_unreadable
from ..directories.log_directories import SegmentFile, open_segment


def position_before(segment: SegmentFile, positions: Sequence[int], offset: int) -> int:
    """The last position, of those that an index names, whose batch begins at `offset` or before it; 0 without one.

    Also 0 if the system refuses to read the file: the reader that begins there names it. Raises OSError as
    `read_chunks` does.
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
                return 0  # a damaged index: all is read
            if int.from_bytes(file.read(positions[middle], 8), "big") <= offset:
                low = middle + 1
            else:
                high = middle
    return positions[low - 1] if low else 0


def is_batch_at(file: RangeReader, position: int, least_offset: int) -> bool:
    """Whether a batch of an offset from `least_offset` on seems to begin at the position."""
    front = file.read(position, 17)
    return len(front) == 17 and front[16] == MAGIC and int.from_bytes(front[:8], "big", signed=True) >= least_offset
