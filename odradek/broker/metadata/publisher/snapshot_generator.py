"""Writes snapshots in the background while the broker runs: encodes them in small steps, writes and syncs on a thread.

Owns: the snapshot in progress. Never does: choosing its content. Invariant: a step on the event loop encodes one batch
of a snapshot (about 2 ms); a snapshot is written after the records that it covers are durable, and nothing is removed
before the snapshot is. Source: Kafka's SnapshotGenerator, SnapshotEmitter, KafkaRaftClient's snapshot cleaner (every
minute).
"""

import asyncio
import logging
from collections.abc import Callable, Iterator

from odradek.protocol.errors import KafkaError

from ...timers.loop_timers import LoopTimers
from ...timers.work import KindOfWork
from ..image.image import MetadataDelta, MetadataImage
from ..log.metadata_log import PendingSnapshot
from ..log.snapshot import UnwritableMetadataError
from .published import PublishedMetadata

logger = logging.getLogger(__name__)

SNAPSHOTS = KindOfWork("metadata-snapshot", "writes a snapshot of the metadata")

CHECK_MS = 60_000
"""``RaftMetadataLogCleanerManager``'s delay."""


class SnapshotGenerator:
    """Writes and removes snapshots until :meth:`stop` or until the timers are closed."""

    def __init__(self, metadata: PublishedMetadata, timers: LoopTimers, clock_ms: Callable[[], int]) -> None:
        """``clock_ms``: milliseconds since the epoch."""
        self._metadata = metadata
        self._timers = timers
        self._clock_ms = clock_ms
        self._running: asyncio.Task[None] | None = None
        self._not_before_ms = 0
        self._is_stopped = False

    def start(self) -> None:
        """Checks now, after every change of the metadata, and every minute."""
        self._metadata.subscribe(self._changed)
        self._tick()

    @property
    def is_writing(self) -> bool:
        """Whether a snapshot is in progress."""
        return self._running is not None and not self._running.done()

    async def stop(self) -> None:
        """Starts no more snapshots, and waits for a file that is being written. Cancels one that is being encoded."""
        self._is_stopped = True
        await self.idle()

    async def idle(self) -> None:
        """Waits for the snapshot in progress."""
        if self._running is not None:
            await self._running

    def _tick(self) -> None:
        self._timers.schedule(CHECK_MS, self._tick)
        self._clean()
        self._generate_if_due()

    def _changed(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        yield
        self._generate_if_due()

    def _generate_if_due(self) -> None:
        if self._is_stopped or self.is_writing:
            return
        now_ms = self._clock_ms()
        if now_ms < self._not_before_ms:
            return
        reason = self._metadata.snapshot_reason(now_ms)
        pending = None if reason is None else self._metadata.begin_snapshot(now_ms)
        if pending is not None:
            logger.info("writing metadata snapshot %s, because %s", pending.snapshot_id.file_name, reason)
            self._running = SNAPSHOTS.task(self._generate(pending), pending.snapshot_id.file_name)

    async def _generate(self, pending: PendingSnapshot) -> None:
        batches = []
        log = self._metadata.log
        try:
            for batch in pending.batches:
                batches.append(batch)
                await asyncio.sleep(0)
                if self._is_stopped:
                    return
            await self._sync_log()
            await SNAPSHOTS.awaited_on_thread(log.write_snapshot, pending.snapshot_id, batches)
        except (KafkaError, OSError, UnwritableMetadataError) as error:
            logger.error("could not write metadata snapshot %s: %s", pending.snapshot_id.file_name, error)
            self._not_before_ms = self._clock_ms() + CHECK_MS
            return
        log.complete_snapshot(pending)
        self._clean()

    async def _sync_log(self) -> None:
        """Makes the records durable that an observer has appended without a sync. Raises StorageError, OSError."""
        flusher = self._metadata.log.flusher
        if not flusher.is_dirty:
            return
        flush = flusher.prepare_flush()
        try:
            await SNAPSHOTS.awaited_on_thread(flush.sync)
        except OSError as error:
            raise flusher.fail_flush(flush, error) from error
        except Exception:
            flusher.take_back(flush)
            raise
        flusher.complete_flush(flush, self._clock_ms())

    def _clean(self) -> None:
        try:
            self._metadata.log.clean(self._clock_ms())
        except (KafkaError, OSError) as error:
            logger.error("could not remove old snapshots and segments of the metadata log: %s", error)
