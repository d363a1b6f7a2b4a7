"""Who listens on a port: judged by the first bytes that it sends in answer to a Kafka request.

Owns: one request in plain text; if that tells nothing, one TLS handshake without a check of the certificate, and one
request of HTTP. Never does: a login. A listener with TLS may close the connection without a word, as Java does, and an
HTTP server may wait for the end of a line that never comes.
"""

import asyncio
import ssl
import struct
from enum import Enum

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.metadata import ApiVersionsRequest

CORRELATION_ID = 0x6F647264
FIRST_BYTES = 32
TLS_ALERT, TLS_HANDSHAKE = b"\x15\x03", b"\x16\x03"
LARGEST_ANSWER = 1 << 20
SIZE_AND_CORRELATION_ID = struct.Struct(">ii")


class Speaks(Enum):
    """What a port speaks."""

    KAFKA = "Kafka"
    TLS = "TLS"
    HTTP = "HTTP"
    NOTHING = "nothing"
    """It accepts a connection and does not answer."""
    OTHER = "something else"


def what_speaks(answer: bytes) -> Speaks:
    """Judges the first bytes of an answer. No bytes: the connection was closed, or nothing came in time."""
    if len(answer) >= SIZE_AND_CORRELATION_ID.size:
        size, correlation_id = SIZE_AND_CORRELATION_ID.unpack_from(answer)
        if 0 < size < LARGEST_ANSWER and correlation_id == CORRELATION_ID:
            return Speaks.KAFKA
    if answer.startswith((TLS_ALERT, TLS_HANDSHAKE)):
        return Speaks.TLS
    if answer.startswith(b"HTTP/"):
        return Speaks.HTTP
    return Speaks.OTHER if answer else Speaks.NOTHING


async def ask_the_port(host: str, port: int, timeout_s: float) -> tuple[Speaks, bytes]:
    """Returns what a port speaks, and the first bytes of its answer to a plain request. Raises OSError, TimeoutError if
    it can't be reached."""
    # Every Kafka since 0.10 answers ApiVersions 0, before a login, too.
    request = encode_request(ApiVersionsRequest(), 0, CORRELATION_ID, "odradek-doctor")
    answer = await _first_bytes(host, port, request, timeout_s)
    speaks = what_speaks(answer)
    if speaks in (Speaks.NOTHING, Speaks.OTHER) and await _makes_a_handshake(host, port, timeout_s):
        return Speaks.TLS, answer
    if speaks is Speaks.NOTHING:
        answer = await _first_bytes(host, port, b"HEAD / HTTP/1.0\r\n\r\n", timeout_s)
        if what_speaks(answer) is Speaks.HTTP:
            return Speaks.HTTP, answer
    return speaks, answer


async def _first_bytes(host: str, port: int, request: bytes, timeout_s: float) -> bytes:
    """The first bytes of the answer to a request; none if the connection is closed, or nothing comes in time. Raises
    OSError, TimeoutError without a connection."""
    async with asyncio.timeout(timeout_s):
        reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(request)
        async with asyncio.timeout(timeout_s):
            return await reader.read(FIRST_BYTES)
    except (OSError, TimeoutError):
        return b""
    finally:
        writer.transport.abort()


async def _makes_a_handshake(host: str, port: int, timeout_s: float) -> bool:
    """Whether a TLS handshake succeeds there, whatever the certificate, or is refused by an alert."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(host, port, ssl=context)
    except ssl.SSLError as refusal:
        return refusal.reason is not None and "ALERT" in refusal.reason
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True
