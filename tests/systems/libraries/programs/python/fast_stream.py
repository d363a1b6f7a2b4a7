"""FastStream: a handler reads the topic. ``confluent`` of its extras is another client below it.

The arguments are those of ``scenario.py``.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from typing import Any

from faststream.kafka import KafkaBroker


async def produce(servers: str, topic: str, *values: str) -> None:
    async with KafkaBroker(servers) as broker:
        for value in values:
            await broker.publish(value, topic, key=value.encode())


async def consume(servers: str, topic: str, group: str, count: str) -> None:
    broker = KafkaBroker(servers)
    is_done = asyncio.Event()
    values: list[str] = []

    async def read(value: str) -> None:
        values.append(value)
        if len(values) == int(count):
            is_done.set()

    broker.subscriber(topic, group_id=group, auto_offset_reset="earliest")(read)
    await broker.start()
    await is_done.wait()
    await broker.stop()
    print("".join(f"read {value}\n" for value in values))


VERBS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"produce": produce, "consume": consume}
asyncio.run(VERBS[sys.argv[1]](*sys.argv[2:]))
