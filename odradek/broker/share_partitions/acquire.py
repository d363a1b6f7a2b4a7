"""Gives records of a read to a member of a share group.

Pure. Owns: the choice of the records within the limits of a fetch. Never does: reading. Source:
``SharePartition.acquire``; KIP-1206 (the two acquire modes).
"""

from collections.abc import Sequence
from typing import NamedTuple

from .settings import ShareSettings
from .share_partition import SharePartition
from .window import AVAILABLE, InFlightBatch, Run

LOWEST_THROTTLE = 2
"""Records that were delivered more often than this, or half of the limit, are given away in ever smaller parts."""

NO_LIMIT = 1 << 62


class Span(NamedTuple):
    """The offsets of one record batch of the log."""

    first: int
    last: int


class Acquired(NamedTuple):
    """Records that a member has got, with the number of their deliveries."""

    first: int
    last: int
    delivery_count: int


class Wish(NamedTuple):
    """What a member asks for. ``max_records`` is exact with ``is_exact`` (record_limit); otherwise whole record batches
    are given away until it is reached. ``batch_size``: from which number of records on they are tracked apart."""

    member_id: str
    max_records: int
    batch_size: int
    is_exact: bool


def acquire(
    share: SharePartition, wish: Wish, settings: ShareSettings, fetch_offset: int, spans: Sequence[Span], now_ms: int
) -> list[Acquired]:
    """Gives records to a member. ``spans``: the record batches that were read from ``fetch_offset`` on."""
    if wish.max_records <= 0 or not spans or spans[-1].last < share.start_offset:
        return []
    return _Acquisition(share, wish, settings, spans, now_ms).run(fetch_offset)


class _Acquisition:
    """The work of one call of :func:`acquire`."""

    def __init__(
        self, share: SharePartition, wish: Wish, settings: ShareSettings, spans: Sequence[Span], now_ms: int
    ) -> None:
        self.share = share
        self.wish = wish
        self.settings = settings
        self.spans = spans
        self.locked_until_ms = now_ms + settings.lock_duration_ms
        self.first = spans[0].first
        self.last = spans[-1].last
        self.most = 0
        self.count = 0
        self.result: list[Acquired] = []

    def run(self, fetch_offset: int) -> list[Acquired]:
        share = self.share
        if not self._fits(fetch_offset):
            return []
        if fetch_offset < self.first:
            share.archive_available(fetch_offset, self.first - 1)
        for batch in share.window.between(self.first, self.last):
            if self.count >= self.most:
                break
            if not self._take(batch):
                self.most = 0
        if self.count < self.most and self.last >= share.next_offset:
            first = max(share.next_offset, self.first, share.start_offset)
            batches = self._new_batches(first, self.last, self.most - self.count)
            if not share.window:
                share.start_offset = first
            share.window.batches += batches
            share.next_offset = batches[-1].last + 1
            share.note_available()
        return self.result

    def _fits(self, fetch_offset: int) -> bool:
        """Limits the number of records to what may be in flight. Released records inside the window still go out."""
        share = self.share
        self.most = min(self.wish.max_records, self.settings.max_record_locks - share.in_flight)
        if self.most <= 0 and fetch_offset < share.next_offset:
            self.last = min(self.last, share.next_offset - 1)
            self.most = min(self.wish.max_records, share.next_offset - fetch_offset)
        return self.most > 0

    def _take(self, batch: InFlightBatch) -> bool:
        """Gives away what is available of a batch in flight. Returns whether other records may follow."""
        if batch.is_fresh:
            self._take_fresh(batch)
            return True
        is_throttled = self._is_throttled(batch)
        if is_throttled and self.count:
            return False
        is_whole = batch.first >= self.first and batch.last <= self.last
        is_over = self.wish.is_exact and batch.last - batch.first + 1 > self.most - self.count
        if is_whole and not (batch.is_split or is_over or is_throttled):
            if batch.runs[0].is_available:
                self._give(batch.runs[0])
            return True
        if not batch.is_split:
            if not batch.runs[0].is_available:
                return True
            batch.is_split = True
        taken = self._take_part(batch)
        batch.join()
        return not (is_throttled and taken)

    def _take_fresh(self, batch: InFlightBatch) -> None:
        """Gives away records between stored ones, of which nothing was stored, as new ones."""
        low, high = max(batch.first, self.first), min(batch.last, self.last)
        pieces = self._new_batches(low, high, self.most - self.count)
        if low > batch.first:
            pieces.insert(0, InFlightBatch([Run(batch.first, low - 1, AVAILABLE, 0)]))
        if pieces[-1].last < batch.last:
            pieces.append(InFlightBatch([Run(pieces[-1].last + 1, batch.last, AVAILABLE, 0)]))
        self.share.window.replace(batch, pieces)

    def _throttle_from(self) -> int:
        """The delivery count from which on records are given away in smaller parts (KAFKA-17541)."""
        return max(LOWEST_THROTTLE, -(-self.settings.delivery_count_limit // 2))

    def _is_throttled(self, batch: InFlightBatch) -> bool:
        limit = self._throttle_from()
        return any(
            run.delivery_count >= limit and run.is_available and run.last >= self.first and run.first <= self.last
            for run in batch.runs
        )

    def _take_part(self, batch: InFlightBatch) -> int:
        """Gives away available records of a split batch. Returns how many.

        Records whose last delivery but one has failed are given away one by one, so that one bad record does not use up
        the deliveries of its neighbours.
        """
        limit, throttle = self.settings.delivery_count_limit, self._throttle_from()
        most = self.most - self.count if self.wish.is_exact else NO_LIMIT
        taken, throttled_to = 0, -1
        given: list[Acquired] = []
        pending = batch.within(max(batch.first, self.first), min(batch.last, self.last))
        for run in pending:
            if not run.is_available:
                continue
            is_last_delivery = limit > LOWEST_THROTTLE and run.delivery_count == limit - 1
            if is_last_delivery and taken:
                break
            if run.delivery_count >= throttle and throttled_to < 0:
                throttled_to = max(1, batch.size >> (run.delivery_count - throttle + 1))
            left = (min(most, throttled_to) if throttled_to > taken else most) - taken
            wanted = 1 if is_last_delivery else left
            if len(run) > wanted:
                run = batch.within(run.first, run.first + wanted - 1)[0]
            self._give(run, given)
            taken += len(run)
            if is_last_delivery or taken >= most or taken == throttled_to:
                break
        self.result += joined(given)
        return taken

    def _give(self, run: Run, given: list[Acquired] | None = None) -> None:
        self.share.hold(run, self.wish.member_id, self.locked_until_ms)
        self.count += len(run)
        (self.result if given is None else given).append(Acquired(run.first, run.last, run.delivery_count))

    def _new_batches(self, first: int, last: int, most: int) -> list[InFlightBatch]:
        """Gives away records that no member ever got: whole record batches, or with ``is_exact`` exactly ``most``."""
        if most < last - first + 1:
            last = min(last, self._end_of_batch(first + most - 1))
        if self.wish.is_exact and last - first + 1 > most:
            run = Run(first, first + most - 1, AVAILABLE, 0)
            self._give(run)
            rest = Run(run.last + 1, last, AVAILABLE, 0)
            return [InFlightBatch([run, rest], is_split=True)]
        batches = []
        for low, high in self._pieces(first, last):
            run = Run(low, high, AVAILABLE, 0)
            self._give(run)
            batches.append(InFlightBatch([run]))
        return batches

    def _pieces(self, first: int, last: int) -> list[tuple[int, int]]:
        """Cuts a range at record batches, where ``batch_size`` records are reached."""
        pieces = []
        if not self.wish.is_exact and last - first + 1 > self.wish.batch_size:
            for span in self.spans:
                if span.first > last:
                    break
                if span.first - first >= self.wish.batch_size:
                    pieces.append((first, span.first - 1))
                    first = span.first
        pieces.append((first, last))
        return pieces

    def _end_of_batch(self, offset: int) -> int:
        """The last offset of the record batch that holds an offset; the offset itself if none does."""
        for span in self.spans:
            if span.first <= offset <= span.last:
                return span.last
        return offset


def joined(acquired: Sequence[Acquired]) -> list[Acquired]:
    """Joins neighbours with the same delivery count."""
    result: list[Acquired] = []
    for one in acquired:
        if result and result[-1].last + 1 == one.first and result[-1].delivery_count == one.delivery_count:
            result[-1] = result[-1]._replace(last=one.last)
        else:
            result.append(one)
    return result


def without(acquired: Sequence[Acquired], removed: Sequence[Span]) -> list[Acquired]:
    """What is left of acquired records without some spans. Both are in the order of offsets."""
    result: list[Acquired] = []
    for one in acquired:
        first = one.first
        for span in removed:
            if span.last < first or span.first > one.last:
                continue
            if span.first > first:
                result.append(one._replace(first=first, last=span.first - 1))
            first = span.last + 1
        if first <= one.last:
            result.append(one._replace(first=first))
    return result
