"""Server-sent events: the values of a view's generator as the bytes of ``text/event-stream``.

Owns: the form of events, the comments that keep the connection open. Never does: keeping values. A value is asked for
when the one before was sent, so a slow reader costs no memory. Source: the HTML standard, "Server-sent events".
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable

from ..context import Json

COMMENT_S = 15.0
"""The seconds without an event after which a comment is sent: proxies close silent connections after a minute."""
COMMENT = b": \n\n"
ENDED = b"event: end\ndata: {}\n\n"
"""Tells the page that nothing follows: the browser would ask again after the end of a stream."""


def event_of(value: Json) -> bytes:
    """One value as an event."""
    return f"data: {dumped(value)}\n\n".encode()


def failure_of(error: dict[str, str]) -> bytes:
    """An error as an event, after which the stream ends."""
    return f"event: failed\ndata: {dumped(error)}\n\n".encode()


def dumped(value: Json) -> str:
    """The value as JSON in one line of ASCII."""
    return json.dumps(value, separators=(",", ":"))


async def event_stream(
    values: AsyncGenerator[Json, None],
    shown: Callable[[Exception], dict[str, str]],
    comment_s: float = COMMENT_S,
) -> AsyncGenerator[bytes, None]:
    """The events of the values. ``shown``: what the page gets of an exception of the generator."""
    yield COMMENT  # the browser learns that the stream is open
    coming: asyncio.Future[Json] | None = None
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(_next(values))
            done, _ = await asyncio.wait((coming,), timeout=comment_s)
            if not done:
                yield COMMENT
                continue
            arrived, coming = coming, None
            try:
                yield event_of(arrived.result())
            except StopAsyncIteration:
                yield ENDED
                return
            except Exception as error:  # noqa: BLE001 - a fault of one stream ends that stream only
                yield failure_of(shown(error))
                return
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait((coming,))
        await values.aclose()


async def _next(values: AsyncGenerator[Json, None]) -> Json:
    return await anext(values)
