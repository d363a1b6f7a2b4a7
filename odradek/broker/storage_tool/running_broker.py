"""Asks a running broker for the paths of its log directories, with one request.

Never does: reading the directories. Any Kafka broker answers; the paths are valid only on the broker's machine. Source:
DescribeLogDirs (KIP-113).
"""

import socket
from pathlib import Path

import click

from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.exchange.exchange import Exchange, ResponseLimits
from odradek.protocol.framing.frames import Frames
from odradek.protocol.messages.log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

VERSION = 1
"""The lowest version that Kafka 4 serves; older brokers serve it, too."""
TIMEOUT_S = 30.0
MOST_BYTES = 100 << 20
NO_KAFKA = "an answer of {size} bytes; is this a Kafka listener without TLS? (size)"
BROKER = ResponseLimits(MOST_BYTES, 64 * 1024, Frames(lambda size, _limit: NO_KAFKA.format(size=size)), short=NO_KAFKA)


def directories_of(server: str) -> list[Path]:
    """The log directories of the broker at ``host:port``. Raises click.ClickException with what to do."""
    host, colon, port = server.rpartition(":")
    if not colon or not port.isdecimal():
        raise click.UsageError(f"--bootstrap-server {server}: must be HOST:PORT")
    try:
        response = _ask(host.strip("[]"), int(port))
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


def _ask(host: str, port: int) -> DescribeLogDirsResponse:
    """Sends the request; returns the response. Raises OSError, ProtocolError."""
    exchange = Exchange("odradek-storage", BROKER)
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        exchange.request(DescribeLogDirsRequest(None), VERSION, DescribeLogDirsResponse, None, TIMEOUT_S, 0.0)
        connection.sendall(exchange.take_unsent())
        while exchange.failure is None:
            count = connection.recv_into(exchange.target())
            if not count:
                raise OSError("the connection was closed; is this a Kafka listener without TLS and SASL?")
            for _, response in exchange.received(count, 0.0):
                assert isinstance(response, DescribeLogDirsResponse)
                return response
        raise exchange.failure
