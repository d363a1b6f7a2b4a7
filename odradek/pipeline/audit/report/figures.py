"""Computes the numbers of the page and the summary from the result of an audit.

Pure. Most numbers are aggregated to stay readable. Does not import pyarrow, which takes half the time of a small audit.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ..check import Severity
from ..findings import Finding
from ..result import AuditResult
from ..tasks import DayVolume, PartitionReport

if TYPE_CHECKING:
    from ..groups.facts import GroupGrowth
    from ..groups.rows import GroupLag

MOST_BARS = 30
MOST_DAYS = 366
"""If the records span this many days or more, volume is shown by month instead of by day."""
LEAST_SKEWED_PARTITIONS = 2

Row = TypeVar("Row")
Key = TypeVar("Key", bound=Hashable)


class Bar(NamedTuple):
    """One line of a plot: its label, its length, and further numbers by name."""

    label: str
    value: float
    facts: dict[str, int]


class Period(NamedTuple):
    """A day (2026-11-21) or month (2026-11), and the records and bytes written in it."""

    name: str
    records: int
    size: int


class KindOfFinding(NamedTuple):
    """All findings of one name."""

    severity: str
    name: str
    occurrences: int
    partitions: int
    meaning: str
    action: str
    first: Finding


@dataclass(slots=True)
class Totals:
    """The sums over all replicas. `size` is bytes, `notes` are findings of severity INFO."""

    partitions: int = 0
    topics: int = 0
    size: int = 0
    records: int = 0
    groups: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0


def totals(result: AuditResult) -> Totals:
    """The sums over all replicas and findings of an audit."""
    counts = dict.fromkeys(Severity, 0)
    for found in result.findings:
        counts[found.check.severity] += found.occurrences
    return Totals(
        partitions=len(result.partitions),
        topics=len({report.topic for report in result.partitions}),
        size=sum(report.size for report in result.partitions),
        records=sum(report.records for report in result.partitions),
        groups=len({row.group for row in result.groups}),
        errors=counts[Severity.ERROR],
        warnings=counts[Severity.WARNING],
        notes=counts[Severity.INFO],
    )


def _by(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """The rows of each key, in the order of the keys' first rows."""
    found: dict[Key, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def kinds_of_findings(findings: Iterable[Finding]) -> list[KindOfFinding]:
    """Findings by name, the most harmful first."""
    kinds = [
        KindOfFinding(
            rows[0].check.severity.name,
            name,
            sum(row.occurrences for row in rows),
            len({(row.topic, row.partition) for row in rows if row.topic}),
            rows[0].check.meaning,
            rows[0].check.action,
            rows[0],
        )
        for name, rows in _by(findings, lambda found: found.name).items()
    ]
    return sorted(kinds, key=lambda kind: (-Severity[kind.severity], -kind.first.check.harm, kind.name))


def severity_of_partitions(findings: Iterable[Finding]) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) -> (worst severity, findings), for partitions with findings."""
    worst: dict[tuple[str, int], tuple[int, int]] = {}
    for found in findings:
        known, count = worst.get((found.topic, found.partition), (0, 0))
        severity = max(known, int(found.check.severity))
        worst[found.topic, found.partition] = severity, count + found.occurrences
    return worst


def health_of_topics(result: AuditResult) -> list[tuple[str, dict[str, int]]]:
    """Each topic with its replicas, those with errors and with warnings, size and records; the worst first."""
    worst = severity_of_partitions(result.findings)
    topics: dict[str, dict[str, int]] = {}
    for report in result.partitions:
        names = ("replicas", "errors", "warnings", "size", "records")
        sums = topics.setdefault(report.topic, dict.fromkeys(names, 0))
        severity = worst.get((report.topic, report.partition), (0, 0))[0]
        sums["replicas"] += 1
        sums["errors"] += severity == Severity.ERROR
        sums["warnings"] += severity == Severity.WARNING
        sums["size"] += report.size
        sums["records"] += report.records
    return sorted(topics.items(), key=lambda item: (-item[1]["errors"], -item[1]["warnings"], item[0]))


def volume_over_time(volume: Sequence[DayVolume]) -> list[Period]:
    """Records and bytes by day, in order; by month if the days span MOST_DAYS or more."""
    if not volume:
        return []
    periods = [
        Period(datetime.fromtimestamp(day.day_ms // 1000, UTC).date().isoformat(), day.records, day.size)
        for day in volume
    ]
    if (date.fromisoformat(periods[-1].name) - date.fromisoformat(periods[0].name)).days < MOST_DAYS:
        return periods
    months = [(name, list(found)) for name, found in groupby(periods, key=lambda period: period.name[:7])]
    return [Period(name, sum(day.records for day in found), sum(day.size for day in found)) for name, found in months]


def lag_of_groups(groups: "Iterable[GroupLag]") -> list[Bar]:
    """The groups with the largest lag, in records over all their partitions."""
    bars = [
        Bar(
            group,
            sum(row.lag for row in rows),
            {
                "partitions": len(rows),
                "worst_partition": max(row.lag for row in rows),
                "lag_ms": max(row.lag_ms for row in rows),
            },
        )
        for group, rows in _by((row for row in groups if row.lag >= 0), lambda row: row.group).items()
    ]
    return _longest(bars)


def skew_of_topics(partitions: Iterable[PartitionReport]) -> list[Bar]:
    """Topics by the size of their largest partition divided by the mean size, if they have data and 2 partitions."""
    bars = []
    for topic, reports in _by(partitions, lambda report: report.topic).items():
        replicas = _by(reports, lambda report: report.partition)
        sizes = {index: max(report.size for report in found) for index, found in replicas.items()}
        total = sum(sizes.values())
        if len(sizes) >= LEAST_SKEWED_PARTITIONS and total:
            partition = max(sizes, key=lambda index: sizes[index])
            times = round(sizes[partition] * len(sizes) / total, 2)
            facts = {"partitions": len(sizes), "largest_partition": partition, "largest_size": sizes[partition]}
            bars.append(Bar(topic, times, facts))
    return _longest(bars)


def skew_of_keys(partitions: Iterable[PartitionReport]) -> list[Bar]:
    """Partitions by the share of their most frequent key, in percent, if keys were counted."""
    return _longest(
        [
            Bar(
                f"{report.topic}-{report.partition}",
                round(100 * report.largest_key_records / max(report.stored_records, 1), 2),
                {"largest_key_records": report.largest_key_records, "distinct_keys": report.distinct_keys},
            )
            for report in partitions
            if report.largest_key_records > 0 and report.distinct_keys > 1
        ]
    )


def batches_of_topics(partitions: Iterable[PartitionReport]) -> list[Bar]:
    """Topics by their bytes on disk, with the compression ratio and the size of batches."""
    known = [report for report in partitions if report.decoded_size > 0 and report.batches > 0]
    bars = []
    for topic, reports in _by(known, lambda report: report.topic).items():
        size = sum(report.size for report in reports)
        batches = sum(report.batches for report in reports)
        facts = {
            "percent": round(100 * size / sum(report.decoded_size for report in reports)),
            "batch_bytes": size // batches,
            "batch_records": sum(report.stored_records for report in reports) // batches,
        }
        bars.append(Bar(topic, size, facts))
    return _longest(bars)


def compaction_debt(partitions: Iterable[PartitionReport]) -> list[Bar]:
    """Partitions by their uncleaned bytes."""
    return _longest(
        [
            Bar(
                f"{report.topic}-{report.partition}",
                report.dirty_bytes,
                {
                    "clean_and_dirty_bytes": report.clean_and_dirty_bytes,
                    "dirty_percent": round(100 * report.dirty_bytes / max(report.clean_and_dirty_bytes, 1)),
                },
            )
            for report in partitions
            if report.dirty_bytes > 0
        ]
    )


def growth_of_groups(growth: "Iterable[GroupGrowth]") -> list[Bar]:
    """Groups by their bytes in the offsets topic."""
    return _longest(
        [
            Bar(
                group,
                sum(row.bytes for row in rows),
                {
                    "commits": sum(row.commits for row in rows),
                    "tombstones": sum(row.tombstones for row in rows),
                    "dirty_bytes": sum(row.dirty_bytes for row in rows),
                },
            )
            for group, rows in _by(growth, lambda row: row.group).items()
        ]
    )


def _longest(bars: Sequence[Bar]) -> list[Bar]:
    return sorted(bars, key=lambda bar: (-bar.value, bar.label))[:MOST_BARS]
