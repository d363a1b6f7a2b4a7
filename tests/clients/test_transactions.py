"""Transactions with common clients: consume, transform, produce, with aborts, a takeover and a kill -9."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.java import run_class

TIMEOUT_S = 60.0
KEYS = {"group.initial.rebalance.delay.ms": "0"}
RECORDS = 60


class Exactly:
    """One client under test: writes values in a transaction, and commits a group's offset with them."""

    name = ""

    def __init__(self, servers: str, transactional_id: str) -> None:
        raise NotImplementedError

    def transact(self, topic: str, values: list[int], group: str, offset: int, *, commit: bool) -> None:
        """Runs one transaction with the values, and commits that the group has read ``in``-0 up to ``offset``."""
        raise NotImplementedError

    def close(self) -> None:
        """Closes the client."""
        raise NotImplementedError


class Confluent(Exactly):
    """confluent-kafka."""

    name = "confluent-kafka"

    def __init__(self, servers: str, transactional_id: str) -> None:
        from confluent_kafka import Consumer, Producer

        self._servers = servers
        self._consumers: dict[str, Any] = {}
        self._new_consumer = Consumer
        self._producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
        self._producer.init_transactions(TIMEOUT_S)

    def transact(self, topic: str, values: list[int], group: str, offset: int, *, commit: bool) -> None:
        from confluent_kafka import TopicPartition

        if group not in self._consumers:
            self._consumers[group] = self._new_consumer({"bootstrap.servers": self._servers, "group.id": group})
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(topic, str(value), partition=value % 2)
        metadata = self._consumers[group].consumer_group_metadata()
        self._producer.send_offsets_to_transaction([TopicPartition("in", 0, offset)], metadata, TIMEOUT_S)
        if commit:
            self._producer.commit_transaction(TIMEOUT_S)
        else:
            self._producer.abort_transaction(TIMEOUT_S)

    def begin(self, topic: str, value: int) -> None:
        """Begins a transaction, writes one value, and leaves it open."""
        self._producer.begin_transaction()
        self._producer.produce(topic, str(value), partition=1)
        assert self._producer.flush(TIMEOUT_S) == 0

    def close(self) -> None:
        for consumer in self._consumers.values():
            consumer.close()


class KafkaPython(Exactly):
    """kafka-python."""

    name = "kafka-python"

    def __init__(self, servers: str, transactional_id: str) -> None:
        from kafka import KafkaProducer

        self._producer = KafkaProducer(bootstrap_servers=servers, transactional_id=transactional_id)
        self._producer.init_transactions()

    def transact(self, topic: str, values: list[int], group: str, offset: int, *, commit: bool) -> None:
        from kafka import TopicPartition
        from kafka.structs import OffsetAndMetadata

        self._producer.begin_transaction()
        for value in values:
            self._producer.send(topic, str(value).encode(), partition=value % 2)
        self._producer.send_offsets_to_transaction({TopicPartition("in", 0): OffsetAndMetadata(offset, "", -1)}, group)
        if commit:
            self._producer.commit_transaction()
        else:
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(timeout=5)


class Aiokafka(Exactly):
    """aiokafka."""

    name = "aiokafka"

    def __init__(self, servers: str, transactional_id: str) -> None:
        import asyncio

        from aiokafka import AIOKafkaProducer

        self._loop = asyncio.new_event_loop()

        async def start() -> Any:
            producer = AIOKafkaProducer(bootstrap_servers=servers, transactional_id=transactional_id)
            await producer.start()
            return producer

        self._producer = self._loop.run_until_complete(start())

    def transact(self, topic: str, values: list[int], group: str, offset: int, *, commit: bool) -> None:
        from aiokafka import TopicPartition

        async def run() -> None:
            await self._producer.begin_transaction()
            for value in values:
                await self._producer.send(topic, str(value).encode(), partition=value % 2)
            await self._producer.send_offsets_to_transaction({TopicPartition("in", 0): offset}, group)
            if commit:
                await self._producer.commit_transaction()
            else:
                await self._producer.abort_transaction()

        self._loop.run_until_complete(run())

    def close(self) -> None:
        self._loop.run_until_complete(self._producer.stop())
        self._loop.close()


CLIENTS: list[Callable[[str, str], Exactly]] = [Confluent, KafkaPython, Aiokafka]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One broker for this module. All groups have read from ``in``."""
    with OurBroker(tmp_path_factory.mktemp("transactions"), KEYS) as started:
        create(started, "in", 1)
        yield started
        assert " ERROR " not in started.log()


def create(broker: OurBroker, topic: str, partitions: int) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for created in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        created.result()


def committed(broker: OurBroker, topic: str) -> list[int]:
    """All committed values of a topic, from all partitions to their ends."""
    from confluent_kafka import Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "reader",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, index, 0) for index in range(2)])
    values = []
    ended: set[int] = set()
    while len(ended) < 2:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "nothing more comes, and it is not the end"
        error = message.error()
        if error is None:
            values.append(int(message.value() or b""))
        else:
            assert error.code() == KafkaError._PARTITION_EOF, error
            ended.add(message.partition() or 0)
    consumer.close()
    return sorted(values)


def committed_offset(broker: OurBroker, group: str) -> int:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    [found] = consumer.committed([TopicPartition("in", 0)], TIMEOUT_S)
    consumer.close()
    return int(found.offset)


@pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])  # type: ignore[attr-defined]
def test_only_what_was_committed_is_seen(broker: OurBroker, client: Callable[[str, str], Exactly]) -> None:
    name = client.name  # type: ignore[attr-defined]
    topic = f"out-{name}"
    create(broker, topic, 2)
    writer = client(broker.bootstrap_servers, f"writer-{name}")
    expected: list[int] = []
    for start in range(0, RECORDS, 5):
        commit = start % 15 != 5
        values = list(range(start, start + 5))
        writer.transact(topic, values, f"group-{name}", start + 5, commit=commit)
        expected += values if commit else []
    writer.close()
    assert committed(broker, topic) == expected
    assert committed_offset(broker, f"group-{name}") == RECORDS


def test_a_second_producer_takes_over_and_the_first_is_fenced(broker: OurBroker) -> None:
    from confluent_kafka import KafkaException

    create(broker, "taken", 2)
    old = Confluent(broker.bootstrap_servers, "contested")
    old.transact("taken", [1], "taken-group", 1, commit=True)
    new = Confluent(broker.bootstrap_servers, "contested")
    with pytest.raises(KafkaException) as fenced:
        old.transact("taken", [2], "taken-group", 2, commit=True)
    assert fenced.value.args[0].fatal() or fenced.value.args[0].txn_requires_abort()
    new.transact("taken", [3], "taken-group", 3, commit=True)
    assert committed(broker, "taken") == [1, 3]
    assert committed_offset(broker, "taken-group") == 3
    old.close()
    new.close()


@pytest.mark.parametrize("client", [KafkaPython, pytest.param(Aiokafka, marks=pytest.mark.ci)])
def test_transactions_outlive_a_kill(tmp_path: Path, client: type[Exactly]) -> None:
    """confluent-kafka is left out.

    librdkafka 2.14 may wait forever for the coordinator of a group whose broker was restarted
    (confluentinc/librdkafka#5511).
    """
    with OurBroker(tmp_path, KEYS) as broker:
        create(broker, "in", 1)
        create(broker, "out", 2)
        writer = client(broker.bootstrap_servers, "goes-on")
        writer.transact("out", [1, 2], "g", 2, commit=True)
        writer.transact("out", [3, 4], "g", 4, commit=False)
        hanging = Confluent(broker.bootstrap_servers, "hangs")
        hanging.begin("out", 5)
        broker.kill()
        broker.start()
        writer.transact("out", [6, 7], "g", 6, commit=True)
        again = Confluent(broker.bootstrap_servers, "hangs")  # ends the open transaction of its predecessor
        again.transact("out", [8], "g", 8, commit=True)
        assert committed(broker, "out") == [1, 2, 6, 7, 8]
        assert committed_offset(broker, "g") == 8
        for one in (writer, hanging, again):
            one.close()


@pytest.mark.java
def test_kafkas_own_copier_copies_each_record_once(broker: OurBroker) -> None:
    """TransactionalMessageCopier of Kafka's system tests, with random aborts, under transaction version 2."""
    from confluent_kafka import Producer

    create(broker, "copy-in", 1)
    create(broker, "copy-out", 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in range(500):
        producer.produce("copy-in", str(value), partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    result = run_class(
        "org.apache.kafka.tools.TransactionalMessageCopier",
        *("--broker-list", broker.bootstrap_servers),
        *("--input-topic", "copy-in", "--input-partition", "0", "--output-topic", "copy-out"),
        *("--consumer-group", "copiers", "--transactional-id", "copier", "--transaction-size", "20"),
        *("--max-messages", "500", "--enable-random-aborts", "--group-mode"),
        timeout_s=180,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert committed(broker, "copy-out") == list(range(500))


@pytest.mark.java
def test_kafkas_command_lists_and_describes_transactions(broker: OurBroker) -> None:
    writer = Confluent(broker.bootstrap_servers, "seen-by-the-command")
    server = ("--bootstrap-server", broker.bootstrap_servers)
    command = "org.apache.kafka.tools.TransactionsCommand"
    listed = run_class(command, *server, "list", timeout_s=60)
    assert listed.returncode == 0, listed.stderr
    assert "seen-by-the-command" in listed.stdout
    described = run_class(command, *server, "describe", "--transactional-id", "seen-by-the-command", timeout_s=60)
    assert described.returncode == 0, described.stderr
    assert "Empty" in described.stdout
    writer.close()
