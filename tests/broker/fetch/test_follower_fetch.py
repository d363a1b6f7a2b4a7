"""The fetch of a follower at the leader: its records, and when it is answered."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random

import pytest

from odradek.broker.fetch.session import FetchSessionCache
from odradek.broker.metadata.image.image import BrokerRegistration, PartitionImage
from odradek.broker.replicas.isr import Follower, InSyncReplicas
from odradek.broker.replicas.leaders import Leaders
from odradek.broker.replicas.leading import Leading
from odradek.broker.timers.slices import Slices, slice_clock_ms
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.storage.log.log_config import LogConfig

from ..append_path import TOPIC, AppendPath, batch, turns
from ..leading_common import leading_common

LEADER, FOLLOWER, BROKER_EPOCH = 1, 2, 7
TOPIC_ID = b"t" * 16
VERSION = 15


def registration(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, BROKER_EPOCH, bytes(16), {}, {}, None, fenced=False, in_controlled_shutdown=False, directories=()
    )


def lead(path: AppendPath, index: int, clock_ms: Callable[[], int]) -> None:
    """Broker 1 leads the partition, broker 2 follows it in the ISR."""
    partition = path.partition(index)
    partition.log.offsets.set_high_watermark(0)
    partition.leading = Leading(
        TOPIC,
        TOPIC_ID,
        index,
        partition.log,
        InSyncReplicas(LEADER, 30_000, registration),
        partition.notify,
        leading_common(LEADER, clock_ms),
    )
    replicas = (LEADER, FOLLOWER)
    partition.leading.lead(PartitionImage(replicas, (bytes(16),) * 2, replicas, LEADER, 0, 0), 1)


class Clock:
    """A monotonic clock that a test moves."""

    now_ms = 1_000


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def path(tmp_path: Path, clock: Clock) -> AsyncIterator[AppendPath]:
    path = AppendPath(tmp_path, LogConfig(), partitions=2)
    path.broker.fetch_sessions = FetchSessionCache(10, 120_000, Random(1))
    for index in range(2):
        lead(path, index, lambda: clock.now_ms)
    yield path
    await path.close()


def fetch(
    offsets: dict[int, int],
    session: tuple[int, int] = (0, -1),
    wait_ms: int = 600_000,
    broker_epoch: int = BROKER_EPOCH,
    last_epoch: int = -1,
) -> FetchRequest:
    """A fetch of the follower from these offsets, which waits for ten minutes. ``session``: its id and epoch."""
    partitions = [
        FetchRequest.FetchPartition(
            index,
            current_leader_epoch=0,
            fetch_offset=offset,
            last_fetched_epoch=last_epoch,
            partition_max_bytes=1 << 20,
        )
        for index, offset in offsets.items()
    ]
    topics = [FetchRequest.FetchTopic(topic_id=TOPIC_ID, partitions=partitions)] if partitions else []
    return FetchRequest(
        replica_state=FetchRequest.ReplicaState(FOLLOWER, broker_epoch),
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=topics,
    )


def sizes(response: FetchResponse) -> dict[int, int]:
    """Partition -> bytes of records."""
    return {one.partition_index: len(one.records or b"") for topic in response.responses for one in topic.partitions}


async def test_waiting_fetch_is_answered_by_an_append(path: AppendPath) -> None:
    """The answer has the new batch as soon as the leader has it. The producer waits until the follower's next fetch."""
    waiting = path.send(ApiKey.FETCH, VERSION, fetch({0: 0, 1: 0}))
    await turns()
    assert not waiting.done()
    produced = path.produce({0: batch()})
    await turns()
    assert sizes(waiting.result()) == {0: len(batch()), 1: 0}
    assert not produced.done()
    path.send(ApiKey.FETCH, VERSION, fetch({0: 1, 1: 0}))
    await turns()
    assert produced.done()


async def test_append_during_the_read_of_a_fetch_answers_it(path: AppendPath) -> None:
    """A fetch completes a write to partition 1. The producer's next write is to partition 0, which the fetch has
    already read.

    Producers pipeline their requests, and the next one is served as soon as one is answered.
    """

    def next_request(_: KafkaError | None) -> None:
        path.produce({0: batch()})

    await path.produce({1: batch()}, acks=1)
    leading = path.partition(1).leading
    assert leading is not None
    leading.when_replicated(1, next_request)
    fetched = path.send(ApiKey.FETCH, VERSION, fetch({0: 0, 1: 1}))
    await turns()
    assert fetched.done()
    assert sizes(fetched.result()) == {0: len(batch()), 1: 0}


async def open_session(path: AppendPath) -> int:
    """Opens a session of both partitions, which are empty, and fetches once more without changes; returns its id."""
    first = await path.send(ApiKey.FETCH, VERSION, fetch({0: 0, 1: 0}, (0, 0), wait_ms=0))
    assert await answered(path, fetch({}, (first.session_id, 1), wait_ms=0)) == {}
    return int(first.session_id)


async def answered(path: AppendPath, request: FetchRequest) -> dict[int, int]:
    return sizes(await path.send(ApiKey.FETCH, VERSION, request))


def follower_of(path: AppendPath, index: int) -> Follower:
    leading = path.partition(index).leading
    assert leading is not None
    return leading.isr.followers[FOLLOWER]


async def test_fetch_notes_the_time_of_partitions_with_nothing_new(path: AppendPath, clock: Clock) -> None:
    """A follower with all records of an idle partition is caught up at each of its fetches."""
    session_id = await open_session(path)
    clock.now_ms = 5_000
    assert await answered(path, fetch({}, (session_id, 2), wait_ms=0)) == {}
    assert [follower_of(path, index).caught_up_ms for index in range(2)] == [5_000, 5_000]


async def test_append_to_an_idle_partition_answers_a_waiting_fetch(path: AppendPath) -> None:
    session_id = await open_session(path)
    waiting = path.send(ApiKey.FETCH, VERSION, fetch({}, (session_id, 2)))
    await turns()
    assert not waiting.done()
    path.produce({1: batch()})
    await turns()
    assert sizes(waiting.result()) == {1: len(batch())}
    assert await answered(path, fetch({1: 1}, (session_id, 3), wait_ms=0)) == {1: 0}, "it learns the high watermark"
    assert path.log(1).high_watermark == 1


async def test_idle_partition_is_read_again_where_something_has_changed(path: AppendPath) -> None:
    """Changes are another broker epoch of the follower, a later leader epoch, and another log start offset."""
    session_id = await open_session(path)
    stale = await path.send(ApiKey.FETCH, VERSION, fetch({}, (session_id, 2), broker_epoch=BROKER_EPOCH - 1))
    assert codes(stale) == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER, 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    path.partition(0).lead(1)
    later = await path.send(ApiKey.FETCH, VERSION, fetch({}, (session_id, 3)))
    assert codes(later)[0] == ErrorCode.FENCED_LEADER_EPOCH
    await path.produce({1: batch()}, acks=1)
    await answered(path, fetch({0: 0, 1: 1}, (session_id, 4), wait_ms=0))
    assert await answered(path, fetch({}, (session_id, 5), wait_ms=0)) == {0: 0}, "only the refused one is news"
    path.log(1).offsets.increment_log_start_offset(1)
    assert 1 in await answered(path, fetch({}, (session_id, 6)))


async def test_follower_that_has_appended_all_moves_the_high_watermark(path: AppendPath) -> None:
    """The fetch after an append reads nothing. Its answer has the high watermark that it has advanced."""
    session = await open_session(path)
    for offset in range(3):
        waiting = path.send(
            ApiKey.FETCH, VERSION, fetch({0: offset}, (session, 2 + offset), last_epoch=0 if offset else -1)
        )
        produced = path.produce({0: batch()})
        await turns()
        [topic] = waiting.result().responses
        [data] = topic.partitions
        assert (len(data.records), data.high_watermark, data.error_code) == (len(batch()), offset, 0)
        assert not produced.done()
    last = path.send(ApiKey.FETCH, VERSION, fetch({0: 3}, (session, 5), last_epoch=0))
    await turns()
    assert produced.done()
    assert not last.done()


async def test_high_watermark_that_an_answer_left_out_is_in_the_next_one(path: AppendPath) -> None:
    session = await open_session(path)
    await path.produce({0: batch()}, acks=1)
    assert await answered(path, fetch({}, (session, 2), wait_ms=0)) == {0: len(batch())}
    assert await answered(path, fetch({0: 1}, (session, 3), wait_ms=0, last_epoch=0)) == {}
    assert path.partition(0).log.high_watermark == 1
    [topic] = (await path.send(ApiKey.FETCH, VERSION, fetch({}, (session, 4), wait_ms=0))).responses
    assert [(one.partition_index, one.high_watermark) for one in topic.partitions] == [(0, 1)]
    assert await answered(path, fetch({}, (session, 5), wait_ms=0)) == {}


@pytest.mark.parametrize(
    ("broker_epoch", "last_epoch", "error"),
    [(BROKER_EPOCH - 1, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER), (BROKER_EPOCH, 9, ErrorCode.OFFSET_OUT_OF_RANGE)],
    ids=["before its last start", "of another log"],
)
async def test_fetch_of_a_session_that_is_no_proof_moves_nothing(
    path: AppendPath, broker_epoch: int, last_epoch: int, error: ErrorCode
) -> None:
    session = await open_session(path)
    await path.produce({0: batch()}, acks=1)
    await answered(path, fetch({}, (session, 2), wait_ms=0))
    request = fetch({0: 1}, (session, 3), broker_epoch=broker_epoch, last_epoch=last_epoch)
    [topic] = (await path.send(ApiKey.FETCH, VERSION, request)).responses
    assert {one.partition_index: one.error_code for one in topic.partitions}[0] == error
    assert path.partition(0).log.high_watermark == 0


async def test_followers_get_the_same_answer_of_one_read(path: AppendPath) -> None:
    await path.produce({0: batch()}, acks=1)
    leading = path.partition(0).leading
    assert leading is not None
    first = leading.read(0, 1 << 20, min_one_batch=True)
    size = len(first.records or b"")
    assert leading.read(0, size - 1, min_one_batch=False).records == b"", "too large for this one"
    assert leading.read(0, 1 << 20, min_one_batch=True) is first
    await path.produce({0: batch()}, acks=1)
    assert len(leading.read(0, 1 << 20, min_one_batch=True).records or b"") == 2 * size, "the log has grown"
    assert leading.read(1, 1 << 20, min_one_batch=True).log_start_offset == 0
    path.partition(0).log.offsets.set_high_watermark(1)
    path.partition(0).log.offsets.increment_log_start_offset(1)
    assert leading.read(1, 1 << 20, min_one_batch=True).log_start_offset == 1


async def test_end_of_a_leadership_answers_the_fetch_that_waits(path: AppendPath) -> None:
    session_id = await open_session(path)
    waiting = path.send(ApiKey.FETCH, VERSION, fetch({}, (session_id, 2)))
    await turns()
    assert not waiting.done()
    path.partition(1).refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await turns()
    assert codes(waiting.result()) == {1: ErrorCode.NOT_LEADER_OR_FOLLOWER}


def codes(response: FetchResponse) -> dict[int, int]:
    return {one.partition_index: one.error_code for topic in response.responses for one in topic.partitions}


async def test_election_answers_the_fetches_that_wait(path: AppendPath) -> None:
    """The follower's next fetch has the new partition, so its writes do not wait for the end of a fetch without it."""
    due: list[Callable[[], None]] = []
    leaders = Leaders(
        LEADER,
        30_000,
        registration,
        leading_common(LEADER, lambda: 0),
        lambda delay_s, callback: due.append(callback),
        Slices(asyncio.get_running_loop().call_soon, slice_clock_ms),
    )
    replicas = (LEADER, FOLLOWER)
    image = PartitionImage(replicas, (bytes(16),) * 2, replicas, LEADER, 0, 0)
    for index in range(2):
        path.partition(index).resign()
        leaders.lead(path.partition(index), image, LogConfig(), 0)
    assert len(due) == 1, "one call for all elections of that time"
    waiting = path.send(ApiKey.FETCH, VERSION, fetch({0: 0}))
    await turns()
    assert not waiting.done()
    due.pop()()
    await turns()
    assert sizes(waiting.result()) == {0: 0}
    path.partition(1).resign()
    leaders.lead(path.partition(1), image, LogConfig(), 0)
    assert len(due) == 1, "a later election calls again"
