"""Files whose removal a test can block."""

import threading
from pathlib import Path

from odradek.storage.files.files import Files


class GatedRemovals(Files):
    """Removals wait while ``gate`` is shut. ``threads``: the threads that removed files."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.threads: set[str] = set()
        self.began = threading.Event()
        """Set when the first removal has begun."""
        self.directory_syncs = 0

    def remove(self, path: Path) -> None:
        if path.name.endswith(".deleted"):
            self.threads.add(threading.current_thread().name)
            self.began.set()
            assert self.gate.wait(60), "the test has left the gate shut"
        super().remove(path)

    def sync_directory(self, path: Path) -> None:
        self.directory_syncs += 1
        super().sync_directory(path)
