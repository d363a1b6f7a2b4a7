"""Deleted files and directories whose delay has passed, removed on any thread.

Owns: the queue of paths. Never does: deciding when. Invariant: a path that can't be removed stays in the queue and is
tried again. Removing a file of 1 GB takes 50 to 200 ms; readers that hold it open can go on reading. Source: Kafka's
LogManager.deleteLogs and the scheduled LocalLog.deleteSegmentFiles.
"""

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from ..files.files import Files


class DueRemovals:
    """A queue of paths to remove. `add` and `remove` may be called on different threads."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._due: deque[tuple[Path, Callable[[Path], None]]] = deque()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, files: Iterable[Path], directories: Iterable[Path]) -> None:
        """Adds files, and directories with their contents."""
        self._due.extend((path, self._files.remove) for path in files)
        self._due.extend((path, self._remove_tree) for path in directories)

    def remove(self, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Removes the paths until none is left or `is_stopped`. Returns the number removed. Raises OSError."""
        removed = 0
        while not is_stopped():
            try:
                path, remove = self._due.popleft()
            except IndexError:
                break
            try:
                remove(path)
            except OSError:
                self._due.append((path, remove))
                raise
            removed += 1
        return removed

    def _remove_tree(self, path: Path) -> None:
        for entry in self._files.list(path):
            if entry.is_dir(follow_symlinks=False):
                self._remove_tree(Path(entry.path))
            else:
                self._files.remove(Path(entry.path))
        self._files.remove_directory(path)
