"""A truncation that is done in memory and not yet on the disk. Another thread may do the disk's part.

    pending = log.begin_truncation(offset)      on the loop; None if there is nothing to remove
    pending.write()                             on any thread: removes, cuts and syncs
    pending.rebuilding()                        on the loop, in steps: rebuilds the producer state; may be left out
    log.complete_truncation(pending)            on the loop; StorageError if the disk failed

If the process has no descriptor left, the truncation stays pending. Each later operation that needs it tries again.

Owns: the order on the disk. Never does: changing the log in memory. Invariants: files are removed from the end
backwards, each durably, so that a crash neither leaves batches after a hole nor brings removed ones back; an append
waits until this is over; each part may be repeated. After a crash before the end, the log may still have a part of the
truncated batches.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from ..errors import StorageError
from ..files.descriptors import Descriptor
from ..files.disk_errors import lacks_descriptors
from ..files.file_names import INDEX_SUFFIXES, LOG_SUFFIX, segment_path
from ..files.files import Files
from ..segment.segment import Segment
from .log_flush import Flush


class PendingCut:
    """One truncation. `failure`: the error to raise if the disk failed; the log sets it when it completes this."""

    def __init__(
        self,
        files: Files,
        directory: Path,
        removed: Sequence[int],
        active: Segment,
        descriptor: Descriptor,
        offset: int,
    ) -> None:
        """Writes the indexes of `active`, without a sync.

        `removed`: the base offsets of the removed segments, the last one first. `active`: the segment that was cut in
        memory; `descriptor`: its log file, with a holder. `offset`: the log's new end.
        """
        self._files = files
        self._directory = directory
        self._removed = removed
        self._active = active
        self._descriptor = descriptor
        self._size = active.size
        self._flush = Flush(files, offset, [descriptor], [], [])
        self._lock = Lock()
        self._is_saved = self._is_written = self._is_rebuilt = False
        self._disk_error: OSError | None = None
        self._rebuild_error: OSError | None = None
        self._steps: Iterator[None] | None = None
        self.rebuild: Callable[[], Iterator[None]] = lambda: iter(())
        """Returns the steps that rebuild the producer state from the batches that are left. The last step replaces the
        state.
        """
        self.failure: StorageError | None = None
        self._save()

    @property
    def error(self) -> OSError | None:
        """Why the truncation is not complete; a lack of descriptors only if nothing worse has happened."""
        errors = [error for error in (self._disk_error, self._rebuild_error) if error is not None]
        return min(errors, key=lacks_descriptors, default=None)

    def _save(self) -> None:
        """Writes the indexes. On the loop, where they change."""
        try:
            self._flush.paths = self._active.indexes.save()
        except OSError as error:
            self._disk_error = error
            self._is_saved = self._is_written = not lacks_descriptors(error)
        else:
            self._disk_error = None
            self._is_saved = True

    def write(self) -> None:
        """Truncates on the disk, once. A call during another thread's write waits for that write.

        Does nothing if the indexes could not be written for lack of a descriptor: `finish` does that first.
        """
        with self._lock:
            if self._is_written or not self._is_saved:
                return
            try:
                self._write()
            except OSError as error:
                self._disk_error = error
                self._is_written = not lacks_descriptors(error)
            else:
                self._disk_error = None
                self._is_written = True

    def _write(self) -> None:
        for base_offset in self._removed:
            for suffix in (*INDEX_SUFFIXES, LOG_SUFFIX):
                self._files.remove(segment_path(self._directory, base_offset, suffix))
            self._files.sync_directory(self._directory)
        self._files.truncate(self._descriptor.fd, self._size)
        self._flush.sync()

    def rebuilding(self) -> Iterator[None]:
        """Runs the steps of :attr:`rebuild` that are left. Completing the truncation runs those not yet run."""
        if self._is_rebuilt:
            return
        if self._steps is None:
            self._steps = self.rebuild()
        try:
            for _ in self._steps:  # not `yield from`, which would end them with this generator
                yield
        except OSError as error:
            self._rebuild_error = error
            self._is_rebuilt = not lacks_descriptors(error)
            self._steps = None
        else:
            self._rebuild_error = None
            self._is_rebuilt = True

    def finish(self) -> OSError | None:
        """Does the remaining steps on the event loop and waits for the disk. Returns :attr:`error`."""
        if not self._is_saved:
            self._save()
        self.write()
        for _ in self.rebuilding():
            pass
        return self.error

    def move_to(self, directory: Path) -> None:
        """Follows a rename of the partition's directory."""
        with self._lock:
            self._directory = directory
            self._flush.paths = [directory / path.name for path in self._flush.paths]

    def close(self) -> None:
        """Releases the file. Steps that have not reached the disk yet are dropped."""
        with self._lock:
            self._is_written = True
            self._flush.close()
