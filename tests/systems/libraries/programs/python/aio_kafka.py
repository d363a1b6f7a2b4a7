"""aiokafka. The arguments are those of ``scenario.py``."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic


async def create(servers: str, topic: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, 3, 1)])
    await admin.close()


async def produce(servers: str, topic: str, *values: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers) as producer:
        for value in values:
            await producer.send_and_wait(topic, value.encode(), key=value.encode())


async def consume(servers: str, topic: str, group: str, count: str) -> None:
    settings = {"bootstrap_servers": servers, "group_id": group, "auto_offset_reset": "earliest"}
    async with AIOKafkaConsumer(topic, **settings) as consumer:
        for _ in range(int(count)):
            record = await consumer.getone()
            print("read", record.value.decode())
        await consumer.commit()


async def transact(servers: str, topic: str, kept: str, dropped: str) -> None:
    async with AIOKafkaProducer(bootstrap_servers=servers, transactional_id=f"{topic}-writer") as producer:
        async with producer.transaction():
            await producer.send(topic, kept.encode())
        await producer.begin_transaction()
        await producer.send_and_wait(topic, dropped.encode())
        await producer.abort_transaction()


VERBS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
    "create": create,
    "produce": produce,
    "consume": consume,
    "transact": transact,
}
asyncio.run(VERBS[sys.argv[1]](*sys.argv[2:]))
