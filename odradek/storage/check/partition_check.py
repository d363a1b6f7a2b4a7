"""The check of one partition's directory: batches, indexes against the log, snapshots, epochs, unfinished operations.

Reads; never writes, never locks. Each single file is checked by the code of `dump-log` (storage/dump). Source: the
checks of Kafka's DumpLogSegments, LogLoader and LogSegment.recover.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.names.topics import METADATA_TOPIC

from ..dump import decoders, index_dump
from ..dump.events import BatchLine, Event
from ..dump.events import DumpFinding as DumpFinding
from ..dump.log_dump import LogOptions, dump_log
from ..errors import CorruptCheckpointError
from ..files.checkpoints import read_epoch_checkpoint
from ..files.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LEADER_EPOCH_CHECKPOINT,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    base_offset_of,
    segment_path,
)
from ..files.files import Files
from ..files.meta_properties import read_partition_metadata
from ..files.regular_files import fault_text, kind_of
from ..log.set_aside import is_set_aside
from .findings import CheckedAmounts, CheckSeverity, Problem

HALF_DONE = {
    CLEANED_SUFFIX: "the cleaner was writing it; the next start removes it",
    SWAP_SUFFIX: "the cleaner has completed it; the next start replaces the old segments with it",
    DELETED_SUFFIX: "deleted; it is removed after file.delete.delay.ms or at the next start",
    ".tmp": "a checkpoint that was being written; the next start removes it",
}
SET_ASIDE_HINT = "the first start after 30 days removes the file, or you do"
KRAFT_SNAPSHOT = re.compile(r"\d{20}-\d{10}\.checkpoint")


class CheckTask(NamedTuple):
    """A partition to check.

    `is_clean`: the last stop was clean; `is_running`: a broker has the directory open; `is_deep`: records are decoded.
    """

    directory: Path
    topic: str
    is_clean: bool
    is_running: bool
    is_deep: bool
    recovery_point: int = 0
    log_start_offset: int = 0


def check_partition(task: CheckTask) -> CheckedAmounts:
    """Checks every file of a partition's directory. Raises OSError for the directory itself only."""
    check = _PartitionCheck(task)
    check.run()
    return CheckedAmounts(check.files_count, check.size, check.problems, check.set_aside)


class _PartitionCheck:
    """The check of one partition, with the state that passes from file to file."""

    def __init__(self, task: CheckTask) -> None:
        self.task = task
        self.files = Files()
        self.problems: list[Problem] = []
        self.files_count = 0
        self.size = 0
        self.set_aside = 0
        self.end_offset = -1

    def run(self) -> None:
        """Checks all files of the directory."""
        sizes = {}
        for entry in self.files.list(self.task.directory):
            status = entry.stat(follow_symlinks=False)
            if kind := kind_of(status.st_mode):
                what = f"{kind} instead of a file: not opened"
                self._add(CheckSeverity.ERROR, self.task.directory / entry.name, None, what)
            else:
                sizes[entry.name] = status.st_size
        self.files_count, self.size = len(sizes), sum(sizes.values())
        self._check_names(sizes)
        logs = sorted(name for name in sizes if name.endswith(LOG_SUFFIX) and base_offset_of(name) is not None)
        for name in logs:
            self._check_segment(name, sizes, is_active=name == logs[-1])
        for name in sorted(sizes):
            path = self.task.directory / name
            if name.endswith(SNAPSHOT_SUFFIX):
                self._add_findings(index_dump.dump_producer_snapshot(path), CheckSeverity.NOTE)
            elif KRAFT_SNAPSHOT.fullmatch(name):
                self._add_findings(dump_log(path, LogOptions(True, decoders.metadata_record)), CheckSeverity.ERROR)
        self._check_small_files()
        self._check_ends(logs)

    def _add(self, severity: CheckSeverity, path: Path, position: int | None, what: str) -> None:
        self.problems.append(Problem(severity, str(path), position, what))

    def _add_findings(self, events: Iterator[Event], severity: CheckSeverity) -> None:
        """Adds the findings among a dump's events. A finding without damage is a note."""
        try:
            for event in events:
                if isinstance(event, DumpFinding):
                    worth = severity if event.is_corrupt else CheckSeverity.NOTE
                    self._add(worth, event.path, event.position, event.what)
        except FileNotFoundError:
            return  # retention or the cleaner of a running broker took it away
        except OSError as error:
            self._add(CheckSeverity.ERROR, Path(error.filename or self.task.directory), None, fault_text(error))

    # Segments --------------------------------------------------------------------

    def _check_segment(self, name: str, sizes: dict[str, int], *, is_active: bool) -> None:
        task = self.task
        base_offset = base_offset_of(name)
        assert base_offset is not None
        path = task.directory / name
        if base_offset < self.end_offset:
            what = f"it begins at offset {base_offset}, but the previous segment ends at {self.end_offset - 1}"
            self._add(CheckSeverity.ERROR, path, 0, what)
        is_metadata = task.topic == METADATA_TOPIC
        decode = decoders.metadata_record if is_metadata else None
        try:
            for event in dump_log(path, LogOptions(task.is_deep or is_metadata, decode)):
                if isinstance(event, BatchLine):
                    self.end_offset = max(self.end_offset, event.header.next_offset)
                elif isinstance(event, DumpFinding) and event.is_corrupt:
                    self._add_damage(event, is_active=is_active)
        except FileNotFoundError:
            return  # retention or the cleaner of a running broker took it away
        except OSError as error:
            self._add(CheckSeverity.ERROR, path, None, fault_text(error))
        severity = CheckSeverity.IN_FLUX if is_active and task.is_running else CheckSeverity.ERROR
        options = index_dump.IndexOptions(verify_only=True)
        for suffix, dump in (
            (OFFSET_INDEX_SUFFIX, lambda file: index_dump.dump_offset_index(file, options)),
            (TIME_INDEX_SUFFIX, lambda file: index_dump.dump_time_index(file, options)),
            (TRANSACTION_INDEX_SUFFIX, index_dump.dump_transaction_index),
        ):
            index = segment_path(task.directory, base_offset, suffix)
            if index.name in sizes:
                self._add_findings(dump(index), severity)
            elif suffix != TRANSACTION_INDEX_SUFFIX:
                self._add(
                    CheckSeverity.NOTE, index, None, "missing; the next use of the segment rebuilds it from the log"
                )

    def _add_damage(self, finding: DumpFinding, *, is_active: bool) -> None:
        """Adds damage in a log. At the end of the active segment, an unclean stop or a write in progress is the
        cause.
        """
        ends_file = is_active and finding.is_torn
        if ends_file and self.task.is_running:
            self._add(
                CheckSeverity.IN_FLUX, finding.path, finding.position, f"{finding.what}: a broker may be writing it"
            )
        elif ends_file and not self.task.is_clean:
            what = f"{finding.what}: an incomplete write before an unclean stop; the next start cuts it off"
            self._add(CheckSeverity.NOTE, finding.path, finding.position, what)
        else:
            self._add(CheckSeverity.ERROR, finding.path, finding.position, finding.what)

    # Other files -----------------------------------------------------------

    def _check_names(self, sizes: dict[str, int]) -> None:
        for name in sizes:
            path = self.task.directory / name
            if is_set_aside(name):
                what = f"{sizes[name]} bytes that recovery has taken out of the log; {SET_ASIDE_HINT}"
                self._add(CheckSeverity.NOTE, path, None, what)
                self.set_aside += 1
            for suffix, what in HALF_DONE.items():
                if name.endswith(suffix):
                    self._add(CheckSeverity.NOTE, path, None, what)
            base_offset = base_offset_of(name)
            if (
                base_offset is not None
                and name.endswith((OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX))
                and f"{base_offset:020d}{LOG_SUFFIX}" not in sizes
            ):
                self._add(CheckSeverity.NOTE, path, None, "an index without its log; the next start removes it")

    def _check_small_files(self) -> None:
        directory = self.task.directory
        try:
            read_partition_metadata(self.files, directory)
        except CorruptCheckpointError as damage:
            self._add(CheckSeverity.ERROR, directory / PARTITION_METADATA, None, str(damage))
        except OSError as error:
            self._add(CheckSeverity.ERROR, directory / PARTITION_METADATA, None, fault_text(error))
        path = directory / LEADER_EPOCH_CHECKPOINT
        try:
            entries = read_epoch_checkpoint(self.files, path)
        except CorruptCheckpointError as damage:
            self._add(CheckSeverity.ERROR, path, None, f"{damage}; a start rebuilds it from the log")
            return
        except OSError as error:
            self._add(CheckSeverity.ERROR, path, None, fault_text(error))
            return
        for (epoch, start), (later, later_start) in pairwise(entries):
            if later <= epoch or later_start < start:
                what = f"epochs and start offsets must rise: {epoch} {start} is followed by {later} {later_start}"
                self._add(CheckSeverity.ERROR, path, None, what)

    def _check_ends(self, logs: list[str]) -> None:
        task = self.task
        if not logs:
            self._add(CheckSeverity.NOTE, task.directory, None, "no segment; the next start makes an empty one")
            return
        last = base_offset_of(logs[-1])
        assert last is not None
        end_offset = max(self.end_offset, last)
        severity = CheckSeverity.IN_FLUX if task.is_running else CheckSeverity.ERROR
        for name, offset in (("recovery point", task.recovery_point), ("log start offset", task.log_start_offset)):
            if offset > end_offset:
                what = f"the checkpoint's {name} is {offset}, but the log ends at {end_offset}: records were lost"
                self._add(severity, task.directory, None, what)
