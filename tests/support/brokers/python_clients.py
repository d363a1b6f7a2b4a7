"""The three Python clients, used as in applications: settings that are not given are the clients' defaults.

Each class does the same with another client library: creates a topic, produces numbered records, and consumes as a
member of a group that writes a journal. Settings are named as each client names them.
"""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Protocol

from support.data.numbered_records import number_of, numbered_record
from support.groups.journal import Journal

TIMEOUT_S = 120.0
POLL_MS = 200


def learn_partitions(consumer: Any, topic: str, is_over: Callable[[], bool] = lambda: False) -> None:
    """Waits until a KafkaConsumer knows the partitions of a topic, before its first poll. Gives up if ``is_over``.

    This avoids a defect of kafka-python 3.0.12. A group's leader rejoins when the partitions of its topics become
    known. If the poll ends between its SyncGroup and the answer, ConsumerCoordinator.need_rejoin is already false, no
    code reads the answer, and the member sends no heartbeats until something else changes.
    """
    from kafka.errors import KafkaError

    is_known = False
    while not is_known and not is_over():
        with suppress(KafkaError):  # on a busy machine its requests time out
            is_known = bool(consumer.partitions_for_topic(topic))


class PythonClient(Protocol):
    """The operations of a client that the tests use."""

    name: str
    short_session: dict[str, Any]
    """The settings of a member with a session timeout of 6 s, the lowest that Kafka allows."""

    def create_topic(self, servers: str, topic: str, partitions: int) -> None:
        """Creates a topic; raises the client's own error."""

    def produce(self, servers: str, topic: str, codec: str, numbers: Iterable[int], settings: dict[str, Any]) -> None:
        """Sends numbered records and returns when all are acknowledged; raises the client's own error."""

    def consume(
        self, servers: str, topic: str, group: str, journal: Journal, leave: threading.Event, settings: dict[str, Any]
    ) -> None:
        """Consumes as a member and commits after each poll. Leaves the group when it must stop."""


class KafkaPython:
    """kafka-python."""

    name = "kafka-python"
    short_session: dict[str, Any] = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}

    def create_topic(self, servers: str, topic: str, partitions: int) -> None:
        """See PythonClient."""
        from kafka.admin import KafkaAdminClient, NewTopic

        admin = KafkaAdminClient(bootstrap_servers=servers)
        admin.create_topics([NewTopic(topic, partitions, 1)])
        admin.close()

    def produce(self, servers: str, topic: str, codec: str, numbers: Iterable[int], settings: dict[str, Any]) -> None:
        """See PythonClient."""
        from kafka import KafkaProducer

        compression = None if codec == "none" else codec
        producer = KafkaProducer(bootstrap_servers=servers, compression_type=compression, **settings)
        futures = []
        for number in numbers:
            record = numbered_record(number)
            futures.append(producer.send(topic, key=record.key, value=record.value, headers=record.headers))
        for future in futures:
            future.get(TIMEOUT_S)
        producer.close()

    def consume(
        self, servers: str, topic: str, group: str, journal: Journal, leave: threading.Event, settings: dict[str, Any]
    ) -> None:
        """See PythonClient."""
        from kafka import ConsumerRebalanceListener, KafkaConsumer
        from kafka.errors import KafkaError

        ends: dict[int, int] = {}

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, revoked: Any) -> None:
                journal.revoked(partition.partition for partition in revoked)
                forget(ends, (partition.partition for partition in revoked))

            def on_partitions_assigned(self, assigned: Any) -> None:
                generation = consumer.group_metadata().generation_id
                journal.assigned((partition.partition for partition in assigned), generation)

        consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", **settings)
        consumer.subscribe([topic], listener=Listener())
        learn_partitions(consumer, topic, leave.is_set)
        while not leave.is_set():
            polled = consumer.poll(timeout_ms=POLL_MS)
            for partition, records in polled.items():
                received = [(r.offset, number_of(r.key, r.value, list(r.headers))) for r in records]
                journal.received(partition.partition, received)
                ends[partition.partition] = records[-1].offset + 1
            if ends:
                try:
                    consumer.commit()
                except KafkaError as error:
                    journal.commit_failed(repr(error))
                else:
                    journal.committed(ends)
                    ends.clear()
        consumer.close()


def forget(ends: dict[int, int], partitions: Iterable[int]) -> None:
    """Forgets the offsets of revoked partitions, so that they are not committed with the next commit after a failed
    one.
    """
    for partition in partitions:
        ends.pop(partition, None)


def generation_of(consumer: Any) -> int:
    """The generation of a librdkafka consumer's group, after the name of the format (7 bytes) in its serialized group
    metadata.
    """
    metadata = bytes(consumer.consumer_group_metadata())
    assert metadata.startswith(b"CGMDv2:"), metadata
    return int.from_bytes(metadata[7:11], sys.byteorder, signed=True)


class ConfluentKafka:
    """confluent-kafka (librdkafka)."""

    name = "confluent-kafka"
    short_session: dict[str, Any] = {"session.timeout.ms": 6000, "heartbeat.interval.ms": 1000}

    def create_topic(self, servers: str, topic: str, partitions: int) -> None:
        """See PythonClient."""
        from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

        admin = AdminClient({"bootstrap.servers": servers})  # the requests end with the object
        admin.create_topics([NewTopic(topic, partitions)])[topic].result(TIMEOUT_S)

    def produce(self, servers: str, topic: str, codec: str, numbers: Iterable[int], settings: dict[str, Any]) -> None:
        """See PythonClient."""
        from confluent_kafka import Producer

        producer: Any = Producer({"bootstrap.servers": servers, "compression.type": codec, **settings})
        failed = []

        def delivered(error: Any, message: Any) -> None:
            if error is not None:
                failed.append(str(error))

        for number in numbers:
            record = numbered_record(number)
            while True:
                try:
                    producer.produce(topic, record.value, record.key, headers=record.headers, on_delivery=delivered)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0, "not all records were acknowledged in time"
        assert not failed, failed[:3]

    def consume(
        self, servers: str, topic: str, group: str, journal: Journal, leave: threading.Event, settings: dict[str, Any]
    ) -> None:
        """See PythonClient."""
        from confluent_kafka import Consumer, KafkaException

        consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest", **settings}
        )
        ends: dict[int, int] = {}

        def revoked(_: Any, partitions: Any) -> None:
            journal.revoked(p.partition for p in partitions)
            forget(ends, (p.partition for p in partitions))

        consumer.subscribe(
            [topic],
            on_assign=lambda _, partitions: journal.assigned(
                (p.partition for p in partitions), generation_of(consumer)
            ),
            on_revoke=revoked,
            on_lost=revoked,
        )
        while not leave.is_set():
            message: Any
            for message in consumer.consume(500, POLL_MS / 1000):
                if message.error() is not None:
                    journal.failed(str(message.error()))
                    continue
                number = number_of(message.key(), message.value(), message.headers() or [])
                journal.received(message.partition(), [(message.offset(), number)])
                ends[message.partition()] = message.offset() + 1
            if ends:
                try:
                    consumer.commit(asynchronous=False)
                except KafkaException as error:
                    journal.commit_failed(repr(error))
                else:
                    journal.committed(ends)
                    ends.clear()
        consumer.close()


class AioKafka:
    """aiokafka."""

    name = "aiokafka"
    short_session: dict[str, Any] = {"session_timeout_ms": 6000, "heartbeat_interval_ms": 1000}

    def create_topic(self, servers: str, topic: str, partitions: int) -> None:
        """See PythonClient."""
        from aiokafka.admin import AIOKafkaAdminClient, NewTopic

        async def create() -> None:
            admin = AIOKafkaAdminClient(bootstrap_servers=servers)
            await admin.start()
            try:
                await admin.create_topics([NewTopic(topic, partitions, 1)])
            finally:
                await admin.close()

        asyncio.run(create())

    def produce(self, servers: str, topic: str, codec: str, numbers: Iterable[int], settings: dict[str, Any]) -> None:
        """See PythonClient."""
        from aiokafka import AIOKafkaProducer

        compression = None if codec == "none" else codec

        async def send_all() -> None:
            async with AIOKafkaProducer(
                bootstrap_servers=servers, compression_type=compression, **settings
            ) as producer:
                acknowledgements = []
                for number in numbers:
                    record = numbered_record(number)
                    acknowledgements.append(
                        await producer.send(topic, key=record.key, value=record.value, headers=record.headers)
                    )
                for acknowledgement in acknowledgements:
                    await acknowledgement

        asyncio.run(send_all())

    def consume(
        self, servers: str, topic: str, group: str, journal: Journal, leave: threading.Event, settings: dict[str, Any]
    ) -> None:
        """See PythonClient."""
        from aiokafka import AIOKafkaConsumer
        from aiokafka.abc import ConsumerRebalanceListener
        from aiokafka.errors import KafkaError

        async def take_part() -> None:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=servers, group_id=group, auto_offset_reset="earliest", **settings
            )

            ends: dict[int, int] = {}

            class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
                def on_partitions_revoked(self, revoked: Any) -> None:
                    journal.revoked(partition.partition for partition in revoked)
                    forget(ends, (partition.partition for partition in revoked))

                def on_partitions_assigned(self, assigned: Any) -> None:
                    generation = consumer._coordinator.generation
                    journal.assigned((partition.partition for partition in assigned), generation)

            consumer.subscribe([topic], listener=Listener())
            await consumer.start()
            try:
                while not leave.is_set():
                    polled = await consumer.getmany(timeout_ms=POLL_MS)
                    for partition, records in polled.items():
                        received = [(r.offset, number_of(r.key, r.value, list(r.headers))) for r in records]
                        journal.received(partition.partition, received)
                        ends[partition.partition] = records[-1].offset + 1
                    if ends:
                        under_way = dict(ends)  # partitions may be revoked during the commit
                        try:
                            await consumer.commit()
                        except KafkaError as error:
                            journal.commit_failed(repr(error))
                        else:
                            journal.committed(under_way)
                            ends.clear()
            finally:
                await consumer.stop()

        asyncio.run(take_part())


CLIENTS: dict[str, PythonClient] = {client.name: client for client in (KafkaPython(), ConfluentKafka(), AioKafka())}
