"""The files of one log: its segments and the directory they lie in.

Owns: the segments, the paths that are not yet synced, the files that wait for removal. Never does: reading records
(`SegmentReader` does), knowing producers, epochs or the high watermark (`Log` does). Invariant: an operation that
raises OSError has left the segments unchanged, or can be repeated. Source: Kafka's LocalLog.
"""

import logging
from pathlib import Path
from typing import Protocol

from ..files.descriptors import DescriptorCache
from ..files.disk_errors import lacks_descriptors
from ..files.file_names import (
    DELETED_SUFFIX,
    SEGMENT_SUFFIXES,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from ..segment.offset_index import ENTRY_SIZE as OFFSET_ENTRY_SIZE
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.segment import Segment
from ..segment.time_index import ENTRY_SIZE as TIME_ENTRY_SIZE
from .log_config import LogConfig
from .log_flush import Flush
from .log_loader import remove_segment_files
from .log_retention import RemovalQueue
from .log_segments import LogSegments
from .pending_cut import PendingCut
from .segment_reader import SegmentReader
from .swap_files import rename_swap_files

logger = logging.getLogger(__name__)

HELD_SEGMENTS = 4
"""How many of the latest segments a flush holds open. It opens and syncs earlier ones one after the other."""


class Cleaning(Protocol):
    """A round of the cleaner (compaction/live_round.py)."""

    def interrupt(self) -> None:
        """Called before the files change otherwise than by appends. Raises OSError."""


class LogFiles:
    """The segments of a log. Methods raise OSError."""

    def __init__(
        self, directory: Path, config: LogConfig, descriptors: DescriptorCache, segments: LogSegments, jitter_seed: int
    ) -> None:
        """Takes over the segments that the loader has opened."""
        self.directory = directory
        self.config = config
        self.segments = segments
        self.removals = RemovalQueue(descriptors.files)
        self.unsynced_paths: list[Path] = []
        self._has_new_names = True
        """Whether file names in the directory have changed since its last sync. (A set of paths would take 460 bytes.)
        """
        self._is_new_name = True
        """Whether the directory's own name in its parent may be unsynced: True until the first flush."""
        self.cleaning: Cleaning | None = None
        """The cleaning round in progress on these files."""
        self.files = self._files = descriptors.files
        self._descriptors = descriptors
        self._jitter_seed = jitter_seed
        self.reader = SegmentReader(descriptors.files, segments)
        self._secure_base: int | None = None
        """The newest segment's base offset at the last `secure_names`; None if segments were added or replaced since.
        """

    def needs_roll(self, size: int, max_timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Whether a batch of `size` bytes up to `last_offset` needs a new segment, by size, age, offset range or full
        index.
        """
        config, active = self.config, self.segments.active
        written = active.file.size
        return (
            written > config.segment_bytes - size
            or last_offset - active.base_offset > MAX_RELATIVE_OFFSET
            or (
                written > 0
                and active.time_waited_for_roll(now_ms, max_timestamp) > config.max_segment_ms - active.jitter_ms
            )
            or _index_is_full(active, config.segment_index_bytes)
        )

    def roll(self, base_offset: int, now_ms: int) -> Segment:
        """Closes the active segment's indexes and starts a new segment."""
        self.unsynced_paths += self.segments.active.indexes.become_inactive()
        return self.add_segment(base_offset, now_ms)

    def add_segment(self, base_offset: int, now_ms: int) -> Segment:
        """A new, empty segment at the end."""
        segment = Segment.create(
            self.directory,
            base_offset,
            self._descriptors,
            index_interval_bytes=self.config.index_interval_bytes,
            jitter_ms=self.config.roll_jitter_ms(self._jitter_seed, base_offset),
            created_ms=now_ms,
        )
        self._has_new_names = True
        self._secure_base = None
        self.segments.add(segment)
        return segment

    # Removing ----------------------------------------------------------------

    def begin_cut(self, offset: int) -> PendingCut:
        """Takes the batch that holds `offset` and all later ones out of the segments in memory.

        `offset` is not below the first segment. The result does the same on the disk. If it raises OSError because no
        descriptor was left, the segments are unchanged: all files are opened first.
        """
        self.interrupt_cleaning()
        active = self.segments.floor(offset)
        assert active is not None, "an offset below the first segment"
        descriptor = active.file.hold_open().hold()
        try:
            first = active.prepare_truncation(offset)
            removed = [segment for segment in reversed(list(self.segments)) if segment.base_offset > offset]
            for segment in removed:
                self._remove_segment(segment)
                segment.file.forget()
            active.truncate(offset, first)
        except BaseException:
            descriptor.release()
            raise
        bases = [segment.base_offset for segment in removed]
        return PendingCut(self._files, self.directory, bases, active, descriptor, offset)

    def restart_at(self, offset: int, now_ms: int) -> None:
        """Replaces the segments, which are empty, by an empty one at `offset`.

        If it raises OSError because no descriptor was left, the segments are unchanged.
        """
        self.interrupt_cleaning()
        before = [segment for segment in self.segments if segment.base_offset != offset]
        assert not self.segments.size_in_bytes, "records would come back after a power failure"
        self.add_segment(offset, now_ms)
        for segment in reversed(before):
            self._remove_segment(segment)
            remove_segment_files(self._files, segment)
        try:
            self._files.sync_directory(self.directory)
        except OSError as error:
            if not lacks_descriptors(error):
                raise  # otherwise the next flush syncs the names: what a power failure brings back is empty

    def secure_names(self) -> None:
        """Makes the newest segment's name durable. Older segments may be removed only after that."""
        if self._has_new_names and self._secure_base != self.segments.active.base_offset:
            self._files.sync_directory(self.directory)
            self._has_new_names = False
            self._secure_base = self.segments.active.base_offset

    def remove_later(self, segment: Segment, more: list[Path], due_ms: int) -> None:
        """Takes a segment out. Its files (and `more`) are renamed to `.deleted` and removed at `due_ms`."""
        self._remove_segment(segment)
        segment.file.forget()
        for path in [
            *(segment_path(self.directory, segment.base_offset, suffix) for suffix in SEGMENT_SUFFIXES),
            *more,
        ]:
            if not self._files.exists(path):
                continue
            target = path.with_name(path.name + DELETED_SUFFIX)
            try:
                self._files.rename(path, target)
            except OSError as error:
                # It is removed under its own name. A crash before the removal brings back a segment below the log's
                # start.
                logger.warning("%s: cannot rename the file before its removal: %s", path, error)
                target = path
            self.removals.add([target], due_ms)

    def _remove_segment(self, segment: Segment) -> None:
        self.interrupt_cleaning()
        self.segments.remove(segment)
        self._has_new_names = True
        self.reader.forget([segment])

    def replace(self, sources: list[Segment], size: int, more: list[Path], due_ms: int) -> Segment:
        """Replaces neighbouring segments by a cleaned one with complete `.swap` files.

        Files of the old ones (and `more`) are removed later; readers may go on using them. The new one is served from
        its `.swap` files until `rename_cleaned`. After an OSError, the files are in a state between old and new.
        """
        paths = [segment_path(self.directory, s.base_offset, suffix) for s in sources for suffix in SEGMENT_SUFFIXES]
        for segment in sources:
            segment.file.forget()
        for path in [*paths, *more]:
            if self._files.exists(path):
                target = path.with_name(path.name + DELETED_SUFFIX)
                self._files.rename(path, target)
                self.removals.add([target], due_ms)
        self._has_new_names = True
        self.reader.forget(sources)
        cleaned = Segment(
            self.directory,
            sources[0].base_offset,
            size,
            self._descriptors,
            index_interval_bytes=self.config.index_interval_bytes,
            jitter_ms=sources[0].jitter_ms,
            created_ms=sources[0].created_ms,
            name_suffix=SWAP_SUFFIX,
        )
        self.segments.replace(sources, cleaned)
        self._secure_base = None
        return cleaned

    def rename_cleaned(self, cleaned: Segment) -> None:
        """Renames a cleaned segment's files to their final names.

        The removal of the old names must be durable first: otherwise a power failure could bring an old segment back
        beside its replacement.
        """
        cleaned.file.forget()
        rename_swap_files(self._files, self.directory, cleaned.base_offset)
        self._has_new_names = True
        self._secure_base = None
        cleaned.file.drop_name_suffix()

    def interrupt_cleaning(self) -> None:
        """Ends the cleaning round in progress, before the segments change: it replaces no more segments. Raises
        OSError.
        """
        if self.cleaning is not None:
            self.cleaning.interrupt()

    # Durability --------------------------------------------------------------

    @property
    def is_dirty(self) -> bool:
        """Whether paths wait for a sync, or the active segment's indexes are not saved."""
        return bool(self.unsynced_paths) or not self.segments.active.indexes.are_saved

    def prepare_flush(self, recovery_point: int, log_end_offset: int) -> Flush:
        """The first step of a flush (log_flush.py) of everything from `recovery_point` on."""
        segments = self.segments.reaching(recovery_point)
        for segment in segments:
            saved = segment.indexes.save()
            self.unsynced_paths += saved
            if any(path.suffix == TRANSACTION_INDEX_SUFFIX for path in saved):
                # The transaction index is the only file created later than its segment. If its name were lost in a
                # crash, readers would miss aborted transactions.
                self._has_new_names = True
        # After a kill thousands of segments may be unsynced, more than the process may have descriptors.
        held = {segment: segment.file.try_hold() for segment in segments[-HELD_SEGMENTS:]}
        descriptors = [descriptor for descriptor in held.values() if descriptor is not None]
        self.unsynced_paths += [segment.path for segment in segments if held.get(segment) is None]
        directories = [self.directory.parent] if self._is_new_name else []
        if self._has_new_names:
            directories.append(self.directory)
        paths = list(dict.fromkeys(self.unsynced_paths))
        flush = Flush(self._files, log_end_offset, descriptors, paths, directories)
        self.unsynced_paths = []
        self._has_new_names = self._is_new_name = False
        return flush

    def needs_flush(self, recovery_point: int) -> bool:
        """Whether more than the active segment's log file has changed since the flush that set `recovery_point`."""
        is_older = recovery_point < self.segments.active.base_offset
        return is_older or bool(self.unsynced_paths) or self._has_new_names or self._is_new_name

    def prepare_sync(self, log_end_offset: int) -> Flush:
        """The first step of a sync of the active segment's log file alone."""
        active = self.segments.active
        descriptor = active.file.try_hold()
        if descriptor is None:
            return Flush(self._files, log_end_offset, [], [active.path], [], with_indexes=False)
        return Flush(self._files, log_end_offset, [descriptor], [], [], with_indexes=False)

    def take_back(self, flush: Flush) -> None:
        """Adds the files and names of a flush that was not carried out to the next flush."""
        self.unsynced_paths += flush.paths
        self._has_new_names |= self.directory in flush.directories
        self._is_new_name |= self.directory.parent in flush.directories

    def note_unsynced(self, path: Path) -> None:
        """Adds a new file of the log's directory to the next flush, with its name."""
        self.unsynced_paths.append(path)
        self._has_new_names = True

    def forget_files(self) -> None:
        """Releases the descriptors and writes nothing."""
        self.interrupt_cleaning()
        for segment in self.segments:
            segment.file.forget()

    def use_descriptors(self, descriptors: DescriptorCache) -> None:
        """Opens files through another cache from now on. No file may be open."""
        self._descriptors = descriptors
        for segment in self.segments:
            segment.file.use_descriptors(descriptors)

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        self.interrupt_cleaning()
        self.directory = directory
        for segment in self.segments:
            segment.file.move_to(directory)


def _index_is_full(segment: Segment, segment_index_bytes: int) -> bool:
    """Whether an index has reached the maximum size of its file (the time index reserves one entry for the roll)."""
    most_time_entries = segment_index_bytes // TIME_ENTRY_SIZE - 1
    if segment.file.size < (most_time_entries - 1) * segment.indexes.interval_bytes:
        return False  # entries are more than index_interval_bytes apart, so the index can't be full
    is_full = len(segment.indexes.offset) >= segment_index_bytes // OFFSET_ENTRY_SIZE
    return is_full or len(segment.indexes.time) >= most_time_entries
