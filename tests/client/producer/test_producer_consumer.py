"""Producer, consumer and admin client with brokers: sent records are read once and in order."""

import asyncio
from collections import defaultdict

import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.consumer import Consumer, RebalanceListener
from odradek.client.errors import AdminError, BufferExhaustedError, ConfigurationError, NoOffsetForPartitionError
from odradek.client.producer import Producer
from odradek.client.types import ConsumerRecord, OffsetAndMetadata, TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.java.murmur2 import partition_for_key

from ..client_groups import create_topic, until

WAIT_MS = 60_000


async def create(bootstrap: str, topic: str, partitions: int = 1, **configs: str) -> None:
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    await create_topic(bootstrap, topic, partitions, settings)


async def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    """Polls until ``count`` records were read."""
    records: list[ConsumerRecord] = []
    async with asyncio.timeout(WAIT_MS / 1000):
        while len(records) < count:
            for polled in (await consumer.poll(1_000)).values():
                records += polled
    return records


def all_of(topic: str, partitions: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(partitions)]


async def read_all(bootstrap: str, topic: str, partitions: int, count: int, **settings: str) -> list[ConsumerRecord]:
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", **settings) as consumer:  # type: ignore[arg-type]  # strings for string arguments
        consumer.assign(all_of(topic, partitions))
        return await read(consumer, count)


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_records_come_out_as_they_went_in(bootstrap: str, name: str, compression: str) -> None:
    await create(bootstrap, name, 3)
    sent = [
        (
            f"k{n % 7}".encode() if n % 3 else None,
            b"v" * (n % 50) if n % 5 else None,
            [("n", str(n).encode()), ("nil", None)],
        )
        for n in range(500)
    ]
    async with Producer(bootstrap, compression_type=compression, batch_size=2_000) as producer:
        futures = [
            await producer.send(name, value, key, headers=headers, timestamp_ms=1_700_000_000_000 + n)
            for n, (key, value, headers) in enumerate(sent)
        ]
        await producer.flush()
    places = [future.result() for future in futures]
    records = await read_all(bootstrap, name, 3, len(sent))
    by_place = {(record.partition, record.offset): record for record in records}
    assert len(by_place) == len(sent)
    for n, ((key, value, headers), place) in enumerate(zip(sent, places, strict=True)):
        record = by_place[place.partition, place.offset]
        assert (record.key, record.value, record.headers) == (key, value, headers)
        assert (record.timestamp, record.timestamp_type) == (1_700_000_000_000 + n, 0)
        if key is not None:
            assert place.partition == partition_for_key(key, 3)
    for partition in range(3):
        order = [
            int(r.headers[0][1] or b"") for r in sorted(records, key=lambda r: r.offset) if r.partition == partition
        ]
        assert order == sorted(order)


@pytest.mark.parametrize("acks", ["all", "1", "0"])
async def test_acks(bootstrap: str, name: str, acks: str) -> None:
    await create(bootstrap, name)
    async with Producer(bootstrap, acks=acks) as producer:
        placed = [await producer.send_and_wait(name, str(n).encode()) for n in range(20)]
    assert [place.offset for place in placed] == ([-1] * 20 if acks == "0" else list(range(20)))
    records = await read_all(bootstrap, name, 1, 20)
    assert [record.value for record in records] == [str(n).encode() for n in range(20)]


async def test_producing_creates_the_topic_where_the_broker_allows_it(bootstrap: str, name: str) -> None:
    async with Producer(bootstrap) as producer:
        assert (await producer.send_and_wait(name, b"first")).offset == 0


async def test_errors_of_single_records_reach_their_futures(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 1, max_message_bytes="1000")
    async with Producer(bootstrap) as producer:
        too_large = await producer.send(name, b"x" * 5_000)
        with pytest.raises(KafkaError) as caught:
            await too_large
        assert caught.value.error_code == ErrorCode.MESSAGE_TOO_LARGE
        assert (await producer.send_and_wait(name, b"small")).offset == 0, "the partition goes on in a new epoch"
        with pytest.raises(KafkaError, match="the topic has partitions 0 to 0"):
            await producer.send(name, b"x", partition=7)
        with pytest.raises(KafkaError, match="max_request_size"):
            await producer.send(name, b"x" * 2_000_000)


async def test_a_batch_too_large_for_the_topic_is_split(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 1, max_message_bytes="1500")
    async with Producer(bootstrap, batch_size=10_000, linger_ms=50) as producer:
        futures = [await producer.send(name, bytes([n]) * 300) for n in range(20)]
        await producer.flush()
    assert [future.result().offset for future in futures] == list(range(20))


async def test_records_that_are_sent_together_come_out_together(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 2)
    async with Producer(bootstrap, linger_ms=60_000) as producer:
        single = await producer.send(name, b"before", partition=1)
        values = [b"a", b"", b"d" * 200, *[b"e" * 70] * 100]
        together = await producer.send_values(name, values, partition=1, timestamp_ms=1_700_000_000_000)
        after = await producer.send(name, b"after", partition=1)
        assert not single.done(), "they share a batch, which lingers"
        await producer.flush()
        assert [one.result().offset for one in (single, together, after)] == [0, 1, 104]
        assert together.result().timestamp == 1_700_000_000_000
        with pytest.raises(ValueError, match="at least one value"):
            await producer.send_values(name, [])
        with pytest.raises(TypeError):
            await producer.send_values(name, [b"bytes", "text"])  # type: ignore[list-item]
        with pytest.raises(KafkaError, match="max_request_size"):
            await producer.send_values(name, [b"x" * 600_000] * 2)
    records = await read_all(bootstrap, name, 2, 105)
    assert [(record.key, record.value) for record in records] == [(None, one) for one in [b"before", *values, b"after"]]
    assert {record.timestamp for record in records[1:-1]} == {1_700_000_000_000}


async def test_callers_that_wait_for_memory_all_go_on(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 2)
    async with Producer(bootstrap, buffer_memory=20_000, batch_size=4_000) as producer:
        sends = [producer.send(name, b"r" * 1_000) for _ in range(60)]
        sends += [producer.send_values(name, [b"v" * 100] * 30) for _ in range(20)]
        await asyncio.gather(*(await asyncio.gather(*sends)))
    assert len(await read_all(bootstrap, name, 2, 660)) == 660


async def test_without_room_in_time_a_record_is_refused(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 1)
    async with Producer(bootstrap, buffer_memory=3_000, linger_ms=60_000, max_block_ms=1) as producer:
        await producer.send(name, b"r" * 2_000)
        with pytest.raises(BufferExhaustedError, match="no room for"):
            await producer.send(name, b"r" * 2_000)
        await producer.send(name, b"small")
        await producer.flush()
    assert len(await read_all(bootstrap, name, 1, 2)) == 2


async def test_records_that_are_sent_together_are_split_or_refused_together(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 1, max_message_bytes="1500")
    async with Producer(bootstrap) as producer:
        split = await producer.send_values(name, [bytes([n]) * 300 for n in range(20)])
        await producer.flush()
        assert split.done(), "flush waits for all parts"
        assert split.result().offset == 0
        refused = await producer.send_values(name, [b"x" * 5_000, b"small"])
        with pytest.raises(KafkaError) as caught:
            await refused
        assert caught.value.error_code == ErrorCode.MESSAGE_TOO_LARGE
    records = await read_all(bootstrap, name, 1, 20)
    assert [record.value for record in records[:20]] == [bytes([n]) * 300 for n in range(20)]


async def test_positions(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 2)
    here = TopicPartition(name, 0)
    async with Producer(bootstrap) as producer:
        for n in range(10):
            await producer.send(name, str(n).encode(), partition=0, timestamp_ms=1_000_000 + n * 10)
        await producer.flush()
    async with Consumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign(all_of(name, 2))
        assert await consumer.position(here) == 10, "latest is the default"
        assert await consumer.beginning_offsets([here]) == {here: 0}
        assert await consumer.end_offsets(all_of(name, 2)) == {here: 10, TopicPartition(name, 1): 0}
        found = await consumer.offsets_for_times({here: 1_000_055, TopicPartition(name, 1): 0})
        at = found[here]
        assert at is not None
        assert (at.offset, at.timestamp) == (6, 1_000_060)
        assert found[TopicPartition(name, 1)] is None
        consumer.seek(here, 7)
        assert [record.value for record in await read(consumer, 3)] == [b"7", b"8", b"9"]
        await consumer.seek_to_beginning(here)
        assert (await read(consumer, 10))[0].offset == 0
        await consumer.seek_to_end(here)
        assert await consumer.position(here) == 10
        consumer.seek(here, 0)
        consumer.pause(here)
        assert await consumer.poll(50) == {}
        consumer.resume(here)
        assert len(await read(consumer, 10)) == 10
        assert consumer.lag(here) == 0
        with pytest.raises(ConfigurationError, match="is not assigned"):
            consumer.seek(TopicPartition("other", 0), 0)


async def test_an_offset_out_of_range_is_reset_or_told(bootstrap: str, name: str) -> None:
    await create(bootstrap, name)
    here = TopicPartition(name, 0)
    async with Producer(bootstrap) as producer:
        for n in range(10):
            await producer.send_and_wait(name, str(n).encode())
    async with Admin(bootstrap) as admin:
        assert await admin.delete_records({here: 4}) == {here: 4}
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([here])
        consumer.seek(here, 1)
        assert (await read(consumer, 6))[0].offset == 4
    async with Consumer(bootstrap_servers=bootstrap, auto_offset_reset="none") as consumer:
        consumer.assign([here])
        with pytest.raises(NoOffsetForPartitionError):
            await consumer.poll(WAIT_MS)
        consumer.seek(here, 1)
        with pytest.raises(NoOffsetForPartitionError, match="offset 1 of"):
            await read(consumer, 1)


class Log(RebalanceListener):
    """Records its calls."""

    def __init__(self) -> None:
        self.events: list[tuple[str, frozenset[TopicPartition]]] = []

    async def on_partitions_revoked(self, partitions) -> None:  # type: ignore[no-untyped-def]
        self.events.append(("revoked", frozenset(partitions)))

    async def on_partitions_assigned(self, partitions) -> None:  # type: ignore[no-untyped-def]
        self.events.append(("assigned", frozenset(partitions)))


async def poll_until(consumers: list[Consumer], sizes: list[int]) -> None:
    """Polls all until their assignments have these sizes."""
    async with asyncio.timeout(60):
        while [len(consumer.assignment()) for consumer in consumers] != sizes:
            await asyncio.gather(*(consumer.poll(100) for consumer in consumers))


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "sticky"])
async def test_a_group_shares_hands_over_and_goes_on(bootstrap: str, name: str, strategy: str) -> None:
    await create(bootstrap, name, 4)
    async with Producer(bootstrap) as producer:
        for n in range(400):
            await producer.send(name, str(n).encode(), partition=n % 4)
    seen: dict[int, list[int]] = defaultdict(list)
    log = Log()

    def member() -> Consumer:
        return Consumer(
            bootstrap_servers=bootstrap,
            group_id=name,
            auto_offset_reset="earliest",
            heartbeat_interval_ms=100,
            partition_assignment_strategy=[strategy],
            max_poll_records=30,
        )

    async with member() as first:
        first.subscribe([name], log)
        for record in await read(first, 100):
            seen[record.partition].append(record.offset)
        assert log.events == [("assigned", frozenset(all_of(name, 4)))]
        async with member() as second:
            second.subscribe([name])
            async with asyncio.timeout(60):
                while [len(first.assignment()), len(second.assignment())] != [2, 2]:
                    for polled in await asyncio.gather(first.poll(100), second.poll(100)):
                        for records in polled.values():
                            for record in records:
                                seen[record.partition].append(record.offset)
            assert first.assignment().isdisjoint(second.assignment())
        async with asyncio.timeout(60):
            # All may have been read before the second one left. Then only the rebalance remains.
            while sum(map(len, seen.values())) < 400 or first.assignment() != set(all_of(name, 4)):
                for records in (await first.poll(100)).values():
                    for record in records:
                        seen[record.partition].append(record.offset)
        assert first.assignment() == set(all_of(name, 4))
        await first.commit()
        committed = await first.committed()
    assert dict(seen) == {n: list(range(100)) for n in range(4)}
    assert {partition: offset.offset for partition, offset in committed.items()} == dict.fromkeys(all_of(name, 4), 100)
    kinds = [kind for kind, _ in log.events]
    assert kinds == ["assigned", "revoked"] * 3
    async with Admin(bootstrap) as admin:
        described = (await admin.describe_groups([name]))[name]
        assert (described.state, described.members) == ("Empty", [])


async def test_commits_of_a_member_that_was_thrown_out_are_refused(bootstrap: str, name: str) -> None:
    await create(bootstrap, name)
    here = TopicPartition(name, 0)
    first = Consumer(
        name, bootstrap_servers=bootstrap, group_id=name, group_instance_id="one", enable_auto_commit=False
    )
    second = Consumer(
        name, bootstrap_servers=bootstrap, group_id=name, group_instance_id="one", enable_auto_commit=False
    )
    async with first, second:
        await poll_until([first], [1])
        await poll_until([second], [1])
        with pytest.raises(KafkaError) as caught:
            await first.commit({here: 5})
        assert caught.value.error_code == ErrorCode.FENCED_INSTANCE_ID
        await second.commit({here: 3})
        assert await second.committed(here) == {here: OffsetAndMetadata(3)}


async def test_a_group_notices_new_partitions(bootstrap: str, name: str) -> None:
    await create(bootstrap, name)
    async with Consumer(
        name, bootstrap_servers=bootstrap, group_id=name, metadata_max_age_ms=100, heartbeat_interval_ms=100
    ) as consumer:
        await poll_until([consumer], [1])
        async with Admin(bootstrap) as admin:
            await admin.create_partitions({name: 3})
        await poll_until([consumer], [3])
        assert consumer.assignment() == set(all_of(name, 3))


async def test_automatic_commits_let_the_next_member_go_on(bootstrap: str, name: str) -> None:
    await create(bootstrap, name)
    async with Producer(bootstrap) as producer:
        for n in range(10):
            await producer.send_and_wait(name, str(n).encode())
    settings = {"bootstrap_servers": bootstrap, "group_id": name, "auto_offset_reset": "earliest"}
    async with Consumer(name, **settings, max_poll_records=4) as consumer:  # type: ignore[arg-type]
        assert [record.offset for record in await read(consumer, 4)] == [0, 1, 2, 3]
    async with Consumer(name, **settings) as consumer:  # type: ignore[arg-type]
        assert [record.offset for record in await read(consumer, 6)] == [4, 5, 6, 7, 8, 9]


async def test_one_record_at_a_time(bootstrap: str, name: str) -> None:
    await create(bootstrap, name)
    async with Producer(bootstrap) as producer:
        for n in range(3):
            await producer.send_and_wait(name, str(n).encode())
    values = []
    async with Consumer(name, bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest") as consumer:
        async for record in consumer:
            values.append(record.value)
            if len(values) == 3:
                break
    assert values == [b"0", b"1", b"2"]


async def test_admin(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap) as admin:
        created = await admin.create_topics(
            [NewTopic(name, 2, 1, configs={"retention.ms": "12345"}), NewTopic(name + "x")]
        )
        assert created[name].num_partitions == 2
        assert any(created[name].topic_id)
        await until(admin.list_topics, lambda names: {name, name + "x"} <= set(names))
        described = (await admin.describe_topics([name]))[name]
        assert described.topic_id == created[name].topic_id
        assert [p.isr for p in described.partitions.values()] == [p.replicas for p in described.partitions.values()]
        with pytest.raises(AdminError) as caught:
            await admin.create_topics([NewTopic(name, 1, 1), NewTopic(name + "y", 1, 1)])
        assert caught.value.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert set(caught.value.errors) == {name}
        assert set(caught.value.results) == {name + "y"}
        entries = {e.name: e for e in (await admin.describe_configs("topic", [name]))[name]}
        assert (entries["retention.ms"].value, entries["retention.ms"].source) == ("12345", "DYNAMIC_TOPIC_CONFIG")
        assert entries["segment.bytes"].source == "DEFAULT_CONFIG"
        await admin.incremental_alter_configs(
            "topic", name, set_configs={"segment.ms": "60000"}, delete_configs=["retention.ms"]
        )

        async def changed() -> tuple[str | None, str]:
            entries = {e.name: e for e in (await admin.describe_configs("topic", [name]))[name]}
            return entries["segment.ms"].value, entries["retention.ms"].source

        await until(changed, lambda found: found == ("60000", "DEFAULT_CONFIG"))
        with pytest.raises(KafkaError) as refused:
            await admin.incremental_alter_configs("topic", name, set_configs={"segment.ms": "soon"})
        assert refused.value.error_code == ErrorCode.INVALID_CONFIG
        await admin.create_partitions({name: 4})
        await until(lambda: admin.describe_topics([name]), lambda topics: len(topics[name].partitions) == 4)
        assert len((await admin.describe_cluster()).brokers) == 1
        await admin.delete_topics([name, name + "x", name + "y"])
        await until(admin.list_topics, lambda names: name not in names)
        with pytest.raises(AdminError) as missing:
            await admin.describe_topics([name])
        assert missing.value.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_offsets_of_groups(bootstrap: str, name: str) -> None:
    await create(bootstrap, name, 2)
    here, there = all_of(name, 2)
    async with Admin(bootstrap) as admin:
        await admin.alter_group_offsets(name, {here: OffsetAndMetadata(5, "why"), there: OffsetAndMetadata(0)})
        assert await admin.list_group_offsets(name) == {
            here: OffsetAndMetadata(5, "why"),
            there: OffsetAndMetadata(0),
        }
        assert name in {group.group_id for group in await admin.list_groups(states=["Empty"])}
        await admin.delete_group_offsets(name, [there])
        assert await admin.list_group_offsets(name, [here, there]) == {here: OffsetAndMetadata(5, "why")}
        await admin.delete_groups([name])
        assert name not in {group.group_id for group in await admin.list_groups()}
        with pytest.raises(AdminError) as caught:
            await admin.delete_groups([name])
        assert caught.value.error_code == ErrorCode.GROUP_ID_NOT_FOUND
