"""Moves replicas between the log directories of this broker (AlterReplicaLogDirs), in the background.

Owns: the moves in progress. Never does: copying on the event loop. Invariants: a partition has at most one move; the
metadata names the new directory before the files are renamed; a copy takes over only once it has the records that were
appended during the copying. Source: ReplicaManager.alterReplicaLogDirs, ReplicaAlterLogDirsThread; KIP-113, KIP-858.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import TopicPartition
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.directory.replica_move import ReplicaMove
from odradek.storage.files.file_names import FUTURE_DIRECTORY_SUFFIX, MAX_NAME_LENGTH

from ..metadata.image.image import Replica
from ..metadata.publisher.published import PublishedMetadata
from ..timers.work import KindOfWork
from .group_commit import GroupCommit
from .hosted_replicas import HostedReplicas
from .partition import Partition
from .partitions import Partitions

logger = logging.getLogger(__name__)

MOVES = KindOfWork("replica-move", "moves a replica to another log directory")

UNIQUE_CHARACTERS = 32
TAIL_OFFSETS = 10_000
"""If at most this number of offsets is left, appends wait while the rest is copied."""
THROTTLE_LOOK_S = 1.0
"""Seconds after which a throttled move reads its limit again, which may have been raised."""
THROTTLE_KEY = "replica.alter.log.dirs.io.max.bytes.per.second"

_NO_REPLICA = (ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class _MoveEndedError(Exception):
    """The move was cancelled, or the broker stops."""


class ActiveMove:
    """A move and its task. Set `stop` to end it."""

    __slots__ = ("discards", "is_announced", "move", "stop", "task")

    def __init__(self, move: ReplicaMove) -> None:
        self.move = move
        self.stop = asyncio.Event()
        self.discards = False
        self.is_announced = False
        self.task: asyncio.Task[None] | None = None


class ReplicaMoves:
    """The moves of this broker."""

    def __init__(
        self,
        directories: LogDirectories,
        hosting: HostedReplicas,
        partitions: Partitions,
        metadata: PublishedMetadata,
        announce: Callable[[Replica, bytes], Coroutine[None, None, None]],
        assign: Callable[[Mapping[Replica, bytes], int], None],
        group_commit: GroupCommit,
        clock_ms: Callable[[], int],
        max_bytes_per_second: Callable[[], int],
        threads: int | None,
    ) -> None:
        """``announce`` tells the controllers the new directory of a replica, and returns when they know it. ``assign``
        sets the directory in the metadata of a broker that is its own controller, in the turn of the event loop in
        which the copy takes over. ``clock_ms``: milliseconds since the epoch. ``threads``: the number of partitions
        that are copied at a time (``num.replica.alter.log.dirs.threads``); None: the number of directories.
        """
        self._directories = directories
        self._hosting = hosting
        self._partitions = partitions
        self._metadata = metadata
        self._announce = announce
        self._assign = assign
        self._group_commit = group_commit
        self._clock_ms = clock_ms
        self._max_bytes_per_second = max_bytes_per_second
        self._moves: dict[TopicPartition, ActiveMove] = {}
        self._tasks: dict[asyncio.Task[None], TopicPartition] = {}
        """The tasks. A cancelled move stays here until its last chunk is written."""
        self._turns = asyncio.Semaphore(threads or len(directories.paths))

    def alter(self, topic: str, index: int, path: str) -> None:
        """Moves a partition to a directory. If it is there already, only cancels a move to another one. Without a
        replica here, the directory is remembered for one that may be placed here later.

        Raises KafkaError: INVALID_TOPIC_EXCEPTION (the name is too long), LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR (the
        directory or the partition is offline), INVALID_REPLICA_ASSIGNMENT (cordoned), UNKNOWN_TOPIC_OR_PARTITION,
        REPLICA_NOT_AVAILABLE (no replica here, or a client should retry).
        """
        if len(f"{topic}-{index}.{FUTURE_DIRECTORY_SUFFIX}") + UNIQUE_CHARACTERS > MAX_NAME_LENGTH:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        target = self._target(path)
        try:
            partition = self._hosting.open_replica(topic, index)
        except KafkaError as error:
            if error.error_code in _NO_REPLICA:
                self._hosting.logs.prefer(topic, index, target)
            raise
        key = topic, index
        active = self._moves.get(key)
        if active is not None:
            if active.move.target is target:
                return
            self._cancel(key)
        source = self._directories.holder(topic, index)
        if source is not None and source is not target:
            if key in target.futures:
                # A copy cancelled just now is still being removed there; the client retries.
                raise KafkaError(ErrorCode.REPLICA_NOT_AVAILABLE, f"{topic}-{index} is being moved away from {path}")
            self._begin(partition, source, target)

    def _target(self, path: str) -> LogDirectory:
        # The configured name, made absolute, must be equal as text, as in Kafka.
        named = next((directory for directory in self._directories.paths if str(directory) == path), None)
        target = None if named is None else self._directories.by_path(named)
        if target is None:
            if named is not None:
                raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"Log directory {path} is offline")
            raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"Log dir {path} is not found in the config.")
        if target.path in self._directories.cordoned:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"Log directory {path} is cordoned")
        return target

    def resume(self) -> None:
        """Resumes the moves that the last stop interrupted."""
        for directory in list(self._directories.online):
            for topic, index in list(directory.found_futures):
                source = self._directories.holder(topic, index)
                if source is not None and self._partitions.find(topic, index) is not None:
                    try:
                        self._begin(self._hosting.open_replica(topic, index), source, directory)
                    except KafkaError as error:
                        logger.error("%s-%d stays in %s: %s", topic, index, source.path, error)

    def _begin(self, partition: Partition, source: LogDirectory, target: LogDirectory) -> None:
        key = partition.topic, partition.index
        move = ReplicaMove.begin(key, source, target, self._hosting.logs.config_of(partition.topic), self._clock_ms())
        logger.info("%s-%d: moving from %s to %s", *key, source.path, target.path)
        active = self._moves[key] = ActiveMove(move)
        active.task = MOVES.task(self._carry_out(partition, active), f"{partition.topic}-{partition.index}")
        self._tasks[active.task] = key
        MOVES.when_done(active.task, self._tasks.pop)

    def _cancel(self, key: TopicPartition) -> None:
        active = self._moves.pop(key)
        active.discards = True
        active.stop.set()

    def topic_deleted(self, topic: str) -> None:
        """Ends the moves of a topic that is deleted."""
        for key in [key for key in self._moves if key[0] == topic]:
            self._cancel(key)

    def replica_dropped(self, topic: str, index: int) -> None:
        """Ends the move of a replica that was moved to other brokers."""
        if (topic, index) in self._moves:
            self._cancel((topic, index))

    async def stop(self) -> None:
        """Stops copying. The next start resumes the moves."""
        for active in self._moves.values():
            active.stop.set()
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def _carry_out(self, partition: Partition, active: ActiveMove) -> None:
        move, key = active.move, active.move.key
        try:
            async with self._turns:
                await self._copy(partition, active)
            return
        except _MoveEndedError:
            logger.info("%s-%d: the move to %s was cancelled", *key, move.target.path)
        except KafkaError as error:
            if active.discards:  # the log was removed with its topic while a chunk was copied
                logger.info("%s-%d: the move to %s was cancelled: %s", *key, move.target.path, error)
            else:
                logger.error("%s-%d could not be moved to %s: %s", *key, move.target.path, error)
            active.discards = True
        except Exception:  # a bug: the replica stays where it is, and may be moved again
            active.discards = True
            logger.exception("%s-%d could not be moved to %s", *key, move.target.path)
        if active.discards:
            if self._moves.get(key) is active:
                del self._moves[key]
            if active.is_announced:
                self._hosting.logs.stays(*key, partition.topic_id, move.target.directory_id)
            try:
                move.cancel(self._clock_ms())
            except KafkaError as error:
                logger.error("%s-%d: could not remove its unfinished copy in %s: %s", *key, move.target.path, error)

    async def _copy(self, partition: Partition, active: ActiveMove) -> None:
        loop = asyncio.get_running_loop()
        move = active.move
        while True:
            await self._copy_existing_records(active)
            if move.future.offsets.unflushed_records:
                # Through the directory, so that a failed sync takes the right one offline.
                flushes = move.target.flusher.prepare([move.future])
                try:
                    await MOVES.awaited_on_thread(move.target.flusher.sync, flushes)
                except OSError as error:
                    raise move.target.flusher.abort(flushes, error) from error
                except Exception:
                    move.target.flusher.take_back(flushes)
                    raise
                move.target.flusher.complete(flushes, self._clock_ms())
            if move.lag > TAIL_OFFSETS:
                continue
            if not active.is_announced:
                await self._announce_target(partition, active)
                continue
            exchanged: asyncio.Future[bool] = loop.create_future()
            exchange = partial(self._exchange, partition, active, exchanged)
            self._metadata.turns.acquire(partial(partition.between_appends, exchange))
            try:
                if await exchanged:
                    return
            finally:
                self._metadata.turns.release()

    async def _announce_target(self, partition: Partition, active: ActiveMove) -> None:
        """Tells the controllers the new directory, and waits until they know it. Raises _MoveEndedError if the move is
        cancelled before."""
        directory_id = active.move.target.directory_id
        self._hosting.logs.leaves_for[active.move.key] = directory_id
        active.is_announced = True
        known = MOVES.awaited(self._announce((partition.topic_id, partition.index), directory_id))
        stopped = MOVES.awaited(active.stop.wait())
        try:
            await asyncio.wait((known, stopped), return_when=asyncio.FIRST_COMPLETED)
        finally:
            known.cancel()
            stopped.cancel()
        if active.stop.is_set():
            raise _MoveEndedError
        known.result()

    async def _copy_existing_records(self, active: ActiveMove) -> None:
        loop = asyncio.get_running_loop()
        move = active.move
        while not active.stop.is_set():
            chunk = move.next_chunk()
            if chunk is None:
                return
            began = loop.time()
            try:
                copied = await MOVES.awaited_on_thread(move.append, chunk, self._clock_ms())
            except KafkaError:
                if not move.is_outdated(chunk):
                    raise
                copied = 0
            if move.is_outdated(chunk):
                move.undo(chunk)
                continue
            while (wait_s := copied / max(self._max_bytes_per_second(), 1) - (loop.time() - began)) > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(active.stop.wait(), min(wait_s, THROTTLE_LOOK_S))
                    break
        raise _MoveEndedError

    def _exchange(self, partition: Partition, active: ActiveMove, done: "asyncio.Future[bool]") -> None:
        """The last step, between appends: copies the rest, and lets the copy take over. Sets ``done`` to True, or to
        False if too much is left to copy or the move was stopped."""
        move = active.move
        try:
            if active.stop.is_set() or move.lag > TAIL_OFFSETS:
                done.set_result(False)
                return
            move.catch_up(self._clock_ms())
            old = move.log
            now_ms = self._clock_ms()
            lies_in = {(partition.topic_id, partition.index): move.target.directory_id}
            self._assign(lies_in, now_ms)
            new = move.exchange(now_ms)
            self._hosting.use_log(partition, new)
            self._group_commit.replace(old, new)
            self._hosting.logs.leaves_for.pop(move.key, None)
            self._moves.pop(move.key, None)
            logger.info("%s-%d: is now in %s", *move.key, move.target.path)
            done.set_result(True)
        except Exception as error:  # noqa: BLE001 - also a bug: the mover waits, and holds the turn of the metadata
            done.set_exception(error)
