"""Checks files that the next start of Kafka puts in the place of segments: `.swap` files of the cleaner.

At a start Kafka deletes every segment between a swap file's base offset and the end of its last readable batch, then
renames the swap file. A damaged one therefore replaces good segments, and the start cuts it at its damage. Reads the
swap file and the headers of the segments that it replaces; most partitions have none. Source: Kafka's LogLoader.load,
LogSegment.readNextOffset.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy

from odradek.storage.files.file_names import CLEANED_SUFFIX, LOG_SUFFIX, SWAP_SUFFIX, base_offset_of

from ..decode.batch_table import BatchTable, check_crcs
from ..decode.damage import Damage
from ..decode.segment_chunks import read_chunks
from ..directories.file_access import FileEntry
from ..directories.segment_files import SegmentFile, segments_of
from .tasks import AuditTask, PartitionReport


def check_swaps(task: AuditTask, report: PartitionReport, entries: Sequence[FileEntry]) -> None:
    """Adds a finding for each swap file that the next start puts in place although it loses records. Raises OSError."""
    cleaned = [base for entry in entries if (base := _base(entry.name, LOG_SUFFIX + CLEANED_SUFFIX)) is not None]
    for entry in entries:
        base = _base(entry.name, LOG_SUFFIX + SWAP_SUFFIX)
        if base is None or (cleaned and base >= min(cleaned)):
            continue  # a start deletes the swap files of a swap that the cleaner had not completed
        path = task.replica.path / entry.name
        swap = _Contents(path)
        replaced = [
            part
            for part in segments_of(task.replica.path, entries)
            if base <= part.base_offset < max(swap.end, base + 1)
        ]
        if not replaced:
            continue
        there = [_Contents(segment.path) for segment in replaced]
        lost = _loss(task, swap, there)
        if lost:
            detail = f"the next start of Kafka replaces {_named(replaced)} by it: {lost}"
            report.add("swap-loses-records", path, detail, position=swap.position, offset=base)


class _Contents:
    """The batches of a file: their records, the end of the last one, and the first damage."""

    def __init__(self, path: Path) -> None:
        self.records = 0
        self.end = -1
        self.position = -1
        self.damage = ""
        for item in read_chunks(path):
            damaged = [item] if isinstance(item, Damage) else check_crcs(item)[1]
            if damaged and not self.damage:
                self.position, self.damage = damaged[0].position, damaged[0].message
            if isinstance(item, BatchTable):
                self._read(item)

    def _read(self, batches: BatchTable) -> None:
        before = numpy.concatenate([[max(self.end, 0)], batches.last_offsets[:-1] + 1])
        falls = numpy.flatnonzero(batches.column("base_offset") < before)
        if len(falls) and not self.damage:
            self.position = int(batches.places[falls[0]])
            self.damage = "its offsets do not rise"
        self.records += int(batches.column("records_count").sum())
        self.end = int(batches.last_offsets[-1]) + 1


def _loss(task: AuditTask, swap: _Contents, there: Sequence[_Contents]) -> str:
    """The text about the records that the swap loses; "" if none is known to be lost."""
    if swap.damage:
        return f"it is damaged ({swap.damage}): consumers stop there, and a recovery cuts the log there"
    count = sum(contents.records for contents in there)
    end = max(contents.end for contents in there)
    if task.policy.is_compacted is False and swap.records < count:
        return f"it has {swap.records} records, they have {count}, and the topic is not compacted"
    if swap.end < end and len(there) == 1 and task.policy.is_compacted is False:
        return f"it ends at offset {swap.end}, they end at {end}"
    return ""


def _named(replaced: Sequence[SegmentFile]) -> str:
    names = [segment.path.name for segment in replaced]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _base(name: str, suffix: str) -> int | None:
    return base_offset_of(name) if name.endswith(suffix) else None
