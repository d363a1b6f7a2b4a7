"""Share groups and streams groups in `odradek audit`: findings with name and place, the backlog now and in the past."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from odradek.pipeline.audit.catalogue_groups import GROUP_CHECKS
from odradek.pipeline.audit.catalogue_share_streams import SHARE_STREAMS_CHECKS
from odradek.pipeline.audit.findings import Finding
from odradek.pipeline.audit.groups.shares import ShareBacklog
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.audit.result import AuditResult
from odradek.pipeline.engine.engines import LOCAL, SPARK
from odradek.protocol.internal_records.share_batches import StateBatch
from support.kafka.directory import NOW_MS, TOPIC

from ..groups_directory import STATE_TOPIC, GroupsDirectory
from .share_injections import (
    ACKNOWLEDGED,
    ARCHIVED,
    ARCHIVING,
    AVAILABLE,
    INJECTED,
    MINUTE_MS,
    Inject,
    share_group,
    state,
    streams_group,
    update,
    working,
)


def audited(root: Path, *, at_ms: int | None = None) -> AuditResult:
    return audit_directories([root], LOCAL, now_ms=NOW_MS, at_ms=at_ms)


def group_findings(result: AuditResult) -> list[Finding]:
    return [found for found in result.findings if found.name in GROUP_CHECKS | SHARE_STREAMS_CHECKS]


@pytest.mark.parametrize(("name", "inject"), INJECTED, ids=[inject.__name__ for _, inject in INJECTED])
def test_damage_and_neglect_are_found_named_and_located(tmp_path: Path, name: str, inject: Inject) -> None:
    directory = GroupsDirectory()
    written, text, topic, partition = inject(directory)
    root = directory.write(tmp_path)
    [found] = group_findings(audited(root))
    assert (found.name, found.topic, found.partition) == (name, topic, partition)
    assert text in found.detail
    assert Path(found.file).parent.name.endswith(f"-{written.partition}")
    assert (Path(found.file).name, found.offset) == ("00000000000000000000.log", written.offset)
    assert found.position >= 0


def test_every_check_was_injected() -> None:
    assert {name for name, _ in INJECTED} == set(SHARE_STREAMS_CHECKS)


def healthy(directory: GroupsDirectory) -> None:
    """Groups that need no attention."""
    working(directory)
    share_group(directory, "new")
    state(directory, "new", -1)
    share_group(directory, "empty", 0)
    state(directory, "empty", 600)
    streams_group(directory, "counting", [TOPIC], TOPIC, [TOPIC])


def test_nothing_is_reported_of_healthy_groups(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    healthy(directory)
    result = audited(directory.write(tmp_path))
    assert group_findings(result) == []
    assert {row.group: row.group_type for row in result.groups} == {
        "sharing": "share",
        "new": "share",
        "empty": "share",
    }


def one(result: AuditResult) -> ShareBacklog:
    [row] = result.shares
    return row


def test_the_backlog_is_what_is_neither_acknowledged_nor_archived(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    share_group(directory, "sharing", 2)
    state(directory, "sharing", 300, StateBatch(300, 499, ACKNOWLEDGED, 1))
    batches = (
        StateBatch(500, 504, ACKNOWLEDGED, 1),
        StateBatch(505, 509, ARCHIVED, 5),
        StateBatch(510, 511, AVAILABLE, 3),
        StateBatch(512, 512, ARCHIVING, 4),
    )
    place = update(directory, "sharing", 500, *batches)
    result = audited(directory.write(tmp_path))
    row = one(result)
    assert (row.group, row.topic, row.partition, row.members, row.has_state) == ("sharing", TOPIC, 0, 2, True)
    assert (row.start_offset, row.log_start_offset, row.log_end_offset) == (500, 0, 600)
    assert row.backlog == 600 - 500 - 10
    assert row.backlog_ms == (599 - 510) * 1000
    counts = (row.acknowledged, row.archived, row.archiving, row.delivered, row.max_delivery_count)
    assert counts == (5, 5, 1, 2, 4)
    [lag] = result.groups
    assert (lag.committed_offset, lag.lag, lag.lag_ms, lag.status) == (500, 90, 89_000, "OK")
    [found] = group_findings(result)
    assert (found.name, found.offset) == ("share-records-archived", place.offset)


def test_updates_without_a_snapshot_and_many_of_them_are_replayed(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    share_group(directory, "sharing")
    for offset in range(500):
        update(directory, "sharing", offset + 1)
    update(directory, "sharing", -1, StateBatch(550, 599, ACKNOWLEDGED, 1))
    row = one(audited(directory.write(tmp_path)))
    assert (row.start_offset, row.backlog, row.acknowledged) == (500, 50, 50)


def test_a_moment_of_the_past(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    then = NOW_MS - 5 * MINUTE_MS
    share_group(directory, "sharing", at_ms=then)
    share_group(directory, "later", at_ms=then)
    state(directory, "sharing", 100, StateBatch(110, 119, ACKNOWLEDGED, 1), at_ms=then)
    update(directory, "sharing", 500, at_ms=NOW_MS)
    state(directory, "later", 500, at_ms=NOW_MS)
    root = directory.write(tmp_path)
    result = audited(root, at_ms=then + 1000)
    later, sharing = result.shares
    end = 600 - 5 * 60 + 1
    assert (sharing.start_offset, sharing.log_end_offset, sharing.backlog) == (100, end, end - 110)
    assert (later.has_state, later.start_offset, later.backlog) == (False, -1, -1)
    assert [row.status for row in result.groups] == ["NOTFOUND", "OK"]
    assert group_findings(result) == []


def test_states_are_read_with_level_batches_and_with_their_topic_alone(tmp_path: Path) -> None:
    directory = GroupsDirectory()
    working(directory)
    root = directory.write(tmp_path)
    shallow = audit_directories([root], LOCAL, now_ms=NOW_MS, level="batches")
    assert shallow.shares == audited(root).shares
    alone = audit_directories([root], LOCAL, now_ms=NOW_MS, topics=[STATE_TOPIC])
    assert [(row.start_offset, row.log_end_offset, row.backlog) for row in alone.shares] == [(500, -1, -1)]
    assert group_findings(alone) == []


def test_spark_finds_the_same(tmp_path: Path, spark: SparkSession) -> None:
    directory = GroupsDirectory()
    healthy(directory)
    root = directory.write(tmp_path)
    with_spark = audit_directories([root], SPARK, now_ms=NOW_MS)
    assert with_spark.shares == audited(root).shares
    assert with_spark.groups == audited(root).groups
