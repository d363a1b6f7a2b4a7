"""Transactions of our producer, of both protocol versions, are atomic, happen once, and are never committed by a
zombie.
"""

import asyncio
from pathlib import Path

import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.consumer import Consumer
from odradek.client.errors import ConfigurationError, TransactionAbortedError, TransactionStateError
from odradek.client.producer import Producer
from odradek.client.producer.transaction_requests import TransactionRequests
from odradek.client.types import ConsumerRecord, OffsetAndMetadata, TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError
from support.brokers.our_broker import OurBroker

from ..client_groups import WAIT_S, create_topic, poll_until, read


@pytest.fixture(params=[1, 2], ids=["v1", "v2"], autouse=True)
def transaction_version(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Version 1: the producer behaves as a client from before KIP-890, regardless of the finalized version."""
    version: int = request.param
    if version == 1:

        async def does_not(_: TransactionRequests) -> bool:
            return False

        monkeypatch.setattr(TransactionRequests, "serves_v2", does_not)
    return version


async def values(servers: str, partitions: list[TopicPartition], isolation_level: str) -> list[ConsumerRecord]:
    """All records up to the log ends, read after the markers of all transactions are written. A commit does not wait
    for them.
    """
    async with (
        Consumer(bootstrap_servers=servers) as everything,
        Consumer(bootstrap_servers=servers, isolation_level="read_committed") as committed,
        Consumer(bootstrap_servers=servers, auto_offset_reset="earliest", isolation_level=isolation_level) as consumer,
    ):
        async with asyncio.timeout(WAIT_S):
            while (ends := await everything.end_offsets(partitions)) != await committed.end_offsets(partitions):
                pass
        consumer.assign(partitions)
        return await poll_until([consumer], lambda: ends.items() <= consumer.positions().items())


def numbers(records: list[ConsumerRecord]) -> list[int]:
    return [int(record.value or b"") for record in records]


async def test_committed_records_come_in_order_and_aborted_ones_never(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 3)
    kept = []
    async with Producer(servers, transactional_id=name, batch_size=200) as producer:
        await producer.init_transactions()
        for transaction in range(12):
            await producer.begin_transaction()
            some = range(transaction * 20, transaction * 20 + 20)
            for n in some:
                await producer.send(name, str(n).encode(), partition=n % 3)
            if transaction % 3 == 1:
                await producer.flush()
                await producer.abort_transaction()
            else:
                await producer.commit_transaction()
                kept += list(some)
    committed = await values(servers, partitions, "read_committed")
    assert sorted(numbers(committed)) == kept
    for partition in range(3):
        order = numbers([record for record in committed if record.partition == partition])
        assert order == sorted(order)
    assert sorted(numbers(await values(servers, partitions, "read_uncommitted"))) == list(range(240))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_offsets_are_committed_with_the_records_or_not_at_all(servers: str, name: str, protocol: str) -> None:
    (source,) = await create_topic(servers, name)
    (target,) = await create_topic(servers, f"{name}-out")
    async with Producer(servers) as producer:
        for n in range(20):
            await producer.send(name, str(n).encode())
    consumer = Consumer(
        name,
        bootstrap_servers=servers,
        group_id=name,
        group_protocol=protocol,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_poll_records=5,
    )
    async with consumer, Producer(servers, transactional_id=name) as producer:
        await producer.init_transactions()
        for step in range(4):
            records = await read([consumer], 5)
            await producer.begin_transaction()
            for record in records:
                await producer.send(target.topic, record.value)
            await producer.send_offsets_to_transaction({source: records[-1].offset + 1}, consumer.group_metadata())
            if step % 2:
                await producer.abort_transaction()
                consumer.seek(source, (await consumer.committed(source))[source])
            else:
                await producer.commit_transaction()
        assert (await consumer.committed(source))[source].offset == 10
        assert numbers(await values(servers, [target], "read_committed")) == list(range(10))


async def test_a_zombies_offsets_are_refused(servers: str, name: str) -> None:
    (here,) = await create_topic(servers, name)
    async with (
        Consumer(name, bootstrap_servers=servers, group_id=name, enable_auto_commit=False) as consumer,
        Producer(servers, transactional_id=name) as producer,
    ):
        await poll_until([consumer], lambda: consumer.assignment() == {here})
        await producer.init_transactions()
        await producer.begin_transaction()
        stale = consumer.group_metadata()._replace(generation_id=consumer.group_metadata().generation_id - 1)
        with pytest.raises(KafkaError) as caught:
            await producer.send_offsets_to_transaction({here: 3}, stale)
        assert caught.value.error_code == ErrorCode.ILLEGAL_GENERATION
        with pytest.raises(KafkaError):
            await producer.commit_transaction()
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send_offsets_to_transaction({here: OffsetAndMetadata(4, "why")}, consumer.group_metadata())
        await producer.commit_transaction()
        assert await consumer.committed(here) == {here: OffsetAndMetadata(4, "why")}


async def test_a_second_producer_fences_the_first(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name)
    async with Producer(servers, transactional_id=name) as first, Producer(servers, transactional_id=name) as second:
        await first.init_transactions()
        await first.begin_transaction()
        await (await first.send(name, b"1"))
        await second.init_transactions()  # aborts the open transaction of the first one
        for _ in range(2):
            with pytest.raises(KafkaError) as caught:
                await first.commit_transaction()
            assert caught.value.error_code == ErrorCode.PRODUCER_FENCED
        with pytest.raises(KafkaError) as caught:
            await first.begin_transaction()
        assert caught.value.error_code == ErrorCode.PRODUCER_FENCED, "a fenced producer cannot continue"
        async with second.transaction():
            await second.send(name, b"2")
    assert numbers(await values(servers, partitions, "read_committed")) == [2]


async def test_after_a_record_that_cannot_be_stored_the_transaction_can_only_be_aborted(
    servers: str, name: str
) -> None:
    async with Admin(servers) as admin:
        await admin.create_topics([NewTopic(name, 2, 1, configs={"max.message.bytes": "1000"})])
    here = [TopicPartition(name, 0), TopicPartition(name, 1)]
    async with Producer(servers, transactional_id=name) as producer:
        await producer.init_transactions()
        for round_number in range(3):
            await producer.begin_transaction()
            await (await producer.send(name, b"7", partition=0))
            too_large = await producer.send(name, b"x" * 5_000, partition=1)
            with pytest.raises(KafkaError) as caught:
                await too_large
            assert caught.value.error_code == ErrorCode.MESSAGE_TOO_LARGE
            with pytest.raises(KafkaError) as caught:
                await producer.send(name, b"8", partition=0)
            with pytest.raises(KafkaError) as caught:
                await producer.commit_transaction()
            assert caught.value.error_code == ErrorCode.MESSAGE_TOO_LARGE
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send(name, str(round_number).encode(), partition=0)
                await producer.send(name, str(round_number).encode(), partition=1)
    assert sorted(numbers(await values(servers, here, "read_committed"))) == [0, 0, 1, 1, 2, 2]


async def send_and_raise(producer: Producer, topic: str) -> None:
    async with producer.transaction():
        await producer.send(topic, b"3")
        raise RuntimeError("changed my mind")


async def test_records_that_were_not_sent_are_given_up_by_an_abort(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name)
    async with Producer(servers, transactional_id=name, linger_ms=60_000) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        future = await producer.send(name, b"1")
        await producer.abort_transaction()
        with pytest.raises(TransactionAbortedError):
            await future
        async with producer.transaction():
            await producer.send(name, b"2")
        with pytest.raises(RuntimeError, match="changed my mind"):
            await send_and_raise(producer, name)
        await producer.begin_transaction()
        await producer.commit_transaction()  # an empty transaction
        await producer.begin_transaction()
        await producer.send(name, b"4")
    assert numbers(await values(servers, partitions, "read_committed")) == [2], "stop() aborts what is open"
    assert numbers(await values(servers, partitions, "read_uncommitted")) == [2]


async def test_calls_out_of_turn_say_which_is_next(servers: str, name: str) -> None:
    await create_topic(servers, name)
    with pytest.raises(ConfigurationError, match="acks"):
        Producer(servers, transactional_id=name, acks=1)
    async with Producer(servers) as producer:
        with pytest.raises(ConfigurationError, match="transactional_id"):
            await producer.begin_transaction()
    async with Producer(servers, transactional_id=name) as producer:
        with pytest.raises(TransactionStateError, match="init_transactions"):
            await producer.begin_transaction()
        await producer.init_transactions()
        with pytest.raises(TransactionStateError, match="begin_transaction"):
            await producer.send(name, b"1")
        await producer.begin_transaction()
        with pytest.raises(TransactionStateError, match="a transaction is open"):
            await producer.begin_transaction()
        await producer.abort_transaction()
        with pytest.raises(TransactionStateError, match="begin_transaction"):
            await producer.commit_transaction()


async def test_producers_of_their_own_ids_do_not_disturb_each_other(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 2)

    async def write(worker: int) -> None:
        async with Producer(servers, transactional_id=f"{name}-{worker}") as producer:
            await producer.init_transactions()
            for n in range(5):
                async with producer.transaction():
                    await producer.send(name, str(worker * 100 + n).encode(), key=str(worker).encode())

    await asyncio.gather(*(write(worker) for worker in range(4)))
    committed = numbers(await values(servers, partitions, "read_committed"))
    assert sorted(committed) == [worker * 100 + n for worker in range(4) for n in range(5)]
    for worker in range(4):
        assert [n % 100 for n in committed if n // 100 == worker] == list(range(5))


@pytest.mark.ci
async def test_a_transaction_goes_on_after_its_broker_was_killed(tmp_path: Path, name: str) -> None:
    with OurBroker(tmp_path) as broker:
        servers = broker.bootstrap_servers
        partitions = await create_topic(servers, name, 3)
        async with Producer(servers, transactional_id=name, retry_backoff_max_ms=100, batch_size=300) as producer:
            await producer.init_transactions()
            for round_number in range(3):
                first = round_number * 100
                await producer.begin_transaction()
                for n in range(first, first + 40):
                    await producer.send(name, str(n).encode(), partition=n % 3)
                if round_number == 1:
                    await producer.flush()  # killed between the records and the end, otherwise during the records
                broker.kill()
                sends = [
                    await producer.send(name, str(n).encode(), partition=n % 3) for n in range(first + 40, first + 80)
                ]
                await asyncio.to_thread(broker.start)
                await producer.commit_transaction()
                assert all(send.done() for send in sends)
        committed = await values(servers, partitions, "read_committed")
        for partition in range(3):
            order = numbers([record for record in committed if record.partition == partition])
            expected = [first + n for first in (0, 100, 200) for n in range(80) if (first + n) % 3 == partition]
            assert order == expected, "each once, in order"


async def test_the_cluster_decides_the_version(servers: str, name: str, transaction_version: int) -> None:
    await create_topic(servers, name)
    async with Producer(servers, transactional_id=name) as producer:
        await producer.init_transactions()
        transactions = producer._transactions
        assert transactions is not None
        epochs = [transactions._producer.epoch]
        for _ in range(3):
            async with producer.transaction():
                await producer.send(name, b"1")
            epochs.append(transactions._producer.epoch)
    bumped = [epochs[0] + n for n in range(4)]
    assert epochs == (bumped if transaction_version == 2 else epochs[:1] * 4), (
        "version 2: a new epoch for each (KIP-890)"
    )
