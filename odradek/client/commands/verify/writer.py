"""Writes the records of a run, and passes the outcome of each to the checker.

Owns: the rate, the transactions and their ends. It continues while brokers fail: the producer retries for
delivery.timeout.ms, and after a fatal error a new producer is created. The writer itself never resends a record.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from odradek.protocol.errors import ErrorCode, KafkaError

from ...errors import AuthenticationError, ClientError, TransactionTimeoutError
from ...producer.producer import Producer
from ...types import RecordMetadata
from .checker import Checker
from .plan import VerifyPlan, key_of, value_of

UNANSWERED_MAX = 5_000
"""The maximum number of records without an answer. At this number the writer waits, and the rate falls."""
CATCH_UP_S = 1.0
"""After a pause, the missed records of at most this time are sent at once. The others only delay the schedule."""
TRANSACTION_RECORDS = 100
TRANSACTION_S = 0.5
"""A transaction ends after this many records or seconds."""
ABORT_EVERY = 5
"""One of this many transactions is aborted."""
RETRY_S = 0.5
REFUSALS = frozenset({ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.INVALID_RECORD})
"""Errors caused by the record itself, which no attempt can have stored. After any other error, an earlier attempt may
have been stored.
"""


class VerifyWriter:
    """Sends the records of one run."""

    def __init__(self, plan: VerifyPlan, checker: Checker, new_producer: Callable[[], Producer]) -> None:
        """``new_producer`` creates a producer without starting it, a transactional one if ``plan.transactional``."""
        self._plan, self._checker, self._new_producer = plan, checker, new_producer
        self._now_s = asyncio.get_running_loop().time
        self._wake = asyncio.Event()
        self._next_s = self._now_s()
        self._end_s = float("inf") if plan.duration_s is None else self._next_s + plan.duration_s
        self._stopped = False
        self.unanswered = 0
        """The number of records that wait for an answer now."""
        self.answered_s = self._next_s
        """The loop time (s) of the last acknowledgement."""
        self.trouble = ""
        """The text of the last error."""

    def stop(self) -> None:
        """Stops sending. Records that were sent still get their outcome."""
        self._stopped = True
        self._wake.set()

    async def write(self) -> None:
        """Sends the records, and returns after each has its outcome.

        Raises AuthenticationError; KafkaError and ClientError only if they occur before the first record.
        """
        while not self._is_over():
            try:
                async with self._new_producer() as producer:
                    await (self._write_transactions if self._plan.transactional else self._write)(producer)
            except AuthenticationError:
                raise
            except (KafkaError, ClientError) as error:
                if not self._checker.count:
                    raise
                self._failed(error)
                await asyncio.sleep(RETRY_S)
        await asyncio.sleep(0)  # runs the callbacks of records that failed when the producer stopped

    def _is_over(self) -> bool:
        return self._stopped or self._checker.count == self._plan.records or self._now_s() >= self._end_s

    def _failed(self, error: BaseException) -> None:
        self.trouble = str(error.args[-1] if error.args else error)

    # Records

    async def _write(self, producer: Producer) -> None:
        while await self._turn(self._end_s):
            await self._send(producer)
        await producer.flush()

    async def _turn(self, end_s: float) -> bool:
        """Waits until the next record may be sent. Returns False if ``end_s`` comes first, or if the run is over."""
        await asyncio.sleep(0)
        while not self._is_over() and (now_s := self._now_s()) < end_s:
            has_room = self.unanswered < UNANSWERED_MAX
            if has_room and self._next_s <= now_s:
                self._next_s = max(self._next_s, now_s - CATCH_UP_S) + 1 / self._plan.rate
                return True
            self._wake.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout_at(min(end_s, self._next_s) if has_room else min(end_s, self._end_s)):
                    await self._wake.wait()
        return False

    async def _send(self, producer: Producer) -> None:
        """Sends a record. Raises AuthenticationError; in a transaction also KafkaError and ClientError."""
        number = self._checker.sent()
        value = value_of(self._plan.run, number, int(self._now_s() * 1_000_000))
        try:
            future = await producer.send(self._plan.topic, value, key_of(number))
        except (KafkaError, ClientError) as error:
            self._checker.refused(number)  # the record was not queued
            self._failed(error)
            if self._plan.transactional or isinstance(error, AuthenticationError):
                raise
            return
        self.unanswered += 1
        future.add_done_callback(lambda done: self._answered(number, done))

    def _answered(self, number: int, done: asyncio.Future[RecordMetadata]) -> None:
        self.unanswered -= 1
        self._wake.set()
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self._failed(error)
            if isinstance(error, KafkaError) and error.error_code in REFUSALS:
                self._checker.refused(number)
        elif not done.cancelled():
            self._checker.acknowledged(number, done.result().partition, done.result().offset)
            self.answered_s = self._now_s()

    # Transactions

    async def _write_transactions(self, producer: Producer) -> None:
        """Writes transactions until the run is over. Raises ClientError, KafkaError if it needs a new producer."""
        await self._answer_to(producer.init_transactions)
        number = 0
        while not self._is_over():
            number += 1
            await self._transaction(producer, is_aborted=number % ABORT_EVERY == 0)

    async def _transaction(self, producer: Producer, *, is_aborted: bool) -> None:
        """Writes one transaction. Its records have an outcome afterwards, even if it raises ClientError, KafkaError."""
        checker, first, is_committing = self._checker, self._checker.count, False
        try:
            await producer.begin_transaction()
            end_s = self._now_s() + TRANSACTION_S
            while checker.count - first < TRANSACTION_RECORDS and await self._turn(end_s):
                await self._send(producer)
            await producer.flush()
            if not is_aborted:
                is_committing = True
                await self._answer_to(producer.commit_transaction)
                return
        except (KafkaError, ClientError) as error:
            self._failed(error)
        try:
            await self._answer_to(producer.abort_transaction)
        except (KafkaError, ClientError):
            (checker.in_doubt if is_committing else checker.aborted)(first, checker.count)
            raise
        checker.aborted(first, checker.count)

    async def _answer_to(self, call: Callable[[], Awaitable[None]]) -> None:
        """Repeats a call about a transaction while it times out. Raises TransactionTimeoutError if the run is over."""
        while True:
            try:
                return await call()
            except TransactionTimeoutError as error:
                self._failed(error)
                if self._is_over():
                    raise
