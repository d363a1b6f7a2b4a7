"""What one task of an audit gets and gives back: values that travel to executors."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ...protocol.internal_topics import OFFSETS_TOPIC
from ...storage.files.checkpoints import CLEANER_OFFSET_CHECKPOINT
from ..directories.log_directories import PartitionDirectory
from .findings import Finding
from .policy import TopicPolicy

if TYPE_CHECKING:
    from .groups.facts import GroupFacts

BATCHES, RECORDS = "batches", "records"
LEVELS = (BATCHES, RECORDS)
"""How deep an audit looks: at headers and CRCs, or into the records of every batch as well."""

MAX_FINDINGS_OF_A_KIND = 20
"""How many findings of one name are listed for a partition; the last one counts the rest."""


@dataclass(frozen=True, slots=True)
class AuditTask:
    """One replica of a partition, and what its directory says elsewhere about it."""

    directory: Path
    replica: PartitionDirectory
    is_clean: bool
    """The broker was stopped cleanly: then nothing may be torn."""
    policy: TopicPolicy
    topic_id: bytes | None
    checkpoints: dict[str, int]
    """Checkpoint file's name -> the offset that it has for this partition."""
    now_ms: int
    """The clock by which retention, tombstones and groups are judged."""
    at_ms: int | None = None
    """Groups are told as of this moment; None: as the records leave them."""
    level: str = RECORDS
    is_live: bool = False
    """A broker has the directory: what was read earlier may be older than what is read later."""

    @property
    def reads_records(self) -> bool:
        """Whether records are decoded: groups are nothing but records."""
        return self.level != BATCHES or self.replica.topic == OFFSETS_TOPIC

    @property
    def cleaned_to(self) -> int:
        """The offset up to which the cleaner has come; -1 where it never was here."""
        return self.checkpoints.get(CLEANER_OFFSET_CHECKPOINT, -1)


class DayVolume(NamedTuple):
    """What a partition got in one day (UTC, by the greatest timestamp of each batch); `size` is bytes on disk."""

    day_ms: int
    records: int
    size: int


def sum_of_days(days: Iterable[DayVolume]) -> list[DayVolume]:
    """One row for each day, in order."""
    sums: dict[int, DayVolume] = {}
    for day in days:
        known = sums.get(day.day_ms, DayVolume(day.day_ms, 0, 0))
        sums[day.day_ms] = DayVolume(day.day_ms, known.records + day.records, known.size + day.size)
    return [sums[day_ms] for day_ms in sorted(sums)]


@dataclass(slots=True)
class PartitionReport:
    """What was found in one replica. Sizes are bytes, times ms since 1970, -1 for none or not known."""

    directory: str
    topic: str
    partition: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    high_watermark: int = -1
    segments: int = 0
    size: int = 0
    batches: int = 0
    records: int = 0
    control_batches: int = 0
    offset_gaps: int = 0
    open_transactions: int = 0
    min_timestamp: int = -1
    max_timestamp: int = -1
    is_compacted: bool | None = None
    is_known: bool = True
    """False if it could not be read, or changed too fast: the numbers say nothing."""
    decoded_size: int = -1
    """Bytes of the batches with their records decompressed, headers included."""
    dirty_bytes: int = -1
    """Bytes at and behind the first dirty offset, without the active segment."""
    cleanable_bytes: int = -1
    """Clean and dirty bytes, without the active segment."""
    distinct_keys: int = -1
    largest_key_records: int = -1
    """Records of the most frequent key."""
    volume: list[DayVolume] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    group_facts: "GroupFacts | None" = None
    """Of a partition of the offsets topic."""

    def add(self, name: str, file: Path | str, detail: str, *, position: int = -1, offset: int = -1) -> None:
        """Takes in a finding; beyond a number of the same name it only counts."""
        same = [index for index, found in enumerate(self.findings) if found.name == name]
        if len(same) >= MAX_FINDINGS_OF_A_KIND:
            last = self.findings[same[-1]]
            self.findings[same[-1]] = last._replace(occurrences=last.occurrences + 1)
            return
        self.findings.append(Finding(name, self.topic, self.partition, str(file), position, offset, detail))
