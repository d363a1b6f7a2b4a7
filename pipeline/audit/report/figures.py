"""The numbers of the page, out of the tables: what the plots show, most of it aggregated so that it stays readable.

Pure: tables in, plain values out. Source of every number: the tables that are written as Parquet.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute

from ..check import Severity

MOST_BARS = 30
MOST_DAYS = 366
"""With more days than these, volume is shown by month."""
LEAST_SKEWED_PARTITIONS = 2


class Bar(NamedTuple):
    """One line of a plot: what it is of, its length, and what else is known of it, as text."""

    label: str
    value: float
    facts: dict[str, int]


class Period(NamedTuple):
    """A day (2026-11-21) or month (2026-11): what was written in it."""

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
    first: dict[str, Any]


@dataclass(slots=True)
class Totals:
    """Of everything that was read. Sizes are bytes, times ms since 1970."""

    partitions: int = 0
    topics: int = 0
    size: int = 0
    records: int = 0
    groups: int = 0
    errors: int = 0
    warnings: int = 0
    notes: int = 0


def totals(tables: dict[str, Any]) -> Totals:
    """The sums."""
    partitions, findings = tables["partitions"], tables["findings"]
    counts = {
        severity: _sum(findings.filter(pa.compute.field("severity") == severity.name), "occurrences")
        for severity in Severity
    }
    return Totals(
        partitions=partitions.num_rows,
        topics=len(partitions.column("topic").unique()),
        size=_sum(partitions, "size"),
        records=_sum(partitions, "records"),
        groups=len(tables["groups"].column("group").unique()),
        errors=counts[Severity.ERROR],
        warnings=counts[Severity.WARNING],
        notes=counts[Severity.INFO],
    )


def _sum(table: Any, name: str) -> int:
    return int(pa.compute.sum(table.column(name)).as_py() or 0)


def kinds_of_findings(findings: Any) -> list[KindOfFinding]:
    """Findings by name, the worst and most frequent first."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in findings.to_pylist():
        by_name.setdefault(row["name"], []).append(row)
    kinds = [
        KindOfFinding(
            rows[0]["severity"],
            name,
            sum(row["occurrences"] for row in rows),
            len({(row["topic"], row["partition"]) for row in rows if row["topic"]}),
            rows[0]["meaning"],
            rows[0]["action"],
            rows[0],
        )
        for name, rows in by_name.items()
    ]
    return sorted(kinds, key=lambda kind: (-Severity[kind.severity], -kind.occurrences, kind.name))


def severity_of_partitions(findings: Any) -> dict[tuple[str, int], tuple[int, int]]:
    """(topic, partition) -> (worst severity, findings), for those that have any."""
    worst: dict[tuple[str, int], tuple[int, int]] = {}
    columns = (findings.column(name).to_pylist() for name in ("topic", "partition", "severity", "occurrences"))
    for topic, partition, severity, occurrences in zip(*columns, strict=True):
        known, count = worst.get((topic, partition), (0, 0))
        worst[topic, partition] = max(known, int(Severity[severity])), count + occurrences
    return worst


def health_of_topics(tables: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    """Topic -> replicas, those with errors, with warnings, size, records; the worst first."""
    worst = severity_of_partitions(tables["findings"])
    topics: dict[str, dict[str, int]] = {}
    columns = (tables["partitions"].column(name).to_pylist() for name in ("topic", "partition", "size", "records"))
    for topic, partition, size, records in zip(*columns, strict=True):
        sums = topics.setdefault(topic, dict.fromkeys(("replicas", "errors", "warnings", "size", "records"), 0))
        severity = worst.get((topic, partition), (0, 0))[0]
        sums["replicas"] += 1
        sums["errors"] += severity == Severity.ERROR
        sums["warnings"] += severity == Severity.WARNING
        sums["size"] += size
        sums["records"] += records
    return sorted(topics.items(), key=lambda item: (-item[1]["errors"], -item[1]["warnings"], item[0]))


def volume_over_time(volume: Any) -> list[Period]:
    """Records and bytes by day, in order; by month where there are many days."""
    if not volume.num_rows:
        return []
    days = volume.group_by("day").aggregate([("records", "sum"), ("size", "sum")]).sort_by("day")
    rows = [(row["day"], row["records_sum"], row["size_sum"]) for row in days.to_pylist()]
    first, last = rows[0][0], rows[-1][0]
    if (last - first).days < MOST_DAYS:
        return [Period(day.isoformat(), records, size) for day, records, size in rows]
    months: dict[str, Period] = {}
    for day, records, size in rows:
        name = _month(day)
        known = months.get(name, Period(name, 0, 0))
        months[name] = Period(name, known.records + records, known.size + size)
    return list(months.values())


def _month(day: date) -> str:
    return day.isoformat()[:7]


def lag_of_groups(groups: Any) -> list[Bar]:
    """The groups that lag most, in records over all their partitions."""
    if not groups.num_rows:
        return []
    known = groups.filter(pa.compute.field("lag") >= 0)
    sums = known.group_by("group").aggregate([("lag", "sum"), ("lag", "max"), ("lag_ms", "max"), ("lag", "count")])
    bars = [
        Bar(
            row["group"],
            row["lag_sum"],
            {"partitions": row["lag_count"], "worst_partition": row["lag_max"], "lag_ms": row["lag_ms_max"]},
        )
        for row in sums.to_pylist()
    ]
    return _longest(bars)


def skew_of_topics(partitions: Any) -> list[Bar]:
    """Topics by the size of their largest partition over the mean, those with several partitions and data only."""
    largest: dict[str, dict[int, int]] = {}
    columns = (partitions.column(name).to_pylist() for name in ("topic", "partition", "size"))
    for topic, partition, size in zip(*columns, strict=True):
        sizes = largest.setdefault(topic, {})
        sizes[partition] = max(size, sizes.get(partition, 0))
    bars = []
    for topic, sizes in largest.items():
        total = sum(sizes.values())
        if len(sizes) >= LEAST_SKEWED_PARTITIONS and total:
            partition = max(sizes, key=lambda index: sizes[index])
            times = round(sizes[partition] * len(sizes) / total, 2)
            facts = {"partitions": len(sizes), "largest_partition": partition, "largest_size": sizes[partition]}
            bars.append(Bar(topic, times, facts))
    return _longest(bars)


def skew_of_keys(partitions: Any) -> list[Bar]:
    """Partitions by the share of their most frequent key, in percent, where keys were counted."""
    columns = ("topic", "partition", "records", "distinct_keys", "largest_key_records")
    counted = partitions.select(columns).filter(
        (pa.compute.field("largest_key_records") > 0) & (pa.compute.field("distinct_keys") > 1)
    )
    return _longest(
        [
            Bar(
                f"{row['topic']}-{row['partition']}",
                round(100 * row["largest_key_records"] / max(row["records"], 1), 2),
                {"largest_key_records": row["largest_key_records"], "distinct_keys": row["distinct_keys"]},
            )
            for row in counted.to_pylist()
        ]
    )


def batches_of_topics(partitions: Any) -> list[Bar]:
    """Topics by their bytes on disk, with what compression leaves of them and how full batches are."""
    known = partitions.filter((pa.compute.field("decoded_size") > 0) & (pa.compute.field("batches") > 0))
    if not known.num_rows:
        return []
    names = ("size", "decoded_size", "batches", "records")
    sums = known.group_by("topic").aggregate([(name, "sum") for name in names])
    return _longest(
        [
            Bar(
                row["topic"],
                row["size_sum"],
                {
                    "percent": round(100 * row["size_sum"] / row["decoded_size_sum"]),
                    "batch_bytes": row["size_sum"] // row["batches_sum"],
                    "batch_records": row["records_sum"] // row["batches_sum"],
                },
            )
            for row in sums.to_pylist()
        ]
    )


def compaction_debt(partitions: Any) -> list[Bar]:
    """Partitions by the bytes that no cleaner has been over."""
    columns = ("directory", "topic", "partition", "dirty_bytes", "cleanable_bytes")
    dirty = partitions.select(columns).filter(pa.compute.field("dirty_bytes") > 0)
    return _longest(
        [
            Bar(
                f"{row['topic']}-{row['partition']}",
                row["dirty_bytes"],
                {
                    "cleanable_bytes": row["cleanable_bytes"],
                    "dirty_percent": round(100 * row["dirty_bytes"] / max(row["cleanable_bytes"], 1)),
                },
            )
            for row in dirty.to_pylist()
        ]
    )


def growth_of_groups(growth: Any) -> list[Bar]:
    """Groups by the bytes that they have in the offsets topic."""
    if not growth.num_rows:
        return []
    names = ("bytes", "commits", "tombstones", "dirty_bytes")
    sums = growth.group_by("group").aggregate([(name, "sum") for name in names])
    return _longest(
        [
            Bar(row["group"], row["bytes_sum"], {name: row[f"{name}_sum"] for name in names[1:]})
            for row in sums.to_pylist()
        ]
    )


def _longest(bars: list[Bar]) -> list[Bar]:
    return sorted(bars, key=lambda bar: (-bar.value, bar.label))[:MOST_BARS]
