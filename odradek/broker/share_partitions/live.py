"""A share partition that this broker leads: its state machine with the log, the stored state and the clock.

Shell. Owns: the loading of the state, the writes of its changes, the timer of its locks, the fetches that wait for it.
Never does: deciding who gets which record. Invariants: records are given away only after the start was stored; an
acknowledgement is answered after its write. Source: ``SharePartition``, ``SharePartitionManager``.
"""

import logging
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from ..metrics.counts import ShareCounts
from ..replicas.partition import Partition
from ..share_state.persister import UNINITIALISED_OFFSET, Persister, ReadState
from ..timers.timers import Timer, Timers
from .settings import ShareSettings
from .share_partition import Acknowledgement, Cause, SharePartition, Transition

logger = logging.getLogger(__name__)

UNKNOWN_COUNT = -1
COORDINATOR_ERRORS = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
FENCED = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_STATE_EPOCH})
ENDS_SHARE_PARTITION = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
"""Errors of a write after which the state is loaded anew at the next fetch."""

Waiter = Callable[[], None]
Stored = Callable[[ErrorCode], None]
"""Called when a change is stored, or with the error for the client."""
FindStart = Callable[[Partition, ShareSettings, Callable[[int | KafkaError], None]], None]
"""Finds the offset at which a group begins that has not begun yet, and passes it or the error on."""
WriteLetters = Callable[["LiveSharePartition", list[Cause]], None]
"""Writes dead letters, then calls :meth:`LiveSharePartition.letters_done` for each."""


def error_for_client(error: ErrorCode) -> ErrorCode:
    """The error of a share partition whose state can't be read or stored (``SharePartition.fetchPersisterError``)."""
    if not error or error in ENDS_SHARE_PARTITION:
        return error
    if error in COORDINATOR_ERRORS:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if error in FENCED else ErrorCode.UNKNOWN_SERVER_ERROR


class Stage(Enum):
    """Whether a share partition is served."""

    NEW = auto()
    LOADING = auto()
    ACTIVE = auto()
    ENDED = auto()


class LiveSharePartition:
    """One share partition on the broker that leads its partition."""

    def __init__(
        self,
        key: SharePartitionKey,
        partition: Partition,
        persister: Persister,
        timers: Timers,
        now_ms: Callable[[], int],
        settings: Callable[[], ShareSettings],
        find_start: FindStart,
        write_letters: WriteLetters,
        ended: Callable[["LiveSharePartition"], None],
        counts: ShareCounts,
    ) -> None:
        """``now_ms``: a monotonic clock, in ms. ``settings`` returns the group's present settings. ``ended`` is called
        when the share partition is served no more. ``counts``: the metrics."""
        self.key = key
        self.partition = partition
        self.core = SharePartition(key, partition.leader_epoch)
        self.stage = Stage.NEW
        self.error = ErrorCode.NONE
        """Why it is not served, once it has ended."""
        self._persister = persister
        self._timers = timers
        self._now_ms = now_ms
        self.settings = settings
        self._find_start = find_start
        self._write_letters = write_letters
        self._ended = ended
        self._counts = counts
        self._waiters: dict[Waiter, None] = {}
        self._timer: Timer | None = None
        self._timer_at_ms = 0
        self._is_writing = False
        self._to_write: list[tuple[Transition, Stored | None]] = []

    # --- waiting fetches

    def wait(self, waiter: Waiter) -> None:
        """Calls ``waiter`` when more records may be given away, until :meth:`stop_waiting`."""
        self._waiters[waiter] = None

    def stop_waiting(self, waiter: Waiter) -> None:
        """Removes a waiter, if it is registered."""
        self._waiters.pop(waiter, None)

    def notify(self) -> None:
        """Wakes the fetches that wait."""
        for waiter in list(self._waiters):
            waiter()

    # --- loading and ending

    @property
    def is_led(self) -> bool:
        """Whether this broker still leads the partition, in the epoch in which the state was loaded."""
        partition = self.partition
        return partition.refusal is None and partition.leader_epoch == self.core.leader_epoch

    @property
    def is_active(self) -> bool:
        """Whether it is served."""
        return self.stage is Stage.ACTIVE

    @property
    def is_busy(self) -> bool:
        """Whether a member holds a record, a change is not stored yet, or a fetch waits."""
        return bool(self._is_writing or self._waiters or self.stage is Stage.LOADING or self.core.is_held())

    def load(self) -> None:
        """Reads the stored state. The fetches that wait are woken when it is served, or has ended."""
        if self.stage is Stage.NEW:
            self.stage = Stage.LOADING
            self._persister.read(self.key, self.core.leader_epoch, self._read)

    def _read(self, error: ErrorCode, state: ReadState | None) -> None:
        if self.stage is not Stage.LOADING:
            return
        if error or state is None:
            self.end(error_for_client(error) or ErrorCode.UNKNOWN_SERVER_ERROR)
        elif state.start_offset != UNINITIALISED_OFFSET:
            self._begin(state, state.start_offset)
        else:
            try:
                self._find_start(self.partition, self.settings(), partial(self._found, state))
            except KafkaError as found_none:
                self.end(found_none.error_code)

    def _found(self, state: ReadState, found: int | KafkaError) -> None:
        if self.stage is not Stage.LOADING:
            return
        if isinstance(found, KafkaError):
            self.end(found.error_code)
            return

        def stored(error: ErrorCode) -> None:
            if self.stage is not Stage.LOADING:
                return
            if error:
                self.end(error_for_client(error))
            else:
                self._begin(state, found)

        # Kafka stores the start with the first acknowledgement. If the broker ends before that, the start is found
        # again, behind records that were given away and not acknowledged.
        self._persister.write(
            self.key,
            state_epoch=state.state_epoch,
            leader_epoch=self.core.leader_epoch,
            start_offset=found,
            delivery_complete_count=UNKNOWN_COUNT,
            batches=(),
            done=stored,
        )

    def _begin(self, state: ReadState, start_offset: int) -> None:
        try:
            letters = self.core.load(state, start_offset)
        except KafkaError as error:
            logger.error("%s", error.message)
            self.end(error.error_code)
            return
        self.stage = Stage.ACTIVE
        if letters:
            self._write_letters(self, letters)
        self.notify()

    def end(self, error: ErrorCode) -> None:
        """Serves no more: the next fetch loads the state anew. Fetches that wait get ``error``."""
        if self.stage is Stage.ENDED:
            return
        self.stage, self.error = Stage.ENDED, error
        if self._timer is not None:
            self._timer.cancel()
        self._ended(self)
        self.notify()

    # --- changes

    def acknowledge(
        self, member_id: str, acknowledgements: Sequence[Acknowledgement], done: Callable[[KafkaError | None], None]
    ) -> None:
        """Carries out acknowledgements. ``done`` is called when they are stored, or with the error."""
        try:
            transition = self.core.acknowledge(member_id, acknowledgements, self.settings(), self._now_ms())
        except KafkaError as error:
            done(error)
            return
        self.watch_locks()

        def stored(error: ErrorCode) -> None:
            if not error:
                self._count(acknowledgements)
            done(KafkaError(error) if error else None)

        self._store(transition, stored)

    def _count(self, acknowledgements: Sequence[Acknowledgement]) -> None:
        counts = self._counts.acknowledgements
        for first, last, types in acknowledgements:
            if len(types) == 1:
                counts[types[0]] += last - first + 1
            else:
                counts.update(types)

    def release(self, member_id: str) -> None:
        """Releases all records that a member holds."""
        self._store(self.core.release(member_id, self.settings()), None)

    def _store(self, transition: Transition, done: Stored | None) -> None:
        """Writes the changes, then ends the transition. One write is under way at a time; what comes meanwhile is
        written together afterwards, so that the start that is stored never falls."""
        if transition.releases:
            self.notify()
        if transition.batches:
            self._to_write.append((transition, done))
            if not self._is_writing:
                self._write()
        elif done is not None:
            done(ErrorCode.NONE)

    def _write(self) -> None:
        core, written, self._to_write = self.core, self._to_write, []
        self._is_writing = True
        start_offset, complete_count = core.once_stored([transition for transition, _ in written])
        self._persister.write(
            self.key,
            state_epoch=core.state_epoch,
            leader_epoch=core.leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=complete_count,
            batches=[batch for transition, _ in written for batch in transition.batches],
            done=partial(self._written, written),
        )

    def _written(self, written: list[tuple[Transition, Stored | None]], result: ErrorCode) -> None:
        error = error_for_client(result)
        self._is_writing = False
        changed = False
        if error:
            logger.warning("can't store changes of %s: %s", self.key.coordinator_key, result.name)
        for transition, done in written:
            completion = self.core.complete(transition, error, self._now_ms())
            changed = changed or completion.changed
            if completion.letters and self.stage is Stage.ACTIVE:
                self._write_letters(self, completion.letters)
            if done is not None:
                done(error)
        if error in ENDS_SHARE_PARTITION:
            self.end(error)
        if self._to_write:
            self._write()
        if changed:
            self.notify()

    # --- dead letters

    def letters_done(self, letter: Cause) -> None:
        """Archives records whose dead letters were written, or can't be written."""
        if self.stage is Stage.ACTIVE:
            self._store(self.core.letters_written(letter.first, letter.last), None)

    # --- locks

    def watch_locks(self) -> None:
        """Sets the timer for the next lock that ends. Call it after records were given away."""
        at_ms = self.core.next_lock_end_ms
        if at_ms is None or self.stage is not Stage.ACTIVE:
            return
        if self._timer is not None:
            if self._timer_at_ms <= at_ms:
                return
            self._timer.cancel()
        self._timer_at_ms = at_ms
        self._timer = self._timers.schedule(max(at_ms - self._now_ms(), 0), self._locks_ended)

    def _locks_ended(self) -> None:
        self._timer = None
        if self.stage is not Stage.ACTIVE:
            return
        if not self.is_led:
            self.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        transition = self.core.expire(self._now_ms(), self.settings())
        self._counts.lock_timeouts += sum(one.last_offset - one.first_offset + 1 for one in transition.batches)
        self._store(transition, None)
        self.watch_locks()
