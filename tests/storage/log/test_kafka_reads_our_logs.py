"""Apache Kafka's own tools on our directory, and our log on a directory that a real Kafka wrote."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import records_of
from support.kafka.java import java_or_skip, run_class
from support.kafka.real_kafka import RealKafka

pytestmark = pytest.mark.java

NOW = 1_700_000_000_000
DUMP = "org.apache.kafka.tools.DumpLogSegments"
COMPLAINT = re.compile(r"mismatch|corrupt|invalid|does not match|Non-consecutive|exception|error", re.IGNORECASE)


def fill(log: Log) -> int:
    """Writes records in every codec, of all kinds of producers; returns the number of batches."""
    count = 0
    for number in range(300):
        codec = list(CompressionType)[number % 5]
        records = [Record(i, NOW + number * 10 + i, b"k%d" % number, b"v" * (number % 200), []) for i in range(3)]
        fields: dict[str, Any] = {}
        if number % 3 == 0:
            fields = {"producer_id": 7, "producer_epoch": 1, "base_sequence": number}
        log.appender.append_as_leader(encode_batch(records, compression=codec, **fields), number // 100, NOW)
        count += 1
    for round_ in range(4):
        data = encode_batch(
            [Record(0, NOW, b"k", b"v", [])],
            producer_id=8,
            producer_epoch=0,
            base_sequence=round_,
            is_transactional=True,
        )
        kind = ControlRecordType.ABORT if round_ % 2 else ControlRecordType.COMMIT
        marker = encode_end_transaction_batch(
            EndTransactionMarker(kind, 2), timestamp=NOW, producer_id=8, producer_epoch=0
        )
        log.appender.append_as_leader(data, 3, NOW)
        log.appender.append_as_leader(marker, 3, NOW, origin=AppendOrigin.COORDINATOR)
        count += 2
    return count


def test_dump_log_segments_has_no_complaint(tmp_path: Path) -> None:
    java_or_skip()
    config = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
    log = Log.open(tmp_path / "t-0", config, now_ms=NOW)
    batches = fill(log)
    log.close()
    paths = sorted((tmp_path / "t-0").iterdir())
    by_suffix = {suffix: [str(p) for p in paths if p.suffix == suffix] for suffix in (".log", ".index", ".timeindex")}
    assert len(by_suffix[".log"]) > 2
    assert sum(Path(p).stat().st_size for p in by_suffix[".index"]) > 80

    dump = run_class(DUMP, "--deep-iteration", "--files", ",".join(by_suffix[".log"]))
    assert dump.returncode == 0, dump.stderr
    lines = [line for line in dump.stdout.splitlines() if line.startswith("baseOffset:")]
    assert len(lines) == batches
    assert all("isvalid: true" in line for line in lines)
    assert not COMPLAINT.search(dump.stdout.replace("isvalid", "")), dump.stdout[-2000:]
    assert dump.stdout.count("endTxnMarker: ABORT") == 2

    for arguments in (["--index-sanity-check"], []):
        files = by_suffix[".index"] + by_suffix[".timeindex"]
        dump = run_class(DUMP, *arguments, "--files", ",".join(files))
        assert dump.returncode == 0, dump.stderr
        assert not COMPLAINT.search(dump.stdout), dump.stdout[-2000:]
        if arguments:
            assert dump.stdout.count("passed sanity check") == len(files)

    others = [str(p) for p in paths if p.suffix in (".snapshot", ".txnindex")]
    dump = run_class(DUMP, "--files", ",".join(others))
    assert dump.returncode == 0, dump.stderr
    assert not COMPLAINT.search(dump.stdout), dump.stdout[-2000:]
    assert "producerId: 7 producerEpoch: 1" in dump.stdout
    assert len(re.findall(r"version: 0 producerId: 8 firstOffset: \d+ lastOffset: \d+", dump.stdout)) == 2


@pytest.mark.parametrize("how", ["stopped", "killed"])
def test_a_real_kafkas_directory_opens_with_equal_records(tmp_path: Path, how: str) -> None:
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    java_or_skip()
    kafka = RealKafka(tmp_path / "kafka", {"log.index.interval.bytes": "1000"})
    kafka.start()
    sent: dict[int, list[tuple[bytes, bytes]]] = {0: [], 1: []}
    try:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        admin.create_topics([NewTopic("t", 2, 1, config={"segment.bytes": "1048576"})])["t"].result(60)
        for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
            settings = {"bootstrap.servers": kafka.bootstrap_servers, "compression.type": codec, "linger.ms": 5}
            producer = Producer(settings | {"enable.idempotence": True})
            for number in range(2000):
                key, value = b"%d" % number, codec.encode() * (number % 40)
                producer.produce("t", value, key, partition=number % 2)
                sent[number % 2].append((key, value))
            assert producer.flush(60) == 0
    finally:
        if how == "stopped":
            kafka.stop()
        else:
            kafka.kill()
    shutil.copytree(kafka.log_dir, tmp_path / "copy")
    directory = LogDirectory.open(tmp_path / "copy")
    assert directory.was_clean is (how == "stopped")
    assert directory.meta is not None
    assert directory.meta.node_id == kafka.node_id
    logs = directory.load_logs(lambda _: LogConfig(), NOW)
    assert {key for key in logs if key[0] == "t"} == {("t", 0), ("t", 1)}
    for partition, expected in sent.items():
        log = logs["t", partition]
        got: list[tuple[bytes | None, bytes | None]] = []
        offset = 0
        while offset < log.log_end_offset:
            records = [r for r in records_of(log.read(offset, 200_000).data) if r.offset >= offset]
            assert [r.offset for r in records] == list(range(offset, offset + len(records)))
            got += [(r.key, r.value) for r in records]
            offset = records[-1].offset + 1
        assert got == expected
        assert len(log.producer_state.producers) == 5
        assert log.topic_id is not None
        assert log.leader_epochs.entries == [(0, 0)]
    directory.close(1)
    files = ",".join(str(path) for path in (tmp_path / "copy" / "t-0").glob("*.log"))
    dump = run_class(DUMP, "--deep-iteration", "--files", files)
    assert dump.returncode == 0, dump.stderr
