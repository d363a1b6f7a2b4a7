"""What clients do while a broker restarts: one class for each kind of client of each library.

An action writes or reads one number, and calls ``middle`` while it is under way: a record is sent and not awaited, a
transaction is open, a consumer has its partitions.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import aiokafka
import confluent_kafka
import kafka
from confluent_kafka import TopicPartition
from kafka import OffsetAndMetadata
from kafka import TopicPartition as PythonTopicPartition

from support.eventually import PATIENCE_S, eventually
from support.pages import blocks

from .restart_topics import GROUP, IN, OUT, write

exec(blocks("docs/operating.md", "Clients and a restart")[0].text, {})
"""The lines with which transactions of kafka-python go on."""

Middle = Callable[[], object]


class Restarted(Protocol):
    """A client that goes on over restarts."""

    def act(self, number: int, middle: Middle) -> None:
        """Writes or reads a number; ``middle`` is called while that is under way."""

    def close(self) -> None:
        """Closes the client."""


class ConfluentProducer:
    """confluent-kafka: a producer without a transaction."""

    def __init__(self, address: str, **settings: Any) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": address, **settings})

    def act(self, number: int, middle: Middle) -> None:
        """Writes a number."""
        self._producer.produce(OUT, str(number))
        middle()
        assert not self._producer.flush(PATIENCE_S), "the record is not acknowledged"

    def close(self) -> None:
        """Does nothing: the producer has nothing to do."""


class ConfluentTransactions:
    """confluent-kafka: transactions of one record."""

    def __init__(self, address: str) -> None:
        self._producer = confluent_kafka.Producer({"bootstrap.servers": address, "transactional.id": "restart"})
        self._producer.init_transactions(PATIENCE_S)

    def act(self, number: int, middle: Middle) -> None:
        """Writes a number in a transaction."""
        self._producer.begin_transaction()
        self._producer.produce(OUT, str(number))
        middle()
        self._producer.commit_transaction(PATIENCE_S)

    def close(self) -> None:
        """Does nothing: no transaction is open."""


class ConfluentGroup:
    """confluent-kafka: a member of a group that commits what it has read."""

    def __init__(self, address: str, protocol: str) -> None:
        self._address = address
        settings = {"bootstrap.servers": address, "group.id": GROUP, "group.protocol": protocol}
        self.consumer = confluent_kafka.Consumer(
            settings | {"auto.offset.reset": "earliest", "enable.auto.commit": False}
        )
        self.consumer.subscribe([IN])

    def next(self, number: int) -> confluent_kafka.Message:
        """Reads until a number comes."""

        def found() -> confluent_kafka.Message | None:
            message = self.consumer.poll(0.2)
            is_record = message is not None and message.error() is None
            return message if is_record and message is not None and message.value() == str(number).encode() else None

        message = eventually(f"number {number}", found)
        assert message is not None
        return message

    def act(self, number: int, middle: Middle) -> None:
        """Reads a number, and commits it."""
        middle()
        write(self._address, number)
        self.next(number)
        eventually("a commit", self._commits)

    def _commits(self) -> bool:
        try:
            self.consumer.commit(asynchronous=False)
        except confluent_kafka.KafkaException as error:
            if not error.args[0].retriable() and error.args[0].code() not in REJOINING:
                raise
            self.consumer.poll(0.2)
            return False
        return True

    def close(self) -> None:
        """Leaves the group."""
        self.consumer.close()


REJOINING = (
    confluent_kafka.KafkaError.UNKNOWN_MEMBER_ID,
    confluent_kafka.KafkaError.ILLEGAL_GENERATION,
    confluent_kafka.KafkaError.REBALANCE_IN_PROGRESS,
    confluent_kafka.KafkaError.STALE_MEMBER_EPOCH,
    confluent_kafka.KafkaError._NO_OFFSET,
    confluent_kafka.KafkaError._TRANSPORT,
    confluent_kafka.KafkaError._TIMED_OUT,
    confluent_kafka.KafkaError._WAIT_COORD,
)
"""Errors of a commit whose member joins again."""


class ConfluentCopies:
    """confluent-kafka: copies a record in a transaction with its offset."""

    def __init__(self, address: str, protocol: str, **settings: Any) -> None:
        """``settings`` of the producer."""
        self._address = address
        self._group = ConfluentGroup(address, protocol)
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": address, "transactional.id": "copy", **settings}
        )
        self._producer.init_transactions(PATIENCE_S)

    def act(self, number: int, middle: Middle) -> None:
        """Copies a number."""
        write(self._address, number)
        message = self._group.next(number)
        self._producer.begin_transaction()
        self._producer.produce(OUT, message.value())
        middle()
        position = [TopicPartition(IN, 0, (message.offset() or 0) + 1)]
        self._producer.send_offsets_to_transaction(position, self._group.consumer.consumer_group_metadata(), PATIENCE_S)
        self._producer.commit_transaction(PATIENCE_S)

    def close(self) -> None:
        """Leaves the group."""
        self._group.close()


class ConfluentShare:
    """confluent-kafka: a member of a share group that accepts what it reads."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._consumer = confluent_kafka.ShareConsumer({"bootstrap.servers": address, "group.id": GROUP})
        self._consumer.subscribe([IN])
        self._poll()

    def _poll(self) -> list[bytes | None]:
        messages = list(self._consumer.poll(0.2) or [])
        return [message.value() for message in messages if message.error() is None]

    def act(self, number: int, middle: Middle) -> None:
        """Reads a number; a share group begins at the end, so numbers are written until one comes."""
        middle()

        def found() -> bool:
            write(self._address, number)
            return str(number).encode() in self._poll()

        eventually(f"number {number}", found)

    def close(self) -> None:
        """Leaves the group."""
        self._consumer.close()


class PythonProducer:
    """kafka-python: a producer without a transaction."""

    def __init__(self, address: str, **settings: Any) -> None:
        self._producer = kafka.KafkaProducer(bootstrap_servers=address, **settings)

    def act(self, number: int, middle: Middle) -> None:
        """Writes a number."""
        sent = self._producer.send(OUT, str(number).encode())
        middle()
        sent.get(timeout=PATIENCE_S)

    def close(self) -> None:
        """Closes the producer."""
        self._producer.close()


class PythonCopies:
    """kafka-python: writes in transactions; ``copies``: what a group has read, with its offset."""

    def __init__(self, address: str, copies: bool) -> None:
        self._address = address
        self._group = PythonGroup(address) if copies else None
        self._producer = kafka.KafkaProducer(bootstrap_servers=address, transactional_id="restart-python")
        self._producer.init_transactions()

    def act(self, number: int, middle: Middle) -> None:
        """Writes or copies a number."""
        position = None
        if self._group is not None:
            write(self._address, number)
            position = self._group.next(number)
        self._producer.begin_transaction()
        self._producer.send(OUT, str(number).encode())
        middle()
        if self._group is not None and position is not None:
            offsets = {PythonTopicPartition(IN, 0): OffsetAndMetadata(position + 1, "", -1)}
            self._producer.send_offsets_to_transaction(offsets, self._group.consumer.group_metadata())
        self._producer.commit_transaction()

    def close(self) -> None:
        """Closes both clients."""
        self._producer.close()
        if self._group is not None:
            self._group.close()


LONG_POLL_MS = 5_000
"""A poll of kafka-python 3.0.12 that ends while the member joins may lose its partitions: it is longer than a join."""


class PythonGroup:
    """kafka-python: a member of a classic group that commits what it has read."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.consumer = kafka.KafkaConsumer(
            IN, bootstrap_servers=address, group_id=GROUP, auto_offset_reset="earliest", enable_auto_commit=False
        )

    def next(self, number: int) -> int:
        """Reads until a number comes. Returns its offset."""

        def found() -> int | None:
            for records in self._poll().values():
                for record in records:
                    if record.value == str(number).encode():
                        return int(record.offset) + 1
            return None

        offset = eventually(f"number {number}", found)
        assert offset is not None
        return offset - 1

    def _poll(self) -> dict[Any, Any]:
        try:
            return dict(self.consumer.poll(LONG_POLL_MS))
        except kafka.errors.KafkaConnectionError:
            return {}

    def act(self, number: int, middle: Middle) -> None:
        """Reads a number, and commits it."""
        middle()
        write(self._address, number)
        self.next(number)
        eventually("a commit", self._commits)

    def _commits(self) -> bool:
        try:
            self.consumer.commit()
        except kafka.errors.CommitFailedError:
            self._poll()  # it joins again
            return False
        except kafka.errors.KafkaConnectionError:
            return False
        return True

    def close(self) -> None:
        """Leaves the group."""
        self.consumer.close()


class AioKafka:
    """aiokafka: a producer; ``group``: it copies what a group has read, with the offset if it has transactions."""

    def __init__(
        self, address: str, *, transactional_id: str | None = None, group: bool = False, **settings: Any
    ) -> None:
        self._address = address
        self._runner = asyncio.Runner()
        self._has_transactions = transactional_id is not None
        self._runner.run(self._start({"transactional_id": transactional_id, **settings}, group))

    async def _start(self, settings: dict[str, Any], group: bool) -> None:
        self._producer = aiokafka.AIOKafkaProducer(bootstrap_servers=self._address, **settings)
        await self._producer.start()
        self._consumer = None
        if group:
            self._consumer = aiokafka.AIOKafkaConsumer(
                IN,
                bootstrap_servers=self._address,
                group_id=GROUP,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
            )
            await self._consumer.start()

    def act(self, number: int, middle: Middle) -> None:
        """Writes, reads or copies a number."""
        self._runner.run(self._act(number, middle))

    async def _act(self, number: int, middle: Middle) -> None:
        async with asyncio.timeout(PATIENCE_S):
            if self._consumer is not None:
                await asyncio.to_thread(write, self._address, number)
                record = await self._consumer.getone()
                while record.value != str(number).encode():
                    record = await self._consumer.getone()
            if not self._has_transactions:
                sent = await self._producer.send(OUT, str(number).encode())
                await asyncio.to_thread(middle)
                await sent
                if self._consumer is not None:
                    await self._commit()
                return
            async with self._producer.transaction():
                await self._producer.send(OUT, str(number).encode())
                await asyncio.to_thread(middle)
                if self._consumer is not None:
                    offsets = {aiokafka.TopicPartition(IN, 0): record.offset + 1}
                    await self._producer.send_offsets_to_transaction(offsets, GROUP)

    async def _commit(self) -> None:
        assert self._consumer is not None
        while True:
            try:
                await self._consumer.commit()
            except aiokafka.errors.CommitFailedError:
                await self._consumer.getmany(timeout_ms=200)  # it joins again
            else:
                return

    def close(self) -> None:
        """Closes both clients."""
        self._runner.run(self._stop())
        self._runner.close()

    async def _stop(self) -> None:
        await self._producer.stop()
        if self._consumer is not None:
            await self._consumer.stop()
