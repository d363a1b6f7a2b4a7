"""The result of ``odradek verify`` as JSON.

Pure. The names of the findings are those of :class:`.checker.Kind` in lower case.
"""

import json
from typing import Any

from ..latencies import Latencies
from .report_text import Report

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
