"""The result of an audit, for its report. Pure."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from .findings import Finding
from .tasks import DayVolume, PartitionReport, ReadingCounts

if TYPE_CHECKING:
    from .groups.facts import GroupGrowth
    from .groups.rows import GroupLag
    from .groups.shares import ShareBacklog
    from .last_run import AuditChanges


class DirectoryStop(NamedTuple):
    """How a broker left a log directory: with the marker of a clean stop, or not. `is_live`: it has not stopped.

    `now_ms`: the clock of the checks in it, ms since 1970; -1 if unknown.
    """

    directory: str
    is_clean: bool
    is_live: bool
    now_ms: int = -1


@dataclass(slots=True)
class AuditResult:
    """The result of an audit. With an output, a replica has only the first finding of each name, with a count."""

    partitions: list[PartitionReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    overall_findings: list[Finding] = field(default_factory=list)
    """The findings that the driver adds: of directories, topics, groups and comparisons of replicas."""
    groups: "list[GroupLag]" = field(default_factory=list)
    growth: "list[GroupGrowth]" = field(default_factory=list)
    """The records and bytes that each group has in the offsets topic."""
    shares: "list[ShareBacklog]" = field(default_factory=list)
    """The state that each share group has of each partition."""
    volume: list[DayVolume] = field(default_factory=list)
    """The sum of all replicas by day."""
    stops: list[DirectoryStop] = field(default_factory=list)
    """One for each log directory, in the order of the audit."""
    changes: "AuditChanges | None" = field(default=None, compare=False)
    """What has changed since the last audit with the same state; None without a state."""
    notes: list[str] = field(default_factory=list, compare=False)
    """What the reader of the summary should know of the run itself, such as faults of the state."""
    readings: list[ReadingCounts] = field(default_factory=list, compare=False, repr=False)
    """What was read of each replica."""
    compared_bytes: int = field(default=0, compare=False, repr=False)
    """What was read once more to compare replicas."""
    portions: int = 0
    """The number of portions of the audit. If there is an output, each portion has written its rows."""
