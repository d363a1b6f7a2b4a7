"""What the tools look at, made by our client at any Kafka: topics, configs, records, a group with lag, transactions."""

from odradek.client import Admin, Consumer, Producer, TopicPartition
from odradek.client.admin import NewTopic

GROUP = "readers"
RECORDS = 30
COMMITTED = {0: 4, 1: 5, 2: 0}
"""Partition of ``orders`` -> what the group has committed."""


async def furnish(bootstrap_servers: str) -> None:
    """Makes the topics and what is in them."""
    async with Admin(bootstrap_servers) as admin:
        orders = NewTopic("orders", 3, 1, configs={"retention.ms": "86400000"})
        await admin.create_topics([orders, NewTopic("prices", 1, 1, configs={"cleanup.policy": "compact"})])
    async with Producer(bootstrap_servers) as producer:
        for number in range(RECORDS):
            await producer.send("orders", b"order %d" % number, key=b"%d" % number, partition=number % 3)
        for number in range(5):
            await producer.send("prices", b"%d" % number, key=b"tea")
        await producer.flush()
    async with Producer(bootstrap_servers, transactional_id="till") as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send("prices", b"6", key=b"coffee")
        await producer.commit_transaction()
    async with Consumer(bootstrap_servers=bootstrap_servers, group_id=GROUP) as consumer:
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            await consumer.poll()
        await consumer.commit({TopicPartition("orders", index): offset for index, offset in COMMITTED.items()})
