"""Says what the next start of Kafka does with each log directory: refuse, cut, delete, put in place, rebuild.

Pure. Derived from the findings. After a clean stop Kafka reads only the end of each log. Otherwise it recovers each log
from the segment with the recovery point on: it cuts the log at the first batch with a wrong CRC or header, and deletes
later segments.
Source: Kafka's LogManager.loadLogs, LogLoader.load, LogSegment.recover.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ..findings import Finding
from ..result import AuditResult, DirectoryStop
from ..tasks import PartitionReport
from .number_texts import plural

MOST_EFFECTS = 5
"""The effects that a sentence lists; it counts the others."""
_REFUSED = (
    "directory-name-invalid",
    "file-name-invalid",
    "quorum-state-unreadable",
    "checkpoint-unreadable",
    "log-end-unreadable",
)
_CUT = ("batch-crc-mismatch", "batch-length-invalid", "batch-magic-unknown", "batch-incomplete")
_REBUILT = "offset-index-missing"
_ALWAYS = {
    "log-start-beyond-log": "deletes all segments of {name}",
    "swap-loses-records": "puts {file} in the place of segments of {name}, which loses records",
    "first-segments-missing": "moves the start of {name}, which hides that its first segments are lost",
    "partition-not-in-metadata": "renames {name} to -stray",
    "index-without-log": "deletes {file} of {name}",
}
"""Finding -> what a start does, whatever the stop was."""


class StartVerdict(NamedTuple):
    """One log directory. `is_refused`: Kafka does not start. `sentence`: that, or what the start does."""

    directory: str
    is_refused: bool
    sentence: str


def next_starts(result: AuditResult) -> list[StartVerdict]:
    """A verdict for each log directory, in the order of the audit."""
    return [_verdict(stop, result) for stop in result.stops]


def _verdict(stop: DirectoryStop, result: AuditResult) -> StartVerdict:
    findings = [found for found in result.findings if found.file.startswith(f"{stop.directory}/")]
    reports = {
        (report.topic, report.partition): report for report in result.partitions if report.directory == stop.directory
    }
    refused = [f"{found.file}: {found.detail}" for found in findings if found.name in _REFUSED]
    if not stop.is_clean:
        refused += [
            f"recovery of {_named(found)} fails at offset {found.offset}: {found.detail}"
            for found in findings
            if _stops_recovery(found) and _is_recovered(found, reports)
        ]
    after = f"After this {'clean' if stop.is_clean else 'unclean'} stop"
    if stop.is_live:
        after = "A broker has this directory open. If it is killed now"
    if refused:
        return StartVerdict(stop.directory, True, f"{after} Kafka does not start. {_list(refused)}")
    effects = _effects(findings, reports, is_clean=stop.is_clean)
    if not effects:
        return StartVerdict(stop.directory, False, f"{after} Kafka starts, and cuts, deletes and rebuilds nothing.")
    return StartVerdict(stop.directory, False, f"{after} Kafka starts, and {_list(effects)}")


def _stops_recovery(found: Finding) -> bool:
    """Whether a recovery that reads the batch ends with an exception, and with it the start."""
    is_unknown_type = found.name == "transaction-marker-unknown" and found.detail.startswith("a control record of type")
    return is_unknown_type or found.name == "offset-before-segment"


def _effects(
    findings: Sequence[Finding], reports: dict[tuple[str, int], PartitionReport], *, is_clean: bool
) -> list[str]:
    found = [
        _ALWAYS[one.name].format(name=_named(one), file=PurePosixPath(one.file).name)
        for one in findings
        if one.name in _ALWAYS
    ]
    if not is_clean:
        cuts: dict[tuple[str, int], int] = {}
        for one in findings:
            key = one.topic, one.partition
            if one.name in _CUT and one.offset >= 0 and _is_recovered(one, reports):
                cuts[key] = min(cuts.get(key, one.offset), one.offset)
        for key, offset in sorted(cuts.items()):
            lost = reports[key].log_end_offset - offset
            found.append(f"cuts {key[0]}-{key[1]} at offset {offset}, which loses the last {plural(lost, 'offset')}")
    rebuilt = sum(one.occurrences for one in findings if one.name == _REBUILT)
    return [*found, f"rebuilds the indexes of {plural(rebuilt, 'segment')}"] if rebuilt else found


def _is_recovered(found: Finding, reports: dict[tuple[str, int], PartitionReport]) -> bool:
    """Whether a recovery reads the segment that the finding is about."""
    report = reports.get((found.topic, found.partition))
    base = PurePosixPath(found.file).name.partition(".")[0]
    return report is not None and base.isdigit() and int(base) >= report.recovery_start_offset


def _named(found: Finding) -> str:
    return f"{found.topic}-{found.partition}"


def _list(texts: Sequence[str]) -> str:
    more = f"; and {len(texts) - MOST_EFFECTS} more" if len(texts) > MOST_EFFECTS else ""
    return "; ".join(texts[:MOST_EFFECTS]) + more + "."
