"""Edge cases of cleaning and retention: the same fixed steps on Odradek and on a real Kafka.

Tests of requests use the brokers that all parity tests share. Tests of logs start their own brokers, which run cleaning
and retention several times a second.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from parity.side import BASE_TIME_MS, Side, batch, same
from parity.two_brokers import TwoBrokers
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = pytest.mark.java

BROKER, TOPIC = 4, 2
SET, DELETE = 0, 1
THREADS, BUFFER = "log.cleaner.threads", "log.cleaner.dedupe.buffer.size"
Described = DescribeConfigsRequest.DescribeConfigsResource


def alter(
    side: Side, kind: int, name: str, configs: dict[str, str | None], *, validate_only: bool = False
) -> tuple[int, str | None]:
    """Sets the configs that have a value, and deletes the others. Returns the error code and message."""
    changes = [
        IncrementalAlterConfigsRequest.AlterableConfig(key, DELETE if value is None else SET, value)
        for key, value in configs.items()
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(kind, name, changes)
    answer = side.ask(IncrementalAlterConfigsRequest([resource], validate_only), 1)["responses"][0]
    return answer["errorCode"], answer["errorMessage"]


def value_of(side: Side, kind: int, name: str, key: str) -> str:
    """The value of a config in DescribeConfigs."""
    [result] = side.ask(DescribeConfigsRequest([Described(kind, name, [key])]), 4)["results"]
    value: str = result["configs"][0]["value"]
    return value


def answers_to(side: Side, name: str, sizes: range | list[int]) -> list[Any]:
    """The answers to requests that only validate each number of cleaner threads."""
    return [(size, alter(side, BROKER, name, {THREADS: str(size)}, validate_only=True)) for size in sizes]


def changed_to(side: Side, name: str, value: str | None, shown: str) -> tuple[int, str | None]:
    """Changes the number of cleaner threads, and waits until the broker shows it; Kafka applies it with a delay."""
    answer = alter(side, BROKER, name, {THREADS: value})
    eventually("the new value", lambda: value_of(side, BROKER, "1", THREADS) == shown)
    return answer


def test_cleaner_threads_become_at_most_twice_and_at_least_half_as_many(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        facts: list[Any] = [answers_to(side, "", range(1, 6)), answers_to(side, "1", range(1, 6))]
        facts.append(changed_to(side, "", "2", "2"))
        facts.append(changed_to(side, "", "4", "4"))
        facts.append(answers_to(side, "", range(1, 11)))
        facts.append(changed_to(side, "1", "8", "8"))
        # The config of the broker overrides the cluster-wide default, so this broker does not change.
        facts += [answers_to(side, "", [1, 2, 4, 8, 16, 17]), answers_to(side, "1", [3, 4, 16, 17])]
        facts.append(alter(side, BROKER, "1", {THREADS: "0"})[0])
        older = AlterConfigsRequest.AlterConfigsResource(
            BROKER, "1", [AlterConfigsRequest.AlterableConfig(THREADS, "17")]
        )
        facts.append(side.ask(AlterConfigsRequest([older], True), 2)["responses"])
        facts.append(answers_to(side, "1", [1000]))  # each thread's offset map would be too small
        facts.append(alter(side, BROKER, "1", {BUFFER: "1048576"}, validate_only=True))
        facts.append(alter(side, BROKER, "1", {BUFFER: str(8 << 20)}, validate_only=True))
        facts.append(alter(side, BROKER, "1", {BUFFER: str((8 << 20) + 8)}, validate_only=True))
        facts.append(changed_to(side, "1", None, "4"))
        facts.append(alter(side, BROKER, "", {THREADS: None}, validate_only=True))  # 1 is less than half of 4
        facts.append(changed_to(side, "", "2", "2"))
        facts.append(changed_to(side, "", None, "1"))
        for key in ("background.threads", "num.recovery.threads.per.data.dir", "num.replica.fetchers"):
            facts += [
                alter(side, BROKER, "", {key: size}, validate_only=True) for size in ("1", "2", "4", "5", "20", "21")
            ]
        return facts

    same(both, scene)


def test_local_retention_without_tiered_storage(both: TwoBrokers) -> None:
    """Every number is accepted, also above ``retention.*``: the limit applies only with tiered storage."""

    def scene(side: Side) -> Any:
        facts: list[Any] = []
        questions = [
            {f"local.retention.{unit}": local, f"retention.{unit}": whole}
            for unit in ("ms", "bytes")
            for local in ("-3", "-2", "-1", "0", "1000")
            for whole in ("-1", "500")
        ]
        questions += [{"remote.storage.enable": "true"}, {"remote.storage.enable": "false", "local.retention.ms": "5"}]
        questions += [
            {"local.retention.ms": "soon"},
            {"local.retention.bytes": ""},
            {"remote.log.copy.disable": "true"},
        ]
        name = side.topic("local-retention")
        for number, configs in enumerate(questions):
            wanted = [CreateTopicsRequest.CreatableTopicConfig(*item) for item in configs.items()]
            topic = CreateTopicsRequest.CreatableTopic(f"local-{number}", 1, 1, [], wanted)
            [created] = side.ask(CreateTopicsRequest([topic], 5000, True), 7)["topics"]
            facts.append((configs, created["errorCode"], created["errorMessage"]))
            facts.append((configs, *alter(side, TOPIC, name, {**configs}, validate_only=True)))
        facts += [
            (unit, *alter(side, BROKER, "", {f"log.local.retention.{unit}": value}, validate_only=True))
            for unit in ("ms", "bytes")
            for value in ("-3", "-2", "-1", "0", "1000")
        ]
        return facts

    same(both, scene)


class Logs:
    """Topics with small segments on one broker."""

    def __init__(self, side: Side) -> None:
        self.side = side

    def make(self, name: str, **configs: str) -> None:
        """Creates a topic with forty records of four keys, two records in a segment."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        small = {"internal.segment.bytes": "200", "min.cleanable.dirty.ratio": "0.01"}
        self.side.topic(name, 1, {**small, **named})
        self.fill(name, 40)

    def fill(self, name: str, count: int) -> None:
        """Produces ``count`` records, one after the other."""
        for number in range(count):
            assert self.side.produce(name, batch(number, key=b"key-%d" % (number % 4)))["errorCode"] == 0

    def start_of(self, name: str) -> int:
        """The log start offset."""
        return self.offset_at(name, -2)

    def end_of(self, name: str) -> int:
        """The log end offset."""
        return self.offset_at(name, -1)

    def offset_at(self, name: str, timestamp: int) -> int:
        """The answer of ListOffsets to a time in ms, or to a special timestamp."""
        partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp)
        request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(name, [partition])])
        offset: int = self.side.ask(request, 2)["topics"][0]["partitions"][0]["offset"]
        return offset

    def offsets(self, name: str) -> list[int]:
        """The offsets of all records."""
        offsets: list[int] = []
        position = self.start_of(name)
        while position < 40:
            batches = self.side.batches(name, position)
            if not batches:
                break  # the last records were cleaned
            offsets += [record[0] for one in batches for record in one["records"]]
            position = batches[-1]["offsets"][1] + 1
        return offsets

    def pass_of_retention(self) -> None:
        """Waits for a complete round of retention: twice, records that were just produced are deleted."""
        for _ in range(2):
            end = self.end_of("kept-short")
            self.fill("kept-short", 4)
            eventually("a later start", lambda end=end: self.start_of("kept-short") > end)  # type: ignore[misc]


@pytest.fixture(params=[True, False], ids=["cleaner", "no-cleaner"])
def sides(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[bool, list[Logs]]]:
    """Odradek and a Kafka that check retention every 100 ms, with and without the cleaner."""
    keys = {
        "log.cleaner.enable": str(request.param).lower(),
        "log.cleaner.backoff.ms": "100",
        "log.initial.task.delay.ms": "100",
        "log.retention.check.interval.ms": "100",
    }
    for name in ("ours", "kafka"):
        (tmp_path / name).mkdir()
    with Wire() as wire, OurBroker(tmp_path / "ours", keys) as ours, RealKafka(tmp_path / "kafka", keys) as kafka:
        yield request.param, [Logs(Side(wire, ours.port, True)), Logs(Side(wire, kafka.port, False))]


@pytest.mark.ci
def test_what_goes_with_and_without_the_cleaner(sides: tuple[bool, list[Logs]]) -> None:
    """With ``log.cleaner.enable=false``, topics with ``compact`` or ``compact,delete`` keep all records.

    Topics with ``delete`` are not affected. ``local.retention.*`` removes nothing without tiered storage.
    """
    has_cleaner, both = sides
    found = []
    for logs in both:
        logs.make("compacted", cleanup_policy="compact")
        logs.make("both", cleanup_policy="compact,delete", retention_bytes="0")
        logs.make("local", local_retention_bytes="0", local_retention_ms="0")
        logs.make("kept-short", retention_bytes="0")
        if has_cleaner:
            eventually("it is cleaned", partial(is_cleaned, logs))
            eventually("a later start", lambda logs=logs: logs.start_of("both") == 40)  # type: ignore[misc]
        logs.pass_of_retention()
        assert logs.start_of("local") == 0
        assert logs.offsets("local") == list(range(40))
        assert logs.start_of("compacted") == 0
        if not has_cleaner:
            assert logs.offsets("compacted") == logs.offsets("both") == list(range(40))
        found.append([(name, logs.start_of(name), logs.offsets(name)) for name in ("compacted", "both", "local")])
    assert found[0] == found[1]


def is_cleaned(logs: Logs) -> bool:
    """Returns True if all segments except the active one are cleaned: they then have one record for each key."""
    return len(logs.offsets("compacted")) <= 6


@pytest.mark.ci
@pytest.mark.parametrize("sides", [True], ids=["cleaner"], indirect=True)
def test_a_search_by_time_passes_over_a_segment_without_records(sides: tuple[bool, list[Logs]]) -> None:
    """Kafka stops in the first segment whose largest timestamp is at or after the time. The cleaner leaves an empty
    batch there, because it has the last sequence number of a producer, so Kafka finds nothing (docs/differences.md).
    """
    now_ms = clock_ms()
    first, second, third = (now_ms - BASE_TIME_MS + after for after in (100, 200, 300))
    found = []
    for logs in sides[1]:
        small = {"internal.segment.bytes": "200", "min.cleanable.dirty.ratio": "0.01", "cleanup.policy": "compact"}
        name = logs.side.topic("searched", 1, small)
        producer_id, epoch = logs.side.producer_id()
        overwritten = batch(first, size=50, producer_id=producer_id, producer_epoch=epoch, base_sequence=0)
        for data in (overwritten, batch(second, size=50), batch(third, key=b"other", size=50)):
            assert logs.side.produce(name, data)["errorCode"] == 0
        eventually("it is cleaned", partial(has_no_record_in_the_first_segment, logs, name))
        found.append([logs.offset_at(name, now_ms + after) for after in (50, 150)])
    assert found == [[1, 1], [-1, 1]]


def has_no_record_in_the_first_segment(logs: Logs, name: str) -> bool:
    return not any(one["records"] for one in logs.side.batches(name, 0))
