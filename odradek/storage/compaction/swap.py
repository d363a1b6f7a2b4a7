"""Replaces segments by the cleaned ones made from them, so that a crash leaves either the old log or the new one.

`<base>.log.cleaned` -> `.swap`, from the last base to the first; the old segments' files -> `.deleted`; `.swap` ->
final name, from the first base to the last. The next open of the directory (`swap_files.recover_swap_files`, or
Kafka itself) undoes the swap if a `.cleaned` exists, and otherwise completes it. Source: Kafka's
LocalLog.replaceSegments, LogLoader.
"""

from collections.abc import Sequence
from pathlib import Path

from ..files.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    segment_path,
)
from ..files.files import Files
from ..log.swap_files import rename_swap_files


def swap_in(files: Files, directory: Path, new_bases: Sequence[int], old_bases: Sequence[int]) -> None:
    """Replaces adjacent segments by cleaned ones. Both lists have base offsets, rising. Raises OSError.

    The cleaned files must be durable already. Segments between the first and the last new base that are not replaced
    must not exist: after a crash they would be removed.
    """
    for base_offset in reversed(new_bases):
        _rename(files, directory, base_offset, CLEANED_SUFFIX, SWAP_SUFFIX)
    files.sync_directory(directory)
    for base_offset in old_bases:
        _rename(files, directory, base_offset, "", DELETED_SUFFIX)
    files.sync_directory(directory)  # otherwise an old segment could be back beside its replacement
    for base_offset in new_bases:
        rename_swap_files(files, directory, base_offset)
        files.sync_directory(directory)  # after each: segments between two `.swap` files count as replaced by them
    for base_offset in old_bases:
        for suffix in SEGMENT_SUFFIXES:
            files.remove(segment_path(directory, base_offset, suffix + DELETED_SUFFIX))
        if base_offset not in new_bases:
            files.remove(segment_path(directory, base_offset, SNAPSHOT_SUFFIX))


def _rename(files: Files, directory: Path, base_offset: int, old_suffix: str, new_suffix: str) -> None:
    """Renames each existing file of a segment: log, offset index, time index, transaction index."""
    for suffix in SEGMENT_SUFFIXES:
        source = segment_path(directory, base_offset, suffix + old_suffix)
        if files.exists(source):
            files.rename(source, segment_path(directory, base_offset, suffix + new_suffix))
