"""The audit of share groups and streams groups of a real Kafka: its own tool names the same offsets and lags."""

import json
import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as dataset
import pytest

from odradek.pipeline.audit.catalogue_groups import GROUP_CHECKS
from odradek.pipeline.audit.catalogue_share_streams import SHARE_STREAMS_CHECKS
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.pipeline.tables.registry import TABLES
from odradek.protocol.names.topics import SHARE_STATE_TOPIC
from parity import new_groups
from parity.side import Side
from support.data.dump_log import comma_separated, kafka_dump
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire
from support.kafka.workload import SMALL

pytestmark = [pytest.mark.ci, pytest.mark.java]

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
MINUTE_MS = 60_000


class Stopped(NamedTuple):
    """The directory of a stopped Kafka, and the rows of kafka-share-groups --describe while it ran."""

    log_dir: Path
    described: set[tuple[str, ...]]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    kafka = RealKafka(tmp_path_factory.mktemp("kafka"), SMALL | new_groups.KEYS)
    kafka.start()
    try:
        with Wire() as wire:
            new_groups.fill(Side(wire, kafka.port, False))
        arguments = ("--bootstrap-server", kafka.bootstrap_servers, "--describe", "--all-groups")
        lines = kafka.run_tool(SHARE_GROUPS, *arguments).stdout.splitlines()
    finally:
        kafka.stop()
    rows = {tuple(line.split()) for line in lines if line and not line.startswith("GROUP")}
    return Stopped(kafka.log_dir, rows)


def shown(number: int) -> str:
    return str(number) if number >= 0 else "-"


def test_start_offsets_and_backlogs_are_those_of_kafkas_tool(stopped: Stopped) -> None:
    shares = audit_directories([stopped.log_dir], LOCAL).shares
    mine = {
        (
            row.group,
            row.topic,
            str(row.partition),
            *(str(n) if n >= 0 else "-" for n in (row.start_offset, row.backlog)),
        )
        for row in shares
    }
    assert mine == stopped.described
    [row] = [row for row in shares if row.backlog >= 0]
    assert (row.group, row.backlog, row.archived, row.delivered, row.members) == ("sharing", 33, 2, 5, 1)


def test_only_what_needs_attention_is_reported(stopped: Stopped) -> None:
    def found(now_ms: int | None) -> dict[str, str]:
        findings = audit_directories([stopped.log_dir], LOCAL, now_ms=now_ms).findings
        return {one.name: one.detail for one in findings if one.name in GROUP_CHECKS | SHARE_STREAMS_CHECKS}

    at_once = {
        "share-records-archived": "group sharing: 2 offsets, the first, 6, after 1 deliveries",
        "streams-source-missing": f"group waiting: {new_groups.MISSING}",
    }
    assert found(None) == at_once
    at = max(row.at for row in audit_directories([stopped.log_dir], LOCAL).shares)
    later = found(at + 20 * MINUTE_MS)
    # One member has not given up the tasks that the other one is waiting for.
    assert re.fullmatch(r"group counting: 1 members are behind epoch \d+, .*: a", later.pop("group-members-behind"))
    assert later == at_once


def test_a_lost_state_and_a_lost_group_are_found(stopped: Stopped, tmp_path: Path) -> None:
    def names(root: Path) -> set[str]:
        return {one.name for one in audit_directories([root], LOCAL).findings if one.name in SHARE_STREAMS_CHECKS}

    without_state, without_groups = tmp_path / "state", tmp_path / "groups"
    for root, topic in ((without_state, SHARE_STATE_TOPIC), (without_groups, "__consumer_offsets")):
        shutil.copytree(stopped.log_dir, root)
        for segment in root.glob(f"{topic}-*/*.log"):
            segment.write_bytes(b"")
    assert "share-state-missing" in names(without_state)
    assert "share-state-orphaned" in names(without_groups)


def test_the_table_of_states_has_the_lines_of_kafkas_tool(stopped: Stopped) -> None:
    paths = sorted(stopped.log_dir.glob(f"{SHARE_STATE_TOPIC}-*/*.log"))
    theirs = []
    for line in kafka_dump("--share-group-state-decoder", "--files", comma_separated(paths)).out:
        found = re.search(r"\| offset: (\d+) .* key: (\{.*?\}) payload: (\{.*\})", line)
        if found is not None:
            theirs.append((int(found[1]), json.loads(found[2]), json.loads(found[3])))
    table = TABLES["share_states"]
    batches = [batch for task in table.plan(stopped.log_dir, None) for batch in table.read(task)]
    rows = pa.Table.from_batches(batches, table.schema).to_pylist()
    mine = [
        (
            row["offset"],
            {"type": str(row["recordType"]), "data": json.loads(row["key"])},
            {"version": str(row["valueVersion"]), "data": json.loads(row["value"])},
        )
        for row in rows
    ]
    assert mine == theirs
    assert len(mine) >= 6
    assert {row["_corrupt_record"] for row in rows} == {None}
    last = [row for row in rows if row["group"] == "sharing" and row["partition"] == 0][-1]
    assert (last["kind"], last["stateEpoch"], last["startOffset"]) == ("ShareUpdate", None, 4)
    assert {batch["state"] for row in rows for batch in row["batches"] or []} == {0, 2, 4}


EXPORTED = [
    ("__consumer_offsets", ("offsets", "groups"), "offsetsPartition"),
    (SHARE_STATE_TOPIC, ("share_states",), "statePartition"),
]


@pytest.mark.parametrize(("topic", "names", "number"), EXPORTED, ids=[topic for topic, *_ in EXPORTED])
def test_an_internal_topic_is_exported_by_name(
    stopped: Stopped, tmp_path: Path, topic: str, names: tuple[str, ...], number: str
) -> None:
    output = tmp_path / "out"
    assert export([str(stopped.log_dir), "--topic", topic, "--output", str(output)]) == 0
    rows = dataset.dataset(output / f"topic={topic}").to_table().to_pylist()
    exported = sorted((row["partition"], row["offset"], row["value"] is None) for row in rows)
    records = [
        (row[number], row["offset"], row["isTombstone"])
        for table in map(TABLES.__getitem__, names)
        for task in table.plan(stopped.log_dir, None)
        for batch in table.read(task)
        for row in batch.to_pylist()
    ]
    assert exported == sorted(records)
