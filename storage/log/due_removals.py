"""Deleted files and directories whose time has come, removed on any thread.

Owns: what is still there. Never does: deciding when. Invariant: what can't be removed stays, and is tried again. To
remove a file of 1 GB takes 50 to 200 ms; readers that hold it open go on reading it. Source: Kafka's
LogManager.deleteLogs and the scheduled LocalLog.deleteSegmentFiles.
"""

from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path

from ..files.files import Files


class DueRemovals:
    """What is to be removed now. `add` and `remove` may be called on different threads."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._due: deque[tuple[Path, Callable[[Path], None]]] = deque()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, files: Iterable[Path], directories: Iterable[Path]) -> None:
        """Takes files, and directories with all that is in them."""
        self._due.extend((path, self._files.remove) for path in files)
        self._due.extend((path, self._remove_tree) for path in directories)

    def remove(self, is_stopped: Callable[[], bool] = lambda: False) -> int:
        """Removes everything, or as much as it can until `is_stopped`; how many. Raises OSError."""
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
