"""Reads a broker with kafka-python and aiokafka: every record of some topics, and a group's committed offsets.

confluent-kafka's view is ``take_snapshot`` in snapshot.py.
"""

import asyncio
import time
from collections.abc import Iterable
from typing import Any

TIMEOUT_S = 60.0

Record = tuple[int, int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Offset, time, key, value, headers."""
Records = dict[tuple[str, int], list[Record]]
Committed = dict[tuple[str, int], int]


def _seen(record: Any) -> Record:
    return record.offset, record.timestamp, record.key, record.value, tuple(map(tuple, record.headers))


def read_with_kafka_python(servers: str, topics: Iterable[str]) -> Records:
    """Every committed record by partition (none of an open or aborted transaction)."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=None, isolation_level="read_committed")
    partitions = [TopicPartition(name, i) for name in topics for i in sorted(consumer.partitions_for_topic(name))]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    ends = consumer.end_offsets(partitions)
    found: Records = {(p.topic, p.partition): [] for p in partitions}
    deadline = time.monotonic() + TIMEOUT_S
    while any(consumer.position(p) < ends[p] for p in partitions):
        assert time.monotonic() < deadline, {p: (consumer.position(p), ends[p]) for p in partitions}
        for partition, records in consumer.poll(timeout_ms=200).items():
            found[partition.topic, partition.partition] += map(_seen, records)
    consumer.close()
    return found


def committed_of_kafka_python(servers: str, group: str, partitions: Iterable[tuple[str, int]]) -> Committed:
    """A group's committed offsets by partition, without those that have none."""
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group)
    offsets = {partition: consumer.committed(TopicPartition(*partition)) for partition in partitions}
    consumer.close()
    return {partition: offset for partition, offset in offsets.items() if offset is not None}


def read_with_aiokafka(servers: str, topics: Iterable[str]) -> Records:
    """Every committed record by partition (none of an open or aborted transaction)."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def read() -> Records:
        consumer = AIOKafkaConsumer(bootstrap_servers=servers, group_id=None, isolation_level="read_committed")
        await consumer.start()
        partitions = []
        for name in topics:
            await consumer._client.add_topic(name)  # it only knows the topics that were named to it
            partitions += [TopicPartition(name, index) for index in sorted(consumer.partitions_for_topic(name) or ())]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        found: Records = {(p.topic, p.partition): [] for p in partitions}
        deadline = time.monotonic() + TIMEOUT_S
        while any([await consumer.position(p) < ends[p] for p in partitions]):
            assert time.monotonic() < deadline, ends
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                found[partition.topic, partition.partition] += map(_seen, records)
        await consumer.stop()
        return found

    return asyncio.run(read())


def committed_of_aiokafka(servers: str, group: str, partitions: Iterable[tuple[str, int]]) -> Committed:
    """A group's committed offsets by partition, without those that have none."""
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def ask() -> Committed:
        consumer = AIOKafkaConsumer(bootstrap_servers=servers, group_id=group, enable_auto_commit=False)
        await consumer.start()
        offsets = {partition: await consumer.committed(TopicPartition(*partition)) for partition in partitions}
        await consumer.stop()
        return {partition: offset for partition, offset in offsets.items() if offset is not None}

    return asyncio.run(ask())
