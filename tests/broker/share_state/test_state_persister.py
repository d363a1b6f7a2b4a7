"""The persister: where it asks, what it asks again, and the order of the questions about a share partition."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.share_state.operations import (
    DONE,
    Answer,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    SummarizeOperation,
    WriteOperation,
    refused,
)
from odradek.broker.share_state.persister import Persister, ReadState, StateSummary
from odradek.broker.share_state.remote import ShareStatePeers, StateQuestion
from odradek.broker.share_state.state_persister import FIRST_PAUSE_MS, RETRIABLE, StatePersister
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.names.topics import SHARE_STATE_TOPIC
from support.groups.harness import VirtualTimers, image_with_topics

from .harness import KEY, TOPIC, ShareHarness

HERE, THERE = 1, 2
TIMEOUT_MS = 30_000
STATES = {SHARE_STATE_TOPIC: (b"s" * 16, 50)}


def image_of(leader: int = HERE, *, has_states: bool = True) -> MetadataImage:
    image = image_with_topics({"t": (TOPIC, 4), **(STATES if has_states else {})})
    for topic in image.topics_by_id.values():
        for index, partition in topic.partitions.items():
            topic.partitions[index] = partition._replace(leader=leader)
    return image


@dataclass
class Cluster:
    """A persister whose share coordinators, here and there, are the test."""

    image: MetadataImage = field(default_factory=image_of)
    answers: list[ErrorCode | StateOutcome] = field(default_factory=list)
    """The answers of the next questions; without one, the question stays open."""
    can_create: bool = True

    def __post_init__(self) -> None:
        self.timers = VirtualTimers()
        self.asked: list[tuple[int, SharePartitionKey, Operation, Answer]] = []
        peers = cast(ShareStatePeers, self)
        self.persister = StatePersister(
            HERE, self, peers, lambda: self.image, self._create, self.timers, lambda: self.timers.now_ms, TIMEOUT_MS
        )
        self.told: list[Any] = []

    def _create(self, name: str, now_ms: int) -> None:
        assert name == SHARE_STATE_TOPIC
        if not self.can_create:
            raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR)
        self.image = image_of()

    def ask(self, key: Any, operation: Any, now_ms: int = 0, reply: Any = None) -> None:  # of the coordinator
        if isinstance(operation, StateQuestion):  # of the peers
            self._asked(key, operation.share_partition, operation.operation, operation.done)
        else:
            self._asked(HERE, key, operation, reply)

    def _asked(self, broker_id: int, key: SharePartitionKey, operation: Operation, reply: Answer) -> None:
        self.asked.append((broker_id, key, operation, reply))
        if self.answers:
            answer = self.answers.pop(0)
            reply(answer if isinstance(answer, StateOutcome) else refused(answer))

    def close(self) -> None:
        """Of the peers."""

    def write(self, start_offset: int = -1, *batches: StateBatch, key: SharePartitionKey = KEY, epoch: int = 1) -> None:
        self.persister.write(
            key,
            state_epoch=epoch,
            leader_epoch=0,
            start_offset=start_offset,
            delivery_complete_count=0,
            batches=batches,
            done=self.told.append,
        )


def test_it_is_a_persister() -> None:
    _: Persister = Cluster().persister


def test_an_answer_of_this_broker_comes_at_once() -> None:
    cluster = Cluster(answers=[DONE, DONE, DONE])
    cluster.persister.initialize(KEY, 1, 0, cluster.told.append)
    cluster.write()
    cluster.persister.delete(KEY, cluster.told.append)
    assert cluster.told == [ErrorCode.NONE] * 3
    assert cluster.timers.next_ms() is None, "no timer was needed"


def test_what_is_read() -> None:
    state, summary = ReadState(1, 5, (StateBatch(5, 6, 2, 1),)), StateSummary(1, 0, 5, 2)
    cluster = Cluster(answers=[StateOutcome(state=state), StateOutcome(state=summary)])
    cluster.persister.read(KEY, 3, lambda error, read: cluster.told.append((error, read)))
    cluster.persister.summarize(KEY, -1, lambda error, read: cluster.told.append((error, read)))
    assert cluster.told == [(ErrorCode.NONE, state), (ErrorCode.NONE, summary)]
    assert [operation for _, _, operation, _ in cluster.asked] == [ReadOperation(3), SummarizeOperation(-1)]


def test_the_leader_of_the_states_is_asked() -> None:
    cluster = Cluster(image_of(THERE), answers=[DONE])
    cluster.write()
    assert cluster.asked[0][0] == THERE


def test_the_topic_is_created_when_it_is_needed() -> None:
    cluster = Cluster(image_of(has_states=False), answers=[DONE])
    cluster.write()
    assert cluster.told == [ErrorCode.NONE]


def test_a_topic_that_cannot_be_created() -> None:
    cluster = Cluster(image_of(has_states=False), answers=[DONE], can_create=False)
    cluster.write()
    cluster.timers.advance(1_000)
    assert cluster.told == []
    cluster.can_create = True
    cluster.timers.advance(1_000)
    assert cluster.told == [ErrorCode.NONE]


@pytest.mark.parametrize("error", sorted(RETRIABLE - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}))
def test_coordinator_errors_are_retried(error: ErrorCode) -> None:
    cluster = Cluster(answers=[error, error, DONE])
    cluster.write()
    cluster.timers.advance(FIRST_PAUSE_MS)
    assert (len(cluster.asked), cluster.told) == (2, [])
    cluster.timers.advance(2 * FIRST_PAUSE_MS)
    assert (len(cluster.asked), cluster.told) == (3, [ErrorCode.NONE])


@pytest.mark.parametrize("error", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_REQUEST])
def test_other_errors_are_answers(error: ErrorCode) -> None:
    cluster = Cluster(answers=[error])
    cluster.write()
    assert cluster.told == [error]


def test_retries_end() -> None:
    cluster = Cluster(answers=[ErrorCode.NOT_COORDINATOR] * 1_000)
    cluster.write()
    cluster.timers.advance(TIMEOUT_MS)
    assert cluster.told == [ErrorCode.REQUEST_TIMED_OUT]
    assert 20 < len(cluster.asked) < 40
    cluster.timers.advance(TIMEOUT_MS)
    assert cluster.timers.next_ms() is None


def test_an_unknown_partition_is_retried_only_while_it_is_known_here() -> None:
    cluster = Cluster(image_of(THERE), answers=[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, DONE])
    cluster.write()
    assert cluster.told == []
    cluster.timers.advance(FIRST_PAUSE_MS)
    assert cluster.told == [ErrorCode.NONE]
    for image in (image_of(), image_of(THERE)):
        unknown = KEY._replace(partition=9)
        cluster = Cluster(image, answers=[ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
        cluster.write(key=unknown)
        assert cluster.told == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_question_without_an_answer_times_out_and_keeps_its_place() -> None:
    cluster = Cluster()
    cluster.write(1)
    cluster.timers.advance(TIMEOUT_MS)
    assert cluster.told == [ErrorCode.REQUEST_TIMED_OUT]
    cluster.write(2)
    assert len(cluster.asked) == 1, "the first one may still be stored"
    cluster.answers = [DONE]
    cluster.asked[0][3](DONE)
    cluster.timers.advance(0)
    assert cluster.told == [ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE]


def test_writes_that_wait_become_one() -> None:
    cluster = Cluster()
    for offset in (1, 2, 3):
        cluster.write(offset, StateBatch(offset, offset + 5, 2, 1))
    cluster.write(4, epoch=2)
    cluster.write(5, StateBatch(9, 8, 0, 0), epoch=2)
    assert len(cluster.asked) == 1
    cluster.answers = [ErrorCode.INVALID_REQUEST, DONE, ErrorCode.FENCED_STATE_EPOCH]
    cluster.asked[0][3](DONE)
    for _ in range(3):
        cluster.timers.advance(0)
    assert [operation for _, _, operation, _ in cluster.asked[1:3]] == [
        WriteOperation(1, 0, 3, 0, [StateBatch(3, 8, 2, 1)]),
        WriteOperation(2, 0, 4, 0, ()),
    ]
    invalid, fenced = ErrorCode.INVALID_REQUEST, ErrorCode.FENCED_STATE_EPOCH
    assert cluster.told == [ErrorCode.NONE, invalid, invalid, ErrorCode.NONE, fenced]


def test_after_the_end_nothing_is_asked() -> None:
    cluster = Cluster(answers=[ErrorCode.NOT_COORDINATOR])
    cluster.write()
    cluster.persister.close()
    cluster.write()
    cluster.timers.advance(2 * TIMEOUT_MS)
    assert (len(cluster.asked), cluster.told) == (1, [ErrorCode.COORDINATOR_NOT_AVAILABLE])


class UnreliableStates:
    """Share coordinators that lose, delay and refuse questions, over one log."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.harness = ShareHarness()
        self.cluster = Cluster()
        self.cluster._asked = self._asked  # type: ignore[method-assign]
        self.keys = [KEY._replace(partition=index) for index in range(3)]
        for key in self.keys:
            self.harness.ask(InitializeOperation(0, -1), key)
        self._late: list[Callable[[], None]] = []
        self.asked_of: dict[int, SharePartitionKey] = {}
        self.answered: dict[int, ErrorCode] = {}
        """The error of each write, in the order of the answers."""

    def _asked(self, broker_id: int, key: SharePartitionKey, operation: Operation, reply: Answer) -> None:
        choice = self.random.random()
        if choice < 0.3:
            reply(refused(self.random.choice((ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))))
            return
        outcome = self.harness.ask(operation, key)
        answer = refused(ErrorCode.NETWORK_EXCEPTION) if choice < 0.5 else outcome
        if self.random.random() < 0.5:
            reply(answer)
        else:
            self._late.append(lambda: reply(answer))

    def write(self, number: int) -> None:
        """Writes the offset ``number`` of a random share partition."""

        def done(error: ErrorCode) -> None:
            assert number not in self.answered, "two answers"
            self.answered[number] = error

        key = self.asked_of[number] = self.random.choice(self.keys)
        self.cluster.persister.write(
            key,
            state_epoch=0,
            leader_epoch=0,
            start_offset=-1,
            delivery_complete_count=0,
            batches=[StateBatch(number, number, 2, 1)],
            done=done,
        )

    def disturb(self) -> None:
        """Moves the states to another broker, delivers a late answer, lets time pass."""
        self.cluster.image = image_of(self.random.choice((HERE, THERE, -1)))
        if self._late and self.random.random() < 0.6:
            self._late.pop(self.random.randrange(len(self._late)))()
        if self.random.random() < 0.3:
            self.cluster.timers.advance(self.random.choice((0, FIRST_PAUSE_MS)))

    def calm_down(self) -> None:
        self.cluster.image = image_of()
        for _ in range(1_000):
            while self._late:
                self._late.pop()()
            self.cluster.timers.advance(FIRST_PAUSE_MS)

    def stored(self, key: SharePartitionKey) -> list[int]:
        state = self.harness.ask(ReadOperation(0), key).state
        assert isinstance(state, ReadState)
        return [offset for one in state.batches for offset in range(one.first_offset, one.last_offset + 1)]


@pytest.mark.parametrize("seed", range(30))
def test_random_questions_get_one_answer_each_in_order(seed: int) -> None:
    world = UnreliableStates(seed)
    count = 60
    for number in range(count):
        world.disturb()
        world.write(number)
    world.calm_down()
    assert world.answered == dict.fromkeys(range(count), ErrorCode.NONE), f"seed {seed}"
    for key in world.keys:
        asked = [number for number in range(count) if world.asked_of[number] == key]
        assert [number for number in world.answered if world.asked_of[number] == key] == asked, f"seed {seed}"
        assert world.stored(key) == asked, f"seed {seed}"


def test_the_partition_of_a_key_is_kafkas() -> None:
    """Compared with a real Kafka in tests/parity/test_traps_share_state.py."""
    key = SharePartitionKey("g", bytes(range(16)), 7)
    assert key.coordinator_key == "g:AAECAwQFBgcICQoLDA0ODw:7"
    assert SharePartitionKey.parsed(key.coordinator_key) == key
    assert partition_for(key.coordinator_key, 50) == 12
