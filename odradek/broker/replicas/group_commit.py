"""Group commit: logs are synced together, off the event loop; then the waiting requests continue.

Owns: the logs to sync, and the callbacks that wait for their offsets. Never does: blocking the event loop, deciding
what an acknowledgement promises (``storage/log/log_config.py`` does). Invariants: a log directory has one round at a
time. Requests that arrive during a round join the next one. Waiters of a log are called back in FIFO order. A failed
sync is final, and all waiters of its logs get the error. A lack of descriptors is not a failed sync: the waiters go on
waiting, and the sync is repeated (Kafka takes the directory offline). Source: ``UnifiedLog.flush``,
``LogManager.flushDirtyLogs``; the grouping is our own.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.varint import MAX_INT64
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.disk_errors import lacks_descriptors
from odradek.storage.log.log import Log
from odradek.storage.log.log_flush import Flush

from ..timers.timers import Timers
from ..timers.work import KindOfWork

logger = logging.getLogger(__name__)

SYNCS = KindOfWork("group-commit", "syncs logs and calls those that wait for it")

MOST_LOGS = 32
"""The maximum number of logs in one round, by default."""
RETRY_MS = 200
"""The pause in ms before a sync is repeated that failed because the process had no file descriptor left."""
Synced = Callable[[KafkaError | None], None]
"""Called with None after the sync, or with the error."""


class GroupCommit:
    """The syncs of all log directories."""

    def __init__(
        self,
        directories: Sequence[LogDirectory],
        timers: Timers,
        clock_ms: Callable[[], int],
        most_logs: int = MOST_LOGS,
    ) -> None:
        """``clock_ms``: milliseconds since the epoch. ``most_logs``: the maximum number of logs in one round of a
        directory. They are prepared in one turn of the event loop.
        """
        self._directories = directories
        self._most_logs = most_logs
        self._timers = timers
        self._clock_ms = clock_ms
        self._wanted: dict[Log, bool] = {}
        """The logs that were requested since rounds were last begun, and whether to sync their indexes, too."""
        self._queues: dict[Path, dict[Log, bool]] = {}
        """By directory, the logs of the next rounds. A broker may flush thousands, MOST_LOGS in each round."""
        self._running: dict[Path, asyncio.Future[None]] = {}
        self._waiting: dict[Log, deque[tuple[int, Synced]]] = {}
        self._timed: set[Log] = set()
        self._is_scheduled = False
        self._is_closed = False

    def appended(self, log: Log) -> None:
        """Schedules the sync that the log's configuration requires after an append, and the sync of a segment that the
        append has rolled.
        """
        policy = log.offsets.flush_policy
        if log.log_end_offset - log.offsets.synced_offset >= policy.unseen_from:
            self.request(log)
        elif log.offsets.recovery_point < log.segments.active.base_offset:
            self.request(log, with_indexes=True)
        if policy.flush_ms != MAX_INT64 and log not in self._timed:
            self._timed.add(log)
            self._timers.schedule(policy.flush_ms, partial(self._time_is_up, log))

    def request(self, log: Log, *, with_indexes: bool = False) -> None:
        """Adds a log to the next round. ``with_indexes``: the recovery point moves, too."""
        self._wanted[log] = with_indexes or self._wanted.get(log, False)
        self._schedule()

    def when_synced(self, log: Log, offset: int, callback: Synced) -> None:
        """Calls back when the log is synced up to ``offset`` (exclusive): at once if it is already and has no other
        waiters.
        """
        waiting = self._waiting.get(log)
        if waiting is None:
            if log.offsets.synced_offset >= offset:
                callback(None)
                return
            waiting = self._waiting[log] = deque()
        waiting.append((offset, callback))
        if offset > log.offsets.synced_offset:
            self.request(log)

    def replace(self, old: Log, new: Log) -> None:
        """Moves the waiters of a log to the log that has replaced it, which has the same records."""
        self._wanted.pop(old, None)
        for queue in self._queues.values():
            queue.pop(old, None)
        waiting = self._waiting.pop(old, None)
        if waiting is not None:
            self._waiting[new] = waiting
            self.request(new)
        if new.offsets.wants_sync:
            self.appended(new)

    async def stop(self) -> None:
        """Starts no more rounds, and waits for those in progress."""
        self._is_closed = True
        if self._running:
            await asyncio.wait(self._running.values())
            await asyncio.sleep(0)  # callbacks after a round run in the next turn

    def _time_is_up(self, log: Log) -> None:
        """Called when flush.ms has passed since the first unsynced append."""
        self._timed.discard(log)
        if log.log_end_offset > log.offsets.synced_offset:
            self.request(log)

    def _schedule(self) -> None:
        """Starts a round after this turn of the event loop, with all appends of the turn."""
        if not self._is_scheduled and not self._is_closed:
            self._is_scheduled = True
            SYNCS.turn(self._begin)

    def _begin(self) -> None:
        self._is_scheduled = False
        if self._is_closed:
            return
        wanted, self._wanted = self._wanted, {}
        for log, with_indexes in wanted.items():
            queue = self._queues.setdefault(log.directory.parent, {})
            queue[log] = with_indexes or queue.get(log, False)
        directories = {directory.path: directory for directory in self._directories}
        for path in self._queues.keys() - self._running.keys():
            queue = self._queues[path]
            logs = {log: queue.pop(log) for log in list(islice(queue, self._most_logs))}
            if path in directories:
                self._begin_round(directories[path], logs)
            else:
                for log in logs:
                    self._call_waiters(log, KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline"))
            if not queue:
                del self._queues[path]
            elif path not in self._running:
                self._schedule()  # the end of a round starts the next one, but no round has begun here

    def _begin_round(self, directory: LogDirectory, logs: dict[Log, bool]) -> None:
        flushes: list[tuple[Log, Flush]] = []
        for log, with_indexes in logs.items():
            try:
                flushes += directory.flusher.prepare([log], with_indexes=with_indexes)
            except KafkaError as error:
                if log.health.is_open and lacks_descriptors(error):
                    self._try_later([log], with_indexes, error)
                    continue
                if log.health.is_open:
                    logger.error("%s", error)
                self._call_waiters(log, error)
        if flushes:
            future = self._running[directory.path] = SYNCS.awaited_on_thread(directory.flusher.sync, flushes)
            SYNCS.when_done(future, partial(self._end_round, directory, flushes))

    def _end_round(
        self, directory: LogDirectory, flushes: list[tuple[Log, Flush]], future: "asyncio.Future[None]"
    ) -> None:
        del self._running[directory.path]
        if self._wanted or self._queues:
            self._schedule()
        failure: KafkaError | None = None
        error = future.exception()
        if error is None:
            directory.flusher.complete(flushes, self._clock_ms())
        elif isinstance(error, OSError):
            failure = directory.flusher.abort(flushes, error)
            if lacks_descriptors(error):
                self._repeat(flushes, failure)
                return
            logger.error("%s", failure)
        else:  # a bug, not a failure of the disk
            SYNCS.failed("a sync", error)
            directory.flusher.take_back(flushes)
            self._repeat(flushes, error)
            return
        for log, _ in flushes:
            SYNCS.soon(self._call_waiters, log, failure)  # a callback for each: if one fails, the others still run

    def _repeat(self, flushes: list[tuple[Log, Flush]], error: BaseException) -> None:
        """Syncs the logs of a round again that was not carried out: their waiters still wait."""
        self._try_later([log for log, flush in flushes if not flush.with_indexes], False, error)
        self._try_later([log for log, flush in flushes if flush.with_indexes], True, error)

    def _try_later(self, logs: Sequence[Log], with_indexes: bool, error: BaseException) -> None:
        """Syncs the logs again after a pause, in which connections or other files may be closed."""
        if logs:
            logger.warning("could not sync %d logs; the broker tries again: %s", len(logs), error)
            self._timers.schedule(RETRY_MS, partial(self._request_all, logs, with_indexes))

    def _request_all(self, logs: Sequence[Log], with_indexes: bool) -> None:
        for log in logs:
            self.request(log, with_indexes=with_indexes)

    def _call_waiters(self, log: Log, failure: KafkaError | None) -> None:
        """Calls the waiters of a log for which it is synced far enough; after a failure, all of them."""
        waiting = self._waiting.get(log)
        if waiting is None:
            return
        try:
            while waiting:
                offset, callback = waiting[0]
                outcome: KafkaError | None = None
                if offset > log.offsets.synced_offset:
                    outcome = failure
                    if outcome is None and offset <= log.log_end_offset:
                        break
                    outcome = outcome or KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)  # truncated since
                waiting.popleft()
                callback(outcome)
        except BaseException:
            self.request(log)  # the next round calls the remaining waiters
            raise
        if not waiting:
            del self._waiting[log]
