"""The data source `kafkalog` in a real Spark session, found without registration."""

import gc
import json
import random
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import pyspark_odradek
from odradek.pipeline.engine.frozen_objects import freeze_once
from odradek.pipeline.spark.portion import ReadPortion, items_of
from odradek.pipeline.tables.registry import TABLES
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import Record, decode_records
from support.data.log_histories import HistoryWriter

from ..kafkalog_reading import data_records

KAFKA_SOURCE_SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, timestamp timestamp, timestampType int"
)
HEADERS = "headers array<struct<key: string, value: binary>>"


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("logs")
    rng = random.Random(11)
    for topic, partition in (("t", 0), ("t", 1), ("other", 0), ("__internal", 0)):
        writer = HistoryWriter(rng, root / f"{topic}-{partition}", keys=50)
        writer.write(25)
        writer.close()
    return root


def rows(frame: DataFrame) -> list[Record]:
    return [
        Record(
            row.offset,
            row.ms,
            None if row.key is None else bytes(row.key),
            None if row.value is None else bytes(row.value),
            [(header.key, None if header.value is None else bytes(header.value)) for header in row.headers or []],
        )
        for row in frame.selectExpr("*", "unix_millis(timestamp) ms").orderBy("offset").collect()
    ]


def test_it_has_the_columns_of_sparks_kafka_source(spark: SparkSession, directory: Path) -> None:
    frame = spark.read.format("kafkalog").option("mode", "FAILFAST").load(str(directory))
    expected = spark.createDataFrame([], KAFKA_SOURCE_SCHEMA).schema
    assert frame.schema == expected
    [row] = frame.where("topic = 'other'").selectExpr("count(*) n", "max(offset) last").collect()
    expected_records = data_records(directory / "other-0")
    assert (row.n, row["last"]) == (len(expected_records), expected_records[-1].offset)
    more = spark.read.format("kafkalog").option("includeHeaders", "true").load(str(directory))
    assert more.schema == spark.createDataFrame([], f"{KAFKA_SOURCE_SCHEMA}, {HEADERS}, _corrupt_record string").schema


@pytest.mark.ci
def test_records_equal_the_logs(spark: SparkSession, directory: Path) -> None:
    reader = spark.read.format("kafkalog").option("maxPartitionBytes", "5000").option("includeHeaders", "true")
    frame = reader.load(str(directory)).cache()
    assert frame.rdd.getNumPartitions() > 3
    counted = {
        (row.topic, row.partition): row["count"] for row in frame.groupBy("topic", "partition").count().collect()
    }
    expected = {key: data_records(directory / f"{key[0]}-{key[1]}") for key in (("t", 0), ("t", 1), ("other", 0))}
    assert counted == {key: len(records) for key, records in expected.items()}
    assert rows(frame.where("topic = 't' and partition = 1")) == expected["t", 1]


@pytest.mark.ci
def test_topics_offsets_and_projection(spark: SparkSession, directory: Path) -> None:
    reader = spark.read.format("kafkalog").option("subscribe", "t,__internal")
    reader = reader.option("startingOffsets", json.dumps({"t": {"0": 7}}))
    reader = reader.option("endingOffsets", json.dumps({"t": {"0": 20, "1": 0}}))
    frame = reader.schema("offset long, topic string").load(str(directory))
    found = sorted((row.topic, row.offset) for row in frame.collect())
    expected = [("__internal", record.offset) for record in data_records(directory / "__internal-0")]
    expected += [("t", record.offset) for record in data_records(directory / "t-0") if 7 <= record.offset < 20]
    assert found == sorted(expected)


@pytest.mark.ci
def test_minimal_partitions_and_small_ones_packed(spark: SparkSession, directory: Path) -> None:
    reader = spark.read.format("kafkalog").schema("offset long")
    assert reader.load(str(directory)).rdd.getNumPartitions() == 1  # three small partitions are one task
    reader = reader.option("minPartitions", "3")
    frame = reader.load(str(directory))
    assert frame.rdd.getNumPartitions() >= 3
    everything = [record for name in ("t-0", "t-1", "other-0") for record in data_records(directory / name)]
    assert frame.count() == len(everything)


@pytest.mark.ci
def test_corrupt_batches_are_rows_left_out_or_end_the_job(spark: SparkSession, tmp_path: Path) -> None:
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    for value in range(10):
        writer.append_records([(b"k", b"%d" % value), (b"k", b"x")])
    writer.close()
    path = tmp_path / "t-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    headers = list(iterate_headers(data))
    data[headers[3][0] + 70] ^= 0xFF
    data[headers[6][0] + 16] = 9
    path.write_bytes(data)
    frame = spark.read.format("kafkalog").load(str(tmp_path))
    found = {row.offset: row for row in frame.collect()}
    assert sorted(found) == [0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    assert found[6]["_corrupt_record"].startswith(
        f"batch-crc-mismatch: {path}: the CRC-32C of the batch at {headers[3][0]}"
    )
    assert (found[6].topic, found[6].partition) == ("t", 0)
    assert found[12]["_corrupt_record"].startswith(f"batch-magic-unknown: {path}")
    assert found[8]["_corrupt_record"] is None
    reader = spark.read.format("kafkalog")
    readable = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11]
    plain = reader.schema("offset long").load(str(tmp_path))
    assert sorted(row.offset for row in plain.collect()) == readable
    dropping = spark.read.format("kafkalog").option("mode", "DROPMALFORMED").load(str(tmp_path))
    assert "_corrupt_record" not in dropping.columns
    assert sorted(row.offset for row in dropping.collect()) == readable
    with pytest.raises(PySparkException, match="batch-crc-mismatch"):
        spark.read.format("kafkalog").option("mode", "failfast").load(str(tmp_path)).collect()


@pytest.mark.ci
def test_a_torn_tail_of_the_active_segment_is_no_damage(spark: SparkSession, tmp_path: Path) -> None:
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    for _ in range(3):
        writer.append_records([(b"k", b"v")])
    writer.close()
    path = tmp_path / "t-0" / "00000000000000000000.log"
    path.write_bytes(path.read_bytes()[:-5])
    frame = spark.read.format("kafkalog").option("mode", "FAILFAST").load(str(tmp_path))
    assert sorted(row.offset for row in frame.collect()) == [0, 1]


@pytest.mark.ci
def test_wrong_options_and_columns_are_refused(spark: SparkSession, directory: Path) -> None:
    for name, value, text in (
        ("mode", "DROP", "mode must be one of PERMISSIVE"),
        ("startingOffset", "earliest", "no option startingoffset"),
        ("startingOffsets", "latest", "startingOffsets can't be latest"),
        ("endingOffsets", "17", "endingOffsets must be"),
        ("view", "segments", "view must be one of records, batches"),
    ):
        with pytest.raises(PySparkException, match=text):
            spark.read.format("kafkalog").option(name, value).load(str(directory)).count()
    with pytest.raises(PySparkException, match="no column offset int"):
        spark.read.format("kafkalog").schema("offset int").load(str(directory)).count()
    with pytest.raises(PySparkException, match="is not a directory"):
        spark.read.format("kafkalog").load(str(directory / "missing")).count()


@pytest.mark.ci
def test_several_directories_by_list_and_by_pattern_have_a_column_for_it(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("broker-1", "broker-2"):
        writer = HistoryWriter(random.Random(1), tmp_path / name / "t-0")
        writer.append_records([(b"k", b"v")])
        writer.close()
    places = [str(tmp_path / name) for name in ("broker-1", "broker-2")]
    for path in (places, ",".join(places), str(tmp_path / "broker-*")):
        frame = spark.read.format("kafkalog").load(path)
        assert sorted((row.directory, row.offset) for row in frame.collect()) == [(place, 0) for place in places]
    assert "directory" not in spark.read.format("kafkalog").load(places[:1]).columns
    with pytest.raises(PySparkException, match="no directory matches"):
        spark.read.format("kafkalog").load(str(tmp_path / "nothing-*")).count()


@pytest.mark.ci
def test_batch_columns_are_those_of_the_headers(spark: SparkSession, directory: Path) -> None:
    frame = spark.read.format("kafkalog").option("includeBatchColumns", "true").option("assign", '{"t": [0]}')
    found = {row.offset: row for row in frame.load(str(directory)).collect()}
    seen = 0
    for path in sorted((directory / "t-0").glob("*.log")):
        data = path.read_bytes()
        for position, header in iterate_headers(data):
            for record in [] if header.is_control else decode_records(data, header, position):
                row = found[record.offset]
                assert (row.file, row.batchPosition, row.batchBaseOffset) == (str(path), position, header.base_offset)
                assert (row.producerId, row.producerEpoch) == (header.producer_id, header.producer_epoch)
                assert row.isTransactional == header.is_transactional
                assert row.compression == header.compression_type.name.lower()
                seen += 1
    assert seen == len(found) > 0


@pytest.mark.ci
def test_the_pushed_filters_change_no_row(spark: SparkSession, directory: Path) -> None:
    conditions = [
        "topic = 't' and partition in (0, 7) and offset between 3 and 17",
        "offset > 5 and offset <= 9 and topic <> 'other'",
        "timestamp >= timestamp_millis({middle}) and key is not null",
        "offset = 4",
    ]
    plain = spark.read.format("kafkalog").load(str(directory))
    [moments] = plain.selectExpr("unix_millis(min(timestamp)) low", "unix_millis(max(timestamp)) high").collect()
    middle = (moments.low + moments.high) // 2
    columns = ("topic", "partition", "offset")
    wanted = [sorted(plain.where(text.format(middle=middle)).select(*columns).collect()) for text in conditions]
    assert all(wanted)
    pushing = spark.read.format("kafkalog").option("filterPushdown", "true")
    with pytest.raises(PySparkException, match="filterPushdown"):
        pushing.load(str(directory)).where("offset = 4").collect()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    try:
        for text, rows_without in zip(conditions, wanted, strict=True):
            frame = pushing.load(str(directory)).where(text.format(middle=middle)).select(*columns)
            assert sorted(frame.collect()) == rows_without, text
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


@pytest.mark.ci
def test_register_does_what_spark_does_by_itself(spark: SparkSession, directory: Path) -> None:
    pyspark_odradek.register(spark)
    assert pyspark_odradek.DefaultSource.name() == "kafkalog"
    frame = spark.read.format("kafkalog").schema("offset long").option("subscribe", "other").load(str(directory))
    assert frame.count() == len(data_records(directory / "other-0"))


@pytest.mark.ci
def test_a_view_has_the_columns_of_its_table(spark: SparkSession, directory: Path) -> None:
    for name, table in TABLES.items():
        frame = spark.read.format("kafkalog").option("view", name).load(str(directory))
        assert frame.columns == table.schema.names, name
    batches = spark.read.format("kafkalog").option("view", "batches").option("subscribe", "t").load(str(directory))
    [total] = batches.selectExpr("sum(recordsCount) records", "sum(if(isControl, 1, 0)) control").collect()
    records = sum(len(data_records(directory / name)) for name in ("t-0", "t-1"))
    assert total.records == records + total.control


def test_garbage_is_looked_for_no_more_in_what_the_first_item_brought() -> None:
    gc.unfreeze()  # objects of other tests in this process
    freeze_once.cache_clear()
    items = items_of(ReadPortion((1, 2)))
    try:
        assert (next(items), gc.get_freeze_count()) == (1, 0)
        assert list(items) == [2]
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
    assert list(items_of(None)) == []
