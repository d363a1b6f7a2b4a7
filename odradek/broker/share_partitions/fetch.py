"""One ShareFetch: reads its share partitions, and waits until there is something to give away.

Shell. Owns: the wait. Never does: answering. Invariants: completes once; a fetch whose client has gone gets no record.
Source: ``DelayedShareFetch``, ``ShareFetch``. Other than there, a release, an ended lock and a stored acknowledgement
wake a fetch at once.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareFetchResponse

from ..timers.timers import Timer, Timers
from ..timers.work import KindOfWork
from .acquire import Acquired, Wish, acquire, without
from .live import LiveSharePartition, Stage
from .reading import ShareRead, aborted_spans, read_for_share
from .sessions import TopicIdPartition

SHARE_FETCHES = KindOfWork("share-fetch", "reads records for share groups")

READS_A_STEP = 16
"""Share partitions that are read in one step: 30 us each, and more for large windows."""

PartitionData = ShareFetchResponse.PartitionData
Answers = dict[TopicIdPartition, PartitionData]


class FetchBounds(NamedTuple):
    """The limits of a ShareFetch. ``charge`` is asked before records are given away whether so many bytes may be sent;
    None without quotas."""

    min_bytes: int
    max_bytes: int
    max_wait_ms: int
    charge: Callable[[int], int] | None = None


class ShareFetch:
    """One fetch over share partitions of a group."""

    def __init__(
        self,
        shares: dict[TopicIdPartition, LiveSharePartition],
        wish: Wish,
        bounds: FetchBounds,
        timers: Timers,
        now_ms: Callable[[], int],
        run: Callable[[Iterator[object]], None],
        is_wanted: Callable[[], bool],
        done: Callable[[Answers], None],
    ) -> None:
        """``shares``: in the order of service. ``now_ms``: a monotonic clock. ``run`` runs steps for the request.
        ``done`` gets the answer of each partition that has one."""
        self._shares = shares
        self._wish = wish
        self._bounds = bounds
        self._timers = timers
        self._now_ms = now_ms
        self._run = run
        self._is_wanted = is_wanted
        self._done = done
        self._timer: Timer | None = None
        self._is_over = False
        self._is_due = False
        """Whether an attempt is scheduled or under way."""
        self._is_woken = False
        """Whether something has changed since the attempt that is under way began."""
        self._is_last = bounds.max_wait_ms <= 0

    def begin(self) -> Steps[None]:
        """Tries at once. If there is nothing, waits."""
        if not self._shares or self._wish.max_records <= 0 or self._bounds.max_bytes <= 0:
            self._complete({})
            return
        for share in self._shares.values():
            share.load()
        if not self._is_last:
            self._timer = self._timers.schedule(self._bounds.max_wait_ms, self._time_is_up)
            for share in self._shares.values():
                share.wait(self._wake)
                share.partition.wait(self._wake_by_growth)
        self._is_due = True
        yield from self._attempt()

    # --- waiting

    def _time_is_up(self) -> None:
        self._is_last = True
        self._wake()

    def _wake_by_growth(self, _: int) -> None:
        self._wake()

    def _wake(self) -> None:
        if self._is_over:
            return
        if self._is_due:
            self._is_woken = True
        elif not self._is_wanted():
            self._complete({})
        else:
            self._is_due = True
            SHARE_FETCHES.soon(self._try_again)

    def _try_again(self) -> None:
        if self._is_wanted():
            self._run(self._attempt())
        else:
            self._stop()

    def _complete(self, answers: Answers) -> None:
        self._stop()
        self._done(answers)

    def _stop(self) -> None:
        """Waits no more."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            for share in self._shares.values():
                share.stop_waiting(self._wake)
                share.partition.stop_waiting(self._wake_by_growth)

    # --- an attempt

    def _attempt(self) -> Steps[None]:
        """One attempt. If the connection is lost meanwhile, the steps end, and so does the wait."""
        try:
            yield from self._try()
        except GeneratorExit:
            self._stop()
            raise

    def _try(self) -> Steps[None]:
        """Reads and gives away. Completes if there are records, if nothing but errors is left, or if time is up."""
        while not self._is_over:
            self._is_woken = False
            errors = self._errors()
            reads, read_bytes = yield from self._read(errors)
            is_enough = read_bytes > 0 and (read_bytes >= self._bounds.min_bytes or self._is_full(reads))
            if is_enough or self._is_last:
                if self._bounds.charge is not None and read_bytes and self._bounds.charge(read_bytes):
                    self._complete({})
                    return
                answers = yield from self._give_away(reads)
                if self._is_last or any(data.acquired_records for data in answers.values()):
                    self._complete(answers | errors)
                    return
                if self._has_moved(reads):
                    yield
                    continue
            if len(errors) == len(self._shares):
                self._complete(errors)
                return
            if not self._is_woken and not self._is_last:
                self._is_due = False
                return
            yield

    def _errors(self) -> Answers:
        """The partitions that can't be read."""
        errors: Answers = {}
        for key, share in self._shares.items():
            if share.stage is Stage.ENDED:
                errors[key] = failed(key, share.error)
            elif not share.is_led:
                share.end(share.partition.refusal or ErrorCode.NOT_LEADER_OR_FOLLOWER)
                errors[key] = failed(key, share.error)
        return errors

    def _read(self, errors: Answers) -> Steps[tuple[dict[TopicIdPartition, ShareRead], int]]:
        """Reads each share partition that may give records away; some reads are empty. Adds the errors that this finds.

        As in Kafka, a share partition that may not is not named in the answer."""
        ready = [(key, share) for key, share in self._shares.items() if key not in errors and self._may_give(share)]
        reads: dict[TopicIdPartition, ShareRead] = {}
        read_bytes, left = 0, self._wish.max_records
        for count, (key, share) in enumerate(ready):
            if count % READS_A_STEP == READS_A_STEP - 1:
                yield
            max_bytes = max(self._bounds.max_bytes // len(ready), 1)
            try:
                read = self._read_one(share, max_bytes, max(left, 0), min_one=not read_bytes)
            except KafkaError as error:
                errors[key] = failed(key, error.error_code)
                continue
            reads[key] = read
            read_bytes += len(read.data)
            left -= len(read)
        return reads, read_bytes

    @staticmethod
    def _may_give(share: LiveSharePartition) -> bool:
        """Whether a share partition may give records away, if its log has some. Notes where the log begins now."""
        if not share.is_active:
            return False
        log = share.partition.open_log
        if log is not None:
            share.core.log_start_moved(log.log_start_offset)
        return share.core.can_acquire(share.settings())

    def _read_one(self, share: LiveSharePartition, max_bytes: int, max_records: int, *, min_one: bool) -> ShareRead:
        log, core = share.partition.log, share.core
        core.log_start_moved(log.log_start_offset)
        offset = core.next_fetch_offset()
        bound = log.last_stable_offset if share.settings().read_committed else log.high_watermark
        return read_for_share(log, offset, bound, max_bytes, max_records, min_one_batch=min_one)

    def _is_full(self, reads: dict[TopicIdPartition, ShareRead]) -> bool:
        """Whether there are as many records as the member wants, so that waiting for more bytes is useless."""
        return sum(map(len, reads.values())) >= self._wish.max_records

    def _give_away(self, reads: dict[TopicIdPartition, ShareRead]) -> Steps[Answers]:
        answers: Answers = {}
        left = self._wish.max_records
        for count, (key, share) in enumerate(self._shares.items()):
            if count % READS_A_STEP == READS_A_STEP - 1:
                yield
            read = reads.get(key)
            if read is None or share.stage is not Stage.ACTIVE or not share.is_led:
                continue
            data = answers[key] = PartitionData(partition_index=key[1], records=b"")
            if left <= 0 or not self._is_wanted():
                continue
            acquired = self._acquire(share, read, left)
            if acquired:
                left -= sum(one.last - one.first + 1 for one in acquired)
                data.records = read.records_of(acquired)
                data.acquired_records = [ShareFetchResponse.AcquiredRecords(*one) for one in acquired]
        return answers

    def _has_moved(self, reads: dict[TopicIdPartition, ShareRead]) -> bool:
        """Whether records that were read turned out to be gone or aborted, so that the next read begins elsewhere."""
        return any(self._shares[key].core.next_fetch_offset() != read.fetch_offset for key, read in reads.items())

    def _acquire(self, share: LiveSharePartition, read: ShareRead, most: int) -> list[Acquired]:
        settings = share.settings()
        wish = self._wish._replace(max_records=most)
        acquired = acquire(share.core, wish, settings, read.fetch_offset, read.spans, self._now_ms())
        if acquired and settings.read_committed:
            for span in (aborted := aborted_spans(share.partition.log, read)):
                share.core.archive_acquired(span.first, span.last)
            acquired = without(acquired, aborted)
        share.watch_locks()
        return acquired


def failed(key: TopicIdPartition, error: ErrorCode) -> PartitionData:
    """The answer for a partition that can't be read."""
    return PartitionData(partition_index=key[1], error_code=error, records=b"")
