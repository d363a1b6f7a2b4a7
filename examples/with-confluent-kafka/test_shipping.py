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


def shipped(kafka) -> dict[bytes, str]:
    """Where committed shipments go, by the key of their order. An order that was shipped twice fails the test."""
    records = kafka.records("shipments", isolation_level="read_committed")
    assert len(records) == len({record.key for record in records})
    return {record.key: json.loads(record.value)["to"] for record in records}


def test_each_order_is_shipped(kafka, shipping) -> None:
    for number in range(100):
        kafka.produce("orders", json.dumps({"address": f"street {number}"}), key=f"order-{number}")
    left = 100
    while left > 0:
        left -= shipping.ship()
    assert shipped(kafka) == {f"order-{number}".encode(): f"street {number}" for number in range(100)}
    assert sum(kafka.committed("shipping").values()) == 100


def test_an_aborted_transaction_ships_nothing_twice(kafka, shipping) -> None:
    fault = kafka.faults.fail("TxnOffsetCommit", "ILLEGAL_GENERATION", group="shipping", times=1)
    kafka.produce("orders", json.dumps({"address": "Prague"}), key="order-1")
    while not shipping.ship():
        pass
    assert fault.fired == 1
    assert shipped(kafka) == {b"order-1": "Prague"}


def test_each_order_is_shipped_once_over_five_restarts(kafka, shipping) -> None:
    for restart in range(5):
        for number in range(20):
            kafka.produce("orders", json.dumps({"address": "Prague"}), key=f"order-{restart}-{number}")
        restarting = threading.Thread(target=kafka.restart)
        restarting.start()
        left = 20
        while left > 0:
            left -= shipping.ship()
        restarting.join()
    assert len(shipped(kafka)) == 100
