"""Groups in `odradek audit`: no finding on healthy ones, findings with name and place, lag now and in the past."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from odradek.broker.coordinator.partitioning import partition_for
from odradek.pipeline.audit.catalogue_groups import GROUP_CHECKS
from odradek.pipeline.audit.catalogue_share_streams import SHARE_STREAMS_CHECKS
from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.groups.burrow import ConsumerCommit, partition_status
from odradek.pipeline.audit.groups.rows import GroupLag
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.engine.engines import LOCAL, SPARK
from odradek.protocol.records.control import ControlRecordType
from support.kafka.directory import NOW_MS, TOPIC, TOPIC_ID

from ..groups_directory import (
    FIRST_MS,
    OFFSETS_PARTITIONS,
    OFFSETS_TOPIC,
    RECORDS,
    GroupsDirectory,
)
from .group_injections import (
    DAY_MS,
    INJECTED,
    Inject,
    a_consumer_that_falls_behind,
    a_consumer_that_goes_back,
    a_consumer_that_stalls,
    a_consumer_that_stops,
    an_unknown_type,
    consumer_group,
    keeps_up,
)


def audited(root: Path, *, at_ms: int | None = None, now_ms: int | None = NOW_MS) -> AuditResult:
    return audit_directories([root], LOCAL, now_ms=now_ms, at_ms=at_ms)


def group_findings(result: AuditResult) -> list[Finding]:
    return [found for found in result.findings if found.name in GROUP_CHECKS or found.name in SHARE_STREAMS_CHECKS]


# Damage and neglect -------------------------------------------------------------


@pytest.mark.parametrize(("name", "inject"), INJECTED, ids=[inject.__name__ for _, inject in INJECTED])
def test_damage_and_neglect_are_found_named_and_located(tmp_path: Path, name: str, inject: Inject) -> None:
    directory = GroupsDirectory()
    written, text = inject(directory)
    root = directory.write(tmp_path)
    [found] = group_findings(audited(root))
    assert found.name == name
    assert text in found.detail
    home = root / f"{OFFSETS_TOPIC}-{written.partition}"
    if written.offset < 0:
        assert (found.file, found.offset) == (str(home), -1)
        return
    assert (found.file, found.offset) == (str(home / "00000000000000000000.log"), written.offset)
    assert found.position >= 0


def test_every_check_of_groups_was_injected() -> None:
    only_with_a_state = {"stopped-consumer-lag-growing"}  # test_audit_changes.py
    assert {name for name, _ in INJECTED} == set(GROUP_CHECKS) - only_with_a_state


def test_unknown_records_are_counted(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    an_unknown_type(directory)
    directory.records(2, [(struct.pack(">h", 99) + b"other", b"x")] * 2)
    [found] = group_findings(audited(directory.write(tmp_path)))
    assert found.occurrences == 5


def test_of_many_findings_the_last_one_counts_the_rest(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    for number in range(50):
        directory.commit(f"ahead-{number}", RECORDS + 1)
        directory.records(1, [(struct.pack(">hB", 1, 0xFF) + b"%d" % number, b"")])
    found = group_findings(audited(directory.write(tmp_path)))
    for name in ("committed-offset-beyond-log", "group-record-undecodable"):
        counts = [one.occurrences for one in found if one.name == name]
        assert (len(counts), sum(counts)) == (min(len(counts), 20), 50), name


# Healthy groups -----------------------------------------------------------------


def healthy(directory: GroupsDirectory) -> None:
    """Groups of every kind that need no attention."""
    keeps_up(directory)
    consumer_group(directory, "modern", 2)
    directory.commit("modern", RECORDS - 3, topic_id=TOPIC_ID)
    directory.commit("simple", RECORDS, NOW_MS - DAY_MS)
    directory.commit("deleted", 5, topic="gone")
    directory.delete("deleted", topic="gone")
    directory.commit("eos", 580, NOW_MS - 20_000, producer_id=9)
    directory.end("eos", 9, ControlRecordType.COMMIT, NOW_MS - 20_000)
    directory.commit("eos", 5000, NOW_MS - 10_000, producer_id=9)
    directory.end("eos", 9, ControlRecordType.ABORT, NOW_MS - 10_000)
    directory.commit("eos", 600, NOW_MS, producer_id=9)


def test_nothing_is_reported_of_healthy_groups(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    healthy(directory)
    assert group_findings(audited(directory.write(tmp_path))) == []


def by_group(result: AuditResult) -> dict[str, GroupLag]:
    return {row.group: row for row in result.groups}


def test_the_lag_table(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    healthy(directory)
    rows = by_group(audited(directory.write(tmp_path)))
    assert set(rows) == {"readers", "modern", "simple", "eos"}
    table = {
        name: (row.committed_offset, row.lag, row.lag_ms, row.status, row.group_status, row.members, row.group_type)
        for name, row in rows.items()
    }
    assert table == {
        "readers": (600, 0, 0, "OK", "OK", 1, "classic"),
        "modern": (597, 3, 2000, "OK", "OK", 2, "consumer"),
        "simple": (600, 0, 0, "OK", "OK", 0, "simple"),
        "eos": (580, 20, 19_000, "OK", "OK", 0, "simple"),
    }
    assert {(row.log_start_offset, row.log_end_offset, row.at) for row in rows.values()} == {(0, 600, NOW_MS)}
    assert rows["readers"].expires_at == -1
    assert rows["simple"].expires_at == NOW_MS + 6 * DAY_MS


@pytest.mark.parametrize(
    ("inject", "status", "group_status"),
    [
        (a_consumer_that_stops, "STOP", "ERR"),
        (a_consumer_that_stalls, "STALL", "ERR"),
        (a_consumer_that_falls_behind, "WARN", "WARN"),
        (a_consumer_that_goes_back, "REWIND", "ERR"),
    ],
)
def test_statuses_are_burrows(tmp_path: Path, inject: Inject, status: str, group_status: str) -> None:
    directory = GroupsDirectory()
    inject(directory)
    [row] = audited(directory.write(tmp_path)).groups
    assert (row.status, row.group_status) == (status, group_status)


def commits(*pairs: tuple[int, int]) -> list[ConsumerCommit]:
    """(offset, lag) every five seconds, the last one at 100 s."""
    return [ConsumerCommit(100_000 - (len(pairs) - 1 - i) * 5000, *pair) for i, pair in enumerate(pairs)]


@pytest.mark.parametrize(
    ("history", "lag", "recent_end", "now_ms", "status"),
    [
        (commits((1, 5), (2, 5)), 0, None, 10**9, "OK"),  # nothing to read, however long ago
        (commits((1, 5), (2, 5)), 9, None, 105_000, "WARN"),  # silent for as long as the commits took, not longer
        (commits((1, 5), (2, 5)), 9, None, 105_001, "STOP"),
        (commits((1, 5), (2, 5)), 9, 2, 105_001, "WARN"),  # it had read everything a moment ago
        (commits((1, 0), (1, 5)), 9, None, 100_000, "OK"),  # its lag was zero once
        (commits((1, 5), (1, 6)), 9, None, 100_000, "STALL"),
        (commits((1, 5), (2, 6), (3, 5)), 9, None, 100_000, "OK"),  # its lag decreased once
        (commits((1, 5), (2, 5), (3, 6)), 9, None, 100_000, "WARN"),
        (commits((9, 5), (2, 5), (3, 5)), 9, None, 100_000, "REWIND"),
        (commits((9, 5), (2, 9), (9, 8)), 9, None, 100_000, "OK"),  # it reached its old offset again
        (commits((9, 0), (2, 0)), 9, None, 100_000, "REWIND"),  # this rule comes before the rule of no lag
        (commits((1, 5)), 9, None, 100_000, "OK"),
        (commits((1, 5)), 9, None, 100_001, "STOP"),
    ],
)
def test_burrows_rules(
    history: list[ConsumerCommit], lag: int, recent_end: int | None, now_ms: int, status: str
) -> None:
    assert partition_status(history, lag, recent_end, now_ms) == status


# In the past --------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 1, 57, 240, 543, 599])
def test_lag_as_of_a_moment_in_the_past(tmp_path: Path, seconds: int) -> None:
    """There is one record every second, and at second s the group has committed offset s // 2."""
    directory = GroupsDirectory()
    for second in range(RECORDS):
        directory.commit("readers", second // 2, FIRST_MS + second * 1000)
    [row] = audited(directory.write(tmp_path), at_ms=FIRST_MS + seconds * 1000 + 500).groups
    end = seconds + 1
    assert (row.committed_offset, row.log_end_offset, row.lag) == (seconds // 2, end, end - seconds // 2)
    assert row.lag_ms == (seconds - seconds // 2) * 1000 + 500
    assert row.at == FIRST_MS + seconds * 1000 + 500


def test_a_moment_before_what_the_log_still_has(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    keeps_up(directory)
    [row] = audited(directory.write(tmp_path), at_ms=FIRST_MS).groups
    assert (row.status, row.group_status, row.committed_offset, row.lag) == ("NOTFOUND", "NOTFOUND", -1, -1)


def test_a_transaction_counts_from_its_marker_on(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    directory.commit("eos", 100, NOW_MS - 50_000)
    directory.commit("eos", 200, NOW_MS - 40_000, producer_id=9)
    directory.end("eos", 9, ControlRecordType.COMMIT, NOW_MS - 20_000)
    root = directory.write(tmp_path)
    for at_ms, offset in ((NOW_MS - 30_000, 100), (NOW_MS - 10_000, 200)):
        [row] = audited(root, at_ms=at_ms).groups
        assert row.committed_offset == offset


def test_without_a_clock_the_moment_is_that_of_the_last_record(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    keeps_up(directory)
    assert {row.at for row in audited(directory.write(tmp_path), now_ms=None).groups} == {NOW_MS}


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"\xff" * 11)])
def test_lag_needs_no_index(tmp_path: Path, suffix: str, damage: Callable[[Path], None]) -> None:
    directory = GroupsDirectory()
    directory.commit("readers", 200)
    root = directory.write(tmp_path)
    at_ms = FIRST_MS + 500_000
    before = audited(root, at_ms=at_ms).groups
    for path in (root / f"{TOPIC}-0").glob(f"*{suffix}"):
        damage(path)
    assert audited(root, at_ms=at_ms).groups == before


def test_of_several_replicas_the_longest_counts(tmp_path: Path) -> None:
    """The directories of two brokers, of which the first is behind in both topics."""
    behind, ahead = GroupsDirectory(), GroupsDirectory()
    for directory, offset in ((behind, 300), (ahead, 300), (ahead, 590)):
        directory.commit("readers", offset)
    roots = [behind.write(tmp_path / "0"), ahead.write(tmp_path / "1")]
    for path in (roots[0] / f"{TOPIC}-0").glob("*.log"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    for order in (roots, roots[::-1]):
        [row] = audit_directories(order, LOCAL, now_ms=NOW_MS).groups
        assert (row.committed_offset, row.log_end_offset, row.lag) == (590, 600, 10)


@pytest.mark.ci
def test_both_engines_tell_the_same(tmp_path: Path, spark: SparkSession) -> None:
    assert spark.version
    directory = GroupsDirectory()
    healthy(directory)
    a_consumer_that_falls_behind(directory)
    root = directory.write(tmp_path)
    local, remote = (audit_directories([root], engine, now_ms=NOW_MS, at_ms=NOW_MS) for engine in (LOCAL, SPARK))
    assert local.groups == remote.groups
    assert local.growth == remote.growth
    assert group_findings(local) == group_findings(remote) != []


# Growth -------------------------------------------------------------------------


def test_growth_says_who_writes_the_offsets_topic(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    keeps_up(directory)
    directory.commit("deleted", 5, topic="gone")
    directory.delete("deleted", topic="gone")
    growth = {one.group: one for one in audited(directory.write(tmp_path)).growth}
    readers = growth["readers"]
    assert (readers.commits, readers.tombstones, readers.group_records) == (20, 0, 1)
    assert (readers.busiest_topic, readers.busiest_partition, readers.busiest_commits) == (TOPIC, 0, 20)
    assert readers.busiest_ms == 95_000
    assert (growth["deleted"].commits, growth["deleted"].tombstones) == (1, 1)


def test_what_the_cleaner_has_done_is_not_dirty(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    keeps_up(directory)
    root = directory.write(tmp_path)
    home = partition_for("readers", OFFSETS_PARTITIONS)
    (root / "cleaner-offset-checkpoint").write_text(f"0\n1\n{OFFSETS_TOPIC} {home} 15\n")
    [growth] = audited(root).growth
    assert (growth.commits + growth.group_records, growth.dirty_records) == (21, 6)
