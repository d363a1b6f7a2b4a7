"""`audit --state` beside the audit before: new, gone and growing findings, the exit code, the metrics."""

import base64
import json
import os
import random
import re
import shutil
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from odradek.pipeline.audit.command import audit
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.last_run import GROWING, VERSION
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.audit.state_run import begin_run
from odradek.pipeline.engine.engines import LOCAL
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import AppendOrigin
from support.data.log_directories import flip_a_byte
from support.data.log_histories import HistoryWriter
from support.kafka.directory import NOW_MS as GROUPS_NOW_MS
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from ..groups_directory import GroupsDirectory
from .group_injections import a_consumer_that_stops


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return AuditedDirectory(tmp_path / "logs").root


def audited(root: Path, state: Path, now_ms: int = NOW_MS) -> AuditResult:
    return audit_directories([root], LOCAL, now_ms=now_ms, state=begin_run(state))


def test_findings_are_new_then_there_then_more_then_gone(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    first = audited(root, state).changes
    assert first is not None
    assert first.since_ms is None
    assert [finding.name for finding in first.new] == ["codecs-mixed"]
    (root / "t-0" / f"{777:020d}.index").write_bytes(b"")
    second = audited(root, state).changes
    assert second is not None
    assert second.since_ms is not None
    assert [finding.name for finding in second.new] == ["index-without-log"]
    assert (second.gone, second.growing) == ([], [])
    (root / "t-0" / f"{778:020d}.index").write_bytes(b"")
    third = audited(root, state).changes
    assert third is not None
    assert [finding.name for finding in third.growing] == ["index-without-log"]
    assert (third.new, third.gone) == ([], [])
    for number in (777, 778):
        (root / "t-0" / f"{number:020d}.index").unlink()
    fourth = audited(root, state).changes
    assert fourth is not None
    assert [(key.name, key.topic, key.partition) for key in fourth.gone] == [("index-without-log", "t", 0)]
    assert (fourth.new, fourth.growing) == ([], [])


def test_the_exit_code_follows_new_findings(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(root), "--now", str(NOW_MS), "--state", str(tmp_path / "state"), "--fail-on-new"]
    assert audit(words) == 0
    flip_a_byte(root)
    assert audit(words) == 2
    said = capsys.readouterr().out
    assert re.search(r"Since the audit of \S+Z?: new: .*1 batch-crc-mismatch", said)
    assert audit([*words, "--output", str(tmp_path / "out")]) == 0, "the damage is not new"
    assert "gone: 1 closed-segment-changed" in capsys.readouterr().out
    page = (tmp_path / "out" / "index.html").read_text()
    assert '<section id="changes"><h2>Since the last audit</h2>' in page
    assert audit(words[:-1]) == 2
    assert audit([str(root), "--fail-on-new"]) == 3
    assert "--fail-on-new needs --state" in capsys.readouterr().err


def test_other_directories_and_topics_have_their_own_last_audit(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    audited(root, state)
    copy = Path(shutil.copytree(root, tmp_path / "copy"))
    for result in (
        audit_directories([copy], LOCAL, now_ms=NOW_MS, state=begin_run(state)),
        audit_directories([root], LOCAL, topics=["t"], now_ms=NOW_MS, state=begin_run(state)),
    ):
        assert result.changes is not None
        assert result.changes.since_ms is None


@pytest.mark.parametrize("text", ["", "[]", json.dumps([VERSION + 1, 0, [], []]), "{"])
def test_a_last_audit_that_cannot_be_used_makes_everything_new(root: Path, tmp_path: Path, text: str) -> None:
    state = tmp_path / "state"
    audited(root, state)
    [path] = state.glob("last-*.json")
    path.write_text(text)
    result = audited(root, state)
    [note] = result.notes
    assert note.startswith(str(path))
    assert note.endswith("every finding counts as new")
    assert result.changes is not None
    assert [finding.name for finding in result.changes.new] == ["codecs-mixed"]


def test_a_stopped_consumer_that_falls_further_behind_is_a_finding(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    a_consumer_that_stops(directory)
    root, state = directory.write(tmp_path / "logs"), tmp_path / "state"

    def names() -> set[str]:
        result = audited(root, state, GROUPS_NOW_MS)
        return {finding.name for finding in result.findings if finding.name in (GROWING, "consumer-stopped")}

    assert names() == {"consumer-stopped"}
    assert names() == {"consumer-stopped"}, "nothing has come since"
    writer = HistoryWriter(random.Random(1), root / "t1-0")
    writer.log.appender.append_as_leader(
        encode_batch([Record(0, GROUPS_NOW_MS, None, b"x", [])]), 0, GROUPS_NOW_MS, origin=AppendOrigin.COORDINATOR
    )
    writer.close()
    assert names() == {"consumer-stopped", GROWING}


def samples(path: Path) -> dict[str, float]:
    """The samples of a file of metrics, by name and labels."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_the_metrics_have_the_figures_of_the_summary(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "audit.prom"
    words = [str(root), "--now", str(NOW_MS), "--state", str(tmp_path / "state"), "--metrics", str(path)]
    flip_a_byte(root)
    assert audit(words) == 2
    first = samples(path)
    result = audit_directories([root], LOCAL, now_ms=NOW_MS)
    [report] = result.partitions
    assert first["odradek_audit_exit_code"] == 2
    assert first["odradek_audit_partitions"] == 1
    assert first["odradek_audit_log_bytes"] == report.size
    assert first["odradek_audit_records"] == report.records
    assert first['odradek_audit_findings_by_name{name="batch-crc-mismatch",severity="error"}'] == 1
    assert (
        first['odradek_audit_new_findings{severity="error"}'] == first['odradek_audit_findings{severity="error"}'] > 0
    )
    assert first["odradek_audit_known_bytes"] == 0
    assert audit(words) == 2
    second = samples(path)
    assert second['odradek_audit_new_findings{severity="error"}'] == 0
    assert second["odradek_audit_known_bytes"] > 0
    assert second["odradek_audit_known_bytes"] + second["odradek_audit_read_bytes"] == first["odradek_audit_read_bytes"]
    assert path.read_text().endswith("# EOF\n")
    assert [entry.name for entry in os.scandir(tmp_path) if "prom" in entry.name] == ["audit.prom"]


def test_each_run_appends_a_row_for_each_directory(root: Path, tmp_path: Path) -> None:
    other, table = AuditedDirectory(tmp_path / "other", seed=6).root, tmp_path / "runs"
    words = [str(root), str(other), "--engine", "local", "--now", str(NOW_MS), "--topic", "t"]
    words += ["--state", str(tmp_path / "state"), "--runs", str(table), "--fail-on", "error"]
    flip_a_byte(other)
    codes = [audit(words) for _ in range(3)]
    rows = parquet.read_table(table).to_pylist()
    assert len(rows) == 6
    assert [row["exit_code"] for row in rows] == [code for code in codes for _ in range(2)]
    assert len({row["run"] for row in rows}) == len(list(table.iterdir())) == 3
    assert {(row["directory"], row["broker"]) for row in rows} == {(str(root), 1), (str(other), 1)}
    assert {row["cluster"] for row in rows} == {base64.urlsafe_b64encode(bytes(16)).decode()[:22]}
    times = [row["time"] for row in rows]
    assert times == sorted(times)
    here, there = [[row for row in rows if row["directory"] == str(place)] for place in (root, other)]
    assert [row["errors"] for row in there] == [there[0]["errors"]] * 3
    assert there[0]["errors"] > 0
    assert [row["new"] for row in there][2] == 0 < there[0]["new"]
    assert here[0]["bytes_known"] == 0 < here[1]["bytes_known"]


def test_metrics_are_what_a_parser_of_openmetrics_expects(root: Path, tmp_path: Path) -> None:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    path = tmp_path / "audit.prom"
    audit([str(root), "--now", str(NOW_MS), "--metrics", str(path)])
    families = {family.name: family for family in text_string_to_metric_families(path.read_text())}  # type: ignore[no-untyped-call]
    assert all(family.type == "gauge" for family in families.values())
    assert families["odradek_audit_partitions"].samples[0].value == 1


def test_metrics_that_cannot_be_written_say_so(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert audit([str(root), "--now", str(NOW_MS), "--metrics", str(tmp_path / "file" / "audit.prom")]) == 3
    assert "audit.prom can't be written" in capsys.readouterr().err
