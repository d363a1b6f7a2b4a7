"""The catalogue of findings as text: for docs/audit-findings.md and `odradek audit --list-findings`."""

from .catalogue_directory import DIRECTORY_CHECKS
from .catalogue_groups import GROUP_CHECKS
from .catalogue_log import LOG_CHECKS
from .check import Check, Severity

_HEADINGS = {
    "Logs, indexes, checkpoints, directories, replicas": LOG_CHECKS | DIRECTORY_CHECKS,
    "Groups and committed offsets": GROUP_CHECKS,
}


def catalogue_text() -> str:
    """Markdown: a table for each severity of each catalogue, names in order."""
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
