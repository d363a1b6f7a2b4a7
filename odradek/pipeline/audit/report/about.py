"""The head of the page: what was audited, with which clock and options, how long it took.

Pure. Every text is escaped here.
"""

from datetime import UTC, datetime, timedelta
from html import escape

from odradek import __version__

from ..result import AuditResult, DirectoryStop
from ..run_identity import RunEnd, RunIdentity
from .page_parts import table

_BEGIN = datetime(1970, 1, 1, tzinfo=UTC)


def title_of(run: RunIdentity) -> str:
    """The title of the page, with the id of the cluster or the number of clusters."""
    clusters = {owner.cluster_id for owner in run.owners.values() if owner.cluster_id}
    if len(clusters) > 1:
        return f"Audit of {len(clusters)} clusters"
    return f"Audit of cluster {clusters.pop()}" if clusters else "Audit"


def about(run: RunIdentity, result: AuditResult, end: RunEnd | None) -> str:
    """A table with a row for each log directory, and the facts of the run. `end`: None without a command."""
    rows = [_row(stop, run) for stop in result.stops]
    directories = table("Log directories", ["directory", "cluster", "broker", "its broker", "clock"], rows)
    facts = {"run": run.run, "began": _time_text(run.time_ms), "Odradek": __version__}
    if end is not None:
        facts |= {"took": f"{end.seconds:.1f} s", "exit code": str(end.exit_code), "command": end.command}
    lines = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in facts.items())
    return f'{directories if rows else ""}<dl class="facts">{lines}</dl>'


def _row(stop: DirectoryStop, run: RunIdentity) -> list[str]:
    owner = run.owner_of(stop.directory)
    left = "runs" if stop.is_live else "was stopped cleanly" if stop.is_clean else "was not stopped cleanly"
    broker = "not known" if owner.node_id is None else str(owner.node_id)
    place = f"<code>{escape(stop.directory)}</code>"
    return [place, escape(owner.cluster_id or "not known"), broker, left, _time_text(stop.now_ms)]


def _time_text(time_ms: int) -> str:
    """A time as ISO 8601 (UTC); "not known" for -1, the number for a time that no date has."""
    if time_ms < 0:
        return "not known"
    try:
        return (_BEGIN + timedelta(milliseconds=time_ms)).isoformat(timespec="seconds")
    except OverflowError:
        return f"{time_ms} ms since 1970"
