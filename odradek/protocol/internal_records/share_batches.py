"""The state batches of one share partition: sorted by offset, without overlaps, equal neighbours joined.

Pure. Owns: merging, and the cut at the start offset. Never does: knowing what a delivery state means. Invariant: for
each offset, the batch with the higher delivery count wins, then the one with the higher delivery state; the order of
writes does not matter. Source: ``PersisterStateBatchCombiner``.

A share partition may have thousands of batches, and a write changes a few. So a batch is merged into the stored list in
place: binary search finds the few stored batches that it touches.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

LAST_OFFSET_MAX = 2**63 - 2
"""The highest last offset of a batch: Kafka computes the offset after it."""


class StateBatch(NamedTuple):
    """Neighbouring records with the same delivery state (0 available, 2 acknowledged, 3 archiving, 4 archived) and
    delivery count."""

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int


def is_valid(batch: StateBatch) -> bool:
    """Whether the offsets of a batch make sense. Kafka fails at others; it takes any delivery state and count."""
    return batch.first_offset <= batch.last_offset <= LAST_OFFSET_MAX


def combined(batches: Iterable[StateBatch], start_offset: int) -> list[StateBatch]:
    """Returns new batches in the stored form, cut at ``start_offset``; -1: not cut."""
    merged: list[StateBatch] = []
    merge(merged, batches, start_offset)
    return merged


def merge(stored: list[StateBatch], new: Iterable[StateBatch], start_offset: int) -> None:
    """Merges new valid batches into the stored ones, in place. Then removes what is below ``start_offset``, unless that
    is -1."""
    for batch in new:
        _merge_one(stored, batch)
    if start_offset != -1:
        _cut(stored, start_offset)


def _merge_one(stored: list[StateBatch], new: StateBatch) -> None:
    if not stored or new.first_offset > stored[-1].last_offset + 1:
        stored.append(new)
        return
    # The neighbours that end just before it or begin just after it are included: they may be joined with it.
    begin = bisect_left(stored, new.first_offset - 1, key=_last_offset)
    end = bisect_right(stored, new.last_offset + 1, lo=begin, key=_first_offset)
    joined: list[StateBatch] = []
    for part in _parts(stored[begin:end], new):
        if joined and joined[-1].last_offset + 1 == part.first_offset and joined[-1][2:] == part[2:]:
            joined[-1] = joined[-1]._replace(last_offset=part.last_offset)
        else:
            joined.append(part)
    stored[begin:end] = joined


def _parts(touched: list[StateBatch], new: StateBatch) -> Iterator[StateBatch]:
    """The batches of the offsets that ``touched`` and ``new`` cover, in order: for each offset the winner of both."""
    begin = new.first_offset
    for old in touched:
        if old.last_offset < new.first_offset:
            yield old
            continue
        if old.first_offset > new.last_offset:
            if begin <= new.last_offset:
                yield new._replace(first_offset=begin)
                begin = new.last_offset + 1
            yield old
            continue
        if old.first_offset < begin:
            yield old._replace(last_offset=begin - 1)
        elif old.first_offset > begin:
            yield new._replace(first_offset=begin, last_offset=old.first_offset - 1)
        both_begin = max(old.first_offset, begin)
        both_end = min(old.last_offset, new.last_offset)
        yield _winner(old, new)._replace(first_offset=both_begin, last_offset=both_end)
        begin = both_end + 1
        if old.last_offset > new.last_offset:
            yield old._replace(first_offset=begin)
    if begin <= new.last_offset:
        yield new._replace(first_offset=begin)


def _winner(old: StateBatch, new: StateBatch) -> StateBatch:
    return new if _priority(new) > _priority(old) else old


def _priority(batch: StateBatch) -> tuple[int, int]:
    return batch.delivery_count, batch.delivery_state


def _cut(stored: list[StateBatch], start_offset: int) -> None:
    """Removes everything below ``start_offset``."""
    del stored[: bisect_left(stored, start_offset, key=_last_offset)]
    if stored and stored[0].first_offset < start_offset:
        stored[0] = stored[0]._replace(first_offset=start_offset)


def _first_offset(batch: StateBatch) -> int:
    return batch.first_offset


def _last_offset(batch: StateBatch) -> int:
    return batch.last_offset
