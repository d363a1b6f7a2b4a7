"""The files of segments that replace others: `.cleaned` while they are written, `.swap` when they are complete.

Owns: their names, and the clean-up of those and of deleted files after a crash. Never does: writing segments.
Invariant: a replaced file is removed only after its replacement is on the disk. Source: Kafka's LogLoader,
LocalLog.replaceSegments.
"""

import logging
from pathlib import Path

from ..files.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    INDEX_SUFFIXES,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_DELETED_SUFFIX,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    base_offset_of,
    segment_path,
)
from ..files.files import READ_ONLY, Files
from ..segment.batch_scan import scan_places

logger = logging.getLogger(__name__)

TEMPORARY_SUFFIX = ".tmp"


def recover_swap_files(files: Files, directory: Path) -> None:
    """Removes deleted and half-written files, and puts the cleaner's complete files (`.swap`) in place.

    Segments that a `.swap` file covers are removed before it takes their place. A `.swap` whose base offset is
    that of a `.cleaned`, or higher, belongs to an unfinished split and is removed. Source: Kafka's LogLoader.load,
    passes one to three.
    """
    names = [entry.name for entry in files.list(directory) if entry.is_file()]
    cleaned = [name for name in names if name.endswith(CLEANED_SUFFIX)]
    least_cleaned = min((offset for name in cleaned if (offset := base_offset_of(name)) is not None), default=None)
    swaps = {
        name: offset for name in names if name.endswith(SWAP_SUFFIX) and (offset := base_offset_of(name)) is not None
    }
    if swaps:
        # These names may exist in memory only. The replaced files must stay until the names are on the disk.
        files.sync_directory(directory)
    stale = [name for name, offset in swaps.items() if least_cleaned is not None and offset >= least_cleaned]
    for name in stale:
        files.remove(directory / name)
        del swaps[name]
    if stale:
        # Synced before `.cleaned` is removed: otherwise a power failure could leave the `.swap` of an index without its
        # log, and the next start would put that index in the place of the old log's.
        files.sync_directory(directory)
    for name in names:
        if name.endswith((CLEANED_SUFFIX, TEMPORARY_SUFFIX)) or (
            name.endswith(DELETED_SUFFIX) and not name.endswith(SNAPSHOT_DELETED_SUFFIX)
        ):
            files.remove(directory / name)
    covered = [_swap_range(files, directory / name) for name in swaps if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    if covered:
        low, high = min(first for first, _ in covered), max(end for _, end in covered)
        for name in names:
            offset = base_offset_of(name)
            if offset is not None and low <= offset < high and name.endswith((*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX)):
                logger.info("%s: removed, it was compacted into another segment", directory / name)
                files.remove(directory / name)
        files.sync_directory(directory)  # otherwise a crash could bring back an old segment beside its replacement
    for base_offset in sorted(set(swaps.values())):
        # In rising order, each synced before the next: segments between two `.swap` files count as replaced by them.
        rename_swap_files(files, directory, base_offset)
        files.sync_directory(directory)


def rename_swap_files(files: Files, directory: Path, base_offset: int) -> None:
    """Renames the `.swap` files of a segment to their final names.

    The caller syncs the directory. The log file is renamed first, and its name is synced before a transaction index is
    renamed. Otherwise, after a crash, `.log.swap` could exist beside an index with its final name; recovery would
    remove that index as the replaced segment's, and the loss of a transaction index goes unnoticed.
    """
    for suffix in (LOG_SUFFIX, *INDEX_SUFFIXES):
        path = segment_path(directory, base_offset, suffix)
        swapped = path.with_name(path.name + SWAP_SUFFIX)
        if files.exists(swapped):
            if suffix == TRANSACTION_INDEX_SUFFIX:
                files.sync_directory(directory)
            files.rename(swapped, path)


def _swap_range(files: Files, path: Path) -> tuple[int, int]:
    """(first offset, end offset) of a `.log.swap` file."""
    first = base_offset_of(path.name)
    assert first is not None
    fd = files.open(path, READ_ONLY)
    try:
        end = first
        for place in scan_places(files, fd, 0, files.size(fd)):
            end = place.last_offset + 1
        return first, end
    finally:
        files.close(fd)
