"""The records of a share partition that are in flight: from its start to the last record that a member ever got.

Pure. Owns: the state of each record, in runs of neighbours with equal state. Never does: deciding. Invariants: batches
and their runs are in the order of offsets and do not overlap; each offset of a batch is in exactly one run. Source:
``InFlightBatch``, ``InFlightState``, ``RecordState``, which keep one object for each record of a split batch.
"""

from bisect import bisect_right
from collections.abc import Iterator
from enum import IntEnum
from operator import attrgetter

NO_MEMBER = ""
"""The member of a record that no member holds."""


class RecordState(IntEnum):
    """The delivery state of a record, with the number that is stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    """A member holds the record. This is never stored."""
    ACKNOWLEDGED = 2
    ARCHIVING = 3
    """Archived for members; its dead letter is not written yet (KIP-1191)."""
    ARCHIVED = 4


AVAILABLE, ACQUIRED, ARCHIVING = RecordState.AVAILABLE, RecordState.ACQUIRED, RecordState.ARCHIVING
TERMINAL = frozenset({RecordState.ACKNOWLEDGED, RecordState.ARCHIVED})


_first_of = attrgetter("first")


class PendingChange:
    """A change that is not stored yet. ``member_id`` and ``delivery_limit``: what a failed write goes back to.
    ``is_final``: the change stays even if the write fails. ``is_rejected``: a member rejected the records."""

    __slots__ = ("delivery_limit", "is_final", "is_rejected", "member_id", "transition")

    def __init__(
        self, transition: object, member_id: str, delivery_limit: int, *, is_final: bool, is_rejected: bool = False
    ) -> None:
        self.transition = transition
        self.member_id = member_id
        self.delivery_limit = delivery_limit
        self.is_final = is_final
        self.is_rejected = is_rejected


class Run:
    """Neighbouring records with equal state. ``locked_until_ms``: when the lock of an acquired record ends."""

    __slots__ = ("delivery_count", "first", "last", "locked_until_ms", "member_id", "pending", "state")

    def __init__(self, first: int, last: int, state: RecordState, delivery_count: int) -> None:
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.member_id = NO_MEMBER
        self.locked_until_ms = 0
        self.pending: PendingChange | None = None

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __repr__(self) -> str:
        pending = "" if self.pending is None else ", pending"
        return f"Run({self.first}-{self.last}, {self.state.name}, {self.delivery_count}, {self.member_id!r}{pending})"

    @property
    def is_available(self) -> bool:
        """Whether a member can get the records now."""
        return self.state is AVAILABLE and self.pending is None

    @property
    def is_done(self) -> bool:
        """Whether no member will get the records again, and that is stored."""
        return self.pending is None and self.state in TERMINAL

    def lock(self, member_id: str, until_ms: int) -> None:
        """Gives the records to a member until the lock ends."""
        self.state = ACQUIRED
        self.delivery_count += 1
        self.member_id = member_id
        self.locked_until_ms = until_ms

    def split(self, offset: int) -> "Run":
        """Cuts the run before ``offset``, keeps the part below, and returns the other part."""
        rest = Run(offset, self.last, self.state, self.delivery_count)
        rest.member_id, rest.locked_until_ms, rest.pending = self.member_id, self.locked_until_ms, self.pending
        self.last = offset - 1
        return rest

    def continues(self, other: "Run") -> bool:
        """Whether ``other``, which follows, has equal state."""
        return (
            self.state is other.state
            and self.delivery_count == other.delivery_count
            and self.member_id == other.member_id
            and self.locked_until_ms == other.locked_until_ms
            and self.pending is other.pending
        )


class InFlightBatch:
    """Records that were given to a member together. ``size``: the number at that time. ``is_split``: its records have
    gone different ways, so it is never again given away as a whole."""

    __slots__ = ("is_split", "runs", "size")

    def __init__(self, runs: list[Run], *, is_split: bool = False) -> None:
        self.runs = runs
        self.is_split = is_split
        self.size = runs[-1].last - runs[0].first + 1

    def __repr__(self) -> str:
        return f"InFlightBatch({self.runs}, is_split={self.is_split})"

    @property
    def first(self) -> int:
        """The first offset."""
        return self.runs[0].first

    @property
    def last(self) -> int:
        """The last offset."""
        return self.runs[-1].last

    @property
    def is_fresh(self) -> bool:
        """Whether no member ever got one of its records. Such a batch is a gap between stored states."""
        run = self.runs[0]
        return not self.is_split and run.delivery_count == 0 and run.is_available

    def within(self, first: int, last: int) -> list[Run]:
        """The runs that cover the offsets ``first`` to ``last`` exactly, as far as the batch has them."""
        runs = self.runs
        index = max(bisect_right(runs, first, key=_first_of) - 1, 0)
        if runs[index].first < first <= runs[index].last:
            runs.insert(index + 1, runs[index].split(first))
        if runs[index].last < first:
            index += 1
        end = bisect_right(runs, last, key=_first_of, lo=index)
        if end > index and runs[end - 1].last > last:
            runs.insert(end, runs[end - 1].split(last + 1))
        return runs[index:end]

    def join(self) -> None:
        """Joins neighbouring runs with equal state."""
        runs = [self.runs[0]]
        for run in self.runs[1:]:
            if runs[-1].continues(run):
                runs[-1].last = run.last
            else:
                runs.append(run)
        self.runs = runs


class InFlightWindow:
    """The batches in flight, in the order of their offsets."""

    __slots__ = ("batches",)

    def __init__(self) -> None:
        self.batches: list[InFlightBatch] = []

    def __bool__(self) -> bool:
        return bool(self.batches)

    def runs(self) -> Iterator[Run]:
        """All runs, in order."""
        for batch in self.batches:
            yield from batch.runs

    def between(self, first: int, last: int) -> list[InFlightBatch]:
        """The batches that have offsets from ``first`` to ``last``."""
        start = max(bisect_right(self.batches, first, key=_first_of) - 1, 0)
        end = bisect_right(self.batches, last, key=_first_of)
        return [batch for batch in self.batches[start:end] if batch.last >= first]

    def replace(self, old: InFlightBatch, new: list[InFlightBatch]) -> None:
        """Puts batches in the place of one."""
        index = bisect_right(self.batches, old.first, key=_first_of) - 1
        self.batches[index : index + 1] = new

    def drop_below(self, offset: int) -> None:
        """Forgets the records below an offset."""
        batches = self.batches
        count = 0
        while count < len(batches) and batches[count].last < offset:
            count += 1
        del batches[:count]
        if batches and batches[0].first < offset:
            batch = batches[0]
            batch.runs = batch.within(offset, batch.last)
            batch.is_split = True
