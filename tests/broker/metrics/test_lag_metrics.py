"""The lag of groups in records and seconds: with real consumers, and the limits of the measurement."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from prometheus_client import generate_latest

from odradek.broker.metrics.lag_metrics import (
    LOOKED_AT_A_PIECE,
    MAX_LAGS,
    PIECES_A_REQUEST,
    CommittedTopic,
    LagMetrics,
    LagSources,
)
from odradek.broker.metrics.pieces import encoded
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.read_result import TimestampAndOffset
from odradek.storage.log.timestamp_search import UNREAD_BYTES
from odradek.testing import InProcessBroker

from .metric_samples import Samples, samples_in, samples_of

METRICS = {"odradek.metrics.listener": "127.0.0.1:0"}
RECORDS, SECONDS, OFFSET = "odradek_group_lag_records", "odradek_group_lag_seconds", "odradek_group_committed_offset"
COUNT = ("kafka_coordinator_group_groupmetadatamanager_numoffsets",)
NOW_MS = 1_700_000_100_000


@pytest.mark.kafka(topics="orders:2", configs=METRICS)
def test_lag_of_a_group(kafka: InProcessBroker) -> None:
    for second in range(4):
        kafka.produce("orders", f"record {second}", partition=0)
        kafka.advance(seconds=10)
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 1), TopicPartition("orders", 1, 0)], asynchronous=False)
    (oldest,) = [one for one in kafka.records("orders") if one.offset == 1]
    samples = samples_of(kafka)
    assert samples[RECORDS, "readers", "0", "orders"] == 3
    assert samples[OFFSET, "readers", "0", "orders"] == 1
    assert samples[RECORDS, "readers", "1", "orders"] == samples[SECONDS, "readers", "1", "orders"] == 0
    assert samples[COUNT] == 2
    waited_s = samples[SECONDS, "readers", "0", "orders"]
    assert waited_s >= 30, f"the record of {oldest.timestamp} is 30 s old by the broker's clock"
    kafka.advance(minutes=1)
    later_s = samples_of(kafka)[SECONDS, "readers", "0", "orders"]
    assert later_s >= waited_s + 60, "the record's time is known already, and it waits on"
    consumer.commit(offsets=[TopicPartition("orders", 0, 4)], asynchronous=False)
    done = samples_of(kafka)
    assert done[RECORDS, "readers", "0", "orders"] == done[SECONDS, "readers", "0", "orders"] == 0
    consumer.close()


def log_of(directory: Path, times: Sequence[Sequence[int]], config: LogConfig | None = None) -> Log:
    """A log with a batch for each sequence of timestamps."""
    log = Log.open(directory / "orders-0", config or LogConfig(), now_ms=NOW_MS)
    for batch in times:
        records = [Record(offset, time, None, b"x", []) for offset, time in enumerate(batch)]
        log.appender.append_as_leader(encode_batch(records), 0, NOW_MS)
    return log


def time_at(log: Log, offset: int) -> int | None:
    """The timestamp of the first data record at or after an offset."""
    found = run_to_end(log.find_record(offset))
    return None if found is None else found.timestamp


def test_the_time_is_that_of_the_record(tmp_path: Path) -> None:
    times = [[NOW_MS - 9, NOW_MS - 1], [NOW_MS - 3, NOW_MS - 4], [-1]]
    log = log_of(tmp_path, times, LogConfig(segment_bytes=150))
    assert len(log.segments) > 1
    found = [time_at(log, offset) for offset in range(6)]
    assert found == [NOW_MS - 9, NOW_MS - 1, NOW_MS - 3, NOW_MS - 4, -1, None]
    log.close()


def test_the_time_of_a_record_in_a_compressed_batch(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "orders-0", LogConfig(), now_ms=NOW_MS)
    records = [Record(number, NOW_MS - number, None, b"x" * 100, []) for number in range(2000)]
    log.appender.append_as_leader(encode_batch(records, compression=CompressionType.ZSTD), 0, NOW_MS)
    assert time_at(log, 1500) == NOW_MS - 1500
    log.close()


def test_a_large_batch_is_not_read(tmp_path: Path) -> None:
    """All its records count with the timestamp of the first one."""
    log = Log.open(tmp_path / "orders-0", LogConfig(max_message_bytes=2 * UNREAD_BYTES), now_ms=NOW_MS)
    value = bytes(UNREAD_BYTES // 3)
    records = [
        Record(offset, time, None, value, []) for offset, time in enumerate((NOW_MS - 9, NOW_MS - 1, NOW_MS - 2))
    ]
    log.appender.append_as_leader(encode_batch(records), 0, NOW_MS)
    assert time_at(log, 1) == NOW_MS - 9
    log.close()


def test_the_time_of_an_append_by_the_brokers_clock(tmp_path: Path) -> None:
    log = log_of(tmp_path, [[5, 6]], LogConfig(message_timestamp_type="LogAppendTime"))
    assert time_at(log, 0) == time_at(log, 1) == NOW_MS
    log.close()


@pytest.mark.kafka(topics="orders", configs=METRICS)
def test_the_marker_of_a_transaction_does_not_wait(kafka: InProcessBroker) -> None:
    """A reader may commit the offset of the marker. Its lag is one record, as in Kafka, but zero seconds."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": "writer"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("orders", b"one")
    producer.commit_transaction()
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "readers"})
    consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    kafka.advance(minutes=1)
    samples = samples_of(kafka)
    assert (samples[RECORDS, "readers", "0", "orders"], samples[SECONDS, "readers", "0", "orders"]) == (1, 0)
    kafka.produce("orders", b"two")
    kafka.advance(minutes=1)
    assert samples_of(kafka)[SECONDS, "readers", "0", "orders"] >= 60
    consumer.close()


def metrics_of(
    committed: dict[str, dict[int, int]], logs: Sequence[int], log: Log, pieces_a_request: int = PIECES_A_REQUEST
) -> LagMetrics:
    """The metrics of one topic's groups; ``logs``: the partitions that have ``log``."""

    def offsets() -> Iterator[CommittedTopic]:
        for group_id, partitions in committed.items():
            yield CommittedTopic(group_id, "orders", iter(list(partitions.items())))

    sources = LagSources(offsets, lambda _, partition: log if partition in logs else None, lambda: NOW_MS)
    return LagMetrics(sources, pieces_a_request)


def read(metrics: LagMetrics) -> Samples:
    return samples_in(b"".join(encoded(metrics, generate_latest)).decode())


def test_beyond_the_limit_the_largest_lags_are_shown_and_the_others_as_a_sum(tmp_path: Path) -> None:
    log = log_of(tmp_path, [[NOW_MS - 5_000]] * 3)
    committed = {f"g{number}": {0: 1} for number in range(MAX_LAGS + 50)} | {"slow": {0: 0}, "away": {7: 5}}
    samples = read(metrics_of(committed, [0], log))
    shown = {key[1:]: value for key, value in samples.items() if key[0] == RECORDS}
    assert len(shown) == MAX_LAGS + 1
    assert shown["slow", "0", "orders"] == 3
    assert shown["others", "", ""] == 51 * 2
    assert samples[SECONDS, "slow", "0", "orders"] == 5
    assert samples[COUNT] == MAX_LAGS + 52
    log.close()


def test_without_a_copy_here_only_the_committed_offset_is_known(tmp_path: Path) -> None:
    log = log_of(tmp_path, [[NOW_MS]])
    samples = read(metrics_of({"away": {7: 5}}, [], log))
    assert samples == {(OFFSET, "away", "7", "orders"): 5, COUNT: 1}
    log.close()


def test_a_look_at_many_offsets_goes_on_with_the_next_request(tmp_path: Path) -> None:
    log = log_of(tmp_path, [[NOW_MS]])
    offsets = 2 * 3 * LOOKED_AT_A_PIECE + 1
    metrics = metrics_of({"many": dict.fromkeys(range(offsets), 0)}, [], log, pieces_a_request=3)
    counts = [read(metrics)[COUNT] for _ in range(4)]
    assert counts == [0, 0, offsets, offsets]
    log.close()


def test_a_piece_reads_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lags = 20
    log = log_of(tmp_path, [[NOW_MS - 1_000, NOW_MS - 500]] * lags)
    reads: list[int] = []
    find_record = log.find_record

    def find(offset: int) -> Steps[TimestampAndOffset | None]:
        reads.append(offset)
        return find_record(offset)

    monkeypatch.setattr(log, "find_record", find)
    metrics = metrics_of({f"g{number}": {0: 2 * number + 1} for number in range(lags)} | {"too": {0: 1}}, [0], log)
    before = 0
    for _ in metrics.pieces():
        assert len(reads) - before <= 1
        before = len(reads)
    assert len(reads) == lags, "two groups at one offset wait for one record"
    assert read(metrics)[SECONDS, "g0", "0", "orders"] == 0.5
    assert len(reads) == lags, "the times are known"
    log.close()


def test_a_log_that_fails_has_no_time(tmp_path: Path) -> None:
    log = log_of(tmp_path, [[NOW_MS]])
    log.health.failure = OSError("gone")
    samples = read(metrics_of({"readers": {0: 0}}, [0], log))
    assert samples[RECORDS, "readers", "0", "orders"] == 1
    assert (SECONDS, "readers", "0", "orders") not in samples
