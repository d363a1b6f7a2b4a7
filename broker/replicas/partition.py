"""A partition that this broker leads: its log, and who waits for it to grow.

Pure but for the given log. Owns: the log, the leader epoch, the waiting fetches. Never does: deciding what a request
means. Invariant: with one replica the high watermark is the log end offset, but for what is to be synced first
(docs/durability.md). Source: ``Partition.scala``.
"""

from collections.abc import Callable

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.records.batch import BatchHeader, Buffer
from ...storage.log.log import AppendInfo, AppendOrigin, Log
from ...storage.log.record_inspection import InspectedBatch
from .append_queue import Appended, AppendQueue
from .group_commit import GroupCommit
from .writer_threads import WriterThreads

Waiter = Callable[["Partition", int], None]
"""Called with the partition and the bytes appended; 0 bytes: the partition has changed, look again."""


class Partition:
    """One partition of this broker."""

    __slots__ = (
        "_log",
        "_open_log",
        "_waiters",
        "_writers",
        "appends",
        "group_commit",
        "index",
        "leader_epoch",
        "refusal",
        "topic",
        "topic_id",
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
        """``open_log`` is called when the log is first needed: a partition that nobody uses costs no file."""
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.leader_epoch = leader_epoch
        self.group_commit = group_commit
        self.appends: AppendQueue | None = None
        """The appends that are under way beside the event loop; what comes meanwhile goes behind them."""
        self._writers = writers
        self._open_log = open_log
        self._log: Log | None = None
        self._waiters: dict[Waiter, None] = {}
        self.refusal: ErrorCode | None = None
        """What everything is answered with, None where the partition is served."""

    @property
    def log(self) -> Log:
        """The partition's log. Raises KafkaError KAFKA_STORAGE_ERROR where it can't be opened."""
        log = self._log
        if log is None:
            log = self._log = self._open_log()
            log.assign_epoch(self.leader_epoch)
        return log

    def wants_sync(self) -> bool:
        """:attr:`Log.wants_sync` of its log, for what is asked with every request. Raises KafkaError as :attr:`log`."""
        log = self._log
        return (self.log if log is None else log).wants_sync

    def use_log(self, log: Log) -> None:
        """Serves this log from now on: the replica was moved to another directory."""
        self._log = log
        log.assign_epoch(self.leader_epoch)
        self.notify(0)

    def refuse(self, code: ErrorCode) -> None:
        """Answers everything with this error: the directory has failed, or nobody leads."""
        self.refusal = code

        def refuse() -> Log:
            raise KafkaError(code)

        self._log = None
        self._open_log = refuse
        self.notify(0)

    def serve(self, leader_epoch: int, open_log: Callable[[], Log]) -> None:
        """Leads what was refused until now."""
        self.refusal = None
        self.leader_epoch = leader_epoch
        self._open_log = open_log

    @property
    def open_log(self) -> Log | None:
        """The log if it was needed already, else None."""
        return self._log

    def lead(self, leader_epoch: int) -> None:
        """This broker leads the partition in a new epoch: what is appended from now on belongs to it."""
        if leader_epoch != self.leader_epoch:
            self.leader_epoch = leader_epoch
            if self._log is not None:
                self._log.assign_epoch(leader_epoch)

    def check_leader_epoch(self, current_leader_epoch: int) -> None:
        """Raises KafkaError where a client knows another leader epoch than ours (-1: it does not say). KIP-320."""
        if current_leader_epoch in (-1, self.leader_epoch):
            return
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
    ) -> AppendInfo:
        """Appends a client's or a coordinator's batch; call :meth:`notify_when_seen` once it is answered.

        ``header``: the batch's, if it was read already. ``inspected``: as for :meth:`Log.append_as_leader`.
        Raises KafkaError with the client's error, InspectionNeededError.
        """
        log = self.log
        appended = log.append_as_leader(
            records, self.leader_epoch, now_ms, origin=origin, header=header, inspected=inspected
        )
        if log.wants_sync:
            self.group_commit.appended(log)
        return appended

    def append_later(self, records: Buffer, now_ms: int, inspected: InspectedBatch | None, appended: Appended) -> None:
        """Appends a client's batch after those that are under way, a large one on a thread.

        ``records`` must stay valid until ``appended`` is called with what became of it.
        """
        if self.appends is None:
            self.appends = AppendQueue(self, self._writers)
        self.appends.append(records, now_ms, inspected, appended)

    def between_appends(self, action: Callable[[], None]) -> None:
        """Does something while no append is under way: now, or as soon as the one that a thread writes has ended."""
        if self.appends is None:
            action()
        else:
            self.appends.between.append(action)

    def notify_when_seen(self, end_offset: int, appended_bytes: int) -> None:
        """:meth:`notify`, as soon as consumers see what ends at ``end_offset``: after the sync where they must wait."""
        log = self._log
        if log is not None and log.wants_sync:
            seen_at = log.promise.offset_to_see(end_offset)
            self.group_commit.when_synced(log, seen_at, lambda failure: self.notify(0 if failure else appended_bytes))
        else:
            self.notify(appended_bytes)

    def wait(self, waiter: Waiter) -> None:
        """Calls ``waiter`` at each append until :meth:`stop_waiting`."""
        self._waiters[waiter] = None

    def stop_waiting(self, waiter: Waiter) -> None:
        """Forgets a waiter; harmless when it is not known."""
        self._waiters.pop(waiter, None)

    def notify(self, appended_bytes: int) -> None:
        """Tells those who wait that ``appended_bytes`` can be read now (0: that something else has changed)."""
        if self._waiters:
            for waiter in list(self._waiters):
                waiter(self, appended_bytes)
