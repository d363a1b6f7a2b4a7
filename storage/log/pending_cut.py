"""A truncation whose waits for the disk may be on another thread. In memory the log is cut already.

    pending = log.begin_truncation(offset)      on the loop; None if there is nothing to remove
    pending.write()                             on any thread: removes, cuts and syncs
    pending.rebuilding()                        on the loop, in steps: replays the producers; may be left out
    log.complete_truncation(pending)            on the loop; StorageError if the disk failed

Owns: the order on the disk. Never does: changing the log in memory. Invariants: files are removed from the end
backwards, each durably, so that a crash neither leaves batches after a hole nor brings removed ones back; an append
waits until this is over. A crash before the end undoes a part of the truncation, as if it had not been asked for.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock

from ..errors import StorageError
from ..files.descriptors import Descriptor
from ..files.files import Files
from .log_flush import Flush


class PendingCut:
    """One truncation. `failure`: the StorageError of the disk, once the log has taken note of it."""

    def __init__(
        self, files: Files, directory: Path, removed: Sequence[list[Path]], active: Descriptor, size: int, flush: Flush
    ) -> None:
        """`removed`: the files of each segment, the last segment first. `active`: the file to cut at `size`."""
        self._files = files
        self._directory = directory
        self._removed = removed
        self._active = active
        self._size = size
        self._flush = flush
        self._lock = Lock()
        self._is_written = False
        self.rebuild: Iterator[None] = iter(())
        """The steps that replay the producers from what is left. Until the last one they are those of the uncut log."""
        self.error: OSError | None = None
        self.failure: StorageError | None = None

    def write(self) -> None:
        """Does the disk's part once. A call while another thread is at it waits for that thread."""
        with self._lock:
            if not self._is_written:
                try:
                    self._write()
                except OSError as error:
                    self.error = error
                self._is_written = True

    def _write(self) -> None:
        for paths in self._removed:
            for path in paths:
                self._files.remove(path)
            self._files.sync_directory(self._directory)
        self._files.truncate(self._active.fd, self._size)
        self._flush.sync()

    def rebuilding(self) -> Iterator[None]:
        """The steps of :attr:`rebuild` that are left. Completing the truncation takes those that its caller has not."""
        try:
            for _ in self.rebuild:  # not `yield from`, which would end them with this generator
                yield
        except OSError as error:
            self.error = error

    def close(self) -> None:
        """Releases the file."""
        self._flush.close()
