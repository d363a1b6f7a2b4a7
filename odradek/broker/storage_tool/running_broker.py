"""Asks a running broker for the paths of its log directories, with one request.

Never does: reading the directories. Any Kafka broker answers; the paths are valid only on the broker's machine. Source:
DescribeLogDirs (KIP-113).
"""

import socket
from pathlib import Path

import click

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.framing.frames import SIZE
from odradek.protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

VERSION = 1
"""The lowest version that Kafka 4 serves; older brokers serve it, too. It is not flexible, so the response header is
only the correlation id.
"""
CORRELATION_ID_BYTES = 4
TIMEOUT_S = 30.0
MOST_BYTES = 100 << 20


def directories_of(server: str) -> list[Path]:
    """The log directories of the broker at ``host:port``. Raises click.ClickException with what to do."""
    host, colon, port = server.rpartition(":")
    if not colon or not port.isdecimal():
        raise click.UsageError(f"--bootstrap-server {server}: must be HOST:PORT")
    try:
        answer = _ask(host.strip("[]"), int(port))
        response, _ = decode(DescribeLogDirsResponse, VERSION, answer, CORRELATION_ID_BYTES)
    except (OSError, ProtocolError) as problem:
        raise click.ClickException(
            f"can't get the log directories of {server}: {problem}; name the directories instead"
        ) from problem
    found = [Path(result.log_dir) for result in response.results if result.error_code == ErrorCode.NONE]
    missing = [path for path in found if not path.is_dir()]
    if missing or not found:
        raise click.ClickException(
            f"{server} has its data in {', '.join(map(str, missing)) or 'no directory that is online'}, which is not on"
            " this machine: run this command where the broker runs"
        )
    return found


def _ask(host: str, port: int) -> bytes:
    """Sends the request; returns the response frame without its size. Raises OSError, ProtocolError."""
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        connection.sendall(encode_request(DescribeLogDirsRequest(None), VERSION, 1, "odradek-storage"))
        size = SIZE.unpack(_exactly(connection, SIZE.size))[0]
        if not CORRELATION_ID_BYTES <= size <= MOST_BYTES:
            raise ProtocolError(f"an answer of {size} bytes; is this a Kafka listener without TLS?", "size")
        return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise OSError("the connection was closed; is this a Kafka listener without TLS and SASL?")
        data += chunk
    return bytes(data)
