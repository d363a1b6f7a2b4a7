"""The service against a broker of its own in each test."""

import json
import threading
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


def test_no_order_is_lost_over_five_restarts(kafka, shipping) -> None:
    for restart in range(5):
        keys = {f"order-{restart}-{number}".encode() for number in range(20)}
        for key in keys:
            kafka.produce("orders", json.dumps({"address": "Prague"}), key=key.decode())
        restarting = threading.Thread(target=kafka.restart)
        restarting.start()
        ship(shipping, 20)
        restarting.join()
        assert keys <= {record.key for record in kafka.records("shipments")}
