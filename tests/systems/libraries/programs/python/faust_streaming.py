"""faust-streaming: an agent reads the topic, with the group as the application's name.

The arguments are those of ``scenario.py``.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable, Coroutine
from typing import Any

import faust


def application(servers: str, name: str) -> Any:
    return faust.App(
        name,
        broker=f"kafka://{servers}",
        store="memory://",
        web_enabled=False,
        datadir=tempfile.mkdtemp(prefix=f"{name}-", dir="."),
        consumer_auto_offset_reset="earliest",
    )


async def produce(servers: str, topic: str, *values: str) -> None:
    app = application(servers, f"{topic}-writer")
    written = app.topic(topic, key_serializer="raw", value_serializer="raw")
    async with app.producer:
        for value in values:
            await (await written.send(key=value.encode(), value=value.encode()))


async def consume(servers: str, topic: str, group: str, count: str) -> None:
    app = application(servers, group)
    is_done = asyncio.Event()
    values: list[str] = []

    async def read(stream: Any) -> None:
        async for value in stream:
            values.append(value.decode())
            if len(values) == int(count):
                is_done.set()

    app.agent(app.topic(topic, key_serializer="raw", value_serializer="raw"))(read)
    async with app:
        await is_done.wait()
    print("".join(f"read {value}\n" for value in values))


VERBS: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"produce": produce, "consume": consume}
asyncio.run(VERBS[sys.argv[1]](*sys.argv[2:]))
