"""The service against a broker of its own in each test."""

import json
from collections.abc import Iterator

import pytest
from shipping import Shipping

pytestmark = pytest.mark.kafka(topics=["orders:2", "shipments:1"])


@pytest.fixture
def shipping(kafka) -> Iterator[Shipping]:
    """The service, connected to the broker of the test."""
    service = Shipping(kafka.bootstrap_servers)
    yield service
    service.close()


def ship(service: Shipping, orders: int) -> None:
    """Lets the service run until it has shipped so many orders."""
    while orders > 0:
        orders -= service.ship()


def test_each_order_is_shipped(kafka, shipping) -> None:
    kafka.produce("orders", json.dumps({"address": "Prague"}), key="order-1")
    kafka.produce("orders", json.dumps({"address": "Vienna"}), key="order-2")
    ship(shipping, 2)
    shipped = {record.key: json.loads(record.value)["to"] for record in kafka.records("shipments")}
    assert shipped == {b"order-1": "Prague", b"order-2": "Vienna"}
    kafka.wait_until_consumed("shipping", "orders")


def test_a_leader_that_moves_loses_no_shipment(kafka, shipping) -> None:
    moved = kafka.faults.fail("Produce", "NOT_LEADER_OR_FOLLOWER", topic="shipments", times=2)
    kafka.produce("orders", json.dumps({"address": "Prague"}), key="order-1")
    ship(shipping, 1)
    assert moved.fired == 2
    assert [record.key for record in kafka.records("shipments")] == [b"order-1"]
