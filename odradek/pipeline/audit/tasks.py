"""The input and output of one task of an audit: values that the driver sends to executors and gets back."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC
from odradek.storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT
from odradek.storage.files.regular_files import fault_text

from ..directories.file_access import is_gone, is_unreadable, read_file
from ..directories.log_directories import PartitionDirectory
from .findings import Finding
from .policy import TopicPolicy
from .sums import HeardFinding

if TYPE_CHECKING:
    from .groups.facts import GroupFacts
    from .groups.share_facts import ShareStateFacts


class StateOptions(NamedTuple):
    """The state of an audit. `run`: the number of this run. `scrub_every`: the number of runs in which each known
    segment is read again once; 0 for never. `started_ms`: the time of this run."""

    root: Path
    run: int
    scrub_every: int
    started_ms: int


@dataclass(slots=True)
class ReadingCounts:
    """Bytes of segments that an audit has read, and those whose sums it knew. `notes`: faults of the state's files."""

    bytes_read: int = 0
    bytes_known: int = 0
    notes: tuple[str, ...] = ()


BATCHES, RECORDS = "batches", "records"
GROUP_TOPICS = (OFFSETS_TOPIC, SHARE_STATE_TOPIC)
"""The topics whose records are groups and the state of share groups."""
LEVELS = (BATCHES, RECORDS)
"""The depth of an audit: only headers and CRCs, or also the records of every batch."""

MAX_FINDINGS_OF_A_KIND = 20
"""The number of findings of one name that are listed for a partition. The last one counts the rest."""


@dataclass(frozen=True, slots=True)
class AuditTask:
    """One replica of a partition, and the data about it from the rest of its log directory."""

    directory: Path
    replica: PartitionDirectory
    is_clean: bool
    """Whether the broker was stopped cleanly, so that no file may end inside a batch or an entry."""
    policy: TopicPolicy
    topic_id: bytes | None
    checkpoints: dict[str, int]
    """Name of a checkpoint file -> its offset for this partition."""
    now_ms: int
    """The current time for the checks of retention, tombstones and groups, ms since 1970."""
    at_ms: int | None = None
    """Shows groups as of this moment; None: as of their last record."""
    level: str = RECORDS
    partition_count: int = 0
    """The number of partitions of the topic in the metadata; 0 if it does not know the topic."""
    is_live: bool = False
    """Whether a broker has the directory open, and may change files between two reads."""
    state: StateOptions | None = None
    """Where the sums of closed segments are kept; None to read all."""

    @property
    def reads_records(self) -> bool:
        """Whether records are decoded. Groups and their state exist only as records, so their topics always are."""
        return self.level != BATCHES or self.replica.topic in GROUP_TOPICS

    @property
    def cleaned_to(self) -> int:
        """The offset up to which the log was cleaned; -1 if it never was."""
        return self.checkpoints.get(CLEANER_OFFSET_CHECKPOINT, -1)


class DayVolume(NamedTuple):
    """Records of one day (UTC, by the maximum timestamp of each batch) and their `size` in bytes on disk."""

    day_ms: int
    records: int
    size: int


def sum_of_days(days: Iterable[DayVolume]) -> list[DayVolume]:
    """The sums of records and bytes of each day, in order."""
    sums: dict[int, DayVolume] = {}
    for day in days:
        known = sums.get(day.day_ms, DayVolume(day.day_ms, 0, 0))
        sums[day.day_ms] = DayVolume(day.day_ms, known.records + day.records, known.size + day.size)
    return [sums[day_ms] for day_ms in sorted(sums)]


@dataclass(slots=True)
class PartitionReport:
    """The result for one replica. Sizes are bytes, times ms since 1970, -1 for none or unknown."""

    directory: str
    topic: str
    partition: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = -1
    recovery_start_offset: int = 0
    """The base offset of the segment from which a start after an unclean stop reads the log."""
    segments: int = 0
    size: int = 0
    batches: int = 0
    records: int = 0
    """Records from the log start offset on: those that consumers get, aborted ones among them."""
    deleted_records: int = 0
    """Records below the log start offset that are still in the files."""
    control_batches: int = 0
    offset_gaps: int = 0
    open_transactions: int = 0
    min_timestamp: int = -1
    max_timestamp: int = -1
    is_compacted: bool | None = None
    is_known: bool = True
    """False if the replica could not be read or changed too fast. Its numbers are then meaningless."""
    decoded_size: int = -1
    """Bytes of the batches with their records decompressed, headers included."""
    dirty_bytes: int = -1
    """Bytes that the cleaner has not cleaned yet and may clean now."""
    clean_and_dirty_bytes: int = -1
    """Bytes that the cleaner has cleaned, and `dirty_bytes`."""
    distinct_keys: int = -1
    largest_key_records: int = -1
    """Records of the most frequent key."""
    volume: list[DayVolume] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    group_facts: "GroupFacts | None" = None
    """The groups in the partition; None unless it belongs to the offsets topic."""
    share_states: "list[ShareStateFacts] | None" = None
    """The states in the partition; None unless it belongs to `__share_group_state`."""
    reading: ReadingCounts | None = field(default=None, repr=False, compare=False)
    """What was read; None if the partition could not be audited."""
    heard: list[HeardFinding] | None = field(default=None, repr=False, compare=False)
    """Gets every call of `add` while a segment is read whose sums are kept."""

    @property
    def stored_records(self) -> int:
        """All records in the files."""
        return self.records + self.deleted_records

    def add(self, name: str, file: Path | str, detail: str, *, position: int = -1, offset: int = -1) -> None:
        """Adds a finding. Only counts one that says the same of the same file, and after MAX_FINDINGS_OF_A_KIND of a
        name all others.
        """
        if self.heard is not None:
            self.heard.append(HeardFinding(name, str(file).rpartition("/")[2], detail, position, offset))
        same = [index for index, found in enumerate(self.findings) if found.name == name]
        for index in same:
            known = self.findings[index]
            if (known.file, known.detail) == (str(file), detail):
                self.findings[index] = known._replace(occurrences=known.occurrences + 1)
                return
        if len(same) >= MAX_FINDINGS_OF_A_KIND:
            last = self.findings[same[-1]]
            self.findings[same[-1]] = last._replace(occurrences=last.occurrences + 1)
            return
        self.findings.append(Finding(name, self.topic, self.partition, str(file), position, offset, detail))


def read_whole(report: PartitionReport, path: Path) -> bytes | None:
    """All bytes of a file. If the system refuses to read it, adds a finding to the report and returns None.

    Raises FileNotFoundError if it does not exist, OSError for errors that do not concern this file.
    """
    try:
        return read_file(path)
    except OSError as error:
        report_refusal(report, path, error)
        return None


def report_refusal(report: PartitionReport, path: Path, error: OSError) -> None:
    """Adds `file-unreadable` for a file that could not be read. Raises errors that do not concern this file."""
    if is_gone(error):
        raise FileNotFoundError(error.errno, error.strerror, str(path)) from error
    if not is_unreadable(error, path):
        raise error
    report.add("file-unreadable", path, fault_text(error), position=0)
