"""The application against a real broker. FastStream's own TestKafkaBroker has no groups, offsets or partitions."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from faststream.kafka import KafkaBroker
from shipping import Order, connected_to

pytestmark = pytest.mark.kafka(topics=["orders:2", "shipments:1"])


@pytest_asyncio.fixture
async def application(kafka) -> AsyncIterator[KafkaBroker]:
    """The application, connected to the broker of the test."""
    async with connected_to(kafka.bootstrap_servers) as broker:
        await broker.start()
        yield broker


async def test_each_order_is_shipped(kafka, application) -> None:
    for number in range(10):
        await application.publish(Order(number=number, address=f"street {number}"), "orders")
    await asyncio.to_thread(kafka.wait_until, lambda: len(kafka.records("shipments")) == 10)
    shipments = [json.loads(record.value) for record in kafka.records("shipments")]
    assert {shipment["order"]: shipment["to"] for shipment in shipments} == {n: f"street {n}" for n in range(10)}


async def test_the_application_is_a_group(kafka, application) -> None:
    group = await asyncio.to_thread(kafka.wait_group_stable, "shipping", members=1)
    assert group.members


async def test_no_order_is_lost_over_five_restarts(kafka, application) -> None:
    for restart in range(5):
        numbers = range(20 * restart, 20 * restart + 20)
        for number in numbers:
            kafka.produce("orders", Order(number=number, address="Prague").model_dump_json(), key=str(number))
        await asyncio.to_thread(kafka.restart)
        await asyncio.to_thread(kafka.wait_until, lambda last=numbers[-1]: shipped(kafka) >= set(range(last + 1)))


def shipped(kafka) -> set[int]:
    """The numbers of the orders that have a shipment; one may have two."""
    return {json.loads(record.value)["order"] for record in kafka.records("shipments")}
