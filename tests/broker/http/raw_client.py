"""A client that sends bytes as a test wrote them, and reads answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from odradek.broker.http.connection import HttpLimits
from odradek.broker.http.messages import Answer, HttpService
from odradek.broker.http.server import HttpServer

HEAD = b"Host: here\r\n\r\n"


class RawClient:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def answer(self) -> tuple[int, str, bytes]:
        """The status, the head and the body of the next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = b""
        if "content-length" in fields:
            body = await self.reader.readexactly(int(fields["content-length"]))
        elif fields.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readline(), 16):
                body += await self.reader.readexactly(size)
                await self.reader.readline()
            await self.reader.readline()
        return int(head.split(" ")[1]), head, body

    async def ask(self, request: bytes) -> tuple[int, str, bytes]:
        """Sends bytes, and returns the next answer."""
        self.writer.write(request)
        return await self.answer()

    async def rest(self) -> bytes:
        """Everything until the server closes the connection."""
        return await self.reader.read()


@asynccontextmanager
async def serving(answer: Answer, limits: HttpLimits | None = None) -> AsyncIterator[int]:
    """A server; the port."""
    server = HttpServer(HttpService(answer), limits or HttpLimits(max_idle_s=10.0))
    port = await server.start("127.0.0.1", 0)
    try:
        yield port
    finally:
        server.stop()


@asynccontextmanager
async def connected(port: int, limit: int = 1 << 16) -> AsyncIterator[RawClient]:
    """A connection to a port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=limit)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.transport.abort()
