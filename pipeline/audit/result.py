"""What an audit found, as its report takes it. Pure."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .findings import Finding
from .tasks import DayVolume, PartitionReport

if TYPE_CHECKING:
    from .groups.facts import GroupGrowth
    from .groups.rows import GroupLag


@dataclass(slots=True)
class AuditResult:
    """What an audit found. Where workers wrote rows, findings of a replica are the first of each name, counted."""

    partitions: list[PartitionReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    overall_findings: list[Finding] = field(default_factory=list)
    """Those among the findings that no worker knows: of directories, replicas against each other, topics, groups."""
    groups: "list[GroupLag]" = field(default_factory=list)
    growth: "list[GroupGrowth]" = field(default_factory=list)
    """Who writes the offsets topic."""
    volume: list[DayVolume] = field(default_factory=list)
    """The sum of all replicas by day."""
    portions: int = 0
    """How many tasks have written rows, or would have."""
