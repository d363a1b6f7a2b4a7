"""Ships what was ordered: a FastStream application that reads orders, and writes a shipment for each."""

import os

from faststream import FastStream
from faststream.kafka import KafkaBroker, KafkaRouter
from pydantic import BaseModel


class Order(BaseModel):
    """What was ordered, and where it goes."""

    number: int
    address: str


class Shipment(BaseModel):
    """Where an order goes."""

    order: int
    to: str


router = KafkaRouter()


@router.subscriber("orders", group_id="shipping", auto_offset_reset="earliest")
@router.publisher("shipments")
async def ship(order: Order) -> Shipment:
    """Answers each order with a shipment."""
    return Shipment(order=order.number, to=order.address)


def connected_to(bootstrap_servers: str) -> KafkaBroker:
    """The handlers above, connected to this address."""
    broker = KafkaBroker(bootstrap_servers)
    broker.include_router(router)
    return broker


app = FastStream(connected_to(os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")))
