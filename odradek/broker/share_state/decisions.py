"""What the share coordinator decides about each operation: the errors, the record to write, the answer.

Pure. Owns: the order of the checks, and their texts. Never does: changing a state (:mod:`.core` replays the records).
Source: ``ShareCoordinatorShard`` of Kafka 4.4. It refuses negative epochs, which earlier releases took as unknown, and
never moves the start offset back.
"""

from collections.abc import Callable
from functools import partial
from typing import assert_never

from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.share_batches import combined, is_valid, merge
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.internal_records.share_state import ShareState
from odradek.protocol.internal_records.share_state_records import ShareStateRecord, Snapshot, Update

from .core import ShareStateCore
from .effects import ShareStateEffects
from .operations import (
    DONE,
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    StateProgress,
    SummarizeOperation,
    WriteOperation,
    refused,
)
from .persister import UNINITIALISED_OFFSET, UNKNOWN_COUNT, ReadState, StateSummary

NEGATIVE_PARTITION = "The partition id cannot be a negative number."
NEGATIVE_STATE_EPOCH = "The state epoch cannot be a negative number."
NEGATIVE_LEADER_EPOCH = "The leader epoch cannot be a negative number."
READ_UNINITIALIZED = "Read operation on uninitialized share partition not allowed."
WRITE_UNINITIALIZED = "Write operation on uninitialized share partition not allowed."

Decision = Callable[[ShareStateCore, ShareStateEffects], None]


def decision(key: SharePartitionKey, operation: Operation) -> Decision:
    """The decision about an operation. It sets ``effects.response`` to an :class:`.StateOutcome`."""
    return partial(_decide, key, operation)


def _decide(key: SharePartitionKey, operation: Operation, core: ShareStateCore, effects: ShareStateEffects) -> None:
    effects.response = _answer(key, operation, core, effects)


def _answer(
    key: SharePartitionKey, operation: Operation, core: ShareStateCore, effects: ShareStateEffects
) -> StateOutcome:
    if key.partition < 0:
        return refused(ErrorCode.INVALID_REQUEST, NEGATIVE_PARTITION)
    match operation:
        case InitializeOperation():
            return _initialize(key, operation, core, effects)
        case ReadOperation():
            return _read(key, operation, core, effects)
        case WriteOperation():
            return _write(key, operation, core, effects)
        case DeleteOperation():
            return _delete(key, core, effects)
        case SummarizeOperation():
            return _summarize(key, core)
    assert_never(operation)


def _initialize(
    key: SharePartitionKey, asked: InitializeOperation, core: ShareStateCore, effects: ShareStateEffects
) -> StateOutcome:
    """A snapshot begins the state. It may replace a state that can't be read."""
    if asked.state_epoch < 0:
        return refused(ErrorCode.INVALID_REQUEST, NEGATIVE_STATE_EPOCH)
    state = core.states.get(key)
    if state is not None and state.highest_state_epoch > asked.state_epoch:
        return refused(ErrorCode.FENCED_STATE_EPOCH)
    if not _exists(key, core):
        return refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    # The lag is known from a start offset on, so nothing is complete there yet.
    complete_count = UNKNOWN_COUNT if asked.start_offset == UNINITIALISED_OFFSET else 0
    snapshot = Snapshot(
        0 if state is None else state.snapshot_epoch + 1,
        asked.state_epoch,
        0,
        asked.start_offset,
        complete_count,
        effects.now_ms,
        effects.now_ms,
        (),
    )
    effects.records.append(ShareStateRecord(key, snapshot))
    return DONE


def _read(
    key: SharePartitionKey, asked: ReadOperation, core: ShareStateCore, effects: ShareStateEffects
) -> StateOutcome:
    """Answers the state. A new leader epoch is stored, so that the former leader can't write any more."""
    if asked.leader_epoch < 0:
        return refused(ErrorCode.INVALID_REQUEST, NEGATIVE_LEADER_EPOCH)
    state = core.states.get(key)
    if state is None:
        return refused(ErrorCode.INVALID_REQUEST, READ_UNINITIALIZED)
    if state.unreadable is not None:
        return _unreadable(state.unreadable)
    if state.highest_leader_epoch > asked.leader_epoch:
        return refused(ErrorCode.FENCED_LEADER_EPOCH)
    if not _exists(key, core):
        return refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if state.highest_leader_epoch != asked.leader_epoch:
        again = WriteOperation(
            state.state_epoch, asked.leader_epoch, state.start_offset, state.delivery_complete_count, batches=()
        )
        effects.records.append(_change(key, again, asked.leader_epoch, state, core, effects.now_ms))
    return StateOutcome(state=ReadState(state.state_epoch, state.start_offset, tuple(state.batches)))


def _write(
    key: SharePartitionKey, asked: WriteOperation, core: ShareStateCore, effects: ShareStateEffects
) -> StateOutcome:
    """Stores a change. As in Kafka, higher epochs are taken, but not stored."""
    if asked.leader_epoch < 0:
        return refused(ErrorCode.INVALID_REQUEST, NEGATIVE_LEADER_EPOCH)
    if asked.state_epoch < 0:
        return refused(ErrorCode.INVALID_REQUEST, NEGATIVE_STATE_EPOCH)
    state = core.states.get(key)
    if state is None:
        return refused(ErrorCode.INVALID_REQUEST, WRITE_UNINITIALIZED)
    if state.unreadable is not None:
        return _unreadable(state.unreadable)
    if state.highest_leader_epoch > asked.leader_epoch:
        return refused(ErrorCode.FENCED_LEADER_EPOCH)
    if state.highest_state_epoch > asked.state_epoch:
        return refused(ErrorCode.FENCED_STATE_EPOCH)
    if not _exists(key, core):
        return refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    for batch in asked.batches:
        if not is_valid(batch):
            what = f"A state batch from offset {batch.first_offset} to {batch.last_offset} is not allowed."
            return refused(ErrorCode.INVALID_REQUEST, what)
    effects.records.append(_change(key, asked, state.leader_epoch, state, core, effects.now_ms))
    return DONE


def _delete(key: SharePartitionKey, core: ShareStateCore, effects: ShareStateEffects) -> StateOutcome:
    if not _exists(key, core):
        return refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if key in core.states:
        effects.records.append(ShareStateRecord(key, None))
    return DONE


def _summarize(key: SharePartitionKey, core: ShareStateCore) -> StateOutcome:
    if not _exists(key, core):
        return refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    state = core.states.get(key)
    if state is None:
        return StateOutcome(state=StateSummary(0, 0, UNINITIALISED_OFFSET, UNKNOWN_COUNT))
    if state.unreadable is not None:
        return _unreadable(state.unreadable)
    return StateOutcome(
        state=StateSummary(state.state_epoch, state.leader_epoch, state.start_offset, state.delivery_complete_count)
    )


def _exists(key: SharePartitionKey, core: ShareStateCore) -> bool:
    return key.partition < core.partition_count(key.topic_id)


def _unreadable(reason: str) -> StateOutcome:
    return refused(ErrorCode.UNKNOWN_SERVER_ERROR, f"The stored state of the share partition can't be read: {reason}")


def _change(
    key: SharePartitionKey,
    asked: WriteOperation,
    leader_epoch: int,
    state: ShareState,
    core: ShareStateCore,
    now_ms: int,
) -> ShareStateRecord:
    """An update, or a snapshot that includes the change if one is due. The start offset never falls."""
    before = StateProgress(state.start_offset, state.delivery_complete_count)
    progress = before.advanced(asked.start_offset, asked.delivery_complete_count)
    if state.updates_count < core.updates_a_snapshot:
        changed = tuple(combined(asked.batches, progress.start_offset))
        return ShareStateRecord(key, Update(state.snapshot_epoch, leader_epoch, *progress, changed))
    batches = list(state.batches)
    merge(batches, asked.batches, progress.start_offset)
    snapshot = Snapshot(
        state.snapshot_epoch + 1,
        state.state_epoch,
        leader_epoch,
        *progress,
        now_ms,
        now_ms,
        tuple(batches),
    )
    return ShareStateRecord(key, snapshot)
