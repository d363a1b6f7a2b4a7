"""One partition of a topic as one share group sees it: who gets which record, and what becomes of it.

Pure. Owns: the window of records in flight, their locks, the start of the share partition. Never does: I/O, waiting,
reading a clock. Invariants: a record has one state; no record below the start is given to anybody; an acknowledgement
is carried out for all of its records, or for none. Source: ``SharePartition``; KIP-932, KIP-1191, KIP-1206, KIP-1222.
"""

from collections.abc import Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from ..share_state.persister import ReadState
from .settings import ShareSettings
from .window import (
    ACQUIRED,
    ARCHIVING,
    AVAILABLE,
    NO_MEMBER,
    TERMINAL,
    InFlightBatch,
    InFlightWindow,
    PendingChange,
    RecordState,
    Run,
)

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
STATE_AFTER = {
    GAP: RecordState.ARCHIVED,
    ACCEPT: RecordState.ACKNOWLEDGED,
    RELEASE: AVAILABLE,
    REJECT: RecordState.ARCHIVED,
}
"""Acknowledge type -> the state of the record from then on."""

BAD_BATCH = "The batch cannot be acknowledged. The batch is not in the acquired state."
BAD_OFFSET = "The offset cannot be acknowledged. The offset is not acquired."
IN_TRANSITION = "The record state is invalid. The acknowledgement of delivery could not be completed."
STALE_LOCKS = 64
"""The queue of locks is built anew when it has this many entries more than twice the locks that it needs."""


class Acknowledgement(NamedTuple):
    """What a member says of the records ``first`` to ``last``: one type for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class Cause(NamedTuple):
    """Records that are archived with a dead letter. ``is_rejected``: a member rejected them; otherwise they were
    delivered as often as is allowed."""

    first: int
    last: int
    delivery_count: int
    is_rejected: bool


class Transition:
    """Changes that are stored together. ``first`` and ``last`` enclose the records that wait for it."""

    __slots__ = ("batches", "first", "last", "releases")

    def __init__(self) -> None:
        self.batches: list[StateBatch] = []
        self.first, self.last = 0, -1
        self.releases = False
        """Whether records are available already, before the change is stored."""

    def add(self, run: Run, *, waits: bool) -> None:
        """Adds the new state of a run, joined with the one before where they are equal."""
        batch = StateBatch(run.first, run.last, run.state, run.delivery_count)
        before = self.batches[-1] if self.batches else None
        if before is not None and before.last_offset + 1 == batch.first_offset and before[2:] == batch[2:]:
            self.batches[-1] = before._replace(last_offset=batch.last_offset)
        else:
            self.batches.append(batch)
        if waits:
            self.first = run.first if self.last < self.first else min(self.first, run.first)
            self.last = max(self.last, run.last)


class Completion(NamedTuple):
    """The result of a stored, or of a failed, transition. ``changed``: more records may be given away than before."""

    changed: bool
    letters: list[Cause]


class SharePartition:
    """The state machine of one share partition.

    ``start_offset``: no record below it is given away. ``next_offset``: the first offset that no member ever got.
    """

    __slots__ = (
        "_locks",
        "_locks_max",
        "_may_be_available",
        "key",
        "leader_epoch",
        "next_offset",
        "start_offset",
        "state_epoch",
        "window",
    )

    def __init__(self, key: SharePartitionKey, leader_epoch: int) -> None:
        self.key = key
        self.leader_epoch = leader_epoch
        self.state_epoch = 0
        self.start_offset = 0
        self.next_offset = 0
        self.window = InFlightWindow()
        self._may_be_available = False
        self._locks_max = STALE_LOCKS
        self._locks: list[tuple[int, int, int]] = []
        """A heap of the times at which locks end, in ms, with the first and last offset of the records. Entries stay
        when the records are acknowledged."""

    # --- loading

    def load(self, state: ReadState, start_offset: int) -> list[Cause]:
        """Takes the stored state. ``start_offset``: the stored one, or the one that was found for the first time.

        Records between stored states were given away, and nothing was stored of them: they are available. Returns the
        records whose dead letters are to be written. Raises KafkaError UNKNOWN_SERVER_ERROR if the state makes no
        sense.
        """
        self.state_epoch = state.state_epoch
        self.start_offset = self.next_offset = start_offset
        letters = []
        for stored in state.batches:
            if stored.first_offset < self.next_offset or stored.last_offset < stored.first_offset:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"the stored state of {self.key.coordinator_key} has a batch {stored.first_offset} to "
                    f"{stored.last_offset} where {self.next_offset} or more is due",
                )
            if stored.first_offset > self.next_offset:
                self._append(Run(self.next_offset, stored.first_offset - 1, AVAILABLE, 0))
            try:
                state_of = RecordState(stored.delivery_state)
            except ValueError as error:
                raise KafkaError(
                    ErrorCode.UNKNOWN_SERVER_ERROR,
                    f"the stored state of {self.key.coordinator_key} has the unknown state {stored.delivery_state}",
                ) from error
            run = Run(stored.first_offset, stored.last_offset, state_of, stored.delivery_count)
            self._append(run)
            if state_of is ARCHIVING:
                letters.append(Cause(run.first, run.last, run.delivery_count, is_rejected=False))
        self._may_be_available = True
        self.advance()
        return letters

    def _append(self, run: Run) -> None:
        self.window.batches.append(InFlightBatch([run]))
        self.next_offset = run.last + 1

    # --- questions

    @property
    def in_flight(self) -> int:
        """The number of offsets from the start to the last record in flight."""
        return self.next_offset - self.start_offset

    def next_fetch_offset(self) -> int:
        """The offset at which the next read begins: that of the first available record, or of the first new one."""
        if self._may_be_available:
            for run in self.window.runs():
                if run.is_available:
                    return run.first
            self._may_be_available = False
        return self.next_offset

    def can_acquire(self, settings: ShareSettings) -> bool:
        """Whether a member can get a record, if the log has one."""
        return self.in_flight < settings.max_record_locks or self.next_fetch_offset() != self.next_offset

    def once_stored(self, transitions: Collection[Transition]) -> tuple[int, int]:
        """The start, and the number of complete records from it on, as they are once some transitions are stored.

        Both are stored with them. (Kafka stores the start from before the change.) No other write may be under way.
        """
        start, complete = self.next_offset, 0
        is_prefix = True
        for run in self.window.runs():
            is_settled = run.pending is None or run.pending.transition in transitions
            if is_prefix and not (is_settled and run.state in TERMINAL):
                is_prefix, start = False, max(run.first, self.start_offset)
            if not is_prefix and run.state in TERMINAL:
                complete += len(run)
        return start, complete

    def note_available(self) -> None:
        """Notes that the window may have available records."""
        self._may_be_available = True

    def is_held(self) -> bool:
        """Whether a member holds a record, or a change is not stored yet."""
        return any(run.pending is not None or run.state in (ACQUIRED, ARCHIVING) for run in self.window.runs())

    # --- acknowledging

    def acknowledge(
        self, member_id: str, acknowledgements: Iterable[Acknowledgement], settings: ShareSettings, now_ms: int
    ) -> Transition:
        """Carries out the acknowledgements of a member. What is below the start is ignored.

        Raises KafkaError INVALID_RECORD_STATE (a record that the member does not hold) or INVALID_REQUEST (records
        that no member ever got); then nothing has changed.
        """
        transition = Transition()
        renewed: list[Run] = []
        try:
            for acknowledgement in acknowledgements:
                if acknowledgement.last >= self.start_offset:
                    self._acknowledge(transition, member_id, acknowledgement, settings, renewed)
        except KafkaError:
            self.complete(transition, ErrorCode.INVALID_RECORD_STATE, 0)
            raise
        for run in renewed:
            self._hold(run, now_ms + settings.lock_duration_ms)
        return transition

    def _acknowledge(
        self,
        transition: Transition,
        member_id: str,
        acknowledgement: Acknowledgement,
        settings: ShareSettings,
        renewed: list[Run],
    ) -> None:
        first, last, types = acknowledgement
        for batch in self._acknowledged_batches(first, last):
            low, high = max(first, self.start_offset, batch.first), min(last, batch.last)
            if not batch.is_split:
                _check_owner(batch.runs[0], member_id, "batch record", BAD_BATCH)
                batch.is_split = low > batch.first or high < batch.last or len(types) > 1
            for kind, from_offset, to_offset in _kinds(acknowledgement, low, high):
                for run in batch.within(from_offset, to_offset):
                    _check_owner(run, member_id, "offset", BAD_OFFSET)
                    if kind == RENEW:
                        if not settings.renews:
                            raise _invalid_state("Renewing acquisition locks is not enabled for the group.")
                        renewed.append(run)
                    else:
                        self._begin(transition, run, STATE_AFTER[kind], settings, is_rejected=kind == REJECT)

    def _acknowledged_batches(self, first: int, last: int) -> list[InFlightBatch]:
        """The batches that an acknowledgement names. Raises KafkaError, as :meth:`acknowledge`."""
        batches = self.window.batches
        low = max(first, self.start_offset)
        if not batches or batches[0].first > low:
            message = "Batch record not found. The request batch offsets are not found in the cache."
            raise _invalid_state(message)
        if self.next_offset <= first:
            message = "Batch record not found. The first offset in request is past acquired records."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        found = self.window.between(low, last)
        if not found or last > found[-1].last:
            message = "Batch record not found. The last offset in request is past acquired records."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        return found

    def release(self, member_id: str, settings: ShareSettings) -> Transition:
        """Releases all records that a member holds."""
        transition = Transition()
        for batch in self.window.batches:
            for run in batch.runs:
                if run.state is ACQUIRED and run.pending is None and run.member_id == member_id:
                    self._begin(transition, run, AVAILABLE, settings)
        return transition

    def _begin(
        self,
        transition: Transition,
        run: Run,
        state: RecordState,
        settings: ShareSettings,
        *,
        is_rejected: bool = False,
        is_final: bool = False,
    ) -> None:
        """Changes the state of an acquired run. The change counts when it is stored. One that ``is_final`` stays
        even if it can't be stored, and a record that it releases is available at once.

        A record that was delivered as often as is allowed is archived instead of released. Such a record, and one that
        ``is_rejected``, gets a dead letter if the group has them.
        """
        is_last = state is AVAILABLE and run.delivery_count >= settings.delivery_count_limit
        if is_last:
            state = RecordState.ARCHIVED
        if (is_last or is_rejected) and settings.dead_letters:
            state = ARCHIVING
        if not is_final or state is not AVAILABLE:
            limit = settings.delivery_count_limit
            run.pending = PendingChange(transition, run.member_id, limit, is_final=is_final, is_rejected=is_rejected)
        run.state = state
        run.member_id = NO_MEMBER
        if is_final:
            run.locked_until_ms = 0
        if run.is_available:
            self._may_be_available = transition.releases = True
        transition.add(run, waits=run.pending is not None)

    def complete(self, transition: Transition, error: ErrorCode, now_ms: int) -> Completion:
        """Ends a transition after its write. A failed one goes back: to the member, or if the lock has ended meanwhile,
        to be available."""
        changed = False
        letters: list[Cause] = []
        for batch in self.window.between(transition.first, transition.last):
            for run in batch.runs:
                pending = run.pending
                if pending is None or pending.transition is not transition:
                    continue
                if error and not pending.is_final:
                    _roll_back(run, pending, now_ms)
                else:
                    run.pending, run.locked_until_ms = None, 0
                    if run.state is ARCHIVING:
                        letters.append(Cause(run.first, run.last, run.delivery_count, pending.is_rejected))
                if run.is_available:
                    changed = self._may_be_available = True
            batch.join()
        return Completion(self.advance() or changed, letters)

    def letters_written(self, first: int, last: int) -> Transition:
        """Archives records whose dead letters were written, or can't be written."""
        transition = Transition()
        for batch in self.window.between(first, last):
            for run in batch.within(first, last):
                if run.state is ARCHIVING and run.pending is None:
                    run.state = RecordState.ARCHIVED
                    run.pending = PendingChange(transition, NO_MEMBER, 0, is_final=True)
                    transition.add(run, waits=True)
        return transition

    # --- time

    def hold(self, run: Run, member_id: str, until_ms: int) -> None:
        """Gives a run of available records to a member."""
        run.lock(member_id, until_ms)
        self._queue(run)

    def _hold(self, run: Run, until_ms: int) -> None:
        """Lengthens the lock of a run."""
        run.locked_until_ms = until_ms
        self._queue(run)

    def _queue(self, run: Run) -> None:
        heappush(self._locks, (run.locked_until_ms, run.first, run.last))
        if len(self._locks) > self._locks_max:
            held = [run for run in self.window.runs() if run.locked_until_ms]
            self._locks = [(run.locked_until_ms, run.first, run.last) for run in held]
            heapify(self._locks)
            self._locks_max = STALE_LOCKS + 2 * len(held)

    @property
    def next_lock_end_ms(self) -> int | None:
        """When the next lock ends, or None."""
        return self._locks[0][0] if self._locks else None

    def expire(self, now_ms: int, settings: ShareSettings) -> Transition:
        """Takes records from members whose locks have ended. They are available at once, before that is stored."""
        transition = Transition()
        touched = []
        while self._locks and self._locks[0][0] <= now_ms:
            _, first, last = heappop(self._locks)
            for batch in self.window.between(first, last):
                touched.append(batch)
                for run in batch.within(first, last):
                    if run.state is ACQUIRED and run.pending is None and run.locked_until_ms <= now_ms:
                        self._begin(transition, run, AVAILABLE, settings, is_final=True)
        for batch in set(touched):
            batch.join()
        return transition

    # --- the start

    def log_start_moved(self, log_start_offset: int) -> bool:
        """Forgets the records that the log no longer has. Returns whether the start has moved."""
        if log_start_offset <= self.start_offset:
            return False
        self.window.drop_below(log_start_offset)
        self.start_offset = log_start_offset
        self.next_offset = max(self.next_offset, log_start_offset)
        self.advance()
        return True

    def archive_available(self, first: int, last: int) -> None:
        """Archives available records that the log no longer has, because compaction has removed them."""
        self._archive(first, last, AVAILABLE)

    def archive_acquired(self, first: int, last: int) -> None:
        """Archives records of an aborted transaction, which were just acquired."""
        self._archive(first, last, ACQUIRED)

    def _archive(self, first: int, last: int, state: RecordState) -> None:
        for batch in self.window.between(first, last):
            if not batch.is_split and batch.runs[0].state is not state:
                continue
            batch.is_split = batch.is_split or first > batch.first or last < batch.last
            for run in batch.within(first, last):
                if run.state is state and run.pending is None:
                    run.state, run.member_id, run.locked_until_ms = RecordState.ARCHIVED, NO_MEMBER, 0
            batch.join()
        self.advance()

    def advance(self) -> bool:
        """Moves the start over records that are done. Returns whether it has moved."""
        batches = self.window.batches
        before = self.start_offset
        done = 0
        while done < len(batches) and all(run.is_done for run in batches[done].runs):
            done += 1
        if done:
            del batches[:done]
        if not batches:
            self.start_offset = self.next_offset
            return self.start_offset > before
        if batches[0].runs[0].is_done:
            first = next(run.first for run in batches[0].runs if not run.is_done)
            self.window.drop_below(first)
        self.start_offset = max(before, batches[0].first)
        return self.start_offset > before


def _kinds(acknowledgement: Acknowledgement, low: int, high: int) -> Iterable[tuple[int, int, int]]:
    """Acknowledge types with the offsets that they are for, from ``low`` to ``high``."""
    types = acknowledgement.types
    if len(types) == 1:
        yield types[0], low, high
        return
    start = low - acknowledgement.first
    offset = low
    for kind, group in groupby(types[start : high - acknowledgement.first + 1]):
        count = sum(1 for _ in group)
        yield kind, offset, offset + count - 1
        offset += count


def _check_owner(run: Run, member_id: str, what: str, not_acquired: str) -> None:
    """Raises KafkaError INVALID_RECORD_STATE if a member may not acknowledge a run."""
    if run.state is not ACQUIRED:
        raise _invalid_state(not_acquired)
    if run.pending is not None:
        raise _invalid_state(IN_TRANSITION)
    if run.member_id != member_id:
        raise _invalid_state(f"Member is not the owner of {what}")


def _roll_back(run: Run, pending: PendingChange, now_ms: int) -> None:
    run.pending = None
    if run.locked_until_ms > now_ms:
        run.state, run.member_id = ACQUIRED, pending.member_id
        return
    run.locked_until_ms = 0
    is_last = run.delivery_count >= pending.delivery_limit
    run.state, run.member_id = RecordState.ARCHIVED if is_last else AVAILABLE, NO_MEMBER


def _invalid_state(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD_STATE, message)
