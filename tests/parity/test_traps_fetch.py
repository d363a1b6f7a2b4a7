"""Edge cases of Fetch: the same fixed requests to Odradek and to a real Kafka."""

from typing import Any

import pytest

from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.offsets import DeleteRecordsRequest
from odradek.protocol.messages.topics import DeleteTopicsRequest
from odradek.protocol.records.compression import CompressionType
from parity.side import Side, batch, fetch_request, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

TOPIC = "trap-fetch"
FOR_EVER_MS = 2_000_000_000
HUGE = 2_000_000_000


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    """Partition 0 has batches of offsets 0-2, 3-5 (compressed) and 6. In 1, offsets below 2 are deleted. 2 is empty."""

    def scene(side: Side) -> Any:
        side.topic(TOPIC, 3)
        for partition in (0, 1):
            side.produce(TOPIC, batch(1, 2, 3), partition=partition)
            side.produce(TOPIC, batch(4, 5, 6, compression=CompressionType.GZIP), partition=partition)
            side.produce(TOPIC, batch(7), partition=partition)
        cut = [DeleteRecordsRequest.DeleteRecordsPartition(1, 2)]
        return side.ask(DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(TOPIC, cut)], 5000), 2)

    same(both, scene)


def known(side: Side) -> Side:
    """Learns the topic's id, and returns the side."""
    side.learn_ids()
    return side


AT = [
    ("the-beginning", {}, 0, 0),
    ("the-middle-of-a-batch", {}, 1, 0),
    ("the-middle-of-a-compressed-batch", {}, 4, 0),
    ("the-last-record", {}, 6, 0),
    ("the-end", {}, 7, 0),
    ("above-the-end", {}, 8, 1),
    ("negative", {}, -1, 1),
    ("below-the-log-start", {"partition": 1}, 1, 1),
    ("the-log-start-inside-a-batch", {"partition": 1}, 2, 0),
    ("an-empty-partition", {"partition": 2}, 0, 0),
    ("above-an-empty-partition", {"partition": 2}, 1, 1),
    ("an-unknown-partition", {"partition": 3}, 0, 3),
    ("a-negative-partition", {"partition": -1}, 0, 3),
    ("an-unknown-leader-epoch", {"current_leader_epoch": 9}, 0, 75),
    ("a-negative-leader-epoch", {"current_leader_epoch": -5}, 0, 0),
    ("a-last-fetched-epoch", {"last_fetched_epoch": 0}, 3, 0),
    ("a-later-last-fetched-epoch", {"last_fetched_epoch": 4}, 3, 1),
    ("a-last-fetched-epoch-above-the-end", {"last_fetched_epoch": 0}, 9, 0),
    ("no-bytes-at-all", {"partition_max_bytes": 0}, 0, 0),
    ("one-byte", {"partition_max_bytes": 1}, 0, 0),
    ("a-batch-and-a-half", {"partition_max_bytes": 150}, 0, 0),
]


@pytest.mark.parametrize(("fields", "offset", "error"), [case[1:] for case in AT], ids=[case[0] for case in AT])
@pytest.mark.parametrize("version", [12, 18])
def test_fetch_from(both: TwoBrokers, version: int, fields: dict[str, Any], offset: int, error: int) -> None:
    seen = same(both, lambda side: known(side).fetch(TOPIC, offset, version=version, partition=fields))
    assert seen["responses"][0]["partitions"][0]["errorCode"] == error


@pytest.mark.parametrize("offset", [0, 1, 3, 4, 5, 6, 7])
def test_fetch_answers_whole_batches_from_the_one_with_the_offset(both: TwoBrokers, offset: int) -> None:
    seen = same(both, lambda side: side.batches(TOPIC, offset))
    assert all(stored["offsets"][1] >= offset for stored in seen)


@pytest.mark.parametrize("max_bytes", [0, 1, 100, 150, 300])
def test_fetch_returns_one_batch_however_small_the_limit(both: TwoBrokers, max_bytes: int) -> None:
    def scene(side: Side) -> Any:
        wanted = [side.wanted(TOPIC, 0), side.wanted(TOPIC, 2, partition=1), side.wanted(TOPIC, 0, partition=2)]
        return side.ask(fetch_request(wanted, max_bytes=max_bytes), 12)

    same(both, scene)


@pytest.mark.parametrize(
    "second",
    [(TOPIC, 99, {"partition": 2}), (TOPIC, 0, {"partition": 1})],
    ids=["out-of-range", "below-the-log-start"],
)
@pytest.mark.parametrize("version", [4, 12, 13])
def test_fetch_completes_at_once_where_a_partition_has_an_error(
    both: TwoBrokers, version: int, second: tuple[str, int, dict[str, Any]]
) -> None:
    def scene(side: Side) -> Any:
        name, offset, fields = second
        wanted = [known(side).wanted(TOPIC, 7, partition=0), side.wanted(name, offset, **fields)]
        return side.ask(fetch_request(wanted, min_bytes=HUGE, max_wait_ms=FOR_EVER_MS), version, "patient")

    same(both, scene)


@pytest.mark.parametrize("second", [("nowhere", {}), (TOPIC, {"partition": 9})], ids=["topic", "partition"])
@pytest.mark.parametrize("version", [4, 12, 13])
def test_fetch_of_what_is_not_there_answers_at_once(
    both: TwoBrokers, version: int, second: tuple[str, dict[str, Any]]
) -> None:
    """Kafka waits here, so its request waits for at most 50 ms. The answers are equal (docs/differences.md)."""

    def scene(side: Side) -> Any:
        wanted = [known(side).wanted(TOPIC, 7), side.wanted(second[0], 0, **second[1])]
        wait_ms = FOR_EVER_MS if side.is_ours else 50
        return side.ask(fetch_request(wanted, min_bytes=HUGE, max_wait_ms=wait_ms), version, "patient")

    same(both, scene)


def test_fetch_of_nothing_does_not_wait(both: TwoBrokers) -> None:
    request = fetch_request([], min_bytes=HUGE, max_wait_ms=FOR_EVER_MS)
    assert same(both, lambda side: side.ask(request, 12, "nothing"))["responses"] == []


def test_fetch_waits_no_longer_than_it_says(both: TwoBrokers) -> None:
    request_fields = {"min_bytes": HUGE, "max_wait_ms": 50}
    same(both, lambda side: side.ask(fetch_request([side.wanted(TOPIC, 0)], **request_fields), 12))


def test_a_produce_on_another_connection_releases_a_waiting_fetch(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-long-poll")
        side.send(fetch_request([side.wanted(name)], min_bytes=1, max_wait_ms=FOR_EVER_MS), 12, "poll")
        produced = side.produce(name, batch(1, 2))
        return [produced, side.receive("poll")]

    seen = same(both, scene)
    assert seen[1]["responses"][0]["partitions"][0]["highWatermark"] == 2


def test_a_waiting_fetch_wants_its_min_bytes(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-min-bytes")
        data = batch(1, 2)
        side.send(fetch_request([side.wanted(name)], min_bytes=len(data) + 1, max_wait_ms=FOR_EVER_MS), 12, "poll")
        for _ in range(2):
            side.produce(name, data)
        return side.receive("poll")

    seen = same(both, scene)
    assert seen["responses"][0]["partitions"][0]["highWatermark"] == 2 * 2


def test_deleting_a_topic_releases_a_waiting_fetch(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-poll-deleted")
        side.send(fetch_request([side.wanted(name)], min_bytes=1, max_wait_ms=FOR_EVER_MS), 12, "poll")
        deleted = side.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
        return [deleted, side.receive("poll")["responses"][0]["partitions"][0]["errorCode"] != 0]

    assert same(both, scene)[1] is True


@pytest.mark.parametrize("replica_id", [0, 1, 2, 99])
@pytest.mark.parametrize("version", [4, 14, 15, 18])
def test_a_client_is_no_replica_by_saying_so(both: TwoBrokers, version: int, replica_id: int) -> None:
    """CVE-2018-1288: a client with a replica id gets no records, and does not move the high watermark."""

    def scene(side: Side) -> Any:
        fields: dict[str, Any] = (
            {"replica_id": replica_id}
            if version < 15
            else {"replica_state": FetchRequest.ReplicaState(replica_id, 1 if replica_id == 1 else -1)}
        )
        request = fetch_request([known(side).wanted(TOPIC, 0)], **fields)
        return [side.answer(request, version, "replica"), side.fetch(TOPIC, 7)]

    same(both, scene)


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_fetch_with_an_isolation_level(both: TwoBrokers, isolation_level: int) -> None:
    same(both, lambda side: side.fetch(TOPIC, 0, isolation_level=isolation_level))


@pytest.mark.parametrize("version", [4, 9, 10])
def test_fetch_of_a_zstd_topic_in_any_version(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        name = side.topic(f"trap-zstd-{version}", configs={"compression.type": "zstd"})
        return [side.produce(name, batch(1, 2)), side.fetch(name, 0, version=version)]

    seen = same(both, scene)
    assert seen[1]["responses"][0]["partitions"][0]["errorCode"] == 0


# Sessions (KIP-227).


class Session:
    """A fetch session as a client keeps it."""

    def __init__(self, side: Side, version: int, *wanted: FetchRequest.FetchTopic) -> None:
        self.side = side
        self.version = version
        self.opened = side.ask(fetch_request(wanted, session_epoch=0), version)
        self.id = self.opened["sessionId"]
        self.epoch = 1

    def fetch(
        self,
        *wanted: FetchRequest.FetchTopic,
        forget: list[FetchRequest.ForgottenTopic] | None = None,
        **fields: Any,
    ) -> Any:
        """Sends an incremental fetch."""
        given = {"session_id": self.id, "session_epoch": self.epoch, "forgotten_topics_data": forget or [], **fields}
        body = self.side.ask(fetch_request(wanted, **given), fields.pop("version", self.version))
        if body["errorCode"] == 0:
            self.epoch += 1
        return {**body, "goesOn": body["sessionId"] == self.id}


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_an_incremental_answer_names_only_what_changed(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        name = side.topic(f"trap-session-{version}", 3)
        session = Session(side, version, *(side.wanted(name, 0, partition=index) for index in range(3)))
        answers = [session.opened, session.opened["sessionId"] != 0, session.fetch()]
        side.produce(name, batch(1), partition=1)
        answers += [session.fetch(), session.fetch(side.wanted(name, 1, partition=1)), session.fetch()]
        return answers

    seen = same(both, scene)
    assert [len(answer["responses"]) for answer in (seen[0], *seen[2:])] == [1, 0, 1, 0, 0]


@pytest.mark.parametrize("version", [7, 13])
def test_forgotten_partitions_are_not_answered(both: TwoBrokers, version: int) -> None:
    def scene(side: Side) -> Any:
        name = side.topic(f"trap-forget-{version}", 2)
        session = Session(side, version, side.wanted(name, 0), side.wanted(name, 0, partition=1))
        answers = []
        for partition in (0, 1):
            side.produce(name, batch(1), partition=partition)
        forgotten = FetchRequest.ForgottenTopic(name, side.topic_ids[name], [0])
        answers.append(session.fetch(forget=[forgotten]))
        answers.append(session.fetch(side.wanted(name, 0)))
        both_partitions = FetchRequest.ForgottenTopic(name, side.topic_ids[name], [0, 1])
        answers.append(session.fetch(forget=[both_partitions]))
        answers.append(session.fetch(side.wanted(name, 0)))
        return answers

    same(both, scene)


@pytest.mark.parametrize(
    ("session_id", "epoch", "error"),
    [(None, 5, 71), (None, 0, 0), (None, -1, 0), (12345, 1, 70), (0, 1, 70), (0, 7, 70), (-1, -1, 0), (None, -2, 71)],
)
def test_session_ids_and_epochs_that_are_wrong(
    both: TwoBrokers, session_id: int | None, epoch: int, error: int
) -> None:
    def scene(side: Side) -> Any:
        session = Session(side, 12, side.wanted(TOPIC, 7))
        asked_id = session.id if session_id is None else session_id
        answer = session.fetch(side.wanted(TOPIC, 0), session_id=asked_id, session_epoch=epoch)
        session.epoch = 1
        del answer["goesOn"]
        return [answer, answer["sessionId"] != 0, session.fetch()]

    seen = same(both, scene)
    assert seen[0]["errorCode"] == error


@pytest.mark.parametrize(("first", "then"), [(12, 13), (13, 12)])
def test_a_session_by_name_is_none_by_id(both: TwoBrokers, first: int, then: int) -> None:
    def scene(side: Side) -> Any:
        session = Session(side, first, known(side).wanted(TOPIC, 7))
        session.version = then
        return [session.fetch(side.wanted(TOPIC, 0)), session.fetch()]

    assert same(both, scene)[0]["errorCode"] == 106  # FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_of_no_partitions(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        session = Session(side, 12)
        return [session.opened, session.id != 0, session.fetch(), session.fetch()]

    same(both, scene)


def test_a_session_remembers_an_error_until_it_is_over(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        session = Session(side, 12, side.wanted(TOPIC, 99), side.wanted(TOPIC, 7, partition=1))
        return [session.opened, session.fetch(), session.fetch(), session.fetch(side.wanted(TOPIC, 7)), session.fetch()]

    same(both, scene)


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_made_anew_under_an_open_session(both: TwoBrokers, version: int) -> None:
    """A session by topic id keeps the old id and gets INCONSISTENT_TOPIC_ID. A session by name finds the new topic."""

    def scene(side: Side) -> Any:
        name = side.topic(f"trap-anew-{version}")
        side.produce(name, batch(1, 2, 3))
        session = Session(side, version, side.wanted(name, 3))
        side.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5)
        side.topic(name)
        answer = session.fetch(min_bytes=HUGE, max_wait_ms=FOR_EVER_MS)
        return [answer, session.fetch(side.wanted(name, 0))]

    seen = same(both, scene)
    code = seen[0]["responses"][0]["partitions"][0]["errorCode"]
    assert code == (103 if version == 13 else 1)


def test_a_new_segment_is_read_across(both: TwoBrokers) -> None:
    def scene(side: Side) -> Any:
        name = side.topic("trap-segments", configs={"segment.bytes": "1048576"})
        for _ in range(4):
            side.produce(name, batch(1, size=600_000))
        limits: dict[str, Any] = {"max_bytes": 10 << 20, "partition": {"partition_max_bytes": 10 << 20}}
        return [side.fetch(name, offset, **limits) for offset in range(5)]

    same(both, scene)
