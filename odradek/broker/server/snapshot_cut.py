"""Where each log ended at one instant, and where its files are now, for `odradek storage snapshot`.

Owns: the cut, which is taken in one turn of the event loop. All that was acknowledged before that turn is in it, and
nothing that came after it: so records, offsets of groups and transactions fit together. Never does: reading or copying
files; the command does that. Invariants: a file of the cut is known by its inode, whatever its name is later. While the
broker keeps deleted files (:meth:`Background.hold_removals`), each exists under its name or with ``.deleted``. Our own;
Kafka has no snapshots of a running broker.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from odradek.protocol.names.topics import TopicPartition
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.errors import StorageError
from odradek.storage.files.file_names import DELETED_SUFFIX, LOG_SUFFIX, segment_path
from odradek.storage.log.log import Log
from odradek.storage.log.log_offsets import LogOffsets
from odradek.storage.segment.segment import Segment

SEGMENTS_A_PAGE = 100
"""The segments that one answer describes, or whose inodes are looked up before one: about 1 ms."""


class LogCut(NamedTuple):
    """A log at the instant of the cut. ``active_bytes``: the size of its last segment. The others do not grow."""

    directory: int
    key: TopicPartition
    log: Log
    start: int
    end: int
    segments: list[Segment]
    active_bytes: int


class Cutter:
    """Cuts all open logs. What can be done before the cut is, a bounded number of segments in each turn."""

    def __init__(self, directories: Sequence[LogDirectory]) -> None:
        self._directories = directories
        self._inodes: dict[Segment, int] = {}
        self._known: list[tuple[int, TopicPartition, Log, LogOffsets, list[Segment]]] = []
        self._unknown = self._segments()
        self._present: list[dict[TopicPartition, Log]] = []
        self._ends: list[tuple[int, int, list[Segment], int]] = []

    def prepare(self) -> bool:
        """Looks at the next segments. Returns whether all are known. Raises OSError."""
        for _ in range(SEGMENTS_A_PAGE):
            segment = next(self._unknown, None)
            if segment is None:
                return True
            self.inode(segment)
        return False

    def cut(self) -> None:
        """Notes where each log ends, in about 1 us for each. To be called in one turn of the event loop.

        The garbage collector would take ten times as long as the cut, because it makes many objects at once.
        """
        collects = gc.isenabled()
        gc.disable()
        try:
            self._present = [dict(directory.logs) for directory in self._directories]
            known = {log for _, _, log, _, _ in self._known}
            for index, logs in enumerate(self._present):
                for key, log in logs.items():
                    if log not in known:
                        self._known.append((index, key, log, log.offsets, log.segments.in_order))
            self._ends = [
                (offsets.log_start_offset, offsets.log_end_offset, segments.copy(), segments[-1].file.size)
                for _, _, _, offsets, segments in self._known
            ]
        finally:
            if collects:
                gc.enable()

    def cuts(self) -> list[LogCut]:
        """The logs of the cut, without those that were deleted before it."""
        return [
            LogCut(index, key, log, *ends)
            for (index, key, log, _, _), ends in zip(self._known, self._ends, strict=True)
            if self._present[index].get(key) is log
        ]

    def inode(self, segment: Segment) -> int:
        """The inode of a segment that is in its log; from the look-up, if it was made then. Raises OSError."""
        inode = self._inodes.get(segment)
        if inode is None:
            inode = self._inodes[segment] = segment.file.files.inode(segment.path)
        return inode

    def known_inode(self, segment: Segment) -> int | None:
        """The inode of a segment, if it was looked up."""
        return self._inodes.get(segment)

    def _segments(self) -> Iterator[Segment]:
        for index, directory in enumerate(self._directories):
            for key, log in list(directory.logs.items()):
                self._known.append((index, key, log, log.offsets, log.segments.in_order))
                for segment in log.segments:
                    if segment is log.segments.floor(segment.base_offset):  # it was not removed meanwhile
                        yield segment


def pages(cutter: Cutter, cuts: Iterable[LogCut]) -> Iterator[list[dict[str, Any]]]:
    """The logs of the cut, some in each page. A log with many segments is in several pages, one after the other."""
    page: list[dict[str, Any]] = []
    count = 0
    for index, cut in enumerate(cuts):
        for first in range(0, len(cut.segments), SEGMENTS_A_PAGE):
            part = range(first, min(first + SEGMENTS_A_PAGE, len(cut.segments)))
            if count and count + len(part) > SEGMENTS_A_PAGE:
                yield page
                page, count = [], 0
            page.append(described(cutter, index, cut, part))
            count += len(part)
    yield page


def described(cutter: Cutter, index: int, cut: LogCut, part: Iterable[int]) -> dict[str, Any]:
    """A log of the cut with some of its segments, as JSON has it. Raises as :func:`segment_now`."""
    offsets = cut.log.offsets
    return {
        "index": index,
        "directory": cut.directory,
        "topic": cut.key[0],
        "partition": cut.key[1],
        "start": cut.start,
        "end": cut.end,
        "recoveryPoint": min(offsets.recovery_point, cut.end),
        "highWatermark": min(offsets.high_watermark, cut.end),
        "segments": [segment_now(cutter, cut, number) for number in part],
    }


def segment_now(cutter: Cutter, cut: LogCut, number: int) -> dict[str, Any]:
    """A segment of the cut: its number and base offset, the path of its log file now, the inode, the bytes in the cut.

    Raises OSError or StorageError if the file is gone.
    """
    segment, log, path = cut.segments[number], cut.log, cut.segments[number].path
    if log.segments.floor(segment.base_offset) is segment:
        inode: int | None = cutter.inode(segment)
    else:  # retention or the cleaner has taken it out
        path = segment_path(log.directory, segment.base_offset, LOG_SUFFIX + DELETED_SUFFIX)
        inode = cutter.known_inode(segment)
    if segment.file.files.inode(path) != inode:
        raise StorageError(f"{path}: other files have this name now; take the snapshot again")
    is_last = number == len(cut.segments) - 1
    return {
        "number": number,
        "base": segment.base_offset,
        "path": str(path),
        "inode": inode,
        "bytes": cut.active_bytes if is_last else segment.size,
        "isLast": is_last,
    }
