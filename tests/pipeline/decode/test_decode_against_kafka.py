"""Decoded records and batches equal those that Apache Kafka reads from the same bytes.

A real Kafka serves directories with generated histories (every codec, transactions, tombstones, nulls, headers, empty
batches, both timestamp types); a Java consumer reads them, and DumpLogSegments prints them.
"""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from odradek.pipeline.decode.batch_columns import BATCH_COLUMNS
from odradek.pipeline.decode.batch_table import BatchTable, check_crcs
from odradek.pipeline.decode.damage import Damage
from odradek.pipeline.decode.records import decode_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from odradek.pipeline.decode.spans import RECORD_COLUMNS
from odradek.pipeline.directories.log_directories import find_partitions
from odradek.pipeline.reading.isolation import aborted_transactions, is_aborted
from odradek.protocol.records.builder import encode_empty_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log_config import CREATE_TIME, LOG_APPEND_TIME, LogConfig
from support.data.dump_log import comma_separated, kafka_dump
from support.data.log_histories import HistoryWriter
from support.kafka.java import java_or_skip
from support.kafka.java_program import JavaProgram
from support.kafka.real_kafka import RealKafka

TOPICS = {"created": CREATE_TIME, "appended": LOG_APPEND_TIME}
ALL_COLUMNS = (*RECORD_COLUMNS, *BATCH_COLUMNS)
TYPE_NAMES = (CREATE_TIME, LOG_APPEND_TIME)
Row = dict[str, Any]


class ConsumerOracle(JavaProgram):
    NAME = "ConsumerOracle"


class ReadableHistory(HistoryWriter):
    """A history with values and keys that a dump prints unchanged, null and empty ones too, and some empty batches."""

    def write(self, steps: int) -> None:
        for _ in range(0, steps, 20):
            super().write(20)
            self._append_empty_batch()

    def _append_empty_batch(self) -> None:
        """Appends the empty batch that compaction keeps of a producer's last one. Followers store it unchanged."""
        offset = self.log.log_end_offset
        batch = encode_empty_batch(
            base_offset=offset,
            last_offset=offset + 2,
            max_timestamp=self.now_ms,
            partition_leader_epoch=0,
            producer_id=300,
            producer_epoch=1,
            base_sequence=self.sequences.get(300, 0),
            is_transactional=False,
            is_control=False,
            is_log_append_time=False,
        )
        self.sequences[300] = self.sequences.get(300, 0) + 3
        self.log.appender.append_as_follower(batch, self.now_ms)

    def _records(self) -> list[Record]:
        found = []
        for record in super()._records():
            value = None if record.value is None else record.value.hex().encode()
            headers = record.headers + ([("ключ", b""), ("", None)] if self.rng.random() < 0.1 else [])
            found.append(record._replace(value=value, headers=headers))
        return found


def write_histories(kafka: RealKafka, seed: int, *, partitions: int, steps: int) -> None:
    """Starts the Kafka to create topics, stops it, and writes long histories into the partitions."""
    with kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        topics = [
            NewTopic(name, partitions, 1, config={"message.timestamp.type": kind, "retention.ms": "-1"})
            for name, kind in TOPICS.items()
        ]
        for created in admin.create_topics(topics).values():
            created.result(60)
    rng = random.Random(seed)
    for name, kind in TOPICS.items():
        for partition in range(partitions):
            config = LogConfig(message_timestamp_type=kind)
            writer = ReadableHistory(rng, kafka.log_dir / f"{name}-{partition}", keys=50, config=config)
            writer.write(steps)
            writer.close()


def decoded(path: Path, *, is_compiled: bool) -> list[Row]:
    """All records of a segment, control records too, in the order of their offsets."""
    rows: list[Row] = []
    for chunk in read_chunks(path):
        assert isinstance(chunk, BatchTable), chunk
        matches, damage = check_crcs(chunk)
        assert not damage
        for item in decode_chunk(chunk, matches, columns=ALL_COLUMNS, is_compiled=is_compiled):
            assert not isinstance(item, Damage), item
            rows += item.columns.to_pylist()
    return sorted(rows, key=lambda row: int(row["offset"]))


def consumed_form(row: Row) -> list[Any]:
    """A decoded record in the form in which ConsumerOracle prints records."""

    def text(value: bytes | None) -> str | None:
        return None if value is None else value.hex()

    headers = [[header["key"], text(header["value"])] for header in row["headers"] or []]
    numbers = [row[name] for name in ("offset", "timestamp", "timestampType", "partitionLeaderEpoch")]
    return [*numbers, text(row["key"]), text(row["value"]), headers]


def check_consumer(kafka: RealKafka) -> int:
    """Compares each partition with Kafka's consumer; returns the number of aborted records."""
    aborted_records = 0
    with ConsumerOracle() as consumer:
        for partition in find_partitions(kafka.log_dir, TOPICS):
            everything = [row for segment in partition.segments for row in decoded(segment.path, is_compiled=True)]
            data = [row for row in everything if not row["isControl"]]
            gone = aborted_offsets(partition.path)
            aborted_records += len(gone)
            for isolation, left_out in (("read_uncommitted", set[int]()), ("read_committed", gone)):
                order = {"servers": kafka.bootstrap_servers, "topic": partition.topic, "isolation": isolation}
                read = consumer.order(order | {"partition": partition.partition})
                expected = [consumed_form(row) for row in data if row["offset"] not in left_out]
                assert read == expected, f"{partition.name} {isolation}"
    return aborted_records


def aborted_offsets(directory: Path) -> set[int]:
    """The offsets of records that a read_committed consumer does not receive."""
    aborted = aborted_transactions(directory, 0, 1 << 62)
    found: set[int] = set()
    for path in directory.glob("*.log"):
        for chunk in read_chunks(path):
            assert isinstance(chunk, BatchTable)
            for item in decode_chunk(chunk, is_aborted(chunk, aborted) & ~chunk.is_control, columns=["offset"]):
                assert not isinstance(item, Damage)
                found.update(item.columns.column("offset").to_pylist())
    return found


BATCH_LINE = re.compile(
    r"baseOffset: (\d+) lastOffset: (\d+) count: (\d+) baseSequence: (-?\d+) lastSequence: (-?\d+) producerId: (-?\d+) "
    r"producerEpoch: (-?\d+) partitionLeaderEpoch: (\d+) isTransactional: (\w+) isControl: (\w+) deleteHorizonMs: \S+ "
    r"position: (\d+) (\w+): (-?\d+) size: (\d+) magic: 2 compresscodec: (\w+) crc: (\d+) isvalid: true"
)
RECORD_LINE = re.compile(
    r"\| offset: (\d+) (\w+): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) sequence: (-?\d+) headerKeys: \[(.*?)\]"
    r"(?: key: (.*?))?(?: payload: (.*))?"
)
CONTROL_LINE = re.compile(
    r"\| offset: (\d+) (\w+): (-?\d+) keySize: (\d+) valueSize: (\d+) sequence: -1 headerKeys: .*"
)


def check_dump(path: Path, lines: list[str]) -> int:
    """Compares one segment's lines with the decoder; returns the number of empty batches."""
    batches = expected_batches(path)
    rows = decoded(path, is_compiled=True)
    assert decoded(path, is_compiled=False) == rows
    by_batch: dict[int, list[Row]] = {}
    for row in rows:
        by_batch.setdefault(row["batchPosition"], []).append(row)
    printed_batches = []
    for line in lines:
        if (batch := BATCH_LINE.fullmatch(line)) is not None:
            printed_batches.append(batch.groups())
            waiting = iter(by_batch.pop(int(batch[11]), []))
            continue
        assert line.startswith("| offset: "), line
        row = next(waiting)
        check_record(line, row, printed_batches[-1])
    assert not by_batch
    assert printed_batches == batches
    return sum(batch[2] == "0" for batch in batches)


def expected_batches(path: Path) -> list[tuple[str, ...]]:
    """The batch headers in the form in which BATCH_LINE finds them in a dump."""
    found = []
    for chunk in read_chunks(path):
        assert isinstance(chunk, BatchTable)
        attributes = chunk.column("attributes")
        sequences, deltas = chunk.column("base_sequence"), chunk.column("last_offset_delta")
        columns = [
            chunk.column("base_offset"),
            chunk.last_offsets,
            chunk.column("records_count"),
            sequences,
            numpy.where(sequences < 0, -1, sequences + deltas),
            *(chunk.column(name) for name in ("producer_id", "producer_epoch", "partition_leader_epoch")),
            [str(bool(bits & 0x10)).lower() for bits in attributes.tolist()],
            [str(bool(bits & 0x20)).lower() for bits in attributes.tolist()],
            chunk.positions + chunk.file_position,
            [TYPE_NAMES[bits >> 3 & 1] for bits in attributes.tolist()],
            chunk.column("max_timestamp"),
            chunk.sizes,
            [("none", "gzip", "snappy", "lz4", "zstd")[bits & 7] for bits in attributes.tolist()],
            chunk.column("crc"),
        ]
        found += [tuple(map(str, row)) for row in zip(*columns, strict=True)]
    return found


def check_record(line: str, row: Row, batch: tuple[str | Any, ...]) -> None:
    """Compares a record's line and its batch's line with the decoded row."""
    base_offset, producer_id, producer_epoch, leader_epoch = (int(batch[index]) for index in (0, 5, 6, 7))
    expected_batch = (base_offset, int(batch[10]), leader_epoch, producer_id, producer_epoch)
    names = ("batchBaseOffset", "batchPosition", "partitionLeaderEpoch", "producerId", "producerEpoch")
    assert tuple(row[name] for name in names) == expected_batch
    assert (str(row["isTransactional"]).lower(), str(row["isControl"]).lower()) == (batch[8], batch[9])
    assert row["compression"] == batch[14]
    match = (CONTROL_LINE if row["isControl"] else RECORD_LINE).fullmatch(line)
    assert match is not None, line
    key, value = row["key"], row["value"]
    sizes = tuple(-1 if field is None else len(field) for field in (key, value))
    time = (TYPE_NAMES[row["timestampType"]], row["timestamp"])
    assert (int(match[1]), (match[2], int(match[3])), (int(match[4]), int(match[5]))) == (row["offset"], time, sizes)
    if not row["isControl"]:
        assert int(match[6]) == row["sequence"]
        assert match[7] == ",".join(header["key"] for header in row["headers"] or [])
        assert (match[8], match[9]) == tuple(None if field is None else field.decode() for field in (key, value))


def check_histories(directory: Path, seed: int, *, partitions: int, steps: int) -> None:
    java_or_skip()
    print(f"check_histories(tmp_path, {seed}, partitions={partitions}, steps={steps}) replays it")
    kafka = RealKafka(directory)
    write_histories(kafka, seed, partitions=partitions, steps=steps)
    with kafka:
        assert check_consumer(kafka) > 0
    paths = [path for name in TOPICS for path in sorted(kafka.log_dir.glob(f"{name}-*/*.log"))]
    dumped = kafka_dump("--deep-iteration", "--print-data-log", "--files", comma_separated(paths))
    empty = sum(check_dump(path, lines) for path, lines in by_file(dumped.out))
    assert empty > 0
    assert {row["compression"] for path in paths for row in decoded(path, is_compiled=True)} == {
        *("none", "gzip", "snappy", "lz4", "zstd")
    }


def by_file(lines: list[str]) -> Iterator[tuple[Path, list[str]]]:
    """The parts of a dump, by file."""
    path: Path | None = None
    found: list[str] = []
    for line in lines:
        if line.startswith("Dumping "):
            if path is not None:
                yield path, found
            path, found = Path(line.removeprefix("Dumping ")), []
        elif not line.startswith("Log starting offset: "):
            found.append(line)
    assert path is not None
    yield path, found


@pytest.mark.ci
@pytest.mark.java
def test_records_and_batches_equal_what_kafka_reads_and_prints(tmp_path: Path) -> None:
    check_histories(tmp_path, 1, partitions=2, steps=100)


@pytest.mark.long
@pytest.mark.java
@pytest.mark.parametrize("seed", range(10))
def test_records_and_batches_equal_kafkas_for_long(tmp_path: Path, seed: int) -> None:
    check_histories(tmp_path, 100 + seed, partitions=5, steps=1000)
