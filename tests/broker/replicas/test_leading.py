"""Producers, consumers and deletions wait for the followers of a partition."""

from pathlib import Path
from typing import cast

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration, PartitionImage
from odradek.broker.metrics.replica_state import IsrChanges
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.leading import ChangeAnswer, Leading
from odradek.broker.replicas.partition import Partition
from odradek.broker.replicas.uncommitted_appends import MOST_SIZES
from odradek.broker.replicas.writer_threads import WriterThreads
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quorum import AlterPartitionResponse
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig

from ..leading_common import leading_common

LEADER, FOLLOWER, EPOCH = 1, 2, 7


class Led:
    """A partition of two replicas, led by broker 1."""

    def __init__(self, directory: Path, min_isr: int = 1) -> None:
        self.now_ms = 1_000
        self.log = Log.open(directory / "orders-0", LogConfig(), now_ms=0)
        self.log.offsets.set_high_watermark(0)
        self.seen: list[int] = []
        self.sent: list[tuple[list[int], object]] = []
        isr = InSyncReplicas(LEADER, 100, registration)
        self.changes = IsrChanges()
        common = leading_common(LEADER, lambda: self.now_ms, send=self.send, changes=self.changes)
        self.leading = Leading("orders", bytes(16), 0, self.log, isr, self.seen.append, common)
        self.leading.lead(image((LEADER, FOLLOWER), 0), min_isr)
        self.seen.clear()

    def send(self, _topic_id: bytes, change: object, answered: object) -> None:
        members = change.new_isr_with_epochs  # type: ignore[attr-defined]
        self.sent.append(([member.broker_id for member in members], answered))

    def answer(self, answer: ChangeAnswer) -> None:
        self.sent.pop()[1](answer)  # type: ignore[operator]

    def append(self, records: int = 1) -> int:
        builder = BatchBuilder()
        for number in range(records):
            builder.append(number, None, b"value")
        appended = self.log.appender.append_as_leader(bytes(builder.build()), 0, self.now_ms)
        end_offset = appended.last_offset + 1
        self.leading.appended(end_offset, 10)
        return end_offset

    def fetch(self, offset: int, log_start_offset: int = 0) -> None:
        self.leading.fetched(FOLLOWER, EPOCH, offset, log_start_offset)


def registration(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, EPOCH, bytes(16), {}, {}, None, fenced=False, in_controlled_shutdown=False, directories=()
    )


def image(isr: tuple[int, ...], partition_epoch: int) -> PartitionImage:
    return PartitionImage((LEADER, FOLLOWER), (bytes(16),) * 2, isr, LEADER, 0, partition_epoch)


@pytest.fixture
def led(tmp_path: Path) -> Led:
    return Led(tmp_path)


def codes(outcomes: list[KafkaError | None]) -> list[ErrorCode | None]:
    return [None if outcome is None else outcome.error_code for outcome in outcomes]


def test_producers_and_consumers_wait_for_the_follower(led: Led) -> None:
    outcomes: list[KafkaError | None] = []
    for _ in range(3):
        led.leading.when_replicated(led.append(), outcomes.append)
    assert (outcomes, led.seen, led.log.high_watermark) == ([], [], 0)
    led.fetch(2)
    assert (codes(outcomes), led.seen, led.log.high_watermark) == ([None, None], [20], 2)
    led.fetch(3)
    assert (codes(outcomes), led.seen, led.log.high_watermark) == ([None, None, None], [20, 10], 3)


def test_end_of_the_leadership_answers_all_that_wait(led: Led) -> None:
    outcomes: list[KafkaError | None] = []
    woken: list[int] = []
    led.leading.wait(woken.append)
    led.leading.when_replicated(led.append(), outcomes.append)
    led.leading.when_deleted(1, outcomes.append)
    led.leading.resign()
    assert codes(outcomes) == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2
    assert woken == [10, 0]


def test_follower_that_lags_leaves_and_the_rest_goes_on(led: Led) -> None:
    outcomes: list[KafkaError | None] = []
    led.leading.when_replicated(led.append(), outcomes.append)
    led.now_ms += 101
    led.leading.time_passed()
    assert led.sent[0][0] == [LEADER]
    assert outcomes == [], "it is in the ISR until the controllers have agreed"
    led.answer(AlterPartitionResponse.PartitionData(0, 0, LEADER, 0, [LEADER], 0, 1))
    assert codes(outcomes) == [None]
    assert led.changes == IsrChanges(shrinks=1)


def test_high_watermark_stands_still_below_the_minimum_isr(tmp_path: Path) -> None:
    led = Led(tmp_path, min_isr=2)
    outcomes: list[KafkaError | None] = []
    led.leading.when_replicated(led.append(), outcomes.append)
    led.leading.lead(image((LEADER,), 1), 2)
    assert outcomes == [], "the high watermark stands still"
    with pytest.raises(KafkaError) as refused:
        led.leading.isr.enough_in_sync()
    assert refused.value.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    led.leading.set_min_isr(1)
    assert codes(outcomes) == [None]


def test_isr_that_shrinks_after_the_append_is_an_error_for_the_producer(tmp_path: Path) -> None:
    """All of the ISR had the record, but the ISR is too small when the producer is answered."""
    led = Led(tmp_path, min_isr=2)
    outcomes: list[KafkaError | None] = []
    end_offset = led.append()
    led.fetch(end_offset)
    led.leading.lead(image((LEADER,), 1), 2)
    led.leading.when_replicated(end_offset, outcomes.append)
    assert codes(outcomes) == [ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]


def test_refused_change_is_sent_again_and_an_ineligible_member_is_not(led: Led) -> None:
    led.append()
    led.now_ms += 101
    led.leading.time_passed()
    led.answer(ErrorCode.UNKNOWN_SERVER_ERROR)
    assert len(led.sent) == 1
    led.answer(ErrorCode.INELIGIBLE_REPLICA)
    assert (led.sent, led.leading.isr.pending) == ([], None)


def test_deletion_waits_for_the_follower(led: Led) -> None:
    outcomes: list[KafkaError | None] = []
    led.append(5)
    led.fetch(5)
    led.log.offsets.increment_log_start_offset(3)
    led.leading.when_deleted(3, outcomes.append)
    led.fetch(5, log_start_offset=2)
    assert outcomes == []
    led.fetch(5, log_start_offset=3)
    assert codes(outcomes) == [None]


def test_stalled_follower_does_not_cost_memory_for_each_append(led: Led) -> None:
    for _ in range(3 * MOST_SIZES):
        led.append()
    assert len(led.leading._unseen._appended) == MOST_SIZES
    led.fetch(3 * MOST_SIZES)
    assert led.seen == [30 * MOST_SIZES]


def test_request_that_an_answer_lets_in_is_not_appended_after_the_leadership(tmp_path: Path) -> None:
    """The connection serves its next request during the answer to the previous one. The next one is refused, too.

    Found while brokers were replaced under load: the old leader acknowledged such batches, which no follower had.
    """
    led = Led(tmp_path)
    unused = cast("GroupCommit", None)
    partition = Partition("orders", bytes(16), 0, EPOCH, lambda: led.log, unused, cast("WriterThreads", None))
    end_offset = partition.log.log_end_offset
    partition.leading = led.leading
    refusals: list[ErrorCode] = []

    def next_request(failure: KafkaError | None) -> None:
        assert failure is not None
        builder = BatchBuilder()
        builder.append(0, None, b"value")
        with pytest.raises(KafkaError) as refused:
            partition.append(bytes(builder.build()), led.now_ms, AppendOrigin.CLIENT)
        refusals.append(refused.value.error_code)

    led.leading.when_replicated(end_offset + 1, next_request)
    partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert refusals == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert led.log.log_end_offset == end_offset
