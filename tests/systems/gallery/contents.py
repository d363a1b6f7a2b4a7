"""What a program has left in a Kafka, as lines: topics, records, groups and their offsets."""

import re
from collections.abc import AsyncIterator

from odradek.client import Admin, Consumer, TopicPartition
from odradek.client.types import ConsumerRecord

END = -1
"""Asks ListOffsets for the end of a log."""
DIFFERS = re.compile(r"timestamp|stacktrace")
"""Names of headers whose values differ from run to run."""


async def contents(bootstrap_servers: str) -> list[str]:
    """Every topic that is not internal, with its configs and end offsets; all records; every group with its offsets."""
    lines = []
    async with Admin(bootstrap_servers) as admin:
        found = {name: topic for name, topic in (await admin.describe_topics()).items() if not topic.is_internal}
        for name, entries in (await admin.describe_configs("topic", list(found))).items():
            own = {entry.name: entry.value for entry in entries if entry.source == "DYNAMIC_TOPIC_CONFIG"}
            lines.append(f"topic {name} {sorted(own.items())}")
        partitions = [TopicPartition(name, number) for name, topic in found.items() for number in topic.numbers]
        ends = {key: end.offset for key, end in (await admin.list_offsets(dict.fromkeys(partitions, END))).items()}
        lines += [f"end {partition} {offset}" for partition, offset in ends.items()]
        for group in await admin.list_groups():
            lines.append(f"group {group.group_id} {group.group_type} {group.protocol_type} {group.state}")
            committed = await admin.list_group_offsets(group.group_id)
            lines += [f"committed {group.group_id} {key} {value.offset}" for key, value in committed.items()]
    lines += [shown(record) async for record in records(bootstrap_servers, ends)]
    return sorted(lines)


async def records(bootstrap_servers: str, ends: dict[TopicPartition, int]) -> AsyncIterator[ConsumerRecord]:
    """The records of partitions up to their ends, with those of aborted transactions."""
    async with Consumer(bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest") as consumer:
        remaining = {partition for partition, end in ends.items() if end}
        consumer.assign(remaining)
        while remaining:
            for found in (await consumer.poll()).values():
                for record in found:
                    yield record
            remaining = {partition for partition in remaining if await consumer.position(partition) < ends[partition]}


def shown(record: ConsumerRecord) -> str:
    """A record, without what differs from run to run."""
    headers = [(key, "…" if DIFFERS.search(key) else value) for key, value in record.headers]
    place = f"{record.topic}-{record.partition} {record.offset:4}"
    return f"record {place} {record.key!r} {record.value!r} {headers}"
