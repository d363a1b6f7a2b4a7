"""The tables of directories of a real Kafka and of ours equal the lines of Kafka's DumpLogSegments."""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipeline.audit.catalogue_groups import GROUP_CHECKS
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.tables.registry import TABLES
from support.brokers.our_broker import OurBroker
from support.data.dump_log import comma_separated, kafka_dump
from support.kafka.java import java_or_skip, run_class
from support.kafka.real_kafka import RealKafka
from support.kafka.tools import GROUPS
from support.kafka.workload import SMALL, consume, consume_in_transactions, produce

pytestmark = [pytest.mark.ci, pytest.mark.java]

Row = dict[str, Any]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RECORD = re.compile(
    r"\| offset: (?P<offset>\d+) \w+Time: (?P<time>-?\d+) .*? headerKeys: \[.*?\](?P<control> (?!key:|payload:)\w+.*)?"
    r"( key: (?P<key>\{.*?\}))?( payload: (?P<payload>\{.*\}|<DELETE>))?"
)


@pytest.fixture(scope="module", params=["kafka", "odradek"])
def stopped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The directory of a stopped broker, and the output of kafka-consumer-groups while it ran."""
    java_or_skip()
    kind = RealKafka if request.param == "kafka" else OurBroker
    broker = kind(tmp_path_factory.mktemp(request.param), SMALL)
    broker.start()
    try:
        produce(broker.bootstrap_servers)
        for protocol in ("classic", "consumer"):
            consume(broker.bootstrap_servers, protocol)
        consume_in_transactions(broker.bootstrap_servers, "exactly-once")
        arguments = ("--bootstrap-server", broker.bootstrap_servers, "--describe", "--all-groups")
        described = run_class(GROUPS, *arguments).stdout
    finally:
        broker.stop()
    return broker.log_dir, described


@pytest.fixture(scope="module")
def log_dir(stopped: tuple[Path, str]) -> Path:
    """The directory."""
    return stopped[0]


def rows_of(log_dir: Path, name: str, topics: Sequence[str] | None = None) -> list[Row]:
    table = TABLES[name]
    batches = [batch for task in table.plan(log_dir, topics) for batch in table.read(task)]
    rows: list[Row] = pa.Table.from_batches(batches, table.schema).to_pylist()
    assert rows, f"{name} is empty"
    assert {row["_corrupt_record"] for row in rows} == {None}
    return rows


def milliseconds(time: datetime | None) -> int:
    return -1 if time is None else (time - _EPOCH) // timedelta(milliseconds=1)


def dumped(paths: Sequence[Path], *flags: str) -> Iterator[tuple[str, str]]:
    """(file, line) of the output of Kafka's tool for files."""
    found = kafka_dump(*flags, "--files", comma_separated(paths))
    assert found.code == 0, found.err
    file = ""
    for line in found.out:
        if line.startswith("Dumping "):
            file = line.removeprefix("Dumping ")
        else:
            yield file, line


def dumped_records(paths: Sequence[Path], *flags: str) -> dict[tuple[str, int], re.Match[str]]:
    """The lines of records by file and offset."""
    matches = ((file, _RECORD.fullmatch(line)) for file, line in dumped(paths, *flags) if line.startswith("| "))
    found = {}
    for file, match in matches:
        assert match is not None
        found[file, int(match["offset"])] = match
    return found


def logs(log_dir: Path, pattern: str) -> list[Path]:
    return [path for path in sorted(log_dir.glob(pattern)) if path.stat().st_size]


def java(value: bool) -> str:
    return str(value).lower()


def batch_line(row: Row) -> str:
    horizon = "OptionalLong.empty" if row["deleteHorizon"] is None else f"OptionalLong[{row['deleteHorizon']}]"
    return (
        f"baseOffset: {row['baseOffset']} lastOffset: {row['lastOffset']} count: {row['recordsCount']}"
        f" baseSequence: {row['baseSequence']} lastSequence: {row['lastSequence']} producerId: {row['producerId']}"
        f" producerEpoch: {row['producerEpoch']} partitionLeaderEpoch: {row['partitionLeaderEpoch']}"
        f" isTransactional: {java(row['isTransactional'])} isControl: {java(row['isControl'])}"
        f" deleteHorizonMs: {horizon} position: {row['position']}"
        f" {row['timestampType']}: {milliseconds(row['maxTimestamp'])} size: {row['size']} magic: {row['magic']}"
        f" compresscodec: {row['compression']} crc: {row['crc']} isvalid: {java(row['isCrcValid'])}"
    )


def test_batches(log_dir: Path) -> None:
    theirs = [found for found in dumped(logs(log_dir, "[_tu]*/*.log")) if found[1].startswith("baseOffset: ")]
    rows = rows_of(log_dir, "batches") + rows_of(log_dir, "batches", ["__cluster_metadata"])
    assert sorted((row["file"], batch_line(row)) for row in rows) == sorted(theirs)
    assert {row["compression"] for row in rows} == {"none", "gzip", "snappy", "lz4", "zstd"}
    assert {row["controlType"] for row in rows} >= {None, "COMMIT", "ABORT", "LEADER_CHANGE"}


def test_offsets_and_groups(log_dir: Path) -> None:
    lines = dumped_records(logs(log_dir, "__consumer_offsets-*/*.log"), "--offsets-decoder")
    theirs = {key: line for key, line in lines.items() if line["control"] is None}
    offsets, groups = rows_of(log_dir, "offsets"), rows_of(log_dir, "groups")
    assert {(row["file"], row["offset"]) for row in offsets + groups} == set(theirs)
    for row in offsets + groups:
        line = theirs[row["file"], row["offset"]]
        assert milliseconds(row["timestamp"]) == int(line["time"])
        assert row["isTombstone"] == (line["payload"] == "<DELETE>")
    for row in groups:
        line = theirs[row["file"], row["offset"]]
        assert {"type": str(row["recordType"]), "data": json.loads(row["key"])} == json.loads(line["key"])
        if not row["isTombstone"]:
            mine = {"version": str(row["valueVersion"]), "data": json.loads(row["value"])}
            assert mine == json.loads(line["payload"])
    for row in offsets:
        line = theirs[row["file"], row["offset"]]
        key = {"group": row["group"], "topic": row["topic"], "partition": row["partition"]}
        assert json.loads(line["key"]) == {"type": "1", "data": key}
        if not row["isTombstone"]:
            data = {"offset": row["committedOffset"], "leaderEpoch": row["leaderEpoch"], "metadata": row["metadata"]}
            data["commitTimestamp"] = milliseconds(row["commitTimestamp"])
            if row["topicId"] is not None:
                data["topicId"] = row["topicId"]
            assert json.loads(line["payload"]) == {"version": str(row["valueVersion"]), "data": data}
    assert {row["group"] for row in offsets} == {"classic", "consumer", "exactly-once"}
    endings = {(row["group"], row["transaction"]) for row in offsets}
    assert endings == {("classic", None), ("consumer", None)} | {
        ("exactly-once", ended) for ended in ("aborted", "committed")
    }
    kinds = {row["kind"] for row in groups}
    assert kinds >= {"GroupMetadata", "ConsumerGroupMetadata", "ConsumerGroupMemberMetadata"}
    assert [member["instanceId"] for row in groups for member in row["members"] or []][:1] == ["first"]


def test_transactions(log_dir: Path) -> None:
    theirs = dumped_records(logs(log_dir, "__transaction_state-*/*.log"), "--transaction-log-decoder")
    states = rows_of(log_dir, "transactions", ["__transaction_state"])
    assert {(row["file"], row["offset"]) for row in states} == set(theirs)
    for row in states:
        line = theirs[row["file"], row["offset"]]
        key, payload = json.loads(line["key"]), json.loads(line["payload"])
        assert key["data"] == {"transactionalId": row["transactionalId"]}
        data = payload["data"]
        assert payload["version"] == str(row["valueVersion"])
        assert (data["producerId"], data["producerEpoch"]) == (row["producerId"], row["producerEpoch"])
        assert data["transactionTimeoutMs"] == row["timeoutMs"]
        assert data["transactionLastUpdateTimestampMs"] == milliseconds(row["lastUpdate"])
        partitions = [
            (found["topic"], one) for found in data["transactionPartitions"] or [] for one in found["partitionIds"]
        ]
        assert [(found["topic"], found["partition"]) for found in row["partitions"]] == partitions
    ended = [
        row["state"]
        for row in states
        if row["state"].startswith("Complete") and row["transactionalId"] == "transactions"
    ]
    assert ended == ["CompleteAbort", "CompleteCommit"] * 2


def test_transactions_of_a_log(log_dir: Path) -> None:
    lines = dumped(logs(log_dir, "t-0/*.log"), "--print-data-log")
    marker = re.compile(r"\| offset: (\d+) .* endTxnMarker: (\w+) coordinatorEpoch: (\d+)")
    theirs = [(file, *match.groups()) for file, line in lines if (match := marker.match(line)) is not None]
    names = {"Committed": "COMMIT", "Aborted": "ABORT"}
    rows = rows_of(log_dir, "transactions", ["t"])
    mine = [(row["file"], str(row["offset"]), names[row["state"]], str(row["coordinatorEpoch"])) for row in rows]
    assert mine == theirs
    assert [(row["records"], row["offset"] - row["firstOffset"]) for row in rows] == [(1, 1)] * 4


def test_metadata(log_dir: Path) -> None:
    paths = logs(log_dir, "__cluster_metadata-0/*.log") + logs(log_dir, "__cluster_metadata-0/*.checkpoint")
    theirs = {
        (str(path), offset): line
        for path in paths
        for (_, offset), line in dumped_records([path], "--cluster-metadata-decoder").items()
    }
    rows = rows_of(log_dir, "metadata")
    assert {(row["file"], row["offset"]) for row in rows} == set(theirs)
    for row in rows:
        line = theirs[row["file"], row["offset"]]
        if row["isControl"]:
            assert line["control"].endswith(row["data"])
        else:
            name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", row["type"]).upper()
            mine = {"type": name, "version": row["version"], "data": json.loads(row["data"])}
            assert mine == json.loads(line["payload"])


def test_indexes(log_dir: Path) -> None:
    rows = rows_of(log_dir, "indexes")
    mine: dict[str, list[tuple[str, str]]] = {"offset": [], "time": [], "transaction": []}
    for row in rows:
        match row["kind"]:
            case "offset":
                line = f"offset: {row['offset']} position: {row['logPosition']}"
            case "time":
                line = f"timestamp: {milliseconds(row['timestamp'])} offset: {row['offset']}"
            case _:
                line = (
                    f"version: 0 producerId: {row['producerId']} firstOffset: {row['firstOffset']}"
                    f" lastOffset: {row['lastOffset']} lastStableOffset: {row['lastStableOffset']}"
                )
        mine[row["kind"]].append((row["file"], line))
    for kind, suffix in (("offset", "index"), ("time", "timeindex"), ("transaction", "txnindex")):
        paths = [path for path in logs(log_dir, f"[_tu]*/*.{suffix}") if path.parent.name != "__cluster_metadata-0"]
        theirs = [found for found in dumped(paths) if found[1].split(" ")[0] in ("offset:", "timestamp:", "version:")]
        zeros = {"offset: 0 position: 0", "timestamp: 0 offset: 0"}
        assert [found for found in theirs if found[1] not in zeros] == sorted(mine[kind], key=lambda found: found[0])
        assert mine[kind]


def test_producer_snapshots(log_dir: Path) -> None:
    rows = [row for row in rows_of(log_dir, "checkpoints") if row["kind"] == "snapshot"]
    theirs = [line for _, line in dumped(logs(log_dir, "[_tu]*/*.snapshot"))]
    known = {line.split(" ", 2)[1]: line for line in theirs if line.startswith("producerId: ")}
    assert {str(row["producerId"]) for row in rows} == set(known)
    for row in rows:
        facts = [f"{name}: {row[name]} " for name in ("producerEpoch", "coordinatorEpoch", "lastOffset")]
        assert any(all(fact in line for fact in facts) for line in theirs) or row["lastOffset"] is None


def test_lag_from_disk_is_what_kafkas_tool_says(stopped: tuple[Path, str]) -> None:
    log_dir, described = stopped
    theirs = set()
    for line in described.splitlines():
        words = line.split()
        if len(words) > 5 and words[1] == "t" and words[3] != "-":  # ours has no row for a partition without a commit
            theirs.add(tuple(words[:6]))
    result = audit_directories([log_dir], LOCAL)
    mine = {
        (row.group, row.topic, row.partition, row.committed_offset, row.log_end_offset, row.lag)
        for row in result.groups
    }
    assert {tuple(map(str, row)) for row in mine} == theirs
    assert len(theirs) >= 2
    assert {row.group_type for row in result.groups} == {"classic", "consumer"}
    assert [found for found in result.findings if found.name in GROUP_CHECKS] == []
