"""Appends of one partition that do not end inside the call: large ones, which a thread writes, and those behind them.

Owns: their order. Never does: validating, or touching the log beside the event loop: only the write itself is the
thread's. Invariant: one append of a partition is under way at a time, and the others follow in the order in which they
came, so that offsets, sequences and rolls are those of appends one after the other. Source: our own; a Kafka's request
handler threads meet at the log's lock.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...protocol.errors import KafkaError
from ...protocol.records.batch import Buffer
from ...storage.log.append_plan import InspectionNeededError
from ...storage.log.log import AppendInfo, AppendOrigin, Log, PendingAppend
from ...storage.log.record_inspection import InspectedBatch
from .writer_threads import WriterThreads

if TYPE_CHECKING:
    from .partition import Partition

LARGE_APPEND_BYTES = 32 * 1024
"""From this size on a thread writes. The way to a thread and back costs 0.1 ms of CPU, a write of 32 KiB 0.01 ms and of
1 MiB 1 ms, and several times that while the system makes writers wait for a busy disk. Two connections at full rate
beside one with small requests, whose median is, with the writes on the event loop and with threads: batches of 1 MB
10 to 15 and 2 to 3 ms, 64 KB 3 to 5 and 0.5 to 0.8 ms, 32 KB 1.5 to 2.3 and 0.4 ms; its 99th percentile falls to a
fifth to two thirds. Writers of up to 64 KB get on faster too; of larger batches the runs do not agree."""

Appended = Callable[[AppendInfo | KafkaError | InspectionNeededError], None]
"""Gets InspectionNeededError if the topic's configuration has changed since the records were looked at."""


class AppendQueue:
    """The appends of one partition, while there are any that do not end inside the call."""

    __slots__ = ("_is_busy", "_partition", "_waiting", "_writers", "between")

    def __init__(self, partition: "Partition", writers: WriterThreads) -> None:
        self._partition = partition
        self._writers = writers
        self._waiting: deque[tuple[Buffer, int, InspectedBatch | None, Appended]] = deque()
        self._is_busy = False
        self.between: list[Callable[[], None]] = []
        """What is to be done once, when no append is under way."""

    def append(self, records: Buffer, now_ms: int, inspected: InspectedBatch | None, appended: Appended) -> None:
        """Appends a client's batch after those that came before; ``records`` must stay valid until ``appended``."""
        self._waiting.append((records, now_ms, inspected, appended))
        if not self._is_busy:
            self._is_busy = True
            self._go_on()

    def _go_on(self) -> None:
        """Appends what waits, up to the first that a thread is to write."""
        try:
            while self.between or self._waiting:
                if self.between:
                    self.between.pop()()
                elif self._begins_a_write(*self._waiting.popleft()):
                    return
        except BaseException:
            asyncio.get_running_loop().call_soon(self._go_on)  # for the others
            raise
        self._is_busy = False
        self._partition.appends = None

    def _begins_a_write(
        self, records: Buffer, now_ms: int, inspected: InspectedBatch | None, appended: Appended
    ) -> bool:
        """Starts appending one batch. Returns True if a writer thread has taken it over."""
        partition = self._partition
        result: AppendInfo | KafkaError | InspectionNeededError
        try:
            log = partition.log
            if inspected is not None and inspected.config is not log.config:
                inspected = None
            size = len(records if inspected is None else inspected.batch)
            if size < LARGE_APPEND_BYTES:
                result = partition.append(records, now_ms, AppendOrigin.CLIENT, inspected=inspected)
            else:
                begun = log.begin_append(records, partition.leader_epoch, now_ms, inspected)
                if isinstance(begun, PendingAppend):
                    self._writers.run(begun.write, partial(self._written, log, begun, appended))
                    return True
                result = begun
        except (KafkaError, InspectionNeededError) as error:
            result = error
        appended(result)
        return False

    def _written(self, log: Log, pending: PendingAppend, appended: Appended) -> None:
        result: AppendInfo | KafkaError
        try:
            result = log.complete_append(pending)
            if log.wants_sync:
                self._partition.group_commit.appended(log)
        except KafkaError as error:
            result = error
        try:
            appended(result)
        finally:
            self._go_on()
