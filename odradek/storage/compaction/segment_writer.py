"""Writes the `.cleaned` files of one segment: the log file in pieces, then the indexes.

Owns: the descriptor of the `.cleaned` log file, and the buffered bytes. Invariant: after `flush` the log file is
complete and synced, after `write_indexes` the indexes are. Source: Kafka's Cleaner.cleanSegments.
"""

from pathlib import Path

from odradek.protocol.records.batch import Buffer

from ..files.file_names import CLEANED_SUFFIX, INDEX_SUFFIXES, LOG_SUFFIX, segment_path
from ..files.files import CREATE, Files
from .cleaned_indexes import CleanedIndexes
from .pace import Pace
from .record_steps import Piece

MAX_PARTS = 256
"""The maximum number of parts in one write. The system allows 1024."""


class SegmentWriter:
    """The writer of a new segment's log file. Use it as a context manager, which closes the file."""

    def __init__(
        self, files: Files, directory: Path, indexes: CleanedIndexes, base_offset: int, pace: Pace, buffer_bytes: int
    ) -> None:
        """Creates the `.cleaned` file. Raises OSError."""
        self._files = files
        self._directory = directory
        self._indexes = indexes
        self._pace = pace
        self._buffer_bytes = buffer_bytes
        self._parts: list[Buffer] = []
        self._pending = 0
        self._descriptor = files.open(segment_path(directory, base_offset, LOG_SUFFIX + CLEANED_SUFFIX), CREATE)

    def __enter__(self) -> "SegmentWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close(self._descriptor)

    def append(self, piece: Piece) -> None:
        """Adds the next batches. Raises SegmentOffsetOverflowError, OSError."""
        self._indexes.append(piece.batches)
        self._parts.append(piece.data)
        self._pending += len(piece.data)
        if self._pending >= self._buffer_bytes:
            self._write()

    def flush(self) -> None:
        """Writes the buffered batches and syncs the log file. Raises OSError."""
        if self._parts:
            self._write()
        self._files.truncate(self._descriptor, self._indexes.size)
        self._files.sync(self._descriptor)

    def _write(self) -> None:
        parts = self._parts if len(self._parts) <= MAX_PARTS else [b"".join(self._parts)]
        self._files.write_all(self._descriptor, parts, self._indexes.size - self._pending)
        self._pace.written(self._pending)
        self._parts, self._pending = [], 0


def write_indexes(
    files: Files, directory: Path, base_offset: int, built: dict[str, bytes], *, is_dry_run: bool
) -> bool:
    """Writes and syncs the `.cleaned` index files, unless `is_dry_run`. Returns whether they differ from the segment's
    present indexes. Raises OSError.
    """
    is_changed = False
    for suffix in INDEX_SUFFIXES:
        current = segment_path(directory, base_offset, suffix)
        before = files.read_file(current) if files.exists(current) else None
        is_changed |= before != built.get(suffix)
        if not is_dry_run and suffix in built:
            path = segment_path(directory, base_offset, suffix + CLEANED_SUFFIX)
            fd = files.open(path, CREATE)
            try:
                files.write_all(fd, [built[suffix]], 0)
                files.truncate(fd, len(built[suffix]))
                files.sync(fd)
            finally:
                files.close(fd)
    return is_changed
