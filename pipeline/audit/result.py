"""The result of an audit, for its report. Pure."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .findings import Finding
from .tasks import DayVolume, PartitionReport

if TYPE_CHECKING:
    from .groups.facts import GroupGrowth
    from .groups.rows import GroupLag


@dataclass(slots=True)
class AuditResult:
    """The result of an audit. With an output, it has only the first finding of each name of a replica, with a count."""

    partitions: list[PartitionReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    overall_findings: list[Finding] = field(default_factory=list)
    """The findings that the driver adds: of directories, topics, groups and comparisons of replicas."""
    groups: "list[GroupLag]" = field(default_factory=list)
    growth: "list[GroupGrowth]" = field(default_factory=list)
    """What each group writes to the offsets topic."""
    volume: list[DayVolume] = field(default_factory=list)
    """The sum of all replicas by day."""
    portions: int = 0
    """The number of portions of the audit. With an output, each has written its rows."""
