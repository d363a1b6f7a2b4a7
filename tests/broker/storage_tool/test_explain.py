"""`odradek storage explain` explains why data is retained. The directory of a running broker is not changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.broker.storage_tool.explain import explain
from odradek.broker.storage_tool.explanation import (
    DAY_MS,
    ExplainedTransaction,
    PartitionOnDisk,
    SegmentOnDisk,
    duration,
    explain_partition,
    moment,
)
from odradek.protocol.records.varint import MAX_INT64
from odradek.storage.log.log_config import LogConfig
from support.brokers.our_broker import OurBroker

NOW = 1_700_000_000_000
MIB = 1 << 20
CHECK_MS = 300_000


def partition(*segments: SegmentOnDisk, log_start_offset: int = 0, **facts: object) -> PartitionOnDisk:
    end = segments[-1].end_offset if segments else 0
    return PartitionOnDisk("t", 0, segments, log_start_offset, end, end)._replace(**facts)  # type: ignore[arg-type]


OLD = SegmentOnDisk(0, 100, 4 * MIB, NOW - 3 * DAY_MS)
ACTIVE = SegmentOnDisk(100, 150, MIB, NOW - 1000, waited_ms=DAY_MS)

CASES: dict[str, tuple[PartitionOnDisk, LogConfig, list[str]]] = {
    "by age, not yet": (
        partition(OLD, ACTIVE),
        LogConfig(retention_ms=7 * DAY_MS),
        [
            "Keeps 5.0 MiB in 2 segments: offsets 0 to 149.",
            "The oldest segment (offsets 0 to 99, 4.0 MiB) is deleted after 2023-11-18 22:13:20 UTC, in 4 days: its"
            " newest record is of 2023-11-11 22:13:20 UTC, retention.ms is 7 days",
            "Nothing is deleted by size: retention.bytes is -1.",
            "it rolls after 1023.0 MiB more (segment.bytes) or with the first record after 2023-11-20 22:13:20 UTC, in"
            " 6 days (segment.ms)",
        ],
    ),
    "by age, due": (
        partition(OLD, ACTIVE),
        LogConfig(retention_ms=2 * DAY_MS),
        ["is due", "It is deleted at the next check, which comes every 5 minutes (log.retention.check.interval.ms)"],
    ),
    "never by age": (
        partition(OLD, ACTIVE),
        LogConfig(retention_ms=-1),
        ["Nothing is deleted by age: retention.ms is -1."],
    ),
    "a record of the future": (
        partition(OLD, ACTIVE._replace(largest_timestamp=NOW + DAY_MS)),
        LogConfig(),
        ["A record in the segment from offset 100 has a timestamp in the future, 2023-11-15 22:13:20 UTC"],
    ),
    "by size, not yet": (
        partition(OLD, ACTIVE),
        LogConfig(retention_bytes=3 * MIB),
        ["retention.bytes is 3.0 MiB, for each partition: the oldest segment is deleted when 2.0 MiB more are written"],
    ),
    "by size, due": (
        partition(OLD, ACTIVE._replace(size=4 * MIB)),
        LogConfig(retention_bytes=3 * MIB),
        ["the oldest segment is deleted at the next check (every 5 minutes)"],
    ),
    "by size, but there is one segment": (
        partition(ACTIVE._replace(base_offset=0)),
        LogConfig(retention_bytes=10, segment_bytes=MIB),
        ["There is one segment, so the log may grow by segment.bytes (1.0 MiB)"],
    ),
    "deleted records that still take room": (
        partition(OLD, ACTIVE, log_start_offset=30),
        LogConfig(),
        ["offsets 30 to 149", "Records below offset 30 are deleted (DeleteRecords), but those from offset 0 on"],
    ),
    "deleted files": (
        partition(OLD, ACTIVE, deleted_files=3, deleted_bytes=MIB),
        LogConfig(),
        ["3 files (1.0 MiB) were deleted already and are removed from disk after file.delete.delay.ms (1 minute)"],
    ),
    "compacted, not dirty enough": (
        partition(OLD, ACTIVE, cleaned_up_to=0, dirty_bytes=MIB, clean_bytes=3 * MIB, earliest_dirty_timestamp=NOW),
        LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=DAY_MS),
        ["a dirty ratio of 0.25", "above min.cleanable.dirty.ratio (0.5), or after 2023-11-15 22:13:20 UTC, in 1 day"],
    ),
    "compacted, dirty": (
        partition(OLD, ACTIVE, dirty_bytes=3 * MIB, clean_bytes=MIB),
        LogConfig(cleanup_policy=frozenset({"compact"})),
        ["It is cleaned as soon as the log cleaner has time for it."],
    ),
    "an open transaction": (
        partition(OLD, ACTIVE, last_stable_offset=120, transactions=[ExplainedTransaction(7, 120, NOW)]),
        LogConfig(),
        [
            "Producer 7 has a transaction open since offset 120",
            "read_committed consumers and the cleaner stop at offset 120",
        ],
    ),
    "nothing": (partition(), LogConfig(), ["Keeps nothing; the next record gets offset 0."]),
}


@pytest.mark.parametrize("case", CASES)
def test_a_partition_is_explained(case: str) -> None:
    facts, config, expected = CASES[case]
    text = "\n".join(explain_partition(facts, config, CHECK_MS, NOW).sentences)
    for words in expected:
        assert words in text, text


def test_the_time_of_the_oldest_is_given() -> None:
    assert explain_partition(partition(OLD, ACTIVE), LogConfig(), CHECK_MS, NOW).oldest_goes_ms == NOW + 4 * DAY_MS
    assert explain_partition(partition(OLD, ACTIVE), LogConfig(retention_ms=-1), CHECK_MS, NOW).oldest_goes_ms is None


def test_times_are_words() -> None:
    assert [duration(ms) for ms in (0, 5, 61_000, 90 * 60_000, 8 * DAY_MS, MAX_INT64)] == [
        *("0 ms", "5 ms", "1 minute 1 second", "1 hour 30 minutes", "8 days", "forever")
    ]
    assert moment(0) == "1970-01-01 00:00:00 UTC"
    assert moment(MAX_INT64) == f"{MAX_INT64} ms since 1970"


def test_a_running_broker_is_explained_without_touching_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with OurBroker(tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        topic = NewTopic("orders", 2, config={"retention.ms": "3600000", "retention.bytes": "1000"})
        for future in admin.create_topics([topic]).values():
            future.result(60)
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        for number in range(100):
            producer.produce("orders", b"x" * 100, partition=number % 2)
        assert producer.flush(60) == 0
        before = {path: path.read_bytes() for path in (broker.log_dir / "orders-0").iterdir()}
        assert explain([str(broker.log_dir), "--topic", "orders"]) == 0
        text = capsys.readouterr().out
        assert "a broker is running here" in text
        assert "retention.ms=3600000, retention.bytes=1000, segment.ms=604800000 by default" in text
        assert "orders-1: Keeps" in text
        assert explain(["--bootstrap-server", broker.bootstrap_servers, "--topic", "orders"]) == 0
        assert capsys.readouterr().out.count("Keeps") == 2
        assert explain([str(broker.log_dir), "--topic", "orders", "--json"]) == 0
        documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        command = [sys.executable, "-m", "odradek", "storage", "explain", str(broker.log_dir), "--topic", "orders"]
        alone = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "rebuilding" not in alone.stderr  # nothing is rebuilt on the disk
        assert [(one["partition"], one["logEndOffset"]) for one in documents] == [(0, 50), (1, 50)]
        assert {path: path.read_bytes() for path in (broker.log_dir / "orders-0").iterdir()} == before
        assert broker.stop() == 0


def test_what_is_no_log_directory_is_refused(tmp_path: Path) -> None:
    assert explain([str(tmp_path)]) == 1
    assert explain([]) == 2
    assert explain(["--bootstrap-server", "nowhere"]) == 2
    assert explain(["--bootstrap-server", "127.0.0.1:1"]) == 1
    assert list(tmp_path.iterdir()) == []
