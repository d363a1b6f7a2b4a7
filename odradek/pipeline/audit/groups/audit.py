"""The audit of groups: compares the groups in the offsets topic with the logs that they read.

Owns: the order of the steps. The records of groups were read with their partitions (records.py). This module looks up
times in the replicas. Lag and findings are then computed without I/O.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...directories.cluster_metadata import DirectoryMetadata
from ..findings import Finding
from ..tasks import MAX_FINDINGS_OF_A_KIND, AuditTask, PartitionReport
from .checks import group_findings
from .facts import GroupGrowth, retention_ms
from .lag import gather, lag_rows, look_ups_of, run_look_ups
from .rows import GroupLag
from .share_checks import share_findings
from .shares import ShareBacklog, share_rows
from .streams_checks import streams_findings


class GroupsAudit(NamedTuple):
    """The result of the audit of groups."""

    rows: list[GroupLag]
    shares: list[ShareBacklog]
    growth: list[GroupGrowth]
    """The records and bytes that each group has in each partition of the offsets topic."""
    findings: list[Finding]


def audit_groups(
    reports: Sequence[PartitionReport],
    tasks: Sequence[AuditTask],
    metadata: DirectoryMetadata,
    engine: str,
    *,
    now_ms: int | None,
    at_ms: int | None,
) -> GroupsAudit:
    """Audits the groups. `reports`: those of `tasks`, in the same order. Raises OSError and the errors of engines."""
    found = gather(reports, tasks, metadata, now_ms, at_ms)
    results = run_look_ups(look_ups_of(found, is_past=at_ms is not None), engine)
    retention = retention_ms(metadata.broker_configs)
    rows = lag_rows(found, results, retention)
    shares = share_rows(found, results)
    findings = group_findings(found, rows, results, metadata, retention)
    findings += share_findings(found, shares, metadata)
    findings += streams_findings(found, metadata)
    rows += [share.as_lag() for share in shares]
    rows.sort(key=lambda row: (row.group, row.topic, row.partition))
    growth = [growth for facts in found.facts for growth in facts.growth]
    return GroupsAudit(rows, shares, growth, limited(findings))


def limited(findings: Sequence[Finding]) -> list[Finding]:
    """Keeps MAX_FINDINGS_OF_A_KIND findings of each name and partition. The last one counts the rest."""
    kept: list[Finding] = []
    listed: dict[tuple[str, str, int], list[int]] = {}
    for finding in findings:
        same = listed.setdefault((finding.name, finding.topic, finding.partition), [])
        if len(same) < MAX_FINDINGS_OF_A_KIND:
            same.append(len(kept))
            kept.append(finding)
        else:
            last = kept[same[-1]]
            kept[same[-1]] = last._replace(occurrences=last.occurrences + finding.occurrences)
    return kept
