"""The programs of docs/client.md that are parts of a program, completed and run."""

import asyncio
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.client import Consumer, Producer
from odradek.client.admin import Admin
from odradek.client.types import TopicPartition
from odradek.testing import BrokerSecurity, InProcessBroker, SecuredBroker
from support.pages import only_block

PAGE = "docs/client.md"


def as_function(program: str, names: dict[str, Any]) -> Callable[[], Any]:
    """A coroutine function with the program as its body."""
    exec(f"async def program():\n{textwrap.indent(program, '    ')}", names)
    function: Callable[[], Any] = names["program"]
    return function


@pytest.fixture
def broker() -> Iterator[InProcessBroker]:
    with InProcessBroker() as one:
        one.create_topic("orders", partitions=1)
        one.create_topic("invoices", partitions=1)
        yield one


async def test_a_transaction_with_the_offsets_of_its_consumer(broker: InProcessBroker) -> None:
    await asyncio.to_thread(broker.produce, "orders", "one")
    text = only_block(PAGE, "Transactions", "python").text
    for start in ("Consumer(\n", "Producer("):
        assert start in text
        text = text.replace(start, f"{start.strip()}bootstrap_servers={broker.bootstrap_servers!r}, ")
    text = text.replace('"orders", group_id', '*["orders"], auto_offset_reset="earliest", group_id')
    names = {"Consumer": Consumer, "Producer": Producer, "invoice_of": lambda record: b"invoice of " + record.value}
    running = asyncio.create_task(as_function(text, names)())
    async with Consumer(
        "invoices",
        group_id="reader",
        bootstrap_servers=broker.bootstrap_servers,
        auto_offset_reset="earliest",
        isolation_level="read_committed",
    ) as reader:
        async for record in reader:
            assert record.value == b"invoice of one"
            break
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    committed = await asyncio.to_thread(broker.committed, "billing")
    assert list(committed.values()) == [1]


async def test_a_share_consumer(broker: InProcessBroker) -> None:
    async with Admin(broker.bootstrap_servers) as admin:
        await admin.alter_share_group_offsets("workers", {TopicPartition("orders", 0): 0})
    await asyncio.to_thread(broker.produce, "orders", "one", "without address", "two")
    text = only_block(PAGE, "Share consumer (`odradek.client.share`)", "python").text
    start = 'ShareConsumer("orders", '
    assert start in text
    text = text.replace(start, f"{start}bootstrap_servers={broker.bootstrap_servers!r}, ")
    shipped: list[bytes] = []

    def ship(value: bytes) -> None:
        if value == b"without address":
            raise ValueError
        shipped.append(value)

    running = asyncio.create_task(as_function(text, {"ship": ship})())
    await asyncio.to_thread(broker.wait_until_consumed, "workers", "orders")
    assert not running.done()
    running.cancel()
    await asyncio.wait([running])
    assert shipped == [b"one", b"two"]


async def test_a_login(tmp_path: Path) -> None:
    with SecuredBroker(tmp_path / "data", {}, BrokerSecurity(users={"alice": "..."})) as broker:
        trusted = broker.client("alice").java["ssl.truststore.location"]
        text = only_block(PAGE, "Security", "python").text
        for page, own in (("/etc/kafka/ca.pem", trusted), ("kafka:9093", broker.bootstrap_servers)):
            assert page in text
            text = text.replace(page, own)
        text = text.replace("    ...\n", '    return await producer.send_and_wait("orders", b"one")\n')
        sent = await as_function(text, {"Producer": Producer})()
        assert sent.offset == 0
