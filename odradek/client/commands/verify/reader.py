"""Reads the records of a run: follows the topic during the run, then reads all records again.

Owns: the positions, and the decision that a partition is read to its end. Errors of the cluster do not stop the reader;
``trouble`` has the last one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from odradek.protocol.errors import KafkaError, ProtocolError

from ...admin.records import RecordAdmin
from ...cluster.list_offsets import LATEST_TIMESTAMP
from ...consumer.consumer import Consumer
from ...errors import AuthenticationError, ClientError
from ...types import ConsumerRecord, TopicPartition
from ..latencies import LatencySeries
from .checker import Checker
from .plan import VerifyPlan, parsed

POLL_MS = 200
RECORDS_A_POLL = 2_000
RETRY_S = 0.2
SETTLE_S = 10.0
"""A newly elected leader knows its high watermark only after its followers have fetched. Acknowledged records beyond
the high watermark count as lost after this time without progress.
"""
READINGS_MAX = 5
Handle = Callable[[ConsumerRecord, int, int], None]
"""A function that takes a record of the run, its number and its send time in µs."""


class VerifyReader:
    """Reads one topic from the offsets at which the run began."""

    def __init__(
        self,
        plan: VerifyPlan,
        checker: Checker,
        consumer: Consumer,
        admin: RecordAdmin,
        begins: dict[TopicPartition, int],
    ) -> None:
        self._plan, self._checker, self._consumer, self._admin, self._begins = plan, checker, consumer, admin, begins
        self._now_s = asyncio.get_running_loop().time
        self._start_s = self._now_s()
        self._last: dict[TopicPartition, int] = {}
        self._went_back = False
        self.latencies = LatencySeries()
        self.trouble = ""
        """The text of the last error."""
        consumer.assign(begins)
        self._seek_to_begin()

    def _seek_to_begin(self) -> None:
        self._last.clear()
        self._went_back = False
        for partition, offset in self._begins.items():
            self._consumer.seek(partition, offset)

    async def follow(self, over: asyncio.Event) -> None:
        """Reads until ``over`` is set, then up to the end of all partitions. Raises AuthenticationError."""
        while not over.is_set():
            await self._poll(self._followed)
        if not await self._read_to_end(self._followed):
            self._checker.followed_to_the_end()

    async def read_again(self) -> None:
        """Reads all records again from the start of the run, for the findings. Raises AuthenticationError.

        If a truncation moved the position back during the reading, starts again, up to READINGS_MAX times.
        """
        for _ in range(READINGS_MAX):
            self._checker.begin_reading()
            self._seek_to_begin()
            unread = await self._read_to_end(self._found)
            if not self._went_back:
                break
        else:
            unread = dict.fromkeys(self._begins, "it was truncated repeatedly while it was read")
        for partition, reason in unread.items():
            self._checker.unread(partition.partition, reason)

    def _followed(self, record: ConsumerRecord, number: int, sent_us: int) -> None:
        if self._checker.followed(number):
            sent_s = sent_us / 1_000_000
            self.latencies.add(max(0.0, sent_s - self._start_s), (self._now_s() - sent_s) * 1000)

    def _found(self, record: ConsumerRecord, number: int, sent_us: int) -> None:
        if record.offset <= self._last.get(record.topic_partition, -1):
            self._went_back = True
        self._last[record.topic_partition] = record.offset
        self._checker.found(number, record.partition, record.offset)

    async def _poll(self, handle: Handle) -> bool:
        """Polls once and handles the records. Returns True if a position has changed. Raises AuthenticationError."""
        before = self._consumer.positions()
        try:
            polled = await self._consumer.poll(POLL_MS, RECORDS_A_POLL)
        except AuthenticationError:
            raise
        except (KafkaError, ClientError, ProtocolError) as error:
            self.trouble = str(error.args[-1] if error.args else error)
            await asyncio.sleep(RETRY_S)
            return False
        for records in polled.values():
            for record in records:
                ours = parsed(self._plan.run, record.key, record.value)
                if ours is not None and ours[0] < self._checker.count:
                    handle(record, *ours)
        return self._consumer.positions() != before

    async def _read_to_end(self, handle: Handle) -> dict[TopicPartition, str]:
        """Reads to the end of all partitions. Gives up after ``timeout_s`` without progress.

        Returns the partitions whose end it did not reach, with the reason.
        """
        ends, moved_s = await self._ends(), self._now_s()
        while not ends or self._behind(ends):
            if await self._poll(handle):
                moved_s = self._now_s()
                continue
            ends, still_s = await self._ends(), self._now_s() - moved_s
            positions = self._consumer.positions()
            is_at_ends = bool(ends) and all(positions.get(partition, -1) >= end for partition, end in ends.items())
            if is_at_ends and still_s >= SETTLE_S:
                break
            if still_s >= self._plan.timeout_s:
                return self._behind(ends) or dict.fromkeys(self._begins, f"its end is unknown{self._because()}")
        return {}

    def _behind(self, ends: dict[TopicPartition, int]) -> dict[TopicPartition, str]:
        """The partitions that are not read to their end yet, each with a text about its position."""
        texts, positions = {}, self._consumer.positions()
        for partition, begin in self._begins.items():
            position = positions.get(partition, begin)
            owed = max(ends.get(partition, begin), self._checker.owed_until(partition.partition))
            if position < owed:
                texts[partition] = f"read up to offset {position} of {owed}{self._because()}"
        return texts

    def _because(self) -> str:
        return f"; the last error: {self.trouble}" if self.trouble else ""

    async def _ends(self) -> dict[TopicPartition, int]:
        """The high watermarks; empty if the leaders do not answer. Raises AuthenticationError."""
        try:
            found = await self._admin.list_offsets(dict.fromkeys(self._begins, LATEST_TIMESTAMP))
        except AuthenticationError:
            raise
        except (KafkaError, ClientError) as error:
            self.trouble = str(error.args[-1] if error.args else error)
            return {}
        return {partition: offset.offset for partition, offset in found.items()}
