"""The figures of an audit as OpenMetrics, for `--metrics FILE` and a collector of text files.

Pure. Every family is a gauge, so that the text is also right for Prometheus' older format. Source: the OpenMetrics
specification.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .check import Severity
from .findings import Finding
from .report.figures import totals
from .result import AuditResult

MOST_GROUPS = 1000
"""The groups with the greatest lag that have a sample each."""


class RunFigures(NamedTuple):
    """Figures of the run itself: seconds since 1970 at its end, seconds that it took, and its exit code."""

    end_s: float
    duration_s: float
    exit_code: int


def metrics_text(result: AuditResult, run: RunFigures) -> str:
    """The text of the file."""
    return "".join(_lines(result, run)) + "# EOF\n"


def _lines(result: AuditResult, run: RunFigures) -> Iterator[str]:
    sums = totals(result)
    readings = result.readings
    yield from _family("end_timestamp_seconds", "When the audit ended.", [({}, run.end_s)])
    yield from _family("duration_seconds", "How long the audit took.", [({}, run.duration_s)])
    yield from _family("exit_code", "The exit code of the command.", [({}, run.exit_code)])
    yield from _family("partitions", "Replicas of partitions.", [({}, sums.partitions)])
    yield from _family("log_bytes", "Bytes of their segments.", [({}, sums.size)])
    yield from _family("records", "Records from the log start offsets on.", [({}, sums.records)])
    yield from _family("read_bytes", "Bytes of segments that were read.", [({}, sum(r.bytes_read for r in readings))])
    known = sum(reading.bytes_known for reading in readings)
    yield from _family("known_bytes", "Bytes of segments that the state knew.", [({}, known)])
    yield from _family("findings", "Findings by severity.", _by_severity(result.findings))
    names = Counter[str]()
    for finding in result.findings:
        names[finding.name] += finding.occurrences
    severities = {finding.name: finding.check.severity.name.lower() for finding in result.findings}
    samples = [({"name": name, "severity": severities[name]}, count) for name, count in sorted(names.items())]
    yield from _family("findings_by_name", "Findings by name.", samples)
    if result.changes is not None:
        yield from _family(
            "new_findings", "Findings that the last audit did not have.", _by_severity(result.changes.new)
        )
        gone, growing = len(result.changes.gone), len(result.changes.growing)
        yield from _family("gone_findings", "Findings that only the last audit had.", [({}, gone)])
        yield from _family(
            "growing_findings", "Findings that occur more often than in the last audit.", [({}, growing)]
        )
    lags = Counter[str]()
    for row in result.groups:
        lags[row.group] += max(row.lag, 0)
    worst = [({"group": group}, lag) for group, lag in lags.most_common(MOST_GROUPS)]
    yield from _family("group_lag_records", "Records that a group has not read.", worst)


def _by_severity(findings: Iterable[Finding]) -> list[tuple[dict[str, str], float]]:
    counts = dict.fromkeys(Severity, 0)
    for finding in findings:
        counts[finding.check.severity] += finding.occurrences
    return [({"severity": severity.name.lower()}, count) for severity, count in counts.items()]


def _family(name: str, text: str, samples: Iterable[tuple[dict[str, str], float]]) -> Iterator[str]:
    yield f"# TYPE odradek_audit_{name} gauge\n# HELP odradek_audit_{name} {text}\n"
    for labels, value in samples:
        inner = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        yield f"odradek_audit_{name}{f'{{{inner}}}' if inner else ''} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
