"""A round with each client library on a secured listener: create a topic, write to it in a transaction, read it in a
group.

Each function gets the settings of its library, and a name for the topic, the group and the transactional id. It returns
what the consumer read, after an admin request has shown the topic.
"""

import asyncio
from typing import Any

VALUES = ("first", "second", "third")
WAIT_S = 60


def kafka_python(settings: dict[str, Any], name: str) -> list[str]:
    """With kafka-python."""
    from kafka import KafkaConsumer, KafkaProducer
    from kafka.admin import KafkaAdminClient, NewTopic

    admin = KafkaAdminClient(**settings)
    admin.create_topics([NewTopic(name, 1, 1)])
    producer = KafkaProducer(**settings, transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    for value in VALUES:
        producer.send(name, value.encode())
    producer.commit_transaction()
    producer.close()
    consumer = KafkaConsumer(name, group_id=name, auto_offset_reset="earliest", **settings)
    received = [next(consumer).value.decode() for _ in VALUES]
    consumer.commit()
    consumer.close()
    assert name in admin.list_topics()
    admin.close()
    return received


def confluent_kafka(settings: dict[str, Any], name: str) -> list[str]:
    """With confluent-kafka."""
    from confluent_kafka import Consumer, Producer
    from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

    admin = AdminClient(settings)
    admin.poll(0)  # serves a callback for tokens
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(WAIT_S)
    producer = Producer({**settings, "transactional.id": name})
    producer.poll(0)
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    for value in VALUES:
        producer.produce(name, value.encode())
    producer.commit_transaction(WAIT_S)
    consumer = Consumer({**settings, "group.id": name, "auto.offset.reset": "earliest"})
    consumer.subscribe([name])
    received = []
    for _ in VALUES:
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.error() is None
        received.append((message.value() or b"").decode())
    consumer.commit(asynchronous=False)
    consumer.close()
    assert name in admin.list_topics(timeout=WAIT_S).topics
    return received


def aiokafka(settings: dict[str, Any], name: str) -> list[str]:
    """With aiokafka."""
    return asyncio.run(_aiokafka(settings, name))


async def _aiokafka(settings: dict[str, Any], name: str) -> list[str]:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    admin = AIOKafkaAdminClient(**settings)
    await admin.start()
    await admin.create_topics([NewTopic(name, 1, 1)])
    async with AIOKafkaProducer(**settings, transactional_id=name) as producer, producer.transaction():
        for value in VALUES:
            await producer.send_and_wait(name, value.encode())
    async with AIOKafkaConsumer(name, group_id=name, auto_offset_reset="earliest", **settings) as consumer:
        received = [(await consumer.getone()).value.decode() for _ in VALUES]
        await consumer.commit()
    assert name in await admin.list_topics()
    await admin.close()
    return received
