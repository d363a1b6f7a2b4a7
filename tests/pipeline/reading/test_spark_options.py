"""The options of the data source are parsed as documented, without a JVM."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual, Not

from odradek.pipeline.reading.options import OPTIONS, parse_options
from odradek.pipeline.reading.split_reader import CorruptLogError
from odradek.pipeline.spark.filters import prune
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.control import ControlRecordType
from odradek.storage.log.log_config import LogConfig
from support.data.log_histories import HISTORY_START_MS, HistoryWriter

from ..kafkalog_reading import batch_reader, data_records, offsets_of, read_rows, rows_of
from ..transactional_writer import TransactionWriter


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Topics t (2 partitions), other and __internal, with an index entry for nearly every batch."""
    root = tmp_path_factory.mktemp("logs")
    rng = random.Random(5)
    for topic, partition in (("t", 0), ("t", 1), ("other", 0), ("__internal", 0)):
        writer = HistoryWriter(rng, root / f"{topic}-{partition}", keys=50, config=LogConfig(index_interval_bytes=200))
        writer.write(60)
        writer.close()
    return root


def test_every_split_size_gives_the_same_rows_once(directory: Path) -> None:
    for partition in ("t-0", "other-0"):
        expected = [record.offset for record in data_records(directory / partition)]
        topic, number = partition.split("-")
        for size in (1, 300, 1000, 5000, 1 << 20):
            rows = read_rows(directory, assign=json.dumps({topic: [int(number)]}), maxPartitionBytes=size)
            assert offsets_of(rows) == expected, size


def test_any_range_of_offsets_is_cut_exactly(directory: Path) -> None:
    expected = [record.offset for record in data_records(directory / "t-0")]
    rng = random.Random(1)
    for _ in range(30):
        first, end = sorted(rng.sample(range(expected[-1] + 2), 2))
        rows = read_rows(
            directory,
            "offset",
            assign='{"t": [0]}',
            startingOffsets=json.dumps({"t": {"0": first}}),
            endingOffsets=json.dumps({"t": {"0": end}}),
            maxPartitionBytes=rng.choice((500, 1 << 20)),
        )
        assert offsets_of(rows) == [offset for offset in expected if first <= offset < end], (first, end)


def test_topics_are_chosen_as_in_the_kafka_source(directory: Path) -> None:
    def topics(**options: str) -> list[str]:
        return sorted({f"{row['topic']}-{row['partition']}" for row in read_rows(directory, **options)})

    assert topics() == ["other-0", "t-0", "t-1"]
    assert topics(subscribe="t, __internal") == ["__internal-0", "t-0", "t-1"]
    assert topics(topics="other") == ["other-0"]
    assert topics(subscribePattern="t|__in.*") == ["__internal-0", "t-0", "t-1"]
    assert topics(subscribePattern="oth") == []
    assert topics(assign='{"t": [1], "other": [0, 9]}') == ["other-0", "t-1"]


def test_minimal_partitions(directory: Path) -> None:
    assert len(batch_reader(directory).partitions()) == 1
    for wanted in (2, 3, 7):
        reader = batch_reader(directory, minPartitions=wanted)
        assert len(reader.partitions()) >= wanted
        assert sorted(map(str, rows_of(reader, list(reader.partitions())))) == sorted(map(str, read_rows(directory)))


@pytest.mark.parametrize("has_indexes", [True, False])
def test_timestamps_mean_the_first_record_as_young(tmp_path: Path, has_indexes: bool) -> None:
    writer = HistoryWriter(random.Random(3), tmp_path / "t-0")
    for batch in range(40):
        writer.now_ms += 1000
        writer.append_records([(b"k", b"v" * 300)] * 3)
        if batch % 10 == 9:
            writer.roll()
    writer.close()
    if not has_indexes:
        for path in [*(tmp_path / "t-0").glob("*index")]:
            path.unlink()
    records = data_records(tmp_path / "t-0")
    for moment in (HISTORY_START_MS, HISTORY_START_MS + 1000, HISTORY_START_MS + 7001, HISTORY_START_MS + 40_000):
        later = [record.offset for record in records if record.timestamp >= moment]
        earlier = [record.offset for record in records if record.timestamp < moment]
        by_partition = json.dumps({"t": {"0": moment}})
        assert offsets_of(read_rows(tmp_path, startingTimestamp=moment)) == later
        assert offsets_of(read_rows(tmp_path, startingOffsetsByTimestamp=by_partition)) == later
        assert offsets_of(read_rows(tmp_path, endingTimestamp=moment)) == earlier
        assert offsets_of(read_rows(tmp_path, endingOffsetsByTimestamp=by_partition)) == earlier
    beyond = HISTORY_START_MS + 40_001
    with pytest.raises(ValueError, match=f"t-0 has no record with timestamp {beyond} or later"):
        read_rows(tmp_path, startingTimestamp=beyond)
    assert read_rows(tmp_path, startingTimestamp=beyond, startingOffsetsByTimestampStrategy="latest") == []
    assert offsets_of(read_rows(tmp_path, endingTimestamp=beyond)) == [record.offset for record in records]


@pytest.fixture
def transactions(tmp_path: Path) -> Path:
    writer = TransactionWriter(random.Random(1), tmp_path / "t-0")
    writer.data(7)  # 0, aborted in a later segment
    writer.data()  # 1
    writer.data(8)  # 2, committed
    writer.roll()
    writer.end(8, ControlRecordType.COMMIT)  # 3
    writer.data(7)  # 4, aborted
    writer.end(7, ControlRecordType.ABORT)  # 5
    writer.data(7)  # 6, committed
    writer.end(7, ControlRecordType.COMMIT)  # 7
    writer.roll()
    writer.data()  # 8
    writer.data(9)  # 9, open
    writer.data()  # 10, after the last stable offset
    writer.close()
    return tmp_path


def test_read_committed_sees_what_a_consumer_would(transactions: Path) -> None:
    assert offsets_of(read_rows(transactions)) == [0, 1, 2, 4, 6, 8, 9, 10]
    assert offsets_of(read_rows(transactions, isolation="read_committed")) == [1, 2, 6, 8]
    for snapshot in (transactions / "t-0").glob("*.snapshot"):
        snapshot.unlink()
    assert offsets_of(read_rows(transactions, isolation="read_committed", maxPartitionBytes=1)) == [1, 2, 6, 8]


def test_a_broken_transaction_index_is_named(transactions: Path) -> None:
    [index] = (transactions / "t-0").glob("*.txnindex")
    index.write_bytes(b"\0\7" + index.read_bytes()[2:])
    rows = read_rows(transactions, isolation="read_committed")
    assert {row["_corrupt_record"].split(":")[0] for row in rows if row["_corrupt_record"]} == {
        "transaction-index-corrupt"
    }
    with pytest.raises(CorruptLogError, match="transaction-index-corrupt"):
        read_rows(transactions, isolation="read_committed", mode="FAILFAST")


def test_a_log_that_changes_after_the_plan(directory: Path, tmp_path: Path) -> None:
    """One segment was compacted into another file, one will be deleted, one was merged into another segment."""
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    for _ in range(3):
        for _ in range(5):
            writer.append_records([(b"k", b"v")])
        writer.roll()
    writer.close()
    reader = batch_reader(tmp_path, maxPartitionBytes=100)
    tasks = list(reader.partitions())
    first, second, third = sorted((tmp_path / "t-0").glob("*.log"))[:3]
    data = first.read_bytes()
    headers = list(iterate_headers(data))
    first.unlink()
    first.write_bytes(data[headers[2][0] :])  # the cleaner left three batches of five
    second.rename(second.with_name(second.name + ".deleted"))
    second.write_bytes(third.read_bytes())  # the cleaner left nothing of the second, and merged the third into it
    third.unlink()
    rows = rows_of(reader, tasks)
    assert [row["_corrupt_record"] for row in rows if row["_corrupt_record"] is not None] == []
    assert offsets_of(rows) == list(range(2, 15))


def test_other_views_have_their_tables_and_refuse_what_is_about_records(directory: Path) -> None:
    rows = read_rows(directory, view="batches", subscribe="t")
    files = sorted((directory / "t-0").glob("*.log")) + sorted((directory / "t-1").glob("*.log"))
    headers = [header for path in files for _, header in iterate_headers(path.read_bytes())]
    assert [row["baseOffset"] for row in rows] == [header.base_offset for header in headers]
    assert {row["partition"] for row in read_rows(directory, view="batches", assign='{"t": [1]}')} == {1}
    named = read_rows(directory, "baseOffset", view="batches", subscribe="t", mode="FAILFAST")
    assert [row["baseOffset"] for row in named] == [header.base_offset for header in headers]
    with pytest.raises(ValueError, match="startingOffsets has no effect with view=batches"):
        read_rows(directory, view="batches", startingOffsets="earliest")


def test_a_damaged_batch_in_the_batches_view(directory: Path, tmp_path: Path) -> None:
    writer = HistoryWriter(random.Random(1), tmp_path / "t-0")
    for _ in range(3):
        writer.append_records([(b"k", b"v")])
    writer.close()
    [path] = (tmp_path / "t-0").glob("*.log")
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert [row["_corrupt_record"] is None for row in read_rows(tmp_path, view="batches")] == [True, True, False]
    assert len(read_rows(tmp_path, view="batches", mode="DROPMALFORMED")) == 2
    with pytest.raises(CorruptLogError, match="batch-crc-mismatch"):
        read_rows(tmp_path, view="batches", mode="FAILFAST")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"startingOffset": "earliest"}, "no option startingoffset"),
        ({"mode": "DROP"}, "mode must be one of PERMISSIVE, DROPMALFORMED, FAILFAST"),
        ({"subscribe": "t", "assign": "{}"}, "only one of .* not subscribe and assign"),
        ({"assign": "t"}, "assign must be JSON"),
        ({"subscribePattern": "("}, "not a regular expression"),
        ({"subscribe": " ,"}, "subscribe is empty"),
        ({"startingOffsets": "latest"}, "startingOffsets can't be latest"),
        ({"startingOffsets": '{"t": {"0": -1}}'}, "startingOffsets can't be latest"),
        ({"endingOffsets": "earliest"}, "endingOffsets can't be earliest"),
        ({"endingOffsets": '{"t": {"0": -2}}'}, "endingOffsets can't be earliest"),
        ({"endingOffsets": '{"t": 3}'}, "endingOffsets must be"),
        ({"startingOffsets": '{"t": {"0": -7}}'}, "startingOffsets can't be"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp must be a time in ms"),
        ({"startingOffsetsByTimestamp": "1"}, "startingOffsetsByTimestamp must be JSON"),
        ({"startingOffsetsByTimestampStrategy": "early"}, "must be error or latest"),
        ({"isolation": "committed"}, "isolation must be one of"),
        ({"includeHeaders": "yes"}, "includeHeaders must be one of"),
        ({"maxPartitionBytes": "many"}, "maxPartitionBytes must be a number of bytes"),
        ({"minPartitions": "0"}, "minPartitions must be a number of at least 1"),
        ({"view": "segments"}, "view must be one of records"),
        ({"path": ""}, "needs a path"),
    ],
)
def test_what_is_refused(options: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_options({"path": "/data", **options})


def test_a_stream_has_no_end_and_may_begin_at_the_latest() -> None:
    assert parse_options({"path": "/data", "startingOffsets": "latest"}, is_stream=True).start.offset == -1
    for name, value in (("endingOffsets", "latest"), ("endingTimestamp", "5")):
        with pytest.raises(ValueError, match="a stream has no end"):
            parse_options({"path": "/data", name: value}, is_stream=True)


def test_every_option_is_documented() -> None:
    text = (Path(__file__).parents[3] / "docs" / "spark.md").read_text()
    assert [name for name in OPTIONS if f"`{name}`" not in text] == []


def test_filters_rule_out_what_they_can() -> None:
    def pruned(*filters: Filter) -> Any:
        return prune(filters)

    both = pruned(In(("topic",), ("t", "u")), EqualTo(("topic",), "t"), Not(EqualTo(("topic",), "t")))
    assert both.allows_partition("t", 0)
    assert not both.allows_partition("u", 0)
    assert not pruned(EqualTo(("partition",), 1)).allows_partition("t", 0)
    offsets = pruned(GreaterThan(("offset",), 3), LessThanOrEqual(("offset",), 9), LessThan(("offset",), 12))
    assert (offsets.first_offset, offsets.end_offset) == (4, 10)
    assert pruned(GreaterThanOrEqual(("offset",), 4)).first_offset == 4
    assert pruned(EqualTo(("value",), b"x")) == prune([])
