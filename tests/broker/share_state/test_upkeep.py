"""Cold snapshots, and the deletion of records that no state needs."""

from odradek.broker.share_state.core import FOUND_A_PORTION
from odradek.broker.share_state.operations import DONE, InitializeOperation, ReadOperation, WriteOperation
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state_records import Snapshot

from .harness import KEY, TOPIC, ShareHarness, durable_state

INTERVAL_MS = 300_000


def update(offset: int) -> WriteOperation:
    return WriteOperation(1, 0, -1, 0, (StateBatch(offset, offset, 2, 1),))


def test_an_old_state_gets_a_snapshot_once() -> None:
    harness = ShareHarness(state_topic_prune_interval_ms=10 * INTERVAL_MS)
    harness.ask(InitializeOperation(1, 0))
    harness.ask(update(3))
    created_ms = harness.timers.now_ms
    harness.timers.advance(INTERVAL_MS)
    value = harness.records()[-1].value
    now_ms = harness.timers.now_ms
    assert value == Snapshot(1, 1, 0, 0, 0, created_ms, now_ms, (StateBatch(3, 3, 2, 1),))
    harness.timers.advance(3 * INTERVAL_MS)
    assert len(harness.records()) == 3, "nothing was written meanwhile"


def test_nothing_happens_without_share_groups() -> None:
    harness = ShareHarness()
    harness.is_enabled = False
    harness.ask(InitializeOperation(1, 0))
    harness.timers.advance(3 * INTERVAL_MS)
    assert (len(harness.records()), harness.log.start) == (1, 0)
    harness.is_enabled = True
    harness.timers.advance(2 * INTERVAL_MS)
    assert (len(harness.records()), harness.log.start) == (1, 1)


def test_what_lies_below_all_last_snapshots_is_deleted() -> None:
    harness = ShareHarness(cold_partition_snapshot_interval_ms=100 * INTERVAL_MS)
    keys = [KEY._replace(partition=index) for index in range(3)]
    for key in keys:
        harness.ask(InitializeOperation(1, 0), key)
    harness.ask(update(1), keys[0])
    harness.ask(InitializeOperation(2, 0), keys[0])
    harness.timers.advance(INTERVAL_MS)
    assert harness.log.start == 1, "the first snapshot of the second one is needed"
    harness.ask(InitializeOperation(2, 0), keys[1])
    harness.ask(InitializeOperation(2, 0), keys[2])
    before = durable_state(harness.core)
    harness.timers.advance(INTERVAL_MS)
    assert harness.log.start == 4
    harness.start()
    assert durable_state(harness.core) == before


def test_records_are_deleted_only_when_the_newer_ones_are_durable() -> None:
    harness = ShareHarness(cold_partition_snapshot_interval_ms=100 * INTERVAL_MS)
    harness.ask(InitializeOperation(1, 0))
    harness.log.held = True
    answers: list[object] = []
    harness.coordinator.ask(KEY, InitializeOperation(2, 0), harness.timers.now_ms, answers.append)
    harness.timers.advance(INTERVAL_MS)
    assert harness.log.start == 0
    harness.log.release()
    assert harness.log.start == 1


def test_a_failed_deletion_is_tried_again() -> None:
    harness = ShareHarness(cold_partition_snapshot_interval_ms=100 * INTERVAL_MS)
    harness.ask(InitializeOperation(1, 0))
    harness.ask(InitializeOperation(2, 0))
    harness.log.fail_next = ErrorCode.KAFKA_STORAGE_ERROR  # of appends; deletions go on
    harness.timers.advance(INTERVAL_MS)
    assert harness.log.start == 1


def test_the_last_tombstone_frees_the_log() -> None:
    harness = ShareHarness(cold_partition_snapshot_interval_ms=100 * INTERVAL_MS)
    harness.ask(InitializeOperation(1, 0))
    for _ in harness.coordinator.topics_deleted({TOPIC}):
        pass
    harness.timers.advance(INTERVAL_MS)
    assert harness.log.start == 1
    harness.start()
    assert not harness.core.states


def test_many_cold_states_take_several_turns() -> None:
    harness = ShareHarness()
    count = 3 * FOUND_A_PORTION
    harness.topics[TOPIC] = count
    keys = [SharePartitionKey("g", TOPIC, index) for index in range(count)]
    for key in keys:
        assert harness.ask(InitializeOperation(1, 0), key) == DONE
    harness.timers.advance(INTERVAL_MS - 1)
    written = harness.log.next_offset
    sizes = []
    while harness.log.next_offset < 2 * count:
        harness.timers.fire_next()
        sizes.append(harness.log.next_offset - written)
        written = harness.log.next_offset
    assert max(sizes) == FOUND_A_PORTION
    harness.timers.advance(INTERVAL_MS)
    assert harness.log.start == count
    harness.start()
    assert all(harness.ask(ReadOperation(0), key).error == ErrorCode.NONE for key in keys)
