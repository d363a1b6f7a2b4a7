"""A seeded simulation of the share coordinator: leaders that read and write, group coordinators that begin and delete
states, clocks, appends that fail, crashes at any write.

After each event the log, replayed into a new core, gives the same states, also after old records were deleted. A crash
at any write leaves what was durable. Answers are compared with a model that has a state for each offset.
"""

import random
from typing import NamedTuple

from odradek.broker.coordinator.shard import ShardState
from odradek.broker.share_state.core import ShareStateCore
from odradek.broker.share_state.operations import (
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    SummarizeOperation,
    WriteOperation,
)
from odradek.broker.share_state.persister import ReadState
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.record import iterate_records
from support.groups.state_per_offset import PerOffset

from .harness import TOPIC, ShareHarness, durable_state

KEYS = [SharePartitionKey(group, TOPIC, index) for group in ("g", "h:i") for index in range(3)]
CODES = {
    ErrorCode.NONE,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.FENCED_STATE_EPOCH,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


class Known(NamedTuple):
    """What the model knows of a share partition: offset by offset."""

    state_epoch: int
    start_offset: int
    states: dict[int, tuple[int, int]]


class ShareSimulator:
    """One world of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.harness = ShareHarness(
            snapshot_update_records_per_snapshot=self.random.choice((0, 1, 3, 500)),
            state_topic_prune_interval_ms=self.random.choice((5_000, 60_000)),
            cold_partition_snapshot_interval_ms=self.random.choice((5_000, 60_000)),
        )
        self.events = 0
        self._durable_batches = 0
        self._model: dict[SharePartitionKey, Known] = {}
        """What must be stored. Kept only while every append is durable at once."""

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.events += 1
            self._take_event(self.random.random())
            self._check_replay()

    def _take_event(self, choice: float) -> None:
        rng = self.random
        key = rng.choice(KEYS)
        if choice < 0.1:
            self._ask(key, InitializeOperation(rng.randrange(6), rng.choice((-1, 0, 20))))
        elif choice < 0.5:
            self._ask(key, self._write())
        elif choice < 0.65:
            self._ask(key, ReadOperation(rng.randrange(4)))
        elif choice < 0.7:
            self._ask(key, SummarizeOperation(0))
        elif choice < 0.73:
            self._ask(key, DeleteOperation())
        elif choice < 0.75:
            for _ in self.harness.coordinator.topics_deleted({TOPIC}):
                pass
            self._learn_anew()
        elif choice < 0.9:
            self.harness.timers.advance(rng.choice((1, 700, 6_000, 70_000)))
        elif choice < 0.95:
            self._disk()
        else:
            self._crash()

    def _write(self) -> WriteOperation:
        rng = self.random
        batches = []
        for _ in range(rng.randrange(4)):
            first = rng.randrange(60)
            batches.append(
                StateBatch(first, first + rng.choice((0, 0, 4, 30)), rng.choice((0, 2, 3, 4)), rng.randrange(5))
            )
        return WriteOperation(rng.randrange(6), rng.randrange(4), rng.choice((-1, rng.randrange(60))), 0, batches)

    def _ask(self, key: SharePartitionKey, operation: Operation) -> None:
        log = self.harness.log
        is_plain = not log.held and log.fail_next is None
        before = self._model.get(key)

        def answered(outcome: StateOutcome) -> None:
            assert outcome.error in CODES, outcome
            if is_plain:
                self._compare(key, operation, outcome, before)

        self.harness.coordinator.ask(key, operation, self.harness.timers.now_ms, answered)
        if not is_plain:
            self._learn_anew()

    def _compare(
        self, key: SharePartitionKey, operation: Operation, outcome: StateOutcome, before: Known | None
    ) -> None:
        """Compares an answer that came at once with the model, and changes the model."""
        if outcome.error:
            return
        match operation:
            case InitializeOperation(state_epoch, start_offset):
                assert before is None or state_epoch >= before.state_epoch
                self._model[key] = Known(state_epoch, start_offset, {})
            case WriteOperation():
                assert before is not None
                model = PerOffset()
                model.states = before.states
                start_offset = max(before.start_offset, operation.start_offset)
                model.merge(list(operation.batches), start_offset)
                self._model[key] = Known(before.state_epoch, start_offset, model.states)
            case ReadOperation():
                assert before is not None
                model = PerOffset()
                model.states = before.states
                expected = ReadState(before.state_epoch, before.start_offset, tuple(model.batches()))
                assert outcome.state == expected
            case DeleteOperation():
                self._model.pop(key, None)

    def _learn_anew(self) -> None:
        """Takes what the coordinator has, after an event whose outcome is not known at once."""
        core = self._core()
        self._model.clear()
        for key, state in ({} if core is None else core.states).items():
            offsets = {
                offset: (batch.delivery_count, batch.delivery_state)
                for batch in state.batches
                for offset in range(batch.first_offset, batch.last_offset + 1)
            }
            self._model[key] = Known(state.state_epoch, state.start_offset, offsets)

    def _disk(self) -> None:
        """The next append fails, or appends are not durable until later."""
        log = self.harness.log
        if log.held:
            log.release(self.random.choice((ErrorCode.NONE, ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER)))
        elif self.random.random() < 0.5:
            log.fail_next = self.random.choice((ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR))
        else:
            log.held = True
            self._durable_batches = len(log.batches)

    def _crash(self) -> None:
        """The broker crashes and starts again: records that were not durable may be there or not."""
        harness, log = self.harness, self.harness.log
        core = self._core()
        before = None if core is None else durable_state(core)
        if log.held:
            kept = self.random.randint(self._durable_batches, len(log.batches))
            if kept < len(log.batches):
                before = None
            del log.batches[kept:]
            log.next_offset = log.start
            if log.batches:
                [(_, header)] = iterate_headers(log.batches[-1])
                log.next_offset = header.next_offset
        log.drop_waiting()
        log.fail_next = None
        harness.start()
        after = durable_state(harness.core)
        if before is not None:
            assert after == before, "a restart has changed what was stored"
        self._learn_anew()

    def _core(self) -> ShareStateCore | None:
        """The core; None after the log has failed."""
        [shard] = self.harness.coordinator.shards()
        return shard.core if shard.state is ShardState.ACTIVE else None

    def _check_replay(self) -> None:
        core = self._core()
        if core is None:
            return
        replayed = ShareStateCore(self.harness.config, lambda _: 9)
        for batch in self.harness.log.batches:
            for position, header in iterate_headers(batch):
                for record in iterate_records(batch, header, position):
                    replayed.load(record.key, record.value, record.offset, -1, 0)
        assert durable_state(replayed) == durable_state(core), "the log, replayed, has another state"
        assert replayed.needed_from <= core.needed_from or not core.states
        assert self.harness.log.start <= core.needed_from
        for key, state in core.states.items():
            assert state.has_snapshot, key
            assert state.highest_state_epoch >= state.state_epoch
            assert state.highest_leader_epoch >= state.leader_epoch
