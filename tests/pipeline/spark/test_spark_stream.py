"""The stream reader on logs that grow, roll and are deleted during a read, and a Spark query while a broker writes."""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter  # type: ignore[attr-defined]
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from odradek.pipeline.reading.split_reader import CorruptLogError
from odradek.pipeline.spark.stream import limit_ends
from odradek.protocol.records.control import ControlRecordType
from support.brokers.our_broker import OurBroker
from support.data.log_histories import HistoryWriter

from ..kafkalog_reading import offsets_of, rows_of, stream_reader
from ..transactional_writer import TransactionWriter

ALL = ReadAllAvailable()
STARTS = 10


def batch(reader: Any, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    return rows_of(reader, list(reader.partitions(start, end)))


def root_of(path: Path) -> Path:
    (path / "meta.properties").write_text("version=1\n")
    return path


def test_a_growing_log_is_read_once_and_a_restart_goes_on(tmp_path: Path) -> None:
    """There are rolls, deletions and new partitions between the batches. A new reader reads every second batch."""
    rng = random.Random(7)
    root = root_of(tmp_path)
    writers: list[HistoryWriter] = []
    reader = stream_reader(root, "topic", "partition", "offset", startingOffsets="earliest")
    offsets = reader.initialOffset()
    assert offsets == {}
    seen: list[tuple[str, int, int]] = []
    for step in range(12):
        if step % 3 == 0:
            writers.append(HistoryWriter(rng, root / f"t-{len(writers)}", keys=50))
        for writer in writers:
            writer.write(4)
            if rng.random() < 0.3:
                writer.roll()
        if step % 2:
            reader = stream_reader(root, "topic", "partition", "offset", startingOffsets="earliest")
        end = json.loads(json.dumps(reader.latestOffset(offsets, ALL)))
        rows = batch(reader, offsets, end)
        assert rows == batch(reader, offsets, end), "the same offsets are the same rows"
        seen += [(row["topic"], row["partition"], row["offset"]) for row in rows]
        offsets = end
    assert offsets == {"t": {str(n): writer.log.log_end_offset for n, writer in enumerate(writers)}}
    for writer in writers:
        writer.close()
    later = batch(reader, {}, offsets)
    assert sorted(seen) == sorted((row["topic"], row["partition"], row["offset"]) for row in later)
    assert len(set(seen)) == len(seen) > 100


def test_a_torn_tail_is_waited_for(tmp_path: Path) -> None:
    root = root_of(tmp_path)
    writer = HistoryWriter(random.Random(1), root / "t-0")
    for _ in range(3):
        writer.append_records([(b"k", b"v")])
    writer.close()
    [path] = (root / "t-0").glob("*.log")
    data = path.read_bytes()
    third = len(data) * 2 // 3
    reader = stream_reader(root, startingOffsets="earliest", mode="FAILFAST")
    start, ends = reader.initialOffset(), []
    for size in (0, 1, 20, third - 1, third, third + 16, third + 60, len(data) - 1, len(data)):
        path.write_bytes(data[:size])
        ends.append(reader.latestOffset(start, ALL)["t"]["0"])
    assert ends == [0, 0, 0, 1, 2, 2, 2, 2, 3]
    path.write_bytes(data + bytes(4096))  # log.preallocate
    assert reader.latestOffset(start, ALL) == {"t": {"0": 3}}
    assert offsets_of(batch(reader, start, {"t": {"0": 3}})) == [0, 1, 2]


def test_what_was_deleted_before_it_was_read_is_named(tmp_path: Path) -> None:
    root = root_of(tmp_path)
    writer = HistoryWriter(random.Random(1), root / "t-0")
    for _ in range(4):
        writer.append_records([(b"k", b"v")] * 2)
        writer.roll()
    writer.close()
    reader = stream_reader(root, startingOffsets="earliest")
    end = reader.latestOffset({}, ALL)
    assert end == {"t": {"0": 8}}
    for path in sorted((root / "t-0").glob("*.log"))[:2]:
        path.unlink()
    rows = batch(reader, {"t": {"0": 1}}, end)
    assert offsets_of(rows) == [1, 4, 5, 6, 7]
    assert (
        rows[0]["_corrupt_record"]
        == "offsets-lost: t-0: offsets 1 to 3 were deleted or truncated before they were read"
    )
    strict = stream_reader(root, startingOffsets="earliest", mode="FAILFAST")
    assert strict.latestOffset({}, ALL) == end
    with pytest.raises(CorruptLogError, match="offsets-lost"):
        batch(strict, {"t": {"0": 1}}, end)
    shutil.rmtree(root / "t-0")
    assert reader.latestOffset(end, ALL) == end, "a partition that is gone keeps its place"
    assert batch(reader, end, end) == []
    assert [row["_corrupt_record"] for row in batch(reader, {"t": {"0": 5}}, end)] == [
        "offsets-lost: t-0: offsets 5 to 7 were deleted or truncated before they were read"
    ]


def test_a_committed_read_stops_at_an_open_transaction(tmp_path: Path) -> None:
    root = root_of(tmp_path)
    writer = TransactionWriter(random.Random(1), root / "t-0")
    reader = stream_reader(root, "offset", startingOffsets="earliest", isolation="read_committed")
    writer.data()
    writer.data(7)
    writer.data()
    assert reader.latestOffset({}, ALL) == {"t": {"0": 1}}
    writer.roll()
    assert reader.latestOffset({}, ALL) == {"t": {"0": 1}}
    writer.end(7, ControlRecordType.ABORT)
    writer.roll()
    assert reader.latestOffset({}, ALL) == {"t": {"0": 4}}
    writer.data(8)
    writer.close()
    for ends_of in (reader, stream_reader(root, "offset", startingOffsets="earliest", isolation="read_committed")):
        assert ends_of.latestOffset({}, ALL) == {"t": {"0": 4}}
        assert offsets_of(batch(ends_of, {}, {"t": {"0": 4}})) == [0, 2]


def test_limits_available_now_and_where_to_begin(tmp_path: Path) -> None:
    root = root_of(tmp_path)
    writers = [HistoryWriter(random.Random(n), root / f"t-{n}") for n in range(2)]
    for writer, batches in zip(writers, (30, 10), strict=True):
        for _ in range(batches):
            writer.append_records([(b"k", b"v")])
    assert stream_reader(root).initialOffset() == {"t": {"0": 30, "1": 10}}, "a stream begins at the latest"
    begin = stream_reader(root, startingOffsets='{"t": {"0": 4, "1": -2}}').initialOffset()
    assert begin == {"t": {"0": 4, "1": 0}}
    reader = stream_reader(root, startingOffsets="earliest", maxOffsetsPerTrigger=8)
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(8)
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    writers[0].append_records([(b"k", b"v")] * 100)
    seen: list[int] = []
    while (end := reader.latestOffset(start, limit)) != start:
        rows = batch(reader, start, end)
        assert 0 < len(rows) <= 9
        seen += offsets_of(rows)
        start = end
    assert sorted(seen) == sorted([*range(30), *range(10)]), "what comes after the start is the next query's"
    assert reader.reportLatestOffset() == {"t": {"0": 130, "1": 10}}
    for writer in writers:
        writer.close()


def test_a_limit_is_shared_out_by_size() -> None:
    begins = {("t", 0): 0, ("t", 1): 100, ("t", 2): 5}
    ends = {("t", 0): 900, ("t", 1): 199, ("t", 2): 6}
    assert limit_ends(begins, ends, 1000) == ends
    assert limit_ends(begins, ends, 100) == {("t", 0): 90, ("t", 1): 109, ("t", 2): 6}


def test_one_replica_of_each_partition(tmp_path: Path) -> None:
    for broker in ("one", "two"):
        HistoryWriter(random.Random(1), tmp_path / broker / "t-0").close()
    with pytest.raises(ValueError, match=r"t-0 is in .*one and .*two: a stream reads one replica"):
        stream_reader(tmp_path / "*", startingOffsets="earliest").initialOffset()


def broker_rows(frame: DataFrame) -> list[tuple[int, int]]:
    return sorted((row.partition, row.offset) for row in frame.select("partition", "offset").collect())


@pytest.mark.ci
def test_a_query_beside_a_broker_that_writes(spark: SparkSession, tmp_path: Path) -> None:
    """Produces small segments between the runs of a query that is restarted from its checkpoint."""
    checkpoint, table = str(tmp_path / "checkpoint"), str(tmp_path / "table")
    produced = 0
    (tmp_path / "broker").mkdir()
    with OurBroker(tmp_path / "broker") as broker:
        create_topic(broker.bootstrap_servers)
        for run in range(3):
            produced += produce(broker.bootstrap_servers, 150)
            reader = spark.readStream.format("kafkalog").option("subscribe", "events")
            reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 100)
            frame = reader.schema("partition int, offset long, value binary").load(str(broker.log_dir))
            writer = frame.writeStream.format("parquet").option("checkpointLocation", checkpoint).option("path", table)
            if run == 1:
                writer.trigger(availableNow=True).start().stop()  # in the middle, or before it began
            run_to_the_end(writer.trigger(availableNow=True))
            rows = broker_rows(spark.read.parquet(table))
            assert len(rows) == len(set(rows)) == produced
            for partition in range(2):
                offsets = [offset for number, offset in rows if number == partition]
                assert offsets == list(range(len(offsets)))
    last = max((tmp_path / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    assert json.loads(last.read_text().splitlines()[-1]) == {"events": {"0": produced // 2, "1": produced // 2}}


def run_to_the_end(writer: DataStreamWriter) -> None:
    """Starts the query and waits for its end. Repeats that if Spark gave up after ten seconds without a worker."""
    for _ in range(STARTS):
        try:
            writer.start().awaitTermination()
            return
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error):
                raise
    raise AssertionError(f"{STARTS} times Spark's Python worker took ten seconds to start")


def produce(bootstrap_servers: str, count: int) -> int:
    """Sends ``count`` records to both partitions of the topic and waits for their acknowledgement."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": 0, "batch.num.messages": 10})
    for number in range(count):
        producer.produce("events", b"value %d" % number, partition=number % 2)
    assert producer.flush(60) == 0
    return count


def create_topic(bootstrap_servers: str) -> None:
    """Creates a topic of two partitions with segments of a few batches."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    topic = NewTopic("events", num_partitions=2, replication_factor=1, config={"internal.segment.bytes": "2000"})
    admin.create_topics([topic])["events"].result(60)
