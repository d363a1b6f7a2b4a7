"""Kafka's consumers, our broker, `kafkalog`, `export`, `audit` and `dump-log` agree on the records of a partition.

Directories of real Kafkas of 2.8 to 4.4 with deleted records, transactions, compaction, message formats and extreme
times. Each way to read gives a checksum of each partition, for both isolation levels. What an import of the export
serves has the same checksum. A compaction brings no record back, and loses no latest one.
"""

import base64
import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as dataset
import pytest
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.pipeline.audit.check import Severity
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.compact.command import compact
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.pipeline.importing.command import import_topics
from odradek.pipeline.spark.source import KafkaLogDataSource
from odradek.storage.files.checkpoints import read_offset_checkpoint
from odradek.storage.files.file_names import SEGMENT_SUFFIXES
from odradek.storage.files.files import Files
from support.brokers.our_broker import OurBroker
from support.data.dump_log import dump_in_process
from support.door.rescue import adopt
from support.eventually import eventually
from support.kafka.java import java_or_skip
from support.kafka.real_kafka import RealKafka

from .old_kafka import running
from .topics import CODECS, Plan, batch_of
from .transactions import fill_with_transactions
from .workload import TIMEOUT_S, create

pytestmark = [pytest.mark.java, pytest.mark.ci]

ISOLATIONS = ("read_uncommitted", "read_committed")
CONFIGS = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "33554432",
    "log.retention.check.interval.ms": "600000",
    "auto.create.topics.enable": "false",
    "transaction.state.log.num.partitions": "1",
    "offsets.topic.num.partitions": "1",
}
KEPT = {"log.cleaner.enable": "false", "log.retention.ms": "-1"}
LATEST_MS = (1 << 63) - 1
TIMES = (LATEST_MS, 1, LATEST_MS - 1, 1_700_000_000_000, 1 << 62, LATEST_MS // 1000, LATEST_MS // 1000 + 1)
ANY_TIME = {"message.timestamp.after.max.ms": str(LATEST_MS)}
GREATEST_US = ((1 << 63) // 1000 - 1) * 1000
"""The greatest time of Spark's Kafka columns, in microseconds: kafkalog and export give later ones as this."""
PLAIN, DELETED, COMPACTED = "plain", ("deleted-inside", "deleted-segments", "deleted-all"), "compacted"


class Release(NamedTuple):
    """A release of Kafka, and the topic configs that differ between releases."""

    version: str
    small: dict[str, str]
    any_time: dict[str, str]
    formats: tuple[str, ...] = ()


OLD_SMALL = {"segment.bytes": "3000", "index.interval.bytes": "300"}
NEW_SMALL = {"internal.segment.bytes": "3000", "index.interval.bytes": "300"}
RELEASES = (
    Release("2.8.2", OLD_SMALL, {}, ("0.9.0", "0.10.2")),
    Release("3.3.2", OLD_SMALL, {}),
    Release("3.9.1", OLD_SMALL, ANY_TIME),
    Release("4.3.1", NEW_SMALL, ANY_TIME),
    Release("4.4.0", NEW_SMALL, ANY_TIME),
)
IN_CI = ("2.8.2", "3.9.1", "4.4.0")
"""The releases with other formats than the one before. The nightly run has all."""
TYPES = {"NoTimestampType": -1, "CreateTime": 0, "LogAppendTime": 1}


@dataclass(frozen=True, slots=True)
class Filled:
    """A directory of a stopped Kafka, and what consumers of each isolation level had read from it."""

    home: Path
    seen: "dict[str, dict[str, Consumed]]"
    release: Release

    @property
    def log_dir(self) -> Path:
        """The log directory."""
        return self.home / "logs"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(one, id=one.version, marks=() if one.version in IN_CI else pytest.mark.nightly) for one in RELEASES
    ],
)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """A Kafka of each release, filled, read and stopped."""
    release: Release = request.param
    home = tmp_path_factory.mktemp("kafka")
    with started(release, home) as servers:
        fill(servers, release, home / "logs")
        seen = {isolation: consumed(servers, isolation) for isolation in ISOLATIONS}
    return Filled(home, seen, release)


@contextmanager
def started(release: Release, home: Path) -> Iterator[str]:
    java_or_skip()
    if release.version.startswith("2."):
        with running(home, CONFIGS) as servers:
            yield servers
        return
    java_or_skip(release.version)
    is_dynamic = release.version >= "3.9"
    with RealKafka(home, CONFIGS, version=release.version, dynamic_quorum=is_dynamic) as kafka:
        yield kafka.bootstrap_servers


def fill(servers: str, release: Release, log_dir: Path) -> None:
    """Creates and fills the topics, then deletes records of some, when the cleaner has cleaned the compacted ones."""
    admin = AdminClient({"bootstrap.servers": servers})
    compacted = {**release.small, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.001"}
    plans = [
        *(Plan(f"{PLAIN}-{codec}", 1, codecs=(codec,)) for codec in CODECS),
        *(Plan(name, 1, release.small, codecs=("lz4", "none")) for name in DELETED),
        *(
            Plan(f"format-{version}", 1, {**release.small, "message.format.version": version}, codecs=("gzip", "none"))
            for version in release.formats
        ),
        Plan("append-time", 1, {"message.timestamp.type": "LogAppendTime"}),
        Plan(COMPACTED, 1, compacted, keys=9),
        Plan("compacted-deleted", 1, compacted | {"cleanup.policy": "compact,delete", "retention.ms": "-1"}, keys=9),
        Plan("times", 1, release.any_time, codecs=("none", "zstd")),
    ]
    # librdkafka waits for a controller a minute if its first answer has none, as that of a 3.3 that has just started.
    eventually("the broker is registered", lambda: admin.list_topics(timeout=TIMEOUT_S).brokers)
    create(admin, plans)
    for plan in plans:
        send(servers, plan, Random(plan.name))
    fill_with_transactions(servers, {"segment.bytes": "3000"} if "segment.bytes" in release.small else None)
    wait_until_cleaned(log_dir)
    deleted = [
        TopicPartition(DELETED[0], 0, 133),
        TopicPartition(DELETED[1], 0, 301),
        TopicPartition(DELETED[2], 0, -1),
    ]
    deleted += [TopicPartition("transactions", 1, 41), TopicPartition("compacted-deleted", 0, 250)]
    deleted += [TopicPartition(f"format-{version}", 0, 133) for version in release.formats]
    for future in admin.delete_records(deleted).values():
        future.result(TIMEOUT_S)


def send(servers: str, plan: Plan, chance: Random) -> None:
    """400 records in batches, with times that rise, or with each of TIMES in each codec."""
    for codec in plan.codecs:
        producer: Any = Producer({"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 50})
        for number in range(50 // len(plan.codecs)):
            for index, record in enumerate(batch_of(plan, chance, 1_700_000_000_000 + number)):
                time_ms = TIMES[(number + index) % len(TIMES)] if plan.name == "times" else record.timestamp_ms
                headers = [] if plan.name.startswith("format") else record.headers
                producer.produce(plan.name, record.value, record.key, 0, timestamp=time_ms, headers=headers)
            assert producer.flush(TIMEOUT_S) == 0


def wait_until_cleaned(log_dir: Path) -> None:
    def is_cleaned() -> bool:
        cleaned = read_offset_checkpoint(Files(), log_dir / "cleaner-offset-checkpoint")
        return all(cleaned.get((topic, 0), 0) >= 300 for topic in (COMPACTED, "compacted-deleted"))

    eventually("Kafka's cleaner has cleaned", is_cleaned, every_s=0.2)


class Read(NamedTuple):
    """One record, as every way to read has it."""

    offset: int
    time_us: int
    timestamp_type: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def checksum(records: Iterable[Read]) -> tuple[int, str]:
    """(number, SHA-256) of records by offset."""
    ordered = sorted(records, key=lambda record: record.offset)
    return len(ordered), hashlib.sha256(repr(ordered).encode()).hexdigest()


class Consumed(NamedTuple):
    """The records that a consumer has got of a partition, with the log's start and its end."""

    start: int
    end: int
    records: list[Read]


def consumed(servers: str, isolation: str) -> dict[str, Consumed]:
    """Reads each partition that is not internal, from its start to its end or last stable offset."""
    settings: dict[str, Any] = {"bootstrap.servers": servers, "group.id": "reader", "enable.auto.commit": False}
    consumer: Any = Consumer(
        settings | {"enable.partition.eof": True, "isolation.level": isolation, "auto.offset.reset": "error"}
    )
    topics = consumer.list_topics(timeout=TIMEOUT_S).topics.items()
    assigned = [TopicPartition(name, index) for name, topic in topics if name[:2] != "__" for index in topic.partitions]
    found = {}
    for one in assigned:
        one.offset, end = eventually(f"{one} is led", partial(watermarks, consumer, one))
        found[f"{one.topic}-{one.partition}"] = Consumed(one.offset, end, [])
    consumer.assign(assigned)
    waiting = set(found)
    while waiting:
        [message] = consumer.consume(1, TIMEOUT_S)
        name = f"{message.topic()}-{message.partition()}"
        if message.error() is None:
            found[name].records.append(read_of(message))
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            waiting.discard(name)
    consumer.close()
    return found


def watermarks(consumer: Any, one: TopicPartition) -> tuple[int, ...]:
    """The start and the end of a partition; nothing while it has no leader, as after a start."""
    with suppress(KafkaException):
        found: tuple[int, ...] = consumer.get_watermark_offsets(one, TIMEOUT_S)
        return found
    return ()


def read_of(message: Any) -> Read:
    kind, time_ms = message.timestamp()
    if kind == TIMESTAMP_NOT_AVAILABLE:
        time_ms = -1  # the client says 0
    headers = tuple(message.headers() or ())
    return Read(message.offset(), clipped(time_ms), kind - 1, message.key(), message.value(), headers)


def of_consumer(found: dict[str, Consumed]) -> dict[str, tuple[int, str]]:
    """The checksum of each partition."""
    return {name: checksum(one.records) for name, one in found.items()}


def clipped(time_ms: int) -> int:
    return max(-GREATEST_US, min(GREATEST_US, time_ms * 1000))


def of_rows(table: Any, names: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The checksum of each partition in a table with the columns of Spark's Kafka source."""
    return {name: checksum(records) for name, records in records_in(table, names).items()}


def records_in(table: Any, names: Iterable[str]) -> dict[str, list[Read]]:
    """The records of each partition in a table with the columns of Spark's Kafka source."""
    found: dict[str, list[Read]] = {name: [] for name in names}
    times = table.column("timestamp").cast(pa.int64()).to_pylist()
    for row, time_us in zip(table.drop_columns(["timestamp"]).to_pylist(), times, strict=True):
        headers = tuple((header["key"], header["value"]) for header in row["headers"] or ())
        read = Read(row["offset"], time_us, row["timestampType"], row["key"], row["value"], headers)
        found[f"{row['topic']}-{row['partition']}"].append(read)
    return found


def of_kafkalog(log_dir: Path, isolation: str, names: Sequence[str], *, is_stream: bool) -> dict[str, tuple[int, str]]:
    """The checksums of a batch read with small splits, or of one micro-batch."""
    return of_rows(kafkalog_table(log_dir, isolation, is_stream=is_stream), names)


def kafkalog_table(log_dir: Path, isolation: str, *, is_stream: bool) -> Any:
    """All rows of a batch read with small splits, or of one micro-batch."""
    options = {"path": str(log_dir), "isolation": isolation, "includeHeaders": "true", "maxPartitionBytes": "2000"}
    source = KafkaLogDataSource(options | ({"startingOffsets": "earliest"} if is_stream else {}))
    reader: Any = source.streamReader(source.schema()) if is_stream else source.reader(source.schema())
    begin = reader.initialOffset() if is_stream else None
    tasks = reader.partitions(begin, reader.latestOffset(begin, reader.getDefaultReadLimit())) if is_stream else None
    batches = [batch for task in tasks or reader.partitions() for batch in reader.read(task)]
    table = pa.Table.from_batches(batches)
    assert table.column("_corrupt_record").null_count == len(table)
    return table


def of_export(log_dir: Path, output: Path, isolation: str, names: Sequence[str]) -> dict[str, tuple[int, str]]:
    assert export([str(log_dir), "--output", str(output), "--isolation", isolation]) == 0
    table = dataset.dataset(output, partitioning="hive").to_table()
    return of_rows(table.drop_columns(["date"]), names)


def different(one: dict[str, tuple[int, str]], other: dict[str, tuple[int, str]]) -> dict[str, Any]:
    return {name: (one.get(name), other.get(name)) for name in one | other if one.get(name) != other.get(name)}


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_all_ways_to_read_agree(filled: Filled, tmp_path: Path, isolation: str) -> None:
    expected = of_consumer(filled.seen[isolation])
    names = list(expected)
    ways: dict[str, Callable[[], dict[str, tuple[int, str]]]] = {
        "kafkalog": lambda: of_kafkalog(filled.log_dir, isolation, names, is_stream=False),
        "stream": lambda: of_kafkalog(filled.log_dir, isolation, names, is_stream=True),
        "export": lambda: of_export(filled.log_dir, tmp_path / "out", isolation, names),
    }
    assert {way: different(expected, read()) for way, read in ways.items()} == {way: {} for way in ways}
    counts = {name: count for name, (count, _) in expected.items()}
    assert (counts[f"{DELETED[0]}-0"], counts[f"{DELETED[1]}-0"], counts[f"{DELETED[2]}-0"]) == (267, 99, 0)
    assert counts["times-0"] == 400
    assert 0 < counts["compacted-0"] < 100


def test_an_audit_finds_nothing_and_counts_what_a_consumer_gets(filled: Filled) -> None:
    result = audit_directories([filled.log_dir], LOCAL)
    wrong = [one for one in result.findings if one.check.severity is not Severity.INFO and one.topic != "times"]
    assert wrong == []
    about_times = {one.name for one in result.findings if one.topic == "times"}
    assert about_times <= {"timestamp-in-future", "codecs-mixed"}
    figures = {
        f"{one.topic}-{one.partition}": (one.log_start_offset, one.log_end_offset, one.records)
        for one in result.partitions
        if not one.topic.startswith("__")
    }
    assert figures == {
        name: (one.start, one.end, len(one.records)) for name, one in filled.seen["read_uncommitted"].items()
    }


def test_dump_log_prints_the_same_records(filled: Filled, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """It prints what is in files, as Kafka's tool: those from the log start on, of read_uncommitted, are the same."""
    dump = dump_in_process(capfdbinary)
    for name, partition in filled.seen["read_uncommitted"].items():
        dumped = dump("--json", "--print-data-log", *sorted((filled.log_dir / name).glob("*.log")))
        assert (dumped.code, dumped.err) == (0, [])
        records = [one for one in dumped.documents if one["type"] == "record" and "control" not in one]
        read = [dumped_record(one) for one in records if one["offset"] >= partition.start]
        assert checksum(read) == checksum(partition.records), name


def dumped_record(one: dict[str, Any]) -> Read:
    """A record in the JSON of dump-log."""
    headers = tuple((header["key"], dumped_bytes(header["value"])) for header in one["headers"])
    key, value = dumped_bytes(one["key"]), dumped_bytes(one["value"])
    return Read(one["offset"], clipped(one["timestamp"]), TYPES[one["timestampType"]], key, value, headers)


def dumped_bytes(text: Any) -> bytes | None:
    if isinstance(text, dict):
        return base64.b64decode(text["base64"])
    return None if text is None else str(text).encode()


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_compaction_brings_nothing_back_and_keeps_what_is_latest(
    filled: Filled, tmp_path: Path, isolation: str
) -> None:
    log_dir = Path(shutil.copytree(filled.log_dir, tmp_path / "logs"))
    topics = (COMPACTED, "compacted-deleted", *DELETED, "transactions", "times")
    chosen = [part for topic in topics for part in ("--topic", topic)]
    assert compact([str(log_dir), *chosen, "--config", "cleanup.policy=compact"]) == 0
    before = filled.seen[isolation]
    after = records_in(kafkalog_table(log_dir, isolation, is_stream=False), before)
    removed = 0
    for name, partition in before.items():
        if name.rpartition("-")[0] not in topics:
            assert checksum(after[name]) == checksum(partition.records), name
            continue
        removed += len(partition.records) - len(after[name])
        assert set(after[name]) <= set(partition.records), name
        committed = filled.seen["read_committed"][name].records
        latest = {record.key: record for record in committed if record.key is not None}
        assert {record for record in latest.values() if record.value is not None} <= set(after[name]), name
    assert removed > 0


@pytest.mark.parametrize("filled", RELEASES[-1:], indirect=True, ids=["4.4.0"])
def test_a_stopped_exchange_of_segments_is_read_as_kafka_serves_it(filled: Filled, tmp_path: Path) -> None:
    """The cleaner had removed all old segments of each log, and the new ones did not have their names yet."""
    home = Path(shutil.copytree(filled.home, tmp_path / "home"))
    cleaned = Path(shutil.copytree(filled.log_dir, tmp_path / "cleaned"))
    topics = ("compacted-deleted", *DELETED, "transactions")
    chosen = [part for topic in topics for part in ("--topic", topic)]
    assert compact([str(cleaned), *chosen, "--config", "cleanup.policy=compact"]) == 0
    exchanged = [name for name in filled.seen[ISOLATIONS[0]] if leave_half_done(home / "logs" / name, cleaned / name)]
    assert len(exchanged) > 2, exchanged
    names = list(filled.seen[ISOLATIONS[0]])
    found = {one: of_kafkalog(home / "logs", one, names, is_stream=False) for one in ISOLATIONS}
    assert found[ISOLATIONS[0]] != of_consumer(filled.seen[ISOLATIONS[0]])
    with RealKafka(home, CONFIGS | KEPT, version=filled.release.version, dynamic_quorum=True) as kafka:
        served_by_kafka = {one: of_consumer(consumed(kafka.bootstrap_servers, one)) for one in ISOLATIONS}
    assert {one: different(served_by_kafka[one], found[one]) for one in ISOLATIONS} == {one: {} for one in ISOLATIONS}


def leave_half_done(partition: Path, cleaned: Path) -> bool:
    """Gives the files of a partition the names that they have within an exchange; False if nothing was cleaned."""
    before, after = ({path.name: path.read_bytes() for path in one.glob("*.log")} for one in (partition, cleaned))
    old = [name for name, data in before.items() if after.get(name) != data]
    for name in old:
        for path in partition.glob(f"{name[:20]}.*"):
            if path.suffix in SEGMENT_SUFFIXES:
                path.rename(path.with_name(f"{path.name}.deleted"))
    for name in (name for name, data in after.items() if before.get(name) != data):
        for path in cleaned.glob(f"{name[:20]}.*"):
            if path.suffix in SEGMENT_SUFFIXES:
                shutil.copy(path, partition / f"{path.name}.swap")
    return bool(old)


def served(home: Path, release: Release) -> OurBroker:
    """Our broker on a directory of a release."""
    return OurBroker(home, {"node.id": "0" if release.version.startswith("2.") else "1", **KEPT})


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_our_broker_serves_the_same(filled: Filled, tmp_path: Path, isolation: str) -> None:
    home = tmp_path / "home"
    shutil.copytree(filled.log_dir, home / "logs")
    if filled.release.version.startswith("2."):
        assert adopt("--no-serve", home / "logs").returncode == 0
    with served(home, filled.release) as ours:
        found = of_consumer(consumed(ours.bootstrap_servers, isolation))
    assert different(of_consumer(filled.seen[isolation]), found) == {}


def test_what_was_deleted_stays_deleted_after_an_import(filled: Filled, tmp_path: Path) -> None:
    """Format 0, which has no type of time, becomes format 2."""
    output = tmp_path / "out"
    assert export([str(filled.log_dir), "--output", str(output), "--isolation", "read_committed"]) == 0
    assert import_topics([str(output), "--into", str(tmp_path / "home" / "logs")]) == 0
    with OurBroker(tmp_path / "home", {"node.id": "1", **KEPT}) as ours:
        found = of_consumer(consumed(ours.bootstrap_servers, ISOLATIONS[0]))
    expected = of_consumer(filled.seen["read_committed"])
    for name in expected.keys() & {"format-0.9.0-0"}:
        records = [one._replace(timestamp_type=0) for one in filled.seen["read_committed"][name].records]
        expected[name] = checksum(records)
    restored = {name: expected[name] for name in found}
    assert different(restored, found) == {}
    assert {name for name, (count, _) in expected.items() if count} <= set(found)
