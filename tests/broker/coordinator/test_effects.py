"""The shell carries out effects in rounds: the records, then the continuation with the next ones."""

import pytest

from odradek.broker.coordinator.batches import NON_ATOMIC_BATCH_RECORDS, portions
from odradek.broker.groups.effects import GroupEffects
from odradek.broker.groups.offsets.store import offset_commit_record
from odradek.broker.groups.records import CoordinatorRecord
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.group_records import OffsetCommitValue
from support.groups.harness import START_MS, Harness


def _commit(partition: int) -> CoordinatorRecord:
    value = OffsetCommitValue(offset=7, metadata="", commit_timestamp=1)
    return offset_commit_record("g", "t", partition, value)


def test_a_long_chain_of_continuations_does_not_recurse() -> None:
    harness = Harness()
    rounds = 3_000
    seen: list[ErrorCode] = []

    def next_round(error: ErrorCode, follow: GroupEffects) -> None:
        seen.append(error)
        if len(seen) < rounds:
            follow.records.append(_commit(len(seen)))
            follow.after_append(next_round)

    effects = GroupEffects(START_MS)
    effects.records.append(_commit(0))
    effects.after_append(next_round)
    shard = harness.coordinator.shard_of("g")
    assert shard.carry_out(effects) is ErrorCode.NONE
    assert seen == [ErrorCode.NONE] * rounds
    assert harness.log.next_offset == rounds


def test_a_continuation_without_records_is_called_and_its_replies_are_sent() -> None:
    harness = Harness()
    answers: list[object] = []

    def then(error: ErrorCode, follow: GroupEffects) -> None:
        assert error is ErrorCode.NONE
        follow.reply(answers.append, "follow")

    effects = GroupEffects(START_MS)
    effects.reply(answers.append, "first")
    effects.after_append(then)
    effects.response = "response"
    harness.coordinator.shard_of("g").carry_out(effects, answers.append, lambda error: error)
    assert answers == ["first", "follow", "response"]


def test_dropped_records_take_their_continuation_with_them() -> None:
    effects = GroupEffects(START_MS)
    effects.records.append(_commit(0))
    effects.after_append(lambda error, follow: pytest.fail("called"))
    effects.discard_records()
    harness = Harness()
    harness.coordinator.shard_of("g").carry_out(effects)
    assert harness.log.next_offset == 0


@pytest.mark.parametrize(
    ("count", "atomic", "sizes"),
    [
        (0, True, []),
        (0, False, []),
        (2_500, True, [2_500]),
        (2_500, False, [NON_ATOMIC_BATCH_RECORDS, NON_ATOMIC_BATCH_RECORDS, 500]),
    ],
)
def test_records_that_are_atomic_are_in_one_batch(count: int, atomic: bool, sizes: list[int]) -> None:
    effects = GroupEffects(START_MS)
    effects.records += [_commit(0)] * count
    effects.atomic = atomic
    assert [len(records) for records in portions(effects)] == sizes
