"""The summary of an audit on the terminal: totals, the next start, findings by name with advice, lagging groups, files.

Prints to the given console and does no other I/O. The worst comes first; notes are one line.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ..check import Severity
from ..result import AuditResult
from .figures import compaction_debt, kinds_of_findings, lag_of_groups, totals
from .next_start import next_starts
from .number_texts import bytes_text, count_text, duration_text, plural

if TYPE_CHECKING:
    from rich.console import Console

STYLES = {"ERROR": "bold red", "WARNING": "yellow", "INFO": "cyan"}
MOST_KINDS, MOST_GROUPS, MOST_DEBTORS, MOST_STEPS, MOST_DIRECTORIES = 20, 10, 5, 5, 20


def sentence(result: AuditResult) -> str:
    """A sentence with the totals of replicas, records and findings."""
    sums = totals(result)
    return (
        f"{plural(sums.partitions, 'replica')} of {plural(sums.topics, 'topic')}, {bytes_text(sums.size)}, "
        f"{plural(sums.records, 'record')}, {plural(sums.groups, 'group')} with offsets; findings: "
        f"{plural(sums.errors, 'error')}, {plural(sums.warnings, 'warning')}, {plural(sums.notes, 'note')}."
    )


def reading_sentences(result: AuditResult) -> list[str]:
    """What a state spared, and what is wrong with the run itself. Empty for an audit that read everything."""
    known = sum(reading.bytes_known for reading in result.readings)
    read = sum(reading.bytes_read for reading in result.readings)
    again = f", and {bytes_text(result.compared_bytes)} again to compare replicas" if result.compared_bytes else ""
    spared = (
        [f"{bytes_text(known)} of closed segments were known, {bytes_text(read)} were read{again}."] if known else []
    )
    return [*spared, *changes_sentences(result), *result.notes]


def changes_sentences(result: AuditResult) -> list[str]:
    """What is new, gone and growing since the last audit; empty without one."""
    changes = result.changes
    if changes is None or changes.since_ms is None:
        return []
    since = datetime.fromtimestamp(changes.since_ms / 1000, UTC).isoformat(timespec="seconds")
    kinds = {
        "new": Counter(finding.name for finding in changes.new),
        "gone": Counter(key.name for key in changes.gone),
        "growing": Counter(finding.name for finding in changes.growing),
    }
    parts = [
        f"{kind}: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        for kind, counts in kinds.items()
        if counts
    ]
    return [f"Since the audit of {since}: {'; '.join(parts) or 'no finding is new, gone or growing'}."]


def is_brief(result: AuditResult) -> bool:
    """Whether there is nothing to put into a table."""
    has_lag = any(bar.value for bar in lag_of_groups(result.groups))
    return not result.findings and not has_lag and not compaction_debt(result.partitions)


def print_brief(result: AuditResult, written: Sequence[Path]) -> None:
    """Prints the totals, the next starts and the written files to standard output."""
    print(sentence(result))
    for text in reading_sentences(result):
        print(text)
    for verdict in next_starts(result)[:MOST_DIRECTORIES]:
        print(f"{verdict.directory}: {verdict.sentence}")
    for path in written:
        print(f"written: {path}")


def print_summary(result: AuditResult, console: "Console", written: Sequence[Path]) -> None:
    """Prints the full summary. `written`: the files that the audit wrote."""
    console.print(sentence(result), highlight=False, soft_wrap=True)
    for text in reading_sentences(result):
        console.print(text, highlight=False, soft_wrap=True)
    for verdict in next_starts(result)[:MOST_DIRECTORIES]:
        style = STYLES["ERROR"] if verdict.is_refused else ""
        console.print(f"{verdict.directory}: {verdict.sentence}", style=style, highlight=False, soft_wrap=True)
    every_kind = kinds_of_findings(result.findings)
    kinds = [kind for kind in every_kind if kind.severity != Severity.INFO.name]
    if kinds:
        rows = []
        for kind in kinds[:MOST_KINDS]:
            first = kind.first
            where = first.file + (f" at {first.position}" if first.position >= 0 else "")
            rows.append((kind.severity, kind.name, str(kind.occurrences), f"{where}: {first.detail}"))
        _print_table(console, "Findings", ("SEVERITY", "NAME", "COUNT", "FIRST"), rows)
        if len(kinds) > MOST_KINDS:
            console.print(f"… {len(kinds) - MOST_KINDS} more kinds of findings")
    notes = [f"{kind.occurrences} {kind.name}" for kind in every_kind if kind.severity == Severity.INFO.name]
    if notes:
        console.print(f"Notes: {', '.join(notes)}", highlight=False, soft_wrap=True)
    lags = [bar for bar in lag_of_groups(result.groups) if bar.value]
    if lags:
        rows = [
            (bar.label, count_text(bar.value), duration_text(bar.facts["lag_ms"]), str(bar.facts["partitions"]))
            for bar in lags[:MOST_GROUPS]
        ]
        _print_table(console, "Groups by lag", ("GROUP", "LAG", "TIME BEHIND", "PARTITIONS"), rows)
    debts = compaction_debt(result.partitions)[:MOST_DEBTORS]
    if debts:
        shares = [(bar.label, bytes_text(bar.value), f"{bar.facts['dirty_percent']} %") for bar in debts]
        _print_table(console, "Compaction debt", ("PARTITION", "DIRTY", "OF WHAT CAN BE CLEANED"), shares)
    steps = kinds[:MOST_STEPS]
    if steps:
        console.print("Next steps", style="bold")
        for number, kind in enumerate(steps, start=1):
            console.print(f"  {number}. {kind.name}: {kind.action}", highlight=False, soft_wrap=True)
    for path in written:
        console.print(f"written: {path}", highlight=False, soft_wrap=True)


def _print_table(console: "Console", title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in row))
    console.print(table)
