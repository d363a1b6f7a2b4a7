"""A seeded simulation of one share partition: members, strangers, failing writes, ended locks, crashes.

Its log is a list of record batches, of which compaction and DeleteRecords remove some. A write of the state succeeds,
fails, or succeeds without that the leader learns it before it crashes. A seed determines the run. After each step it
checks that:

- each offset of the window has exactly one state, and a record that a member holds is given to no other;
- a record with a member has a lock, and the lock is in the queue;
- what a member was told to be accepted or rejected is never given away again, crashes included;
- the delivery count of a record stays within the limit in one life, and a stored count never falls;
- the start never falls, in memory and in the store.

At the end everything is acknowledged: then the start is the end of the log.
"""

import random
from typing import NamedTuple

from odradek.broker.share_partitions.acquire import Acquired, Span, Wish, acquire
from odradek.broker.share_partitions.settings import ShareSettings
from odradek.broker.share_partitions.share_partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    Acknowledgement,
    Cause,
    SharePartition,
    Transition,
)
from odradek.broker.share_partitions.window import TERMINAL, RecordState
from odradek.broker.share_state.persister import ReadState
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

KEY = SharePartitionKey("group", bytes(15) + b"\1", 0)
MEMBERS = ("anna", "bert", "carl")
FINAL = frozenset({ACCEPT, REJECT, GAP})


class Store:
    """The stored state, one entry for each offset: the reference for what merging gives."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.states: dict[int, tuple[int, int]] = {}

    def write(self, start_offset: int, batches: list[StateBatch]) -> None:
        """Merges changes: the higher count wins, then the higher state."""
        for batch in batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                new = (batch.delivery_count, batch.delivery_state)
                self.states[offset] = max(self.states.get(offset, new), new)
        assert start_offset >= self.start_offset, "the stored start falls"
        self.start_offset = start_offset
        self.states = {offset: state for offset, state in self.states.items() if offset >= start_offset}

    def read(self) -> ReadState:
        """The state as the leader reads it, with equal neighbours joined."""
        batches: list[StateBatch] = []
        for offset, (count, state) in sorted(self.states.items()):
            last = batches[-1] if batches else None
            if last is not None and last.last_offset + 1 == offset and last[2:] == (state, count):
                batches[-1] = last._replace(last_offset=offset)
            else:
                batches.append(StateBatch(offset, offset, state, count))
        return ReadState(1, self.start_offset, batches)


class Held(NamedTuple):
    """Records that a member has got."""

    first: int
    last: int


class Change(NamedTuple):
    """A change that is not stored."""

    transition: Transition
    answered: list[int]
    """The records that are done for the member if the write succeeds."""


def assert_is_refusal(error: KafkaError) -> None:
    """An acknowledgement may be refused in two ways."""
    assert error.error_code in (ErrorCode.INVALID_RECORD_STATE, ErrorCode.INVALID_REQUEST), error


class World:
    """The share partition, its log, its members and its store."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now_ms = 1_000
        self.batches: list[Span] = []
        self.end = 0
        self.log_start = 0
        self.store = Store()
        self.queued: list[Change] = []
        self.written: list[Change] = []
        """The changes of the write that is under way: one at a time, as in the broker."""
        self.written_start = 0
        self.letters: list[Cause] = []
        self.done: set[int] = set()
        self.held: dict[str, list[Held]] = {member: [] for member in MEMBERS}
        self.deliveries: dict[int, int] = {}
        self.settings = self.some_settings()
        self.share = SharePartition(KEY, 1)
        self.share.load(self.store.read(), 0)
        self.acquired = 0
        self.acknowledged = 0

    def some_settings(self) -> ShareSettings:
        return ShareSettings(
            delivery_count_limit=self.random.choice((2, 3, 5)),
            lock_duration_ms=self.random.choice((100, 1_000)),
            max_record_locks=self.random.choice((20, 100)),
            renews=self.random.random() < 0.9,
            dead_letter_topic=self.random.choice(("", "dlq.one")),
        )

    # --- steps

    def step(self) -> None:
        """Does something, and checks everything."""
        steps = (
            (self.produce, 3),
            (self.fetch, 6),
            (self.acknowledge, 6),
            (self.end_write, 8),
            (self.write_letter, 2),
            (self.pass_time, 2),
            (self.release, 1),
            (self.crash, 0.3),
            (self.remove_records, 0.3),
            (self.compact, 0.3),
            (self.change_settings, 0.1),
        )
        names, weights = zip(*steps, strict=True)
        self.random.choices(names, weights)[0]()
        self.check()

    def produce(self) -> None:
        if self.end - self.share.start_offset > 300:
            return
        size = self.random.choice((1, 1, 3, 10, 30))
        self.batches.append(Span(self.end, self.end + size - 1))
        self.end += size

    def spans_from(self, offset: int, most: int) -> list[Span]:
        found = [span for span in self.batches if span.last >= offset]
        return found[:most]

    def fetch(self) -> None:
        share, member = self.share, self.random.choice(MEMBERS)
        share.log_start_moved(self.log_start)
        if not share.can_acquire(self.settings):
            return
        offset = share.next_fetch_offset()
        spans = self.spans_from(offset, self.random.choice((1, 2, 5)))
        wish = Wish(member, self.random.choice((1, 5, 20)), self.random.choice((1, 10)), self.random.random() < 0.4)
        got = acquire(share, wish, self.settings, offset, spans, self.now_ms)
        self.take(member, wish, got)

    def take(self, member: str, wish: Wish, got: list[Acquired]) -> None:
        count = 0
        for one in got:
            self.held[member].append(Held(one.first, one.last))
            for offset in range(one.first, one.last + 1):
                count += 1
                assert offset not in self.done, f"record {offset} was answered as done, and is given away again"
                assert one.delivery_count == self.deliveries.get(offset, 0) + 1, f"wrong count of {offset}"
                self.deliveries[offset] = one.delivery_count
        assert not wish.is_exact or count <= wish.max_records, "more records than record_limit allows"
        self.acquired += count

    def acknowledge(self) -> None:
        owner = self.random.choice(MEMBERS)
        if not self.held[owner]:
            return
        held = self.random.choice(self.held[owner])
        first = self.random.randint(held.first, held.last)
        last = self.random.randint(first, held.last)
        member = owner if self.random.random() < 0.9 else self.random.choice(MEMBERS)
        kinds = (ACCEPT, ACCEPT, RELEASE, REJECT, GAP, RENEW)
        count = last - first + 1 if self.random.random() < 0.4 else 1
        types = [self.random.choice(kinds) for _ in range(count)]
        try:
            transition = self.share.acknowledge(
                member, [Acknowledgement(first, last, types)], self.settings, self.now_ms
            )
        except KafkaError as error:
            assert_is_refusal(error)
            if member == owner:
                self.held[owner].remove(held)  # its lock has ended, or a crash took it
            return
        answered = [offset for offset in range(first, last + 1) if types[0 if count == 1 else offset - first] in FINAL]
        self.begin(transition, answered)

    def begin(self, transition: Transition, answered: list[int]) -> None:
        if transition.batches:
            self.queued.append(Change(transition, answered))
            self.begin_write()

    def begin_write(self) -> None:
        if self.queued and not self.written:
            self.written, self.queued = self.queued, []
            self.written_start, _ = self.share.once_stored([change.transition for change in self.written])

    def store_written(self) -> None:
        self.store.write(self.written_start, [one for change in self.written for one in change.transition.batches])

    def end_write(self) -> None:
        """The write that is under way ends."""
        fails = self.random.random() < 0.15
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if fails else ErrorCode.NONE
        if self.written and not fails:
            self.store_written()
        for change in self.written:
            if not fails:
                self.done.update(change.answered)
                self.acknowledged += len(change.answered)
            self.letters += self.share.complete(change.transition, error, self.now_ms).letters
        self.written = []
        self.begin_write()

    def write_letter(self) -> None:
        if self.letters:
            letter = self.letters.pop(0)
            self.begin(self.share.letters_written(letter.first, letter.last), [])

    def pass_time(self) -> None:
        self.now_ms += self.random.choice((10, 60, 200, 2_000))
        self.begin(self.share.expire(self.now_ms, self.settings), [])

    def release(self) -> None:
        """The session of a member ends."""
        member = self.random.choice(MEMBERS)
        self.held[member].clear()
        self.begin(self.share.release(member, self.settings), [])

    def crash(self) -> None:
        """The broker ends. The write under way may be stored, but no member was answered."""
        if self.written and self.random.random() < 0.5:
            self.store_written()
        self.written, self.queued = [], []
        for held in self.held.values():
            held.clear()
        self.share = SharePartition(KEY, self.share.leader_epoch + 1)
        state = self.store.read()
        self.letters = self.share.load(state, state.start_offset)
        self.deliveries = {offset: count for offset, (count, _) in self.store.states.items()}

    def remove_records(self) -> None:
        """DeleteRecords moves the start of the log."""
        if self.end > self.log_start:
            self.log_start = self.random.randint(self.log_start, self.end)
            self.batches = [span for span in self.batches if span.last >= self.log_start]

    def compact(self) -> None:
        """Compaction removes a batch that is not the last one."""
        if len(self.batches) > 1:
            self.batches.pop(self.random.randrange(len(self.batches) - 1))

    def change_settings(self) -> None:
        limit = self.settings.delivery_count_limit
        self.settings = self.some_settings()._replace(delivery_count_limit=limit)

    # --- checks

    def check(self) -> None:
        share = self.share
        assert share.start_offset <= share.next_offset, "the start is behind the window"
        before = None
        locks = {(at_ms, offset) for at_ms, first, last in share._locks for offset in range(first, last + 1)}
        for batch in share.window.batches:
            for run in batch.runs:
                assert run.first <= run.last, "an empty run"
                assert before is None or run.first > before, "two runs overlap"
                assert run.first >= share.start_offset, "a record below the start is in the window"
                before = run.last
                if run.state is RecordState.ACQUIRED:
                    assert run.member_id, "an acquired record has no member"
                    for offset in range(run.first, run.last + 1):
                        assert (run.locked_until_ms, offset) in locks, f"no lock of {offset} in {run}"
                else:
                    assert not run.member_id, f"{run} has a member"
                assert run.delivery_count <= self.settings.delivery_count_limit, f"{run} was given away too often"
        assert before is None or before == share.next_offset - 1, "the window has another end"
        if share.window:
            first = share.window.batches[0].runs[0]
            assert not first.is_done, "the start does not move over what is done"

    # --- the end

    def settle(self) -> None:
        """Everything is given away and accepted."""
        self.settings = self.settings._replace(dead_letter_topic="", lock_duration_ms=100)
        for _ in range(5_000):
            while self.written or self.letters:
                self.end_write()
                self.write_letter()
            self.now_ms += 1_000
            self.begin(self.share.expire(self.now_ms, self.settings), [])
            if self.share.start_offset >= self.end:
                break
            self.fetch()
            for member, held in self.held.items():
                for one in held:
                    self.accept(member, one)
                held.clear()
            self.check()
        last = max((span.last + 1 for span in self.batches), default=self.log_start)
        assert self.share.start_offset >= last, (
            f"stuck at {self.share.start_offset} of {last}: {self.share.window.batches}"
        )
        assert all(run.state not in TERMINAL or run.pending for run in self.share.window.runs())

    def accept(self, member: str, held: Held) -> None:
        try:
            transition = self.share.acknowledge(
                member, [Acknowledgement(held.first, held.last, [ACCEPT])], self.settings, self.now_ms
            )
        except KafkaError:
            return
        self.begin(transition, list(range(held.first, held.last + 1)))
