"""A partition of this broker: its log, its appends, and the fetches that wait for it to grow.

Pure but for the given log and the given writer threads. Owns: the log, the order of appends, the leader epoch, the
waiting fetches. Never does: interpreting requests, using the log off the event loop. Invariants: with one replica the
high watermark is the log end offset, except for records that must be synced first (docs/durability.md); there is one
append at a time. Source: ``Partition.scala``.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.batch import BatchHeader, Buffer
from odradek.storage.log.append_plan import InspectionNeededError
from odradek.storage.log.log import AppendInfo, AppendOrigin, Log, PendingAppend
from odradek.storage.log.record_inspection import InspectedBatch

from .group_commit import GroupCommit
from .writer_threads import WRITES, WriterThreads

if TYPE_CHECKING:
    from .leading import Leading

Appended = Callable[[AppendInfo | KafkaError | InspectionNeededError], None]
"""Called with the result. InspectionNeededError: the topic's configuration has changed since the records were
inspected.
"""

Waiter = Callable[[int], None]
"""Called with the number of bytes that have become readable; 0: the partition has changed in another way."""


class Partition:
    """One partition of this broker."""

    __slots__ = (
        "_open",
        "_waiters",
        "appends",
        "copy",
        "group_commit",
        "index",
        "is_replica",
        "leader_epoch",
        "leading",
        "open_log",
        "refusal",
        "topic",
        "topic_id",
        "writers",
    )

    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        index: int,
        leader_epoch: int,
        open_log: Callable[[], Log],
        group_commit: GroupCommit,
        writers: WriterThreads,
    ) -> None:
        """``open_log`` is called on the first use of the log: an unused partition costs no file."""
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.leader_epoch = leader_epoch
        self.is_replica = True
        """Whether this broker has a replica of the partition. If not, it answers with NOT_LEADER_OR_FOLLOWER."""
        self.group_commit = group_commit
        self.appends: AppendQueue | None = None
        """The appends in progress on threads. Later appends queue after them."""
        self.writers = writers
        self._open = open_log
        self.open_log: Log | None = None
        """The log if it was opened already, else None."""
        self._waiters: dict[Waiter, None] = {}
        self.leading: Leading | None = None
        """The followers and the requests that wait for them; None for a partition with one replica, or not led here."""
        self.refusal: ErrorCode | None = None
        """The error that every request gets; None if the partition is served."""
        self.copy: Log | None = None
        """The log if another broker leads the partition: consumers read it up to its high watermark (KIP-392). Other
        requests get the refusal."""

    @property
    def log(self) -> Log:
        """The partition's log. Raises KafkaError KAFKA_STORAGE_ERROR if it can't be opened."""
        log = self.open_log
        if log is None:
            log = self._open()
            log.assign_epoch(self.leader_epoch)  # before it is kept: a truncation that finds no descriptor raises here
            self.open_log = log
        return log

    def log_to_fetch(self, *, only_leader: bool) -> Log:
        """The log to read for a fetch, which may be a copy. Raises KafkaError as :attr:`log`."""
        copy = self.copy
        return self.log if copy is None or only_leader else copy

    def wants_sync(self) -> bool:
        """:attr:`LogOffsets.wants_sync` of its log; every request reads it. Raises KafkaError as :attr:`log`."""
        log = self.open_log
        return (self.log if log is None else log).offsets.wants_sync

    def use_log(self, log: Log) -> None:
        """Serves this log from now on, after the replica was moved to another directory."""
        self.open_log = log
        log.assign_epoch(self.leader_epoch)
        if self.leading is not None:
            self.leading.use_log(log)
        self.notify(0)

    def refuse(self, code: ErrorCode) -> None:
        """Answers every request with this error from now on, for example because the directory has failed or another
        broker leads the partition.

        The log is detached before waiting requests are answered. Such an answer lets the connection send its next
        request, which would otherwise be appended without waiting for followers, and acknowledged at once.
        """

        def refuse() -> Log:
            raise KafkaError(code)

        self.refusal = code
        self.copy = self.open_log = None
        self._open = refuse
        if self.appends is not None:
            self.appends.refuse(code)
            self.appends = None
        self.resign()
        self.notify(0)

    def resign(self) -> None:
        """Ends the leadership over followers, and answers the requests that wait for them. Does nothing without
        followers."""
        leading, self.leading = self.leading, None
        if leading is not None:
            leading.resign()

    def serve(self, leader_epoch: int, open_log: Callable[[], Log]) -> None:
        """Leads the partition again, after :meth:`refuse`."""
        self.refusal = None
        self.copy = None
        self.leader_epoch = leader_epoch
        self._open = open_log

    def lead(self, leader_epoch: int) -> None:
        """Leads the partition in a new epoch, to which later appends belong. Raises KafkaError; nothing has changed
        then."""
        if leader_epoch != self.leader_epoch:
            if self.open_log is not None:
                self.open_log.assign_epoch(leader_epoch)
            self.leader_epoch = leader_epoch

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """Raises KafkaError if the client's leader epoch differs from ours (-1: not given). KIP-320.

        A partition without a log here has the error of that, whatever the epoch: the client must look for the leader.
        Source: ``ReplicaManager.getPartitionOrError``.
        """
        if current_leader_epoch in (-1, self.leader_epoch):
            return
        if not self.is_replica:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.refusal is ErrorCode.KAFKA_STORAGE_ERROR:
            raise KafkaError(self.refusal)
        if current_leader_epoch < self.leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        raise KafkaError(ErrorCode.UNKNOWN_LEADER_EPOCH)

    def append(
        self,
        records: bytes | bytearray | memoryview,
        now_ms: int,
        origin: AppendOrigin,
        header: BatchHeader | None = None,
        inspected: InspectedBatch | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Appends a client's or a coordinator's batch. Call :meth:`notify_when_seen` after it is answered.

        ``header``: that of the batch, if it was read already. ``inspected``, ``transaction_version``: as for
        :meth:`LogAppender.append_as_leader`.
        Raises KafkaError with the client's error, InspectionNeededError.
        """
        log = self.open_log
        if log is None:
            log = self.log
        appended = log.appender.append_as_leader(
            records,
            self.leader_epoch,
            now_ms,
            origin=origin,
            header=header,
            inspected=inspected,
            transaction_version=transaction_version,
        )
        if log.offsets.wants_sync:
            self.group_commit.appended(log)
        return appended

    def append_later(self, records: Buffer, now_ms: int, inspected: InspectedBatch | None, appended: Appended) -> None:
        """Appends a client's batch after those in progress; a large one on a thread.

        ``records`` must stay valid until ``appended`` is called with the result.
        """
        if self.appends is None:
            self.appends = AppendQueue(self, self.writers)
        self.appends.append(records, now_ms, inspected, appended)

    def between_appends(self, action: Callable[[], None]) -> None:
        """Runs an action between appends: now, or after the one that a thread is writing."""
        if self.appends is None:
            action()
        else:
            self.appends.between.append(action)

    def notify_when_seen(self, end_offset: int, appended_bytes: int) -> None:
        """Calls :meth:`notify` when consumers can read the records up to ``end_offset``: with followers, once the
        in-sync replicas have them; otherwise after the sync, if records are hidden until then.
        """
        log = self.open_log
        if self.leading is not None:
            self.leading.appended(end_offset, appended_bytes)
        elif log is not None and log.offsets.wants_sync:
            seen_at = log.offsets.flush_policy.offset_to_see(end_offset)
            self.group_commit.when_synced(log, seen_at, lambda failure: self.notify(0 if failure else appended_bytes))
        else:
            self.notify(appended_bytes)

    def wait(self, waiter: Waiter) -> None:
        """Calls ``waiter`` at each append until :meth:`stop_waiting`."""
        self._waiters[waiter] = None

    def stop_waiting(self, waiter: Waiter) -> None:
        """Removes a waiter, if it is registered."""
        self._waiters.pop(waiter, None)

    def notify(self, appended_bytes: int) -> None:
        """Calls the waiters: ``appended_bytes`` more can be read (0: the partition has changed in another way)."""
        if self._waiters:
            for waiter in list(self._waiters):
                waiter(appended_bytes)


class AppendQueue:
    """The appends of one partition that do not end inside the call: large ones, and those that follow them.

    Owns their order. Writer threads only write; validation and the log stay on the event loop. A partition has one
    append at a time, and the others follow in FIFO order, so offsets, sequences and rolls are the same as for
    sequential appends. Source: our own; Kafka's request handler threads take the log's lock.
    """

    __slots__ = ("_is_busy", "_partition", "_refusal", "_waiting", "_writers", "between")

    def __init__(self, partition: "Partition", writers: WriterThreads) -> None:
        self._partition = partition
        self._writers = writers
        self._waiting: deque[tuple[Buffer, int, InspectedBatch | None, Appended]] = deque()
        self._is_busy = False
        self._refusal: ErrorCode | None = None
        self.between: list[Callable[[], None]] = []
        """Actions to run once, after the current append."""

    def append(self, records: Buffer, now_ms: int, inspected: InspectedBatch | None, appended: Appended) -> None:
        """Appends a client's batch after the earlier ones. ``records`` must stay valid until ``appended`` is called."""
        self._waiting.append((records, now_ms, inspected, appended))
        if not self._is_busy:
            self._is_busy = True
            self._append_waiting()

    def refuse(self, code: ErrorCode) -> None:
        """Refuses the waiting appends, because the partition is not led any more. A batch that a thread is writing is
        not acknowledged.

        Later appends need another queue.
        """
        self._refusal = code

    def _append_waiting(self) -> None:
        """Appends waiting batches, up to the first one that a thread must write."""
        try:
            while self.between or self._waiting:
                if self.between:
                    self.between.pop()()
                elif self._begins_a_write(*self._waiting.popleft()):
                    return
        except BaseException:
            self._writers.next_turn(self._append_waiting)  # the remaining batches
            raise
        self._is_busy = False
        if self._refusal is None:
            self._partition.appends = None

    def _begins_a_write(
        self, records: Buffer, now_ms: int, inspected: InspectedBatch | None, appended: Appended
    ) -> bool:
        """Starts appending one batch. Returns True if a writer thread has taken it over."""
        partition = self._partition
        result: AppendInfo | KafkaError | InspectionNeededError
        try:
            if self._refusal is not None:
                raise KafkaError(self._refusal)
            log = partition.log
            if inspected is not None and inspected.config is not log.config:
                inspected = None
            size = len(records if inspected is None else inspected.batch)
            if size < self._writers.large_bytes:
                result = partition.append(records, now_ms, AppendOrigin.CLIENT, inspected=inspected)
            else:
                begun = log.appender.begin(records, partition.leader_epoch, now_ms, inspected)
                if isinstance(begun, PendingAppend):
                    self._writers.run(begun.write, partial(self._written, log, begun, appended))
                    return True
                result = begun
        except (KafkaError, InspectionNeededError) as error:
            result = error.with_traceback(None)  # the traceback holds this frame: a cycle
        appended(result)
        return False

    def _written(self, log: Log, pending: PendingAppend, appended: Appended) -> None:
        result: AppendInfo | KafkaError
        try:
            result = log.appender.complete(pending)
            if log.offsets.wants_sync:
                self._partition.group_commit.appended(log)
        except KafkaError as error:
            result = error.with_traceback(None)  # the traceback holds this frame: a cycle
        except Exception as error:  # noqa: BLE001 - a bug: the client waits, and the batches after this one
            WRITES.failed(f"{self._partition.topic}-{self._partition.index}", error)
            result = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if self._refusal is not None:
            result = KafkaError(self._refusal)
        try:
            appended(result)
        finally:
            self._append_waiting()
