"""Edge cases of timestamps on Odradek and a real Kafka: CreateTime, LogAppendTime, their limits, offsets by time."""

from collections.abc import Callable
from typing import Any

import pytest

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.configs import IncrementalAlterConfigsRequest
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from parity.side import BASE_TIME_MS, DEADLINE_S, Side, batch, same
from parity.two_brokers import TwoBrokers
from support.eventually import eventually

pytestmark = pytest.mark.java

LATEST, MAX_TIMESTAMP = -1, -3
TOPIC_RESOURCE, SET = 2, 0
HOUR_MS = 3_600_000
STAMPED = {"message.timestamp.type": "LogAppendTime"}


def at(*times: int, **fields: Any) -> bytes:
    return encode_batch([Record(i, time_ms, b"k", b"v", []) for i, time_ms in enumerate(times)], **fields)


def offset_of(side: Side, name: str, timestamp: int, version: int = 11) -> dict[str, Any]:
    wanted = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=timestamp)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(name, [wanted])])
    found: dict[str, Any] = side.ask(request, version)["topics"][0]["partitions"][0]
    return found


def produce_later(side: Side, name: str, data: bytes, than_ms: int) -> int:
    """Produces to a LogAppendTime topic until the broker's clock is past ``than_ms``. Returns the last append time.

    Batches appended before that stay, so the brokers may have different numbers of batches before the last one.
    """
    while True:
        answer = side.produce(name, data)
        assert answer["errorCode"] == 0
        stamped: int = answer["logAppendTimeMs"]
        if stamped > than_ms:
            return stamped


def alter(side: Side, name: str, key: str, value: str) -> None:
    change = IncrementalAlterConfigsRequest.AlterableConfig(key, SET, value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(TOPIC_RESOURCE, name, [change])
    side.ask(IncrementalAlterConfigsRequest([resource]), 1)


# Accepted timestamps.

LIMITS: list[tuple[str, dict[str, str], Callable[[], bytes], int]] = [
    ("young-enough", {"message.timestamp.before.max.ms": "60000"}, lambda: at(clock_ms() - 5_000), 0),
    ("one-record-too-old", {"message.timestamp.before.max.ms": "60000"},
     lambda: at(clock_ms(), clock_ms() - HOUR_MS, clock_ms()), 32),
    ("one-compressed-record-too-old", {"message.timestamp.before.max.ms": "60000"},
     lambda: at(clock_ms(), clock_ms() - HOUR_MS, clock_ms(), compression=CompressionType.ZSTD), 32),
    ("all-too-old", {"message.timestamp.before.max.ms": "0"}, lambda: at(1, 2), 32),
    ("soon-enough", {"message.timestamp.after.max.ms": "60000"}, lambda: at(clock_ms() + 5_000), 0),
    ("too-soon", {"message.timestamp.after.max.ms": "1000"}, lambda: at(clock_ms(), clock_ms() + HOUR_MS), 32),
    ("one-compressed-record-too-soon", {"message.timestamp.after.max.ms": "1000"},
     lambda: at(clock_ms(), clock_ms() + HOUR_MS, clock_ms(), compression=CompressionType.LZ4), 32),
    ("no-limit-after", {"message.timestamp.after.max.ms": str((1 << 63) - 1)}, lambda: at(clock_ms() * 2), 0),
    ("both-limits", {"message.timestamp.before.max.ms": "1000", "message.timestamp.after.max.ms": "1000"},
     lambda: at(clock_ms() - HOUR_MS, clock_ms() + HOUR_MS), 32),
    ("stamped-has-no-limit-before", STAMPED | {"message.timestamp.before.max.ms": "0"}, lambda: at(1), 0),
    ("stamped-has-no-limit-after", STAMPED | {"message.timestamp.after.max.ms": "0"}, lambda: at(clock_ms() * 2), 0),
    ("too-old-and-without-a-key", {"message.timestamp.before.max.ms": "1000", "cleanup.policy": "compact"},
     lambda: encode_batch([Record(0, 1, None, b"v", []), Record(1, 1, b"k", b"v", [])]), 32),
    ("too-old-and-recompressed", {"message.timestamp.before.max.ms": "1000", "compression.type": "gzip"},
     lambda: at(1), 32),
    ("stamped-and-recompressed", STAMPED | {"compression.type": "lz4"}, lambda: at(5, 3, 4), 0),
]  # fmt: skip


@pytest.mark.parametrize(("configs", "make", "error"), [case[1:] for case in LIMITS], ids=[case[0] for case in LIMITS])
def test_which_times_are_taken(
    both: TwoBrokers,
    request: pytest.FixtureRequest,
    configs: dict[str, str],
    make: Callable[[], bytes],
    error: int,
) -> None:
    name = f"trap-limits-{request.node.callspec.id}"
    data = make()

    def scene(side: Side) -> Any:
        side.topic(name, configs=configs)
        answer = side.produce(name, data)
        for refused in answer["recordErrors"]:
            del refused["batchIndexErrorMessage"]
        answer.pop("errorMessage")  # contains the time of the broker's clock
        stamped = answer.pop("logAppendTimeMs")
        found = offset_of(side, name, MAX_TIMESTAMP)
        if configs.items() >= STAMPED.items():
            assert found["timestamp"] == stamped > BASE_TIME_MS
            found["timestamp"] = "the broker's"
        return [answer, stamped > 0, found]

    assert same(both, scene)[0]["errorCode"] == error


# Offsets by time.


def test_offsets_by_log_append_time(both: TwoBrokers) -> None:
    """All records of a batch have its append time, so the first is the answer, also for the maximum timestamp."""

    def scene(side: Side) -> Any:
        name = side.topic("trap-append-times", configs=STAMPED)
        first = produce_later(side, name, batch(9, 8, 7), 0)
        start = offset_of(side, name, LATEST)["offset"]
        second = produce_later(side, name, batch(1, 2, compression=CompressionType.GZIP), first)
        found = {
            at_time: offset_of(side, name, timestamp)
            for at_time, timestamp in {
                "zero": 0,
                "first": first,
                "after-first": first + 1,
                "last": second,
                "after-last": second + 1,
                "greatest": MAX_TIMESTAMP,
            }.items()
        }
        end = offset_of(side, name, LATEST)["offset"]
        times = {first: "first", second: "last", -1: "none"}
        assert end - start >= 2
        return {
            key: (times[one["timestamp"]], one["offset"] - (end if one["timestamp"] == second else 0), one["errorCode"])
            for key, one in found.items()
        }

    assert same(both, scene)["greatest"] == ("last", -2, 0)


@pytest.mark.parametrize(("before", "after"), [("CreateTime", "LogAppendTime"), ("LogAppendTime", "CreateTime")])
def test_a_topic_whose_type_of_time_is_altered(both: TwoBrokers, before: str, after: str) -> None:
    """Stored records keep their timestamps. The producer's CreateTime is earlier than any append time."""

    def scene(side: Side) -> Any:
        name = side.topic(f"trap-altered-{before}", 2, configs={"message.timestamp.type": before})
        side.produce(name, batch(100, 300, 200))
        alter(side, name, "message.timestamp.type", after)

        def is_applied() -> bool:  # Kafka's logs apply it after its answer
            return bool(side.produce(name, batch(1), partition=1)["logAppendTimeMs"] > 0) is (after == "LogAppendTime")

        eventually("the altered timestamp type", is_applied, patience_s=DEADLINE_S)
        answer = side.produce(name, batch(500, 400))
        found = [offset_of(side, name, t)["offset"] for t in (0, BASE_TIME_MS + 201, BASE_TIME_MS + 301, MAX_TIMESTAMP)]
        return [answer["logAppendTimeMs"] > 0, [one["attributes"] for one in side.batches(name)], found]

    same(both, scene)


MAX_TIME = (1 << 63) - 1


@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("before", [0, 1, 63, 64, 65, 1 << 31, (1 << 31) + 1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_times_near_the_limit_of_64_bits(both: TwoBrokers, policy: str, before: int, codec: CompressionType) -> None:
    """The sum of base timestamp and delta wraps in Java; no such batch may stop a search by time."""
    wanted = (MAX_TIME, MAX_TIME - before, MAX_TIME - before - 100, 5, MAX_TIMESTAMP)

    def scene(side: Side) -> Any:
        name = f"times-near-the-limit-{policy}-{before}-{codec.name}"
        side.topic(name, 1, {"message.timestamp.after.max.ms": str(MAX_TIME), "cleanup.policy": policy})
        answers = [
            side.produce(name, data)["errorCode"]
            for data in (at(MAX_TIME - before, MAX_TIME - before - 70, compression=codec), at(7, MAX_TIME - before))
        ]
        return answers, [offset_of(side, name, time) for time in wanted]

    same(both, scene)


def test_offsets_of_records_without_time(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-no-times")
        side.produce(name, at(-1, -1))
        first = [offset_of(side, name, timestamp) for timestamp in (0, 1, MAX_TIMESTAMP)]
        side.produce(name, batch(10))
        side.produce(name, at(-1))
        return [first, [offset_of(side, name, timestamp) for timestamp in (0, BASE_TIME_MS + 11, MAX_TIMESTAMP)]]

    same(both, scene)


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.SNAPPY])
def test_offsets_by_time_over_many_segments(both: TwoBrokers, compression: CompressionType) -> None:
    """Timestamps are out of order between batches and segments. Every edge value is requested."""
    times = [50, 10, 90, 90, 20, 120, 60, 119, 30, 121, 5, 80, 121, 7]

    def scene(side: Side) -> Any:
        configs = {"internal.segment.bytes": "200", "index.interval.bytes": "0"}
        name = side.topic(f"trap-segments-{compression.name.lower()}", configs=configs)
        for one in times:
            side.produce(name, batch(one, one - 3, one + 1, compression=compression))
        asked = sorted({t + near for t in times for near in (-4, -3, -2, 0, 1, 2)})
        by_time = [offset_of(side, name, BASE_TIME_MS + t) for t in asked]
        return [by_time, offset_of(side, name, MAX_TIMESTAMP)]

    by_time, greatest = same(both, scene)
    assert greatest["offset"] == 3 * times.index(121) + 2, "the first of those that have it"
    assert by_time[-1]["offset"] == -1
