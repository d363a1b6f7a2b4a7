"""A truncation that is done in memory and not yet on the disk. Another thread may do the disk's part.

    pending = log.begin_truncation(offset)      on the loop; None if there is nothing to remove
    pending.write()                             on any thread: removes, cuts and syncs
    pending.rebuilding()                        on the loop, in steps: rebuilds the producer state; may be left out
    log.complete_truncation(pending)            on the loop; StorageError if the disk failed

Owns: the order on the disk. Never does: changing the log in memory. Invariants: files are removed from the end
backwards, each durably, so that a crash neither leaves batches after a hole nor brings removed ones back; an append
waits until this is over. After a crash before the end, the log may still have a part of the truncated batches.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock

from ..errors import StorageError
from ..files.descriptors import Descriptor
from ..files.files import Files
from .log_flush import Flush


class PendingCut:
    """One truncation. `failure`: the error to raise if the disk failed; the log sets it when it completes this."""

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
        """The steps that rebuild the producer state from the batches that are left. The last step replaces the state.
        """
        self.error: OSError | None = None
        self.failure: StorageError | None = None

    def write(self) -> None:
        """Truncates on the disk, once. A call during another thread's write waits for that write."""
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
        """Runs the steps of :attr:`rebuild` that are left. Completing the truncation runs those not yet run."""
        try:
            for _ in self.rebuild:  # not `yield from`, which would end them with this generator
                yield
        except OSError as error:
            self.error = error

    def close(self) -> None:
        """Releases the file."""
        self._flush.close()
