"""A client that pipelines thousands of small requests shares the event loop with others, and is answered in order."""

import asyncio
import struct
from pathlib import Path

from odradek.broker.network.request_order import FRAMES_A_TURN
from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.testing.broker.in_process import InProcessBroker

MANY = 40 * FRAMES_A_TURN


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, correlation_ids: range) -> list[int]:
    """Sends ApiVersions requests all at once; returns the correlation ids of the answers in their order."""
    writer.write(b"".join(encode_request(ApiVersionsRequest(), 0, number, "c") for number in correlation_ids))
    answered = []
    for _ in correlation_ids:
        size = struct.unpack(">i", await reader.readexactly(4))[0]
        answered.append(struct.unpack_from(">i", await reader.readexactly(size))[0])
    return answered


async def test_pipelined_requests_are_answered_in_order_and_others_in_between(tmp_path: Path) -> None:
    with InProcessBroker(tmp_path) as broker:
        greedy = await asyncio.open_connection(broker.host, broker.port)
        modest = await asyncio.open_connection(broker.host, broker.port)
        flood = asyncio.create_task(ask(*greedy, range(MANY)))
        small = [await ask(*modest, range(number, number + 1)) for number in range(10)]
        assert small == [[number] for number in range(10)]
        assert await flood == list(range(MANY))
        for _, writer in (greedy, modest):
            writer.close()
