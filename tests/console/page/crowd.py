"""A cluster that is large for a page: 10,000 partitions, 1,000 members of a group, names that are markup."""

import asyncio
import json
from typing import NamedTuple

from odradek.client import Admin, Consumer, Producer
from odradek.client.admin import NewTopic
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

WIDE, WIDE_PARTITIONS = "wide", 5_000
TOPICS, PARTITIONS_OF_EACH = 998, 5
MEMBERS = 1_000
HOUR = "3600000"
CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.max.size": "2000",
    "group.consumer.max.session.timeout.ms": HOUR,
    "group.consumer.session.timeout.ms": HOUR,
    "log.retention.ms": "-1",
    "odradek.console.listener": "127.0.0.1:0",
}
MARKUP = "<img src=x onerror=\"window.ran='MARKED'\"><script>window.ran='script'</script>"
RECORDS = 300
TIME_MS = 1_700_000_000_000


async def fill(servers: str) -> None:
    """Makes topics, records, groups."""
    async with Admin(servers, default_api_timeout_ms=120_000) as admin:
        await admin.create_topics([NewTopic(WIDE, WIDE_PARTITIONS)])
        names = [f"topic-{number:04d}" for number in range(TOPICS)]
        for start in range(0, TOPICS, 200):
            await admin.create_topics([NewTopic(name, PARTITIONS_OF_EACH) for name in names[start : start + 200]])
        await admin.create_topics(
            [NewTopic("orders", 6), NewTopic("payments", 4, configs={"cleanup.policy": "compact"})]
        )
        await _orders(servers)
        await _markup(servers)
        offsets = {TopicPartition("orders", number): OffsetAndMetadata(3) for number in range(6)}
        await admin.alter_group_offsets("readers", offsets)
        await admin.alter_group_offsets("crowd", {TopicPartition("orders", 0): OffsetAndMetadata(0)})
        await join(admin, "crowd", WIDE, [f"member-{number:04d}" for number in range(MEMBERS)])
        await _warehouse(servers, admin)


async def _orders(servers: str) -> None:
    async with Producer(servers) as producer:
        for number in range(RECORDS):
            value = {"order": 90071992547409931 + number, "customer": f"c-{number % 17}", "total": 12.5}
            await producer.send(
                "orders",
                json.dumps(value).encode(),
                f"order-{number}".encode(),
                partition=number % 6,
                timestamp_ms=TIME_MS + number,
                headers=[("trace", b"t-%d" % number)],
            )
        await producer.send("orders", None, b"gone", partition=0, timestamp_ms=TIME_MS + 1_000)
        await producer.send("orders", b"", b"empty", partition=0, timestamp_ms=TIME_MS + 1_001)
        await producer.send("orders", b"\xff\x00", b"bytes", partition=0, timestamp_ms=TIME_MS + 1_002)
        await producer.send("orders", b"x" * 300_000, b"big", partition=0, timestamp_ms=TIME_MS + 1_003)
    async with Producer(servers, transactional_id="billing") as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("orders", b"dropped", b"aborted", partition=1, timestamp_ms=TIME_MS + 2_000)
        await producer.flush()
        await producer.abort_transaction()


async def _markup(servers: str) -> None:
    async with Producer(servers) as producer:
        await producer.send_and_wait("payments", MARKUP.encode(), MARKUP.encode(), headers=[(MARKUP, MARKUP.encode())])
    async with Consumer(
        "payments", bootstrap_servers=servers, group_id=MARKUP, client_id=MARKUP, auto_offset_reset="earliest"
    ) as consumer:
        while not await consumer.poll(100):
            pass
        await consumer.commit()


async def _warehouse(servers: str, admin: Admin) -> None:
    """A group as it is in life: five members, a lag here and there."""
    await admin.create_topics([NewTopic("shipments", 48)])
    async with Producer(servers) as producer:
        for number in range(48 * 40):
            await producer.send("shipments", b'{"parcel": %d}' % number, b"%d" % number, partition=number % 48)
    offsets = {
        TopicPartition("shipments", number): OffsetAndMetadata(40 - number * 7 % 11 if number % 3 == 0 else 40)
        for number in range(48)
    }
    await admin.alter_group_offsets("warehouse", offsets)
    await join(admin, "warehouse", "shipments", [f"picker-{number}" for number in range(1, 6)])


class Member(NamedTuple):
    """Where a member of a group is: its epoch, and what it owns (topic id -> partitions)."""

    epoch: int
    owned: dict[bytes, list[int]]


async def join(admin: Admin, group: str, topic: str, names: list[str]) -> None:
    """Makes members of the consumer protocol, by their heartbeats, until each has its partitions."""
    await admin.cluster.refresh([topic])
    connection = await admin.cluster.connection(min(admin.cluster.metadata.brokers))
    members = {name: Member(0, {}) for name in names}

    async def beat(name: str) -> None:
        epoch, owned = members[name]
        parts = ConsumerGroupHeartbeatRequest.TopicPartitions
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=name,
            member_epoch=epoch,
            rebalance_timeout_ms=600_000 if not epoch else -1,
            subscribed_topic_names=None if epoch else [topic],
            topic_partitions=[parts(topic_id, numbers) for topic_id, numbers in owned.items()],
        )
        answer = await connection.call(request, ConsumerGroupHeartbeatResponse)
        assert not answer.error_code, answer
        if answer.assignment is not None:
            owned = {part.topic_id: list(part.partitions) for part in answer.assignment.topic_partitions}
        members[name] = Member(answer.member_epoch, owned)

    while (await admin.describe_groups([group]))[group].state != "Stable":
        await asyncio.gather(*map(beat, names))
