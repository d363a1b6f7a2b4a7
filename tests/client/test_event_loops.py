"""The client on uvloop's event loop, where web servers run it too. The other tests use asyncio's own loop."""

from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from odradek.client import Consumer, Producer
from odradek.testing import BrokerSecurity, InProcessBroker


async def round_trip(bootstrap_servers: str, security: Any) -> bytes | None:
    """Writes a record and reads it in a group. Returns its value."""
    async with Producer(bootstrap_servers, security=security) as producer:
        await producer.send_and_wait("loops", b"value")
    consumer = Consumer(
        "loops",
        bootstrap_servers=bootstrap_servers,
        group_id="loops",
        auto_offset_reset="earliest",
        security=security,
    )
    async with consumer:
        async for record in consumer:
            return record.value
    return None


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_client_on_uvloop(kafka_broker_factory: Callable[..., InProcessBroker], protocol: str) -> None:
    broker: Any = kafka_broker_factory(security=BrokerSecurity(protocol=protocol))
    assert uvloop.run(round_trip(broker.bootstrap_servers, broker.client("alice").java)) == b"value"
