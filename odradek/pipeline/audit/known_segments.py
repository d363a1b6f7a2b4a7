"""What earlier audits know of a partition's closed segments, and what this one adds: the part of `--state`.

The active segment is always read. A closed one is read if a file of it is not what it was, if its turn has come to be
read again (`--scrub`), or if the checks do not accept its sums here (sums.py). Owns: the file of the partition in the
state. Never does: checks. Invariant: with or without known segments, the report is the same, but for the finding
`closed-segment-changed`. Source: docs/audit.md.
"""

import zlib
from hashlib import sha256
from pathlib import Path

from odradek import __version__
from odradek.storage.files.file_names import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import file_prints, is_local
from ..directories.segment_files import SegmentFile
from .check import Severity
from .findings import CHECKS
from .state_file import StateError, StoredSums, read_state, write_state
from .sums import FINDINGS_OF_A_SEGMENT, MOST_EPOCHS, MOST_FINDINGS, MOST_PRODUCERS, SegmentSums
from .tasks import GROUP_TOPICS, AuditTask, PartitionReport, StateOptions

_FILES = (LOG_SUFFIX, OFFSET_INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SET_ASIDE = ".set-aside"


def partition_path(state: StateOptions, directory: Path, partition: str, level: str) -> Path:
    """The file with the sums of a partition of a log directory."""
    return folder_of(state.root, directory) / f"{partition}.{level}"


def bytes_to_spare(task: AuditTask) -> int:
    """About how many bytes of a partition need not be read, since an earlier audit has: closed segments, but for those
    whose turn it is. 0 if the state is in object storage, where to ask for each partition would take longer."""
    state, segments = task.state, task.replica.segments
    if state is None or not segments or task.replica.topic in GROUP_TOPICS or not is_local(state.root):
        return 0
    if not partition_path(state, task.directory, task.replica.name, task.level).exists():
        return 0
    closed = sum(segment.size for segment in segments[:-1])
    return closed - (closed // state.scrub_every if state.scrub_every else 0)


def folder_of(root: Path, directory: Path) -> Path:
    """The folder of the state for a log directory."""
    return root / f"{directory.name}-{sha256(str(directory).encode()).hexdigest()[:16]}"


class KnownSegments:
    """The known segments of one partition. `options` is None without a state; then nothing is known or kept."""

    def __init__(self, task: AuditTask) -> None:
        """Reads the state. Raises OSError of the state's store, but not for a damaged file."""
        self._options = None if task.replica.topic in GROUP_TOPICS else task.state
        self._task = task
        self._path: Path | None = None
        self._prints: dict[str, str] = {}
        self._notes: list[str] = []
        self._is_damaged = False
        self.known: dict[int, SegmentSums] = {}
        self.kept: dict[int, SegmentSums] = {}
        if self._options is not None:
            self._path = partition_path(self._options, task.directory, task.replica.name, task.level)
            self._read(self._path)

    def _read(self, path: Path) -> None:
        try:
            state = read_state(path)
        except StateError as error:
            self._is_damaged = True
            try:
                path.rename(path.with_name(path.name + SET_ASIDE))
            except OSError as fault:
                self._notes.append(f"{path}: {error}; it could not be set aside: {fault_text(fault)}; all was read")
            else:
                self._notes.append(f"{path}: {error}; it was set aside, and all was read")
            return
        if state is not None and state.basis == basis_of(self._task):
            self.known = state.segments

    def begin(self, task: AuditTask) -> None:
        """Begins a reading of the partition: looks at its files before their bytes are read. Raises OSError."""
        self._task = task
        self.kept = {}
        if self._options is not None:
            self._prints = file_prints(task.replica.path)

    @property
    def is_used(self) -> bool:
        """Whether sums are kept for the next audit."""
        return self._options is not None

    def known_sums(self, segment: SegmentFile) -> SegmentSums | None:
        """The sums of a segment whose files are what they were; None if it must be read."""
        sums = self.known.get(segment.base_offset)
        if sums is None or self._options is None or sums.size != segment.size or not _is_usual(segment):
            return None
        every = self._options.scrub_every
        if every and (zlib.crc32(f"{segment.path}".encode()) + self._options.run) % every == 0:
            return None
        return sums if sums.prints == self._prints_of(segment) else None

    def _prints_of(self, segment: SegmentFile) -> dict[str, str] | None:
        """What the files of the segment are; None if one of them can't be told from a later one of the same size."""
        names = {suffix: segment.beside(suffix).name for suffix in _FILES}
        found = {suffix: self._prints[name] for suffix, name in names.items() if name in self._prints}
        return found if LOG_SUFFIX in found and all(found.values()) else None

    def keep(self, segment: SegmentFile, sums: SegmentSums, report: PartitionReport) -> None:
        """Keeps the sums of a segment that was read, if they are of use later. Compares them with the known ones."""
        known = self.known.get(segment.base_offset)
        prints = self._prints_of(segment) if _is_usual(segment) else None
        if prints is not None and self._is_simple(sums):
            sums.prints = prints
            self.kept[segment.base_offset] = sums
        if known is not None and known.digest != sums.digest and self._must_stay(known, sums):
            detail = f"it had {known.size} bytes with the digest {known.digest}, now {sums.size} with {sums.digest}"
            report.add("closed-segment-changed", segment.path, detail, offset=segment.base_offset)

    def _is_simple(self, sums: SegmentSums) -> bool:
        found = sums.found
        is_doubtful = self._task.is_live and any(CHECKS[name].severity is not Severity.INFO for name, *_ in found)
        return (
            len(found) <= MOST_FINDINGS
            and not is_doubtful
            and all(heard.name in FINDINGS_OF_A_SEGMENT for heard in found)
            and sums.transactions.is_whole
            and len(sums.producers) <= MOST_PRODUCERS
            and len(sums.transactions.plain) + len(sums.transactions.transactional) <= MOST_PRODUCERS
            and len(sums.batches.epochs) <= MOST_EPOCHS
        )

    def _must_stay(self, known: SegmentSums, sums: SegmentSums) -> bool:
        """Whether Kafka changes no such segment: the cleaner does, and a follower that truncates its log and then reads
        records of a later leader epoch."""
        if self._task.policy.is_compacted or self._task.cleaned_to >= 0:
            return False
        epochs = [max((run.epoch for run in item.batches.epochs), default=-1) for item in (known, sums)]
        return epochs[1] <= epochs[0]

    def keep_known(self, sums: SegmentSums) -> None:
        """Keeps sums that were taken instead of the bytes."""
        self.kept[sums.base_offset] = sums

    def save(self) -> None:
        """Writes the sums of the last reading. A fault becomes a note: the next run then reads more."""
        if self._path is None or self._options is None:
            return
        is_same = len(self.kept) == len(self.known) and all(
            self.known.get(base) is sums for base, sums in self.kept.items()
        )
        if is_same and not self._is_damaged:
            return
        state = StoredSums(basis_of(self._task), self._options.started_ms, self.kept)
        try:
            write_state(self._path, state)
        except OSError as error:
            self._notes.append(f"{self._path} can't be written: {fault_text(error)}; the next run reads more")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was wrong with the file of the state."""
        return tuple(self._notes)


def basis_of(task: AuditTask) -> str:
    """What the sums depend on besides the bytes of a segment. With another basis all segments are read."""
    policy = task.policy
    topic_id = "" if task.topic_id is None else task.topic_id.hex()
    facts = (
        __version__,
        task.level,
        topic_id,
        policy.is_compacted,
        policy.index_interval_bytes,
        task.partition_count,
        task.replica.partition,
    )
    return " ".join(map(str, facts))


def _is_usual(segment: SegmentFile) -> bool:
    return segment.is_file and segment.path.name.endswith(LOG_SUFFIX)
