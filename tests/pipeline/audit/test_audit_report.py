"""The page of an audit has the numbers of the tables, is self-contained, and is small for 10,000 partitions."""

import html
import json
import re
import shlex
from collections import defaultdict
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from odradek import __version__
from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.findings import CHECKS, Finding
from odradek.pipeline.audit.report.commands import PLACES, filled, mending, showing
from odradek.pipeline.audit.report.figures import Bar, Period, volume_over_time
from odradek.pipeline.audit.report.number_texts import bytes_text, count_text, duration_text
from odradek.pipeline.audit.report.page_data import DEFAULT_LIMITS, FINDING_COLUMNS, LAG_COLUMNS, RowLimits
from odradek.pipeline.audit.report.page_parts import bars, volume_chart, without_passwords
from odradek.pipeline.audit.report.summary import MOST_STEPS, is_brief, print_brief, print_summary, sentence
from odradek.pipeline.audit.report.table_files import tables_of_a_run, write_partition_rows
from odradek.pipeline.audit.report.write import write_report
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.tasks import PartitionReport
from odradek.storage.files.meta_properties import CLEAN_SHUTDOWN_FILE
from support.kafka.directory import NOW_MS

from ..audit_tables import Row, any_run, rows_in
from .audit_results import random_result
from .two_brokers import CLUSTER, belongs_to, two_brokers


class Page(HTMLParser):
    """The content of a page: tables by caption as rows of texts or exact numbers, the tiles, the JSON inside."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[Any]]] = {}
        self.tiles: dict[str, float] = {}
        self.data: dict[str, Any] = {}
        self.requests: list[str] = []
        self.links: list[str] = []
        self.sections: list[str] = []
        self.unlabelled: list[str] = []
        self._caption = ""
        self._within: list[str] = []
        self._row: list[Any] = []
        self._tile = ""
        self._json = ""
        self.feed(text)
        self.close()
        self.data = json.loads(self._json)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        places = [str(found[name]) for name in ("src", "href") if name in found]
        self.links += [place for place in places if place.startswith("#")]
        self.requests += [place for place in places if not place.startswith("#")]
        if tag == "section":
            self.sections.append(str(found["id"]))
        if tag in ("svg", "canvas") and not found.get("aria-label"):
            self.unlabelled.append(tag)
        if tag == "script" and found.get("id") == "data":
            tag = "json"
        if tag not in ("meta", "input", "br", "rect"):
            self._within.append(tag)
        if tag == "caption":
            self._caption = ""
        if tag == "tr":
            self._row = []
        if tag in ("td", "th"):
            self._row.append("")
        if "data-value" in found:
            number = float(found["data-value"] or "")
            if "dd" in self._within:
                self.tiles[self._tile] = number
            elif self._row and "tr" in self._within:
                self._row[-1] = number

    def handle_endtag(self, tag: str) -> None:
        if self._within:
            self._within.pop()
        if tag == "caption":
            self.tables[self._caption] = []
        if tag == "tr" and "tbody" in self._within and self._row:
            self.tables[self._caption].append(self._row)

    def handle_data(self, data: str) -> None:
        within = self._within[-1] if self._within else ""
        if within == "json":
            self._json += data
        elif within == "caption":
            self._caption += data
        elif within == "dt":
            self._tile = data
        elif self._row and "tr" in self._within and isinstance(self._row[-1], str):
            self._row[-1] += data


def rows_of(table: dict[str, Any]) -> list[Row]:
    """The rows of a table in the page's JSON."""
    columns = {
        name: column if isinstance(column, list) else [column["values"][index] for index in column["indices"]]
        for name, column in table["columns"].items()
    }
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def written(
    result: AuditResult, output: Path, limits: RowLimits = DEFAULT_LIMITS
) -> tuple[Page, dict[str, list[Row]], str]:
    """The page, the rows of the Parquet files by table, the page's text."""
    with tables_of_a_run(output, any_run()) as tables:
        middle = len(result.partitions) // 2
        for number, reports in enumerate((result.partitions[:middle], result.partitions[middle:])):
            write_partition_rows(tables, number, reports)
        result.portions = 2
        write_report(result, tables, output, ["parquet", "html", "jsonl"], limits)
    text = (output / "index.html").read_text("utf-8")
    return Page(text), rows_in(output), text


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, dict[str, list[Row]], str]:
    return written(random_result(1, 10_000), tmp_path_factory.mktemp("large"))


def test_ten_thousand_partitions_stay_small(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    page, tables, text = large
    assert len(tables["partitions"]) == 10_000
    assert len(rows_of(page.data["partitions"])) == 10_000
    assert len(text.encode()) < 3 << 20
    assert not page.requests
    assert "http" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL).replace("http-equiv", "")
    assert "default-src 'none'" in text
    assert not page.unlabelled
    assert text.count("</script>") == 2, "no text of the data ends a script"


def test_the_totals_are_those_of_the_tables(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    page, tables, _ = large
    counts = {
        severity.name: sum(row["occurrences"] for row in tables["findings"] if row["severity"] == severity.name)
        for severity in Severity
    }
    assert page.tiles == {
        "errors": counts["ERROR"],
        "warnings": counts["WARNING"],
        "notes": counts["INFO"],
        "replicas": 10_000,
        "topics": len({row["topic"] for row in tables["partitions"]}),
        "bytes": sum(row["size"] for row in tables["partitions"]),
        "records": sum(row["records"] for row in tables["partitions"]),
        "groups": len({row["group"] for row in tables["groups"]}),
    }


def test_the_rows_are_those_of_the_tables(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    page, tables, _ = large
    severities = {(row["topic"], row["partition"]): -1 for row in tables["partitions"]}
    counts: defaultdict[tuple[str, int], int] = defaultdict(int)
    for row in tables["findings"]:
        key = row["topic"], row["partition"]
        severities[key] = max(severities[key], int(Severity[row["severity"]]))
        counts[key] += row["occurrences"]
    shown = {(row["topic"], row["partition"]): row for row in rows_of(page.data["partitions"])}
    for row in tables["partitions"]:
        key = row["topic"], row["partition"]
        assert shown[key].pop("severity") == severities[key]
        assert shown[key].pop("findings") == counts[key]
        assert {name: int(value) if name != "topic" and name != "directory" else value
                for name, value in shown[key].items()} == {name: row[name] for name in shown[key]}  # fmt: skip
    found = [tuple(map(str, row.values())) for row in rows_of(page.data["findings"])]
    expected = [tuple(str(row[name]) for name in FINDING_COLUMNS) for row in tables["findings"]]
    assert sorted(found) == sorted(expected)
    assert [row[0] for row in found] == sorted((row[0] for row in found), key=lambda name: -Severity[name])
    lags = [tuple(map(str, row.values())) for row in rows_of(page.data["groups"])]
    expected = [tuple(str(row[name]) for name in LAG_COLUMNS) for row in tables["groups"]]
    assert page.data["groups"]["total"] == len(expected)
    assert set(lags) <= set(expected)
    assert len(lags) == min(len(expected), DEFAULT_LIMITS.lags)


def test_the_plots_are_those_of_the_tables(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    page, tables, text = large
    days: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for row in tables["volume"]:
        days[str(row["day"])][0] += row["size"]
        days[str(row["day"])][1] += row["records"]
    [volume] = [rows for caption, rows in page.tables.items() if caption.startswith("Bytes written from")]
    assert volume == [[day, *sums] for day, sums in sorted(days.items())]
    assert text.count("<rect ") == len(days)
    lags: defaultdict[str, list[Row]] = defaultdict(list)
    for row in tables["groups"]:
        if row["lag"] >= 0:
            lags[row["group"]].append(row)
    for group, behind, behind_ms, worst, partitions in page.tables["The groups that lag most"]:
        rows = lags[group]
        assert behind == sum(row["lag"] for row in rows)
        assert (behind_ms, worst) == (max(row["lag_ms"] for row in rows), max(row["lag"] for row in rows))
        assert partitions == len(rows)
    sizes: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for row in tables["partitions"]:
        sizes[row["topic"]][row["partition"]] = row["size"]
    for topic, times, count, largest, size in page.tables["The largest partition against the mean"]:
        of_topic = sizes[topic]
        assert (count, size) == (len(of_topic), max(of_topic.values()))
        assert of_topic[largest] == size
        assert times == round(size * count / sum(of_topic.values()), 2)
    debts = {f"{row['topic']}-{row['partition']}": row for row in tables["partitions"] if row["dirty_bytes"] > 0}
    found = page.tables["Uncleaned bytes"]
    assert [row[1] for row in found] == sorted((row["dirty_bytes"] for row in debts.values()), reverse=True)[:30]
    assert all(
        (debts[row[0]]["dirty_bytes"], debts[row[0]]["clean_and_dirty_bytes"]) == (row[1], row[3]) for row in found
    )
    keys = {f"{row['topic']}-{row['partition']}": row for row in tables["partitions"]}
    shares = page.tables["The most frequent key of a partition"]
    assert len(shares) == 30
    for partition, percent, records, distinct in shares:
        known = keys[partition]
        assert (records, distinct) == (known["largest_key_records"], known["distinct_keys"])
        assert percent == round(100 * records / known["records"], 2)
    by_topic: defaultdict[str, list[Row]] = defaultdict(list)
    for row in tables["partitions"]:
        if row["decoded_size"] > 0:
            by_topic[row["topic"]].append(row)
    for topic, size, percent, batch_bytes, batch_records in page.tables["The largest topics"]:
        sums = {
            name: sum(row[name] for row in by_topic[topic]) for name in ("size", "decoded_size", "batches", "records")
        }
        assert (size, percent) == (sums["size"], round(100 * size / sums["decoded_size"]))
        assert (batch_bytes, batch_records) == (size // sums["batches"], sums["records"] // sums["batches"])
    growth: defaultdict[str, int] = defaultdict(int)
    for row in tables["growth"]:
        growth[row["group"]] += row["bytes"]
    assert {row[0]: row[1] for row in page.tables["Groups in the offsets topic"]}.items() <= growth.items()


def test_findings_are_told_by_name_with_what_to_do(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    page, tables, _ = large
    told = page.tables["Findings by name"]
    by_name: defaultdict[str, list[Row]] = defaultdict(list)
    for row in tables["findings"]:
        by_name[row["name"]].append(row)
    assert len(told) == len(by_name)
    for check, occurrences, partitions, advice, first in told:
        severity, name = check.split()
        assert severity == CHECKS[name].severity.name.lower()
        assert occurrences == sum(row["occurrences"] for row in by_name[name])
        assert partitions == len({(row["topic"], row["partition"]) for row in by_name[name]})
        assert advice == f"{CHECKS[name].meaning} {CHECKS[name].action}"
        assert by_name[name][0]["detail"] in first
    ranks = [Severity[row[0].split()[0].upper()] for row in told]
    assert ranks == sorted(ranks, reverse=True)


def test_lines_of_json_are_the_rows_of_parquet(tmp_path: Path) -> None:
    _, tables, _ = written(random_result(2, 50), tmp_path)
    for name, rows in tables.items():
        lines = [json.loads(line) for line in (tmp_path / f"{name}.jsonl").read_text("utf-8").splitlines()]
        assert lines == [
            {key: value.isoformat() if isinstance(value, date) else value for key, value in row.items()} for row in rows
        ]


def test_beyond_the_limits_the_worst_stay(tmp_path: Path) -> None:
    result = random_result(3, 200)
    page, tables, _ = written(result, tmp_path, RowLimits(20, 20, 20))
    shown = rows_of(page.data["partitions"])
    assert len(shown) == 20
    assert page.data["partitions"]["total"] == 200
    with_errors = {(row["topic"], row["partition"]) for row in tables["findings"] if row["severity"] == "ERROR"}
    assert with_errors <= {(row["topic"], row["partition"]) for row in shown} or len(with_errors) > 20
    assert len(rows_of(page.data["findings"])) == min(20, len(tables["findings"]))


def test_the_contents_have_each_section_and_findings_come_after_the_state(
    large: tuple[Page, dict[str, list[Row]], str],
) -> None:
    page, _, _ = large
    assert page.links == [f"#{name}" for name in page.sections]
    in_order = ["next-steps", "health", "lag", "debt", "worst", "all-findings"]
    assert page.sections[: len(in_order)] == in_order
    assert len(set(page.sections)) == len(page.sections)


def test_next_steps_are_those_of_the_worst_findings(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    page, _, text = large
    steps = re.findall(r"<li><span class=\"mark (\w+)\">\1</span> ([\w-]+): (.*?)</li>", text)
    worst = [row[0].split() for row in page.tables["Findings by name"]][:MOST_STEPS]
    assert [[severity, name] for severity, name, _ in steps] == worst
    assert [html.unescape(action) for *_, action in steps] == [CHECKS[name].action for _, name in worst]


def test_the_head_of_the_page_says_what_was_audited_and_how(tmp_path: Path) -> None:
    roots, output = two_brokers(tmp_path), tmp_path / "out <&>"
    (roots[1] / CLEAN_SHUTDOWN_FILE).unlink()
    words = [*map(str, roots), "--engine", "local", "--now", str(NOW_MS), "--output", str(output)]
    assert audit(words) == 2
    text = (output / "index.html").read_text("utf-8")
    page = Page(text)
    assert f"<title>Audit of cluster {CLUSTER}</title>" in text
    clock = datetime.fromtimestamp(NOW_MS / 1000, UTC).isoformat()
    assert page.tables["Log directories"] == [
        [str(roots[0]), CLUSTER, "0", "was stopped cleanly", clock],
        [str(roots[1]), CLUSTER, "1", "was not stopped cleanly", clock],
    ]
    head = html.unescape(text[: text.index("<main>")])
    assert f"<dt>Odradek</dt><dd>{__version__}</dd>" in head
    assert "<dt>exit code</dt><dd>2</dd>" in head
    assert f"<dt>command</dt><dd>{shlex.join(['odradek', 'audit', *words])}</dd>" in head
    assert re.search(r"<dt>took</dt><dd>\d+\.\d s</dd>", head)
    [row] = [row for row in rows_in(output)["partitions"] if row["directory"] == str(roots[1])]
    assert f"<dt>run</dt><dd>{row['run']}</dd>" in head
    assert f"<dt>began</dt><dd>{row['time'].isoformat(timespec='seconds')}</dd>" in head
    belongs_to(roots[1], "BBBBBBBBBBBBBBBBBBBBBB", 1)
    assert audit(words) == 2
    assert "<title>Audit of 2 clusters</title>" in (output / "index.html").read_text("utf-8")


def test_urls_on_the_page_have_no_passwords() -> None:
    command = "odradek audit s3://key:se:cret@bucket/a https://u:p%40@h:1/b /c:d@e s3://bucket/f --now 2026-11-21T12:00"
    shown = "odradek audit s3://key:\u2026@bucket/a https://u:\u2026@h:1/b /c:d@e s3://bucket/f --now 2026-11-21T12:00"
    assert without_passwords(command) == shown


@pytest.mark.parametrize("name", CHECKS)
def test_the_commands_for_a_finding_are_quoted(name: str) -> None:
    found = Finding(name, "a b", 3, "/logs dir/a b-3/00000000000000000000.log", 17, 5, "")
    for template in (showing(found.file, found.position), mending(name)):
        words = shlex.split(filled(template, found, "/logs dir"))
        assert not set(words) & set(PLACES), template
        assert len(words) == len(template.split())


def test_the_command_that_shows_depends_on_the_file() -> None:
    assert showing("/a/t-0/00.log", 5).startswith("od ")
    assert showing("/a/t-0/00.index", -1).startswith("odradek dump-log")
    assert showing("/a/cleaner-offset-checkpoint", -1).startswith("cat ")
    assert showing("/a/t-0", -1) == showing("/a/x.unknown", -1) == ""


def test_pictures_that_say_nothing_are_left_out(tmp_path: Path) -> None:
    equal = [Bar(name, 5, {}) for name in "ab"]
    assert 'class="bar"' not in bars("same", "bytes", "bytes", equal, [])
    assert bars("none", "bytes", "bytes", [], []) == ""
    assert "<svg" not in volume_chart([Period("2026-11-21", 3, 5)])
    assert volume_chart([]) == ""
    result = random_result(5, 30)
    result.findings, result.groups = [], []
    page, _, text = written(result, tmp_path)
    assert "<canvas" not in text
    assert "No replica has a finding." in text
    assert "lag" not in page.sections


def test_plots_have_axes(large: tuple[Page, dict[str, list[Row]], str]) -> None:
    _, tables, text = large
    days: defaultdict[str, int] = defaultdict(int)
    for row in tables["volume"]:
        days[str(row["day"])] += row["size"]
    highest = max(days.values())
    ticks = "".join(f"<span>{bytes_text(highest * part / 2)}</span>" for part in (2, 1, 0))
    assert f'<div class="ticks" aria-hidden="true">{ticks}</div>' in text
    debts = max(row["dirty_bytes"] for row in tables["partitions"])
    assert f"<span>0 B</span><span>{bytes_text(debts / 2)}</span><span>{bytes_text(debts)}</span></div></th>" in text


def test_an_empty_audit_has_a_page_too(tmp_path: Path) -> None:
    page, tables, text = written(AuditResult(), tmp_path)
    assert not any(tables.values())
    assert "Nothing is wrong." in text
    assert "<title>Audit</title>" in text
    assert "Nothing has to be done." in text
    assert set(page.tiles.values()) == {0}


def test_years_are_shown_by_month() -> None:
    periods = volume_over_time(random_result(4, 50, days=1000).volume)
    assert all(re.fullmatch(r"\d{4}-\d{2}", period.name) for period in periods)
    assert [period.name for period in periods] == sorted(period.name for period in periods)


def test_the_summary_begins_with_the_worst_and_ends_with_what_to_do(tmp_path: Path) -> None:
    result = random_result(5, 300)
    console = Console(width=200, record=True, markup=False, file=(tmp_path / "out").open("w"))
    print_summary(result, console, [tmp_path / "index.html"])
    text = console.export_text()
    errors = {found.name for found in result.findings if found.check.severity is Severity.ERROR}
    first = next(line for line in text.splitlines() if line.startswith("│"))
    assert first.split("│")[1].strip() == "ERROR"
    assert first.split("│")[2].strip() in errors
    steps = text[text.index("Next steps") :]
    assert any(CHECKS[name].action.split(";")[0][:60] in steps for name in errors)
    assert "index.html" in steps


def test_a_summary_without_a_table_is_sentences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = AuditResult([PartitionReport(str(tmp_path), "t", 0, records=12)])
    assert is_brief(result)
    assert not is_brief(random_result(5, 300))
    print_brief(result, [tmp_path / "index.html"])
    assert capsys.readouterr().out.splitlines() == [sentence(result), f"written: {tmp_path / 'index.html'}"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (bytes_text(0), "0 B"),
        (bytes_text(1023), "1023 B"),
        (bytes_text(1536), "1.5 KiB"),
        (bytes_text(500 << 20), "500 MiB"),
        (bytes_text(5 << 60), "5120 PiB"),
        (count_text(1234567), "1\u2009234\u2009567"),
        (count_text(2.5), "2.50"),
        (duration_text(-1), "not known"),
        (duration_text(999), "0 s"),
        (duration_text(90_000), "1 min 30 s"),
        (duration_text(86_400_000 * 3 + 3_600_000 * 4 + 60_000), "3 d 4 h"),
    ],
)
def test_numbers_as_people_read_them(text: str, expected: str) -> None:
    assert text == expected
