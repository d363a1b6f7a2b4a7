"""Ships what was ordered: reads orders with aiokafka, and writes a shipment for each."""

import json

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer


async def ship_orders(bootstrap_servers: str) -> None:
    """Reads ``orders`` as the group ``shipping`` and writes ``shipments``, until the task is cancelled."""
    consumer = AIOKafkaConsumer(
        "orders",
        bootstrap_servers=bootstrap_servers,
        group_id="shipping",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    async with AIOKafkaProducer(bootstrap_servers=bootstrap_servers, acks="all") as producer, consumer:
        async for order in consumer:
            address = json.loads(order.value)["address"]
            await producer.send_and_wait("shipments", key=order.key, value=json.dumps({"to": address}).encode())
            # The offset is committed when the shipment is stored: a crash in between repeats the order, and loses none.
            await consumer.commit()
