"""Two brokers alternately lead one partition of ``__consumer_offsets``: seeded, in virtual time, through the handlers.

The log is shared. Records that the in-sync replicas do not have may be lost when the other broker is elected. An
election affects the replicas at once, and the coordinators later. Clients send requests to either broker. A seed that
fails is replayed with ``-k "[SEED]"``.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from random import Random
from typing import Any

import pytest

from odradek.broker.coordinator.durable_waits import DurableWaits
from odradek.broker.coordinator.shard import ShardState
from odradek.broker.dispatch.request import RequestContext
from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages import groups as messages
from odradek.protocol.records.batch import Buffer, iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from support.brokers.parts import ImageOnly, PartialBroker
from support.groups.harness import MemoryLog, VirtualTimers, image_with_topics

TIMEOUT_MS = 5_000
GROUPS = ("a", "b")
FAILED_OVER = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE}

Commit = messages.OffsetCommitRequest
Fetch = messages.OffsetFetchRequest


class SharedLog(MemoryLog):
    """The partition: its batches, its leader, and the offset that the in-sync replicas have reached."""

    def __init__(self) -> None:
        super().__init__()
        self.leader = 0
        self.epoch = 1
        self.high_watermark = 0
        self.acks: list[tuple[int, Callable[[ErrorCode], None]]] = []

    def replicate(self, offset: int) -> None:
        """The in-sync replicas have replicated everything before ``offset``."""
        self.high_watermark = max(offset, self.high_watermark)
        reached = [ack for end, ack in self.acks if end <= self.high_watermark]
        self.acks = [(end, ack) for end, ack in self.acks if end > self.high_watermark]
        for ack in reached:
            ack(ErrorCode.NONE)

    def elect(self, leader: int, kept_end: int) -> None:
        """Elects ``leader``. If it is another broker than before, its log ends at ``kept_end`` or later."""
        if leader != self.leader:
            kept = [batch for batch in self.batches if _end_offset(batch) <= max(kept_end, self.high_watermark)]
            self.batches = kept
            self.next_offset = _end_offset(kept[-1]) if kept else 0
        self.leader = leader
        self.epoch += 1
        acks, self.acks = self.acks, []
        for _, ack in acks:
            ack(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def _end_offset(batch: bytes) -> int:
    [(_, header)] = iterate_headers(batch)
    return header.next_offset


class LedLog:
    """The shared log as one broker sees it: unusable while the other broker leads."""

    def __init__(self, shared: SharedLog, broker: int) -> None:
        self.shared = shared
        self.broker = broker

    @property
    def leader_epoch(self) -> int:
        return self.shared.epoch

    def _check(self) -> None:
        if self.shared.leader != self.broker:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def append(self, batch: Buffer, now_ms: int) -> int:
        self._check()
        return self.shared.append(batch, now_ms)

    def append_marker(self, batch: bytes, now_ms: int, transaction_version: int) -> int:
        return self.append(batch, now_ms)

    def stores_at_once(self) -> bool:
        return False

    def is_durable(self) -> bool:
        self._check()
        return self.shared.high_watermark >= self.shared.next_offset

    def when_durable(self, callback: Callable[[ErrorCode], None]) -> None:
        if self.is_durable():
            callback(ErrorCode.NONE)
        else:
            self.shared.acks.append((self.shared.next_offset, callback))

    def read_batches(self) -> Iterator[bytes]:
        yield from list(self.shared.batches)

    def place_of(self, offset: int) -> str:
        return "memory"


class TwoBrokers:
    """Both brokers, their clients, and the acknowledged commits."""

    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.log = SharedLog()
        self.metadata = ImageOnly(image_with_topics({"t": (b"t" * 16, 1)}))
        self.unanswered: Counter[int] = Counter()
        self.sent = 0
        self.acknowledged = dict.fromkeys(GROUPS, -1)
        self.tried = dict.fromkeys(GROUPS, -1)
        self.errors: Counter[ErrorCode] = Counter()
        self.coordinators = [self._coordinator(0), self._coordinator(1)]
        self.to_hear: list[Callable[[], object]] = []
        self._hear_of_election()

    def _coordinator(self, broker: int) -> GroupCoordinator:
        def open_log(_: int) -> LedLog | None:
            return LedLog(self.log, broker) if self.log.leader == broker else None

        config = GroupCoordinatorConfig(offsets_topic_num_partitions=1, offsets_commit_timeout_ms=TIMEOUT_MS)
        return GroupCoordinator(config, self.timers, lambda: self.timers.now_ms, self._uuid, open_log)

    def _uuid(self) -> str:
        return f"uuid-{self.sent}"

    def elect(self, leader: int, kept_end: int) -> None:
        """Switches the replicas. The coordinators first learn of the previous election, and of this one by
        :meth:`hear`.
        """
        self.hear()
        self.log.elect(leader, kept_end)
        self._hear_of_election()

    def _hear_of_election(self) -> None:
        leader, epoch = self.log.leader, self.log.epoch
        log = LedLog(self.log, leader)
        self.to_hear.append(lambda: self.coordinators[1 - leader].resign(0, epoch))
        self.to_hear.append(lambda: self.coordinators[leader].elect(0, log, in_turns=True))

    def hear(self) -> None:
        """Both coordinators learn of the last election."""
        while self.to_hear:
            self.to_hear.pop()()

    def send(self, broker: int, api: ApiKey, version: int, request: Any, answered: Callable[[Any], None]) -> None:
        """Sends a request to its handler, and counts its answers."""
        self.sent += 1
        number = self.sent
        self.unanswered[number] += 1

        def reply(response: Any) -> None:
            self.unanswered[number] -= 1
            assert self.unanswered[number] == 0, f"{api.name} was answered twice"
            answered(response)

        context = RequestContext(
            api_key=api,
            api_version=version,
            client_id="c",
            client_host="127.0.0.1",
            listener_name="PLAINTEXT",
            connection_id=0,
            now_ms=self.timers.now_ms,
        )
        handler = import_module(f"odradek.broker.api.{api.name.lower()}")
        parts = PartialBroker(group_coordinator=self.coordinators[broker], metadata=self.metadata)
        for _ in handler.handle(parts, request, context, reply) or ():
            pass

    def commit(self, broker: int, group: str) -> None:
        """Commits the next offset of a group."""
        self.tried[group] += 1
        offset = self.tried[group]
        partition = Commit.OffsetCommitRequestPartition(0, offset)
        request = Commit(group, topics=[Commit.OffsetCommitRequestTopic("t", partitions=[partition])])

        def answered(response: Any) -> None:
            error = ErrorCode(response.topics[0].partitions[0].error_code)
            self.errors[error] += 1
            if error is ErrorCode.NONE:
                self.acknowledged[group] = max(offset, self.acknowledged[group])
            else:
                assert error in FAILED_OVER

        self.send(broker, ApiKey.OFFSET_COMMIT, 7, request, answered)

    def fetch(self, broker: int, group: str) -> None:
        """Fetches the offset of a group. It must not be lower than one that was acknowledged before the request."""
        at_least = self.acknowledged[group]

        def answered(response: Any) -> None:
            if response.error_code:
                assert response.error_code in FAILED_OVER
                return
            [partition] = response.topics[0].partitions
            assert partition.error_code == ErrorCode.NONE
            assert at_least <= partition.committed_offset <= self.tried[group]

        request = Fetch(group, [Fetch.OffsetFetchRequestTopic("t", [0])])
        self.send(broker, ApiKey.OFFSET_FETCH, 5, request, answered)

    def join(self, broker: int) -> None:
        """Joins a group. The request waits until the rebalance begins."""
        protocol = messages.JoinGroupRequest.JoinGroupRequestProtocol("range", b"")
        request = messages.JoinGroupRequest("j", 10_000, 10_000, protocol_type="consumer", protocols=[protocol])

        def answered(response: Any) -> None:
            assert response.error_code == ErrorCode.NONE or response.error_code in FAILED_OVER

        self.send(broker, ApiKey.JOIN_GROUP, 3, request, answered)

    def settle(self) -> None:
        """Replicates everything, informs both coordinators, and lets the time of every waiting request pass."""
        self.hear()
        self.log.replicate(self.log.next_offset)
        for _ in range(10):
            self.timers.advance(60_000)
            self.log.replicate(self.log.next_offset)

    def leading(self) -> GroupCoordinator:
        return self.coordinators[self.log.leader]


def _play(random: Random, brokers: TwoBrokers) -> None:
    broker, group = random.randrange(2), random.choice(GROUPS)
    log = brokers.log
    kind = random.choices(
        ("commit", "fetch", "join", "replicate", "advance", "elect", "hear"), (30, 20, 4, 14, 14, 4, 8)
    )[0]
    match kind:
        case "commit":
            brokers.commit(broker, group)
        case "fetch":
            brokers.fetch(broker, group)
        case "join":
            brokers.join(broker)
        case "replicate":
            log.replicate(random.randint(log.high_watermark, log.next_offset))
        case "advance":
            brokers.timers.advance(random.choice((0, 0, 1, 100, 3_000, 6_000)))
        case "elect":
            brokers.elect(broker, random.randint(log.high_watermark, log.next_offset))
        case "hear":
            brokers.hear()


@pytest.mark.parametrize("seed", range(60))
def test_offsets_never_go_back_and_each_request_has_one_answer(seed: int) -> None:
    random, brokers = Random(seed), TwoBrokers()
    for _ in range(400):
        _play(random, brokers)
    brokers.settle()
    assert not +brokers.unanswered
    for group in GROUPS:
        brokers.fetch(brokers.log.leader, group)
    assert not +brokers.unanswered
    assert brokers.errors[ErrorCode.NONE], "commits were acknowledged"
    assert brokers.errors.keys() > {ErrorCode.NONE, ErrorCode.NOT_COORDINATOR}


def test_a_resigned_coordinator_leaves_nothing_behind() -> None:
    brokers = TwoBrokers()
    brokers.hear()
    brokers.timers.advance(0)
    brokers.join(0)
    brokers.commit(0, "a")
    brokers.elect(1, 0)
    brokers.hear()
    assert not +brokers.unanswered
    assert brokers.errors == {ErrorCode.NOT_COORDINATOR: 1}
    brokers.coordinators[1].resign(0)
    assert brokers.timers.next_ms() is None or brokers.timers.next_ms() == brokers.timers.now_ms
    brokers.timers.advance(0)
    assert brokers.timers.next_ms() is None


def test_a_commit_that_is_not_replicated_in_time_stays_in_order() -> None:
    brokers = TwoBrokers()
    brokers.hear()
    brokers.commit(0, "a")
    brokers.timers.advance(TIMEOUT_MS - 1)
    brokers.fetch(0, "a")
    assert brokers.errors == {}
    brokers.timers.advance(1)
    assert brokers.errors == {ErrorCode.COORDINATOR_NOT_AVAILABLE: 1}
    assert brokers.unanswered.total() == 1, "the read has its own time"
    brokers.commit(0, "a")
    brokers.log.replicate(brokers.log.next_offset)
    assert brokers.errors == {ErrorCode.COORDINATOR_NOT_AVAILABLE: 1, ErrorCode.NONE: 1}
    assert not +brokers.unanswered
    assert len(brokers.log.batches) == 2
    assert brokers.acknowledged["a"] == 1


def test_a_load_that_is_resigned_stops_and_begins_again_when_elected_anew() -> None:
    brokers = TwoBrokers()
    brokers.hear()
    for _ in range(3):
        brokers.commit(0, "a")
    brokers.log.replicate(brokers.log.next_offset)
    brokers.elect(1, brokers.log.next_offset)
    brokers.hear()
    loading = brokers.coordinators[1].shard_of("a")
    brokers.commit(1, "a")
    assert brokers.errors[ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] == 1
    brokers.elect(0, brokers.log.next_offset)
    brokers.elect(1, brokers.log.next_offset)
    brokers.hear()
    brokers.timers.advance(0)
    assert loading.state is ShardState.UNLOADED
    again = brokers.coordinators[1].shard_of("a")
    assert again is not loading
    assert again.state is ShardState.ACTIVE
    brokers.fetch(1, "a")
    assert not +brokers.unanswered


def test_older_epochs_are_ignored_and_a_later_one_at_the_same_broker_keeps_what_is_loaded() -> None:
    brokers = TwoBrokers()
    brokers.hear()
    coordinator = brokers.leading()
    shard = coordinator.shard_of("a")
    coordinator.resign(0, brokers.log.epoch)
    coordinator.resign(0, brokers.log.epoch - 1)
    assert coordinator.shard_of("a") is shard
    brokers.elect(0, 0)
    brokers.hear()
    assert coordinator.shard_of("a") is shard
    assert shard.leader_epoch == brokers.log.epoch
    coordinator.resign(0, brokers.log.epoch + 1)
    assert shard.state is ShardState.UNLOADED


def test_a_partition_that_failed_to_load_is_loaded_again_in_a_later_epoch_only() -> None:
    brokers = TwoBrokers()
    brokers.log.append(_unreadable_batch(), 0)
    brokers.hear()
    brokers.timers.advance(0)
    coordinator = brokers.leading()
    assert coordinator.shard_of("a").state is ShardState.FAILED
    brokers.log.batches.clear()
    assert coordinator.elect(0, LedLog(brokers.log, 0)).state is ShardState.FAILED
    brokers.elect(0, 0)
    brokers.hear()
    assert coordinator.shard_of("a").state is ShardState.ACTIVE


def _unreadable_batch() -> bytes:
    builder = BatchBuilder()
    builder.append(0, b"\x00\x01\x00", b"\x00\x04")
    return builder.build()


def test_what_follows_from_stored_records_happens_after_a_timeout_and_not_after_a_resignation() -> None:
    log, timers = SharedLog(), VirtualTimers()
    waits = DurableWaits(LedLog(log, 0), timers, lambda: timers.now_ms, TIMEOUT_MS, lambda error: error)
    answers: list[ErrorCode] = []
    stored: list[str] = []
    log.append(_unreadable_batch(), 0)
    waits.wait(answers.append, lambda: stored.append("after a timeout"))
    timers.advance(TIMEOUT_MS)
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    log.replicate(log.next_offset)
    assert stored == ["after a timeout"]
    log.append(_unreadable_batch(), 0)
    waits.wait(answers.append, lambda: stored.append("after a resignation"))
    waits.close()
    log.replicate(log.next_offset)
    assert stored == ["after a timeout"]
    assert answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR]


@pytest.mark.parametrize(
    ("error", "told", "state"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR, ShardState.FAILED),
        (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE, ShardState.ACTIVE),
    ],
)
def test_the_error_of_a_log_is_told_in_the_words_of_a_coordinator(
    error: ErrorCode, told: ErrorCode, state: ShardState
) -> None:
    brokers = TwoBrokers()
    brokers.hear()
    brokers.commit(0, "a")
    [(_, ack)] = brokers.log.acks
    ack(error)
    assert brokers.errors == {told: 1}
    assert brokers.leading().shard_of("a").state is state
