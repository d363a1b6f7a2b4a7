"""The disk usage of a directory.

Owns: counting. Never does: changing anything. Invariant: a file that disappears during the count is ignored. Source:
``du``. Only allocated blocks count, so Kafka's preallocated, empty indexes do not.
"""

from pathlib import Path

from .files import Files

BLOCK_BYTES = 512
"""The unit of st_blocks."""


def allocated_bytes(files: Files, directory: Path) -> int:
    """The bytes that all files below a directory take on the disk. Raises OSError for the directory itself only."""
    total = 0
    for entry in files.list(directory):
        try:
            if entry.is_dir(follow_symlinks=False):
                total += allocated_bytes(files, Path(entry.path))
            else:
                total += entry.stat(follow_symlinks=False).st_blocks * BLOCK_BYTES
        except FileNotFoundError:
            continue  # removed by retention or the cleaner during the count
    return total
