"""Findings of an audit, and the catalogue of all checks by the name of their findings.

Pure. A finding names topic-partition, file, position and offset.
"""

from collections.abc import Iterable
from typing import NamedTuple

from .catalogue_directory import DIRECTORY_CHECKS
from .catalogue_groups import GROUP_CHECKS
from .catalogue_log import LOG_CHECKS
from .catalogue_share_streams import SHARE_STREAMS_CHECKS
from .check import Check, Severity

CHECKS: dict[str, Check] = LOG_CHECKS | DIRECTORY_CHECKS | GROUP_CHECKS | SHARE_STREAMS_CHECKS
"""Every check by the name of its findings."""


class Finding(NamedTuple):
    """One finding. `position` (bytes in the file) and `offset`: -1 if there is none. `occurrences`: 1, or
    the number of findings of this kind if only this one is listed for them."""

    name: str
    topic: str
    partition: int
    file: str
    position: int
    offset: int
    detail: str
    occurrences: int = 1

    @property
    def check(self) -> Check:
        """The severity and meaning of this kind of finding, and the recommended action."""
        return CHECKS[self.name]


def first_of_each_name(findings: Iterable[Finding]) -> list[Finding]:
    """The first finding of each name, with the number of all of that name. For a replica whose rows were written."""
    first: dict[str, Finding] = {}
    for found in findings:
        known = first.get(found.name)
        count = found.occurrences if known is None else known.occurrences + found.occurrences
        first[found.name] = (known or found)._replace(occurrences=count)
    return list(first.values())


_HEADINGS = {
    "Logs, indexes, checkpoints, directories, replicas": LOG_CHECKS | DIRECTORY_CHECKS,
    "Groups and committed offsets": GROUP_CHECKS,
    "Share groups and streams groups": SHARE_STREAMS_CHECKS,
}


def catalogue_text() -> str:
    """The catalogue as Markdown, for docs/audit-findings.md and ``odradek audit --list-findings``.

    It has a table for each severity of each catalogue, with the names in order.
    """
    lines = []
    for heading, checks in _HEADINGS.items():
        lines += [f"### {heading}", ""]
        for severity in sorted(Severity, reverse=True):
            lines += _table(severity, {name: check for name, check in checks.items() if check.severity is severity})
    return "\n".join(lines).rstrip() + "\n"


def _table(severity: Severity, checks: dict[str, Check]) -> list[str]:
    if not checks:
        return []
    rows = [f"| `{name}` | {check.meaning} | {check.action} |" for name, check in sorted(checks.items())]
    return [f"| {severity.name.lower()} | meaning | what to do |", "|---|---|---|", *rows, ""]
