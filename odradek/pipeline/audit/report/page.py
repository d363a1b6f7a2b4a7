"""The page of an audit: one HTML file without external files, of at most a few MB.

Reads style and script from this package and does no other I/O. Summary, plots and numbers are HTML and SVG and need no
script. page.js draws the map of partitions and the long tables from the JSON in the page. A content security policy
forbids all requests.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from importlib.resources import files

from odradek import __version__

from ..check import Severity
from ..findings import Finding
from ..result import AuditResult, DirectoryStop
from ..run_identity import RunEnd, RunIdentity, is_in
from . import figures
from .commands import filled, mending, showing, templates
from .next_start import next_starts
from .number_texts import plural
from .page_data import RowLimits, WorstFindings, json_in_html, page_data
from .page_parts import bars, number, table, volume_chart, without_passwords
from .summary import MOST_STEPS, changes_sentences

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


POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
MOST_CHANGES = 100
"""The most rows of new, growing and gone findings each."""
MOST_TOPICS = 200
"""The number of topics in the table beside the map, the worst first."""


def page(result: AuditResult, findings: WorstFindings, limits: RowLimits, run: RunIdentity, end: RunEnd | None) -> str:
    """The HTML of the whole page. `end`: None if no command has run the audit. URLs in it have no passwords."""
    folder = files(__package__)
    known = {"directories": list(run.owners), "commands": templates()}
    data = json_in_html(page_data(result, findings, limits) | known)
    title, parts = title_of(run), _parts(result, list(run.owners))
    style, script = (folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    text = "".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n',
            f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<header>",
            f"<h1>{escape(title)}</h1>{about(run, result, end)}{_tiles(result)}{_contents(parts)}</header>\n<main>\n",
            *(f'<section id="{name}"><h2>{heading}</h2>\n{body}\n</section>\n' for name, heading, body in parts),
            f'</main>\n<script type="application/json" id="data">{data}</script>\n',
            f"<script>\n{script}</script>\n</body>\n</html>\n",
        ]
    )
    return without_passwords(text)


def _tiles(result: AuditResult) -> str:
    sums = figures.totals(result)
    worst = "error" if sums.errors else "warning" if sums.warnings else "fine"
    shown = [
        ("errors", number(sums.errors), "error" if sums.errors else ""),
        ("warnings", number(sums.warnings), "warning" if sums.warnings else ""),
        ("notes", number(sums.notes), ""),
        ("replicas", number(sums.partitions), ""),
        ("topics", number(sums.topics), ""),
        ("bytes", number(sums.size, "bytes"), ""),
        ("records", number(sums.records), ""),
        ("groups", number(sums.groups), ""),
    ]
    sentence = {
        "error": "There are errors: begin with the first of the next steps.",
        "warning": "Nothing is broken, but there are warnings.",
        "fine": "Nothing is wrong.",
    }[worst]
    tiles = "".join(f'<div class="{kind}"><dt>{name}</dt><dd>{text}</dd></div>' for name, text, kind in shown)
    return f'<p class="verdict {worst}">{sentence}</p><dl class="tiles">{tiles}</dl>'


def _contents(parts: Sequence[tuple[str, str, str]]) -> str:
    links = "".join(f'<li><a href="#{name}">{heading}</a></li>' for name, heading, _ in parts)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _parts(result: AuditResult, directories: Sequence[str]) -> list[tuple[str, str, str]]:
    """(id, heading, HTML) of each section. The state of the cluster comes before the list of what was found.

    Sections without content are left out.
    """
    parts = [
        ("next-start", "What the next start of Kafka does", _next_starts(result)),
        *([("changes", "Since the last audit", _changes(result))] if changes_sentences(result) else []),
        ("next-steps", "Next steps", _next_steps(result)),
        ("health", "Health by partition", _health(result)),
        ("lag", "Lag of groups", _lag(result)),
        ("debt", "Compaction debt", _debt(result)),
        ("worst", "What is wrong, the worst first", _kinds(result, directories)),
        ("all-findings", "Every finding", _long_table("findings")),
        ("volume", "Volume over time", volume_chart(figures.volume_over_time(result.volume))),
        ("skew", "Skew of topics", _skew(result)),
        ("batches", "Compression and size of batches", _batches(result)),
        ("growth", "Who writes the offsets topic", _growth(result)),
        ("all-partitions", "Every partition", _long_table("partitions")),
    ]
    return [part for part in parts if part[2]]


def _next_starts(result: AuditResult) -> str:
    rows = []
    for verdict in next_starts(result):
        mark = '<span class="mark error">does not start</span> ' if verdict.is_refused else ""
        rows.append([f"<code>{escape(verdict.directory)}</code>", f"{mark}{escape(verdict.sentence)}"])
    return table("The next start", ["log directory", "what it does"], rows) if rows else ""


def _changes(result: AuditResult) -> str:
    """What is new, gone and growing, as lines, the first of which names the last audit."""
    changes = result.changes
    assert changes is not None
    rows = [
        [what, escape(finding.name), f"<code>{escape(finding.file)}</code>", escape(finding.detail)]
        for what, findings in (("new", changes.new), ("growing", changes.growing))
        for finding in findings[:MOST_CHANGES]
    ]
    rows += [["gone", escape(key.name), f"<code>{escape(key.place)}</code>", ""] for key in changes.gone[:MOST_CHANGES]]
    sentence = "".join(f"<p>{escape(text)}</p>" for text in changes_sentences(result))
    return sentence + (table("What has changed", ["", "check", "place", "first"], rows) if rows else "")


def _next_steps(result: AuditResult) -> str:
    """What to do about the worst findings, as on the terminal."""
    kinds = [kind for kind in figures.kinds_of_findings(result.findings) if kind.severity != Severity.INFO.name]
    if not kinds:
        return '<p class="none">Nothing has to be done.</p>'
    steps = "".join(
        f"<li>{_mark(kind.severity)} {escape(kind.name)}: {escape(kind.action)}</li>" for kind in kinds[:MOST_STEPS]
    )
    more = f"<p>{plural(len(kinds) - MOST_STEPS, 'more kind')} of findings below.</p>" if kinds[MOST_STEPS:] else ""
    return f"<ol>{steps}</ol>{more}"


def _mark(severity: str) -> str:
    """A severity as a word in its colour."""
    return f'<span class="mark {severity.lower()}">{severity.lower()}</span>'


def _kinds(result: AuditResult, directories: Sequence[str]) -> str:
    kinds = figures.kinds_of_findings(result.findings)
    if not kinds:
        return '<p class="none">No finding.</p>'
    rows = []
    for kind in kinds:
        first = kind.first
        where = first.file + (f" at {first.position}" if first.position >= 0 else "")
        advice = f"{escape(kind.meaning)} <b>{escape(kind.action)}</b>"
        rows.append(
            [
                f"{_mark(kind.severity)} {escape(kind.name)}",
                number(kind.occurrences),
                number(kind.partitions),
                advice,
                f"<code>{escape(where)}</code><br>{escape(first.detail)}{_commands(first, directories)}",
            ]
        )
    return table("Findings by name", ["check", "findings", "partitions", "what it means, what to do", "first"], rows)


def _commands(found: Finding, directories: Sequence[str]) -> str:
    """The commands for a finding, which can be opened."""
    directory = next((one for one in directories if is_in(found.file, one)), ".")
    commands = [showing(found.file, found.position), mending(found.name)]
    lines = "".join(f"<code>{escape(filled(one, found, directory))}</code>" for one in commands if one)
    return f'<details class="commands"><summary>commands</summary>{lines}</details>' if lines else ""


def _health(result: AuditResult) -> str:
    topics = figures.health_of_topics(result)
    names = ("replicas", "errors", "warnings", "records")
    rows = [
        [escape(topic), *(number(sums[name]) for name in names), number(sums["size"], "bytes")]
        for topic, sums in topics[:MOST_TOPICS]
    ]
    more = f"<p>{number(len(topics) - MOST_TOPICS)} more topics.</p>" if len(topics) > MOST_TOPICS else ""
    legend = "".join(
        f'<span class="key {kind}"></span>{text}&ensp;' for kind, text in (("error", "error"), ("warning", "warning"),
                                                                      ("info", "note"), ("fine", "nothing"))
    )  # fmt: skip
    by_topic = table("Health by topic", ["topic", *names, "bytes"], rows)
    if not result.findings:
        return f'<p class="none">No replica has a finding.</p>{by_topic}{more}'
    return (
        f'<p class="legend">Each square is a replica: {legend}A click, or arrow keys and Enter, shows its rows.</p>'
        '<canvas id="map" role="img" tabindex="0" aria-describedby="map-readout" '
        'aria-label="Health of every partition; the table below it has the same by topic">'
        '</canvas><p id="map-readout" class="axis" aria-live="polite">&nbsp;</p>'
        f"<details><summary>By topic</summary>{by_topic}{more}</details>"
    )


def _lag(result: AuditResult) -> str:
    facts = [
        ("lag_ms", "time behind", "duration"),
        ("worst_partition", "in one partition", "count"),
        ("partitions", "partitions", "count"),
    ]
    plot = bars("The groups that lag most", "records behind", "count", figures.lag_of_groups(result.groups), facts)
    return f"{plot}<h3>Every group and partition</h3>{_long_table('groups')}" if result.groups else ""


def _skew(result: AuditResult) -> str:
    facts = [
        ("partitions", "partitions", "count"),
        ("largest_partition", "largest partition", "count"),
        ("largest_size", "its bytes", "bytes"),
    ]
    plot = figures.skew_of_topics(result.partitions)
    key_facts = [("largest_key_records", "its records", "count"), ("distinct_keys", "keys", "count")]
    shares = figures.skew_of_keys(result.partitions)
    keys = bars("The most frequent key of a partition", "percent of the records", "count", shares, key_facts)
    topics = bars("The largest partition against the mean", "times the mean", "count", plot, facts)
    return topics + (f"<h3>Keys</h3>{keys}" if keys else "")


def _batches(result: AuditResult) -> str:
    facts = [
        ("percent", "percent of the uncompressed bytes", "count"),
        ("batch_bytes", "bytes of a batch", "bytes"),
        ("batch_records", "records of a batch", "count"),
    ]
    plot = figures.batches_of_topics(result.partitions)
    return bars("The largest topics", "bytes", "bytes", plot, facts)


def _debt(result: AuditResult) -> str:
    facts = [
        ("dirty_percent", "percent of clean and dirty bytes", "count"),
        ("clean_and_dirty_bytes", "clean and dirty bytes", "bytes"),
    ]
    plot = figures.compaction_debt(result.partitions)
    return bars("Uncleaned bytes", "dirty bytes", "bytes", plot, facts)


def _growth(result: AuditResult) -> str:
    facts = [
        ("commits", "commits", "count"),
        ("tombstones", "tombstones", "count"),
        ("dirty_bytes", "dirty bytes", "bytes"),
    ]
    return bars("Groups in the offsets topic", "bytes", "bytes", figures.growth_of_groups(result.growth), facts)


def _long_table(name: str) -> str:
    """An empty table that page.js fills with rows."""
    label = name
    return (
        f'<div class="long" data-table="{name}"><p><label>Only {label} with <input type="search" '
        'placeholder="text"></label> <span class="count" aria-live="polite"></span></p>'
        '<div class="scroll"><table><thead></thead><tbody></tbody></table></div>'
        '<p><button type="button" class="more" hidden>More</button></p>'
        f"<noscript>The table of all {label} needs scripts; {name}.parquet has the same rows.</noscript></div>"
    )
