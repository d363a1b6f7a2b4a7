"""Edge cases of ListOffsets and OffsetForLeaderEpoch: the same fixed requests to Odradek and to a real Kafka."""

from typing import Any

import pytest

from odradek.protocol.messages.offsets import (
    DeleteRecordsRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from odradek.protocol.records.compression import CompressionType
from parity.side import BASE_TIME_MS, Side, batch, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

TOPIC = "trap-times"
FULL, EMPTY, CUT, EMPTIED = 0, 1, 2, 3
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    """Partitions with offsets 0 to 6, at 100, 300, 200; 400, 400, 500 (compressed); 450 ms.

    The first partition keeps all records, the second has lost the first two, the third all.
    """

    def scene(side: Side) -> Any:
        side.topic(TOPIC, 4)
        for partition in (FULL, CUT, EMPTIED):
            side.produce(TOPIC, batch(100, 300, 200), partition=partition)
            side.produce(TOPIC, batch(400, 400, 500, compression=CompressionType.GZIP), partition=partition)
            side.produce(TOPIC, batch(450), partition=partition)
        cut = [
            DeleteRecordsRequest.DeleteRecordsPartition(CUT, 2),
            DeleteRecordsRequest.DeleteRecordsPartition(EMPTIED, -1),
        ]
        return side.ask(DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(TOPIC, cut)], 5000), 2)

    same(both, scene)


def list_offsets(side: Side, timestamp: int, version: int, partition: int = FULL, **fields: Any) -> Any:
    isolation = fields.pop("isolation_level", 0)
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition, timestamp=timestamp, **fields)
    request = ListOffsetsRequest(-1, isolation, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, [wanted])])
    return side.ask(request, version)["topics"][0]["partitions"][0]


BY_TIME = [
    ("before-the-first-record", 0, 0, 100),
    ("off-by-one-below-the-first-record", 99, 0, 100),
    ("equal-to-the-first-record", 100, 0, 100),
    ("off-by-one-above-the-first-record", 101, 1, 300),
    ("the-record-not-its-batch", 150, 1, 300),
    ("times-out-of-order-in-a-batch", 200, 1, 300),
    ("the-maximum-of-a-batch", 300, 1, 300),
    ("just-above-the-maximum-of-a-batch", 301, 3, 400),
    ("the-first-of-equal-times", 400, 3, 400),
    ("a-record-inside-a-compressed-batch", 401, 5, 500),
    ("earlier-than-a-later-smaller-time", 450, 5, 500),
    ("equal-to-the-largest-time", 500, 5, 500),
    ("nothing-is-later", 501, -1, None),
    ("far-in-the-future", 10**12, -1, None),
]


@pytest.mark.parametrize(("at", "offset", "time"), [case[1:] for case in BY_TIME], ids=[case[0] for case in BY_TIME])
@pytest.mark.parametrize("version", [1, 4, 11])
def test_list_offsets_by_time(both: TwoBrokers, version: int, at: int, offset: int, time: int | None) -> None:
    seen = same(both, lambda side: list_offsets(side, BASE_TIME_MS + at, version))
    assert (seen["errorCode"], seen["offset"]) == (0, offset)
    assert seen["timestamp"] == (-1 if time is None else BASE_TIME_MS + time)


@pytest.mark.parametrize("timestamp", [LATEST, MAX_TIMESTAMP, BASE_TIME_MS + 450])
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_list_offsets_knows_the_isolation_level(both: TwoBrokers, isolation_level: int, timestamp: int) -> None:
    seen = same(both, lambda side: list_offsets(side, timestamp, 8, isolation_level=isolation_level))
    assert seen["offset"] == (7 if timestamp == LATEST else 5)


SPECIAL = [
    ("latest", FULL, LATEST, 7),
    ("earliest", FULL, EARLIEST, 0),
    ("max-timestamp-is-a-record-not-the-last", FULL, MAX_TIMESTAMP, 5),
    ("earliest-local", FULL, EARLIEST_LOCAL, 0),
    ("latest-tiered", FULL, LATEST_TIERED, -1),
    ("earliest-pending-upload", FULL, EARLIEST_PENDING_UPLOAD, -1),
    ("latest-of-none", EMPTY, LATEST, 0),
    ("earliest-of-none", EMPTY, EARLIEST, 0),
    ("max-timestamp-of-none", EMPTY, MAX_TIMESTAMP, -1),
    ("a-time-of-none", EMPTY, BASE_TIME_MS, -1),
    ("earliest-after-delete-records", CUT, EARLIEST, 2),
    ("earliest-local-after-delete-records", CUT, EARLIEST_LOCAL, 2),
    ("earliest-of-emptied", EMPTIED, EARLIEST, 7),
]


@pytest.mark.parametrize(
    ("partition", "timestamp", "offset"), [case[1:] for case in SPECIAL], ids=[case[0] for case in SPECIAL]
)
def test_list_offsets_of_special_times(both: TwoBrokers, partition: int, timestamp: int, offset: int) -> None:
    seen = same(both, lambda side: list_offsets(side, timestamp, 11, partition))
    assert seen["offset"] == offset


@pytest.mark.parametrize("partition", [CUT, EMPTIED])
@pytest.mark.parametrize("timestamp", [BASE_TIME_MS, BASE_TIME_MS + 250, BASE_TIME_MS + 450, MAX_TIMESTAMP])
def test_list_offsets_by_time_below_the_log_start(both: TwoBrokers, partition: int, timestamp: int) -> None:
    """The first record at or after a time may have been deleted."""
    same(both, lambda side: list_offsets(side, timestamp, 7, partition))


@pytest.mark.parametrize(
    ("timestamp", "version"),
    [(MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (EARLIEST_PENDING_UPLOAD, 10), (-7, 11), (-100, 1)],
)
def test_list_offsets_of_a_special_time_newer_than_the_version(both: TwoBrokers, timestamp: int, version: int) -> None:
    seen = same(both, lambda side: list_offsets(side, timestamp, version))
    assert seen["errorCode"] == 35  # UNSUPPORTED_VERSION


@pytest.mark.parametrize(("epoch", "error"), [(-1, 0), (0, 0), (1, 75), (-5, 74)])
def test_list_offsets_checks_the_leader_epoch(both: TwoBrokers, epoch: int, error: int) -> None:
    seen = same(both, lambda side: list_offsets(side, LATEST, 5, current_leader_epoch=epoch))
    assert seen["errorCode"] == error  # UNKNOWN_LEADER_EPOCH, FENCED_LEADER_EPOCH


def test_list_offsets_of_one_partition_twice(both: TwoBrokers) -> None:
    wanted = [ListOffsetsRequest.ListOffsetsPartition(FULL, timestamp=timestamp) for timestamp in (LATEST, EARLIEST)]
    request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, wanted)])
    seen = same(both, lambda side: side.ask(request, 8))
    assert [p["errorCode"] for p in seen["topics"][0]["partitions"]] == [42]  # INVALID_REQUEST


@pytest.mark.parametrize("replica_id", [-2, 0, 1, 5])
def test_list_offsets_from_somebody_who_says_he_is_a_replica(both: TwoBrokers, replica_id: int) -> None:
    wanted = [ListOffsetsRequest.ListOffsetsPartition(FULL, timestamp=LATEST)]
    request = ListOffsetsRequest(replica_id, 0, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, wanted)])
    same(both, lambda side: side.ask(request, 8))


def leader_epochs(
    side: Side, epoch: int, *, current: int = -1, partition: int = FULL, topic: str = TOPIC, replica_id: int = -1
) -> Any:
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition, current, epoch)
    request = OffsetForLeaderEpochRequest(
        replica_id, [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic, [wanted])]
    )
    return side.ask(request, 4)


EPOCHS: list[tuple[str, dict[str, Any]]] = [
    ("the-current-one", {"epoch": 0}),
    ("an-unknown-later-one", {"epoch": 5}),
    ("undefined", {"epoch": -1}),
    ("negative", {"epoch": -7}),
    ("a-fenced-client", {"epoch": 0, "current": -2}),
    ("a-client-that-knows-a-later-leader", {"epoch": 0, "current": 3}),
    ("an-empty-partition", {"epoch": 0, "partition": EMPTY}),
    ("a-later-one-of-an-empty-partition", {"epoch": 1, "partition": EMPTY}),
    ("below-the-log-start", {"epoch": 0, "partition": CUT}),
    ("an-emptied-partition", {"epoch": 0, "partition": EMPTIED}),
    ("an-unknown-partition", {"epoch": 0, "partition": 9}),
    ("an-unknown-topic", {"epoch": 0, "topic": "nowhere"}),
    ("from-a-replica", {"epoch": 0, "replica_id": 1}),
]


@pytest.mark.parametrize("fields", [case[1] for case in EPOCHS], ids=[case[0] for case in EPOCHS])
def test_offset_for_leader_epoch(both: TwoBrokers, fields: dict[str, Any]) -> None:
    same(both, lambda side: leader_epochs(side, **fields))


DELETE = [
    ("below-the-start", 1),
    ("the-start", 2),
    ("in-a-batch", 4),
    ("the-end", 7),
    ("behind-the-end", 8),
    ("negative", -2),
]


@pytest.mark.parametrize("offset", [case[1] for case in DELETE], ids=[case[0] for case in DELETE])
def test_delete_records(both: TwoBrokers, offset: int) -> None:
    def scene(side: Side) -> Any:
        name = side.topic(f"trap-delete-{offset}")
        side.produce(name, batch(1, 2, 3))
        side.produce(name, batch(4, 5, 6, 7))
        answers = []
        for to in (2, offset):
            partition = DeleteRecordsRequest.DeleteRecordsPartition(0, to)
            request = DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(name, [partition])], 5000)
            answers.append(side.ask(request, 2))
        return [*answers, side.fetch(name, 2), side.fetch(name, 4), side.batches(name, 6)]

    same(both, scene)


OLD_STYLE: list[tuple[str, int, int, list[int]]] = [
    ("latest", LATEST, 1, [3]),
    ("latest-several", LATEST, 10, [3, 2, 1, 0]),
    ("latest-two", LATEST, 2, [3, 2]),
    ("latest-none-wanted", LATEST, 0, []),
    ("earliest", EARLIEST, 10, [0]),
    ("segments-written-by-a-time-before-all", 1000, 10, []),
    ("segments-written-by-a-time-after-all", 4_000_000_000_000, 10, [3, 2, 1, 0]),
]


@pytest.fixture(scope="module")
def old_style_topic(both: TwoBrokers) -> str:
    """A topic of three segments with one record each, on ours."""
    side = Side(both.wire, both.ours.port, True)
    name = side.topic("trap-old-style", configs={"segment.bytes": "1048576"})
    for _ in range(3):
        assert side.produce(name, batch(1, size=700_000))["errorCode"] == 0
    return name


@pytest.mark.parametrize(
    ("timestamp", "count", "offsets"), [case[1:] for case in OLD_STYLE], ids=[case[0] for case in OLD_STYLE]
)
def test_list_offsets_version_0_means_segments(
    both: TwoBrokers, old_style_topic: str, timestamp: int, count: int, offsets: list[int]
) -> None:
    """Version 0 returns the base offsets of segments last written before a time. Kafka served it up to 3.9."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(0, timestamp=timestamp, max_num_offsets=count)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(old_style_topic, [wanted])])
    response = Side(both.wire, both.ours.port, True).raw(request, 0)
    answered = response.topics[0].partitions[0]  # type: ignore[attr-defined]
    assert (answered.error_code, answered.old_style_offsets) == (0, offsets)
