"""The result of ``odradek verify``, as text and as JSON.

Pure. In JSON the names of the findings are those of :class:`.checker.Kind` in lower case.
"""

import json
from typing import Any, NamedTuple

from ..latencies import Latencies, LatencySeries
from .checker import Checker, RecordFate, VerifyFinding

FATE_TEXTS = {
    RecordFate.STORED: "acknowledged",
    RecordFate.ABORTED: "of aborted transactions",
    RecordFate.IN_DOUBT: "of transactions whose end is unknown",
    RecordFate.REFUSED: "refused",
    RecordFate.UNANSWERED: "without an answer",
}


class Report(NamedTuple):
    """The result of a run."""

    topic: str
    partitions: int
    elapsed_s: float
    counts: dict[str, int]
    """Text such as "acknowledged" -> number of records."""
    findings: list[VerifyFinding]
    latencies: LatencySeries


def report_of(topic: str, partitions: int, elapsed_s: float, checker: Checker, latencies: LatencySeries) -> Report:
    """Makes the report of a run from the checker, after the reading."""
    fates = {text: checker.of_fate(fate) for fate, text in FATE_TEXTS.items()}
    counts = {"sent": checker.count, **{text: count for text, count in fates.items() if count}, "read": checker.read}
    return Report(topic, partitions, elapsed_s, counts, checker.findings(), latencies)


def verdict(report: Report) -> str:
    """The line that says whether the run found errors."""
    if not report.findings:
        return "OK: no loss, no duplicate, no record out of order or of an aborted transaction"
    return f"FAILED: {len(report.findings)} kind{'s' if len(report.findings) > 1 else ''} of findings"


def heading(report: Report) -> str:
    """The first line: topic, number of partitions, duration."""
    return f"{report.topic}: {report.partitions} partitions, {report.elapsed_s:.1f} s"


def finding_line(finding: VerifyFinding) -> str:
    """The line of a finding, without its examples."""
    return finding.kind.value if not finding.examples else f"{finding.count:,} {finding.kind.value}"


def latency_line(report: Report) -> str:
    """The line with mean, percentiles and maximum of the end-to-end latencies."""
    latencies = report.latencies.all
    p50, p95, p99, p999 = latencies.percentiles(0.5, 0.95, 0.99, 0.999)
    return (
        f"mean {latencies.mean_ms:.1f} ms, 50th {p50:.1f} ms, 95th {p95:.1f} ms, 99th {p99:.1f} ms, "
        f"99.9th {p999:.1f} ms, max {latencies.max_ms:.1f} ms"
    )


def report_lines(report: Report) -> list[str]:
    """The lines that the command prints."""
    lines = [heading(report), "records: " + ", ".join(f"{count:,} {text}" for text, count in report.counts.items())]
    if report.latencies.all.count:
        lines += [f"end-to-end latency: {latency_line(report)}", *report.latencies.all.histogram()]
    for finding in report.findings:
        lines.append(finding_line(finding))
        lines += [f"  {example}" for example in finding.examples]
        if finding.count > len(finding.examples) > 0:
            lines.append(f"  and {finding.count - len(finding.examples):,} more")
    return [*lines, verdict(report)]


PERCENTILES = {"50th": 0.5, "95th": 0.95, "99th": 0.99, "99.9th": 0.999}


def report_json(report: Report) -> str:
    """The result as one JSON object. Latencies are in ms; null if no record was read."""
    series = report.latencies
    found = {
        "ok": not report.findings,
        "topic": report.topic,
        "partitions": report.partitions,
        "elapsedSeconds": round(report.elapsed_s, 3),
        "records": report.counts,
        "findings": [
            {
                "kind": finding.kind.name.lower(),
                "meaning": finding.kind.value,
                "count": finding.count,
                "examples": list(finding.examples),
            }
            for finding in report.findings
        ],
        "latencyMs": latencies_as(series.all) if series.all.count else None,
        "latencyMsOverTime": [
            {"second": at * series.width_s, **latencies_as(latencies)}
            for at, latencies in sorted(series.points.items())
        ],
    }
    return json.dumps(found, indent=2)


def latencies_as(latencies: Latencies) -> dict[str, Any]:
    """Count, mean, percentiles and maximum."""
    values = latencies.percentiles(*PERCENTILES.values())
    return {
        "count": latencies.count,
        "mean": round(latencies.mean_ms, 3),
        **dict(zip(PERCENTILES, values, strict=True)),
        "max": round(latencies.max_ms, 3),
    }
