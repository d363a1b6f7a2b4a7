"""A follower's copy of a partition: appends to it and truncates it.

Owns: the order of append, high watermark and log start. Never does: deciding what to do (:mod:`.follower` does).
Invariant: a copy's high watermark is the leader's, or the copy's end if that is lower. Source: ReplicaFetcherThread,
``ReplicaManager.logManager``, ``Partition.appendRecordsToFollowerOrFutureReplica``.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable

from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.buffers import Buffer
from odradek.storage.log.log import Log
from odradek.storage.log.pending_cut import PendingCut

from ...timers.work import KindOfWork
from ..group_commit import GroupCommit
from ..uncommitted_appends import UncommittedAppends
from .follower import NO_EPOCH, AppendToCopy, FetchPosition, FollowedPartition, TruncateCopy, TruncateFully

logger = logging.getLogger(__name__)

PARTITIONS = KindOfWork("replica-fetch", "copies what a leader answered for one partition")

Extent = tuple[int, int, int, int]
"""Where a log ends: its end offset, its last epoch, and the offset and the size in bytes of its last segment."""


class Copy:
    """One followed partition and its log."""

    def __init__(
        self,
        topic: str,
        partition: FollowedPartition,
        log: Log,
        group_commit: GroupCommit,
        visible: Callable[[int], None],
    ) -> None:
        """``visible`` is called with the number of bytes that consumers can read in addition; 0: it was truncated."""
        self.topic = topic
        self.partition = partition
        self.log = log
        self._group_commit = group_commit
        self._visible = visible
        self._unseen = UncommittedAppends()
        self._waits_for_room = False
        self.lag = 0
        """The number of offsets up to the leader's high watermark that the copy lacks."""

    @property
    def name(self) -> str:
        """``topic-index``."""
        return f"{self.topic}-{self.partition.index}"

    @property
    def fetch_position(self) -> FetchPosition:
        """The position at which a request that is sent now fetches."""
        return FetchPosition(self.log.log_end_offset, self.partition.leader_epoch)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, -1 without any."""
        return self.log.offsets.latest_epoch

    @property
    def extent(self) -> Extent:
        """Where the log ends. An operation that raised and has not changed this may be tried again."""
        log = self.log
        active = log.segments.active
        return log.log_end_offset, log.offsets.latest_epoch, active.base_offset, active.file.size

    def wait_for_room(self) -> None:
        """Fetches nothing until the log directory has room for clients' records again."""
        self._waits_for_room = True

    @property
    def waits_for_room(self) -> bool:
        """Whether to fetch nothing, because the last records did not fit and the disk is still full."""
        self._waits_for_room = self._waits_for_room and self.log.health.refuses_clients
        return self._waits_for_room

    def request(self) -> FetchRequest.FetchPartition:
        """This partition's part of a Fetch request that is sent now."""
        return self.partition.request(self.log.log_end_offset, self.last_epoch, self.log.log_start_offset)

    def append(self, step: AppendToCopy, now_ms: int) -> None:
        """Appends what a leader sent, then follows its high watermark and log start. Raises KafkaError."""
        log = self.log
        log.appender.finish_pending()  # a truncation that found no descriptor, also if the leader has no news
        for records in _pieces(step.records, log.config.segment_bytes):
            log.appender.append_as_follower(records, now_ms)
            self._unseen.appended(log.log_end_offset, len(records))
        if step.records and log.offsets.wants_sync:
            self._group_commit.appended(log)
        if step.high_watermark != NO_EPOCH:
            seen_before = log.high_watermark
            log.offsets.set_high_watermark(step.high_watermark)
            if log.high_watermark > seen_before:
                self._visible(self._unseen.seen(log.high_watermark))
            self.lag = max(0, step.high_watermark - log.log_end_offset)
            self.partition.is_in_sync = log.log_end_offset >= step.high_watermark
        if step.log_start_offset > log.log_start_offset:
            log.offsets.increment_log_start_offset(min(step.log_start_offset, log.high_watermark))

    async def truncate(self, step: TruncateCopy) -> None:
        """Removes the records from ``step.offset`` on, which the leader doesn't have. The event loop does not wait for
        the disk. Raises KafkaError. If no descriptor was left, a later answer of the leader completes it.
        """
        log = self.log
        if step.offset < log.high_watermark:
            logger.warning(
                "%s: truncating to offset %d, below the high watermark %d: the leader of epoch %d lacks later records",
                self.name,
                step.offset,
                log.high_watermark,
                self.partition.leader_epoch,
            )
        else:
            logger.info("%s: truncating to offset %d, where the leader's log differs", self.name, step.offset)
        pending = log.removal.begin_truncation(step.offset)
        self._changed()
        if pending is not None:
            await _write(pending)
            for _ in pending.rebuilding():
                await asyncio.sleep(0)
            log.removal.complete_truncation(pending, step.offset)

    async def truncate_fully(self, step: TruncateFully) -> None:
        """Empties the copy, and starts it again at the leader's log start offset. Raises KafkaError."""
        logger.warning("%s: starting again at offset %d, the start of the leader's log", self.name, step.offset)
        start = self.log.log_start_offset
        pending = self.log.removal.begin_truncation(start)
        if pending is not None:
            await _write(pending)
            self.log.removal.complete_truncation(pending, start)
        self.log.removal.truncate_fully_and_start_at(step.offset)  # fast: only one short segment is left by now
        self.log.offsets.set_high_watermark(step.offset)
        self._changed()

    def _changed(self) -> None:
        """Wakes waiting consumers after a truncation, so that they read again."""
        self._unseen.clear()
        self._visible(0)


async def _write(pending: PendingCut) -> None:
    """Writes a truncation on a thread. If that raises, which is a bug and counted, completing the truncation writes it:
    the copy need not stop."""
    with contextlib.suppress(Exception):
        await PARTITIONS.on_thread(pending.write)


def _pieces(records: Buffer, most_bytes: int) -> list[Buffer]:
    """Splits the records between batches into pieces of at most ``most_bytes``, the size of a segment. A larger batch
    is a piece of its own."""
    if len(records) <= most_bytes:
        return [records] if records else []
    pieces: list[Buffer] = []
    start = end = 0
    for position, header in iterate_headers(records):
        if position + header.size_in_bytes - start > most_bytes and end > start:
            pieces.append(records[start:end])
            start = end
        end = position + header.size_in_bytes
    pieces.append(records[start:end])
    return pieces
