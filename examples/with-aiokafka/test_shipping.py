"""The service, as a task beside the test, against a broker of its own in each test."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from shipping import ship_orders

pytestmark = pytest.mark.kafka(topics=["orders:2", "shipments:1"])


@pytest_asyncio.fixture
async def service(kafka) -> AsyncIterator[None]:
    """The service runs while the test does."""
    task = asyncio.create_task(ship_orders(kafka.bootstrap_servers))
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def shipped(kafka, orders: int) -> set[bytes]:
    """The keys of the orders that were shipped, when there are so many.

    The methods of the fixture block until they have what they wait for, so an asyncio test calls them in a thread.
    """
    await asyncio.to_thread(kafka.wait_until, lambda: len({r.key for r in kafka.records("shipments")}) >= orders)
    return {record.key for record in kafka.records("shipments")}


async def test_each_order_is_shipped(kafka, service) -> None:
    await asyncio.to_thread(kafka.produce, "orders", json.dumps({"address": "Prague"}), key="order-1")
    assert await shipped(kafka, 1) == {b"order-1"}


async def test_a_crash_of_the_broker_loses_no_order(kafka, service) -> None:
    await asyncio.to_thread(kafka.produce, "orders", json.dumps({"address": "Prague"}), key="order-1")
    assert await shipped(kafka, 1) == {b"order-1"}
    await asyncio.to_thread(kafka.kill)
    await asyncio.to_thread(kafka.start)
    await asyncio.to_thread(kafka.produce, "orders", json.dumps({"address": "Vienna"}), key="order-2")
    assert await shipped(kafka, 2) == {b"order-1", b"order-2"}


async def test_no_order_is_lost_over_five_restarts(kafka, service) -> None:
    for restart in range(5):
        for number in range(20):
            key = f"order-{restart}-{number}"
            await asyncio.to_thread(kafka.produce, "orders", json.dumps({"address": "Prague"}), key=key)
        await asyncio.to_thread(kafka.restart)
    assert len(await shipped(kafka, 100)) == 100
