"""Speaks to a broker in pure Python, through Odradek's codec. Answers have the form of Kafka's JSON converters."""

import select
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslHandshakeRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.show.message_documents import document, read_document
from support.kafka.wire import WAIT_MS, Answer, Line, Order

ANSWER_S = 60.0


@dataclass
class _Connection:
    opened: socket.socket
    waiting: list[tuple[str, int]] = field(default_factory=list)
    """(API, version) of the requests without an answer."""


class PlainLine(Line):
    """Connections to brokers, by port and name, open during the block."""

    def __init__(self, clients: Mapping[str, Mapping[str, str]] | None = None) -> None:
        """``clients``: the address, user and password of connections, by name. Others come from 127.0.0.1."""
        self._clients = clients or {}
        self._connections: dict[tuple[int, str], _Connection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in self._connections.values():
            connection.opened.close()

    def order(self, order: Any) -> Any:
        """Carries out orders as the Java program does."""
        return [self._carry_out(one) for one in order]

    def _carry_out(self, order: Order) -> Answer:
        port, connection = order["port"], order["connection"]
        if order["do"] == "close":
            self.close(port, connection)
            return {}
        if order["do"] == "receive":
            return self.receive(port, connection, order["wait"])
        request = read_document(message_class(f"{order['api']}Request"), order["version"], order["body"])
        self.send(port, request, order["version"], connection, order["client"])
        return self.receive(port, connection, order["wait"]) if order["do"] == "ask" else {}

    def ask(
        self, port: int, request: Message, version: int, connection: str = "main", wait_ms: int = WAIT_MS
    ) -> Answer:
        """Sends a request and waits for its answer."""
        self.send(port, request, version, connection)
        return self.receive(port, connection, wait_ms)

    def send(self, port: int, request: Message, version: int, connection: str, client_id: str = "wire") -> Answer:
        """Sends a request and does not wait."""
        to = self._connections.get((port, connection))
        if to is None:
            client = self._clients.get(connection, {})
            to = self._connections[port, connection] = _Connection(opened(port, client.get("address", "127.0.0.1")))
            if "user" in client:
                self._log_in(port, connection, client["user"], client["password"])
        to.opened.sendall(encode_request(request, version, 1, client_id))
        to.waiting.append((request.NAME.removesuffix("Request"), version))
        return {}

    def _log_in(self, port: int, connection: str, user: str, password: str) -> None:
        """Logs in with PLAIN."""
        token = f"\0{user}\0{password}".encode()
        for request in (SaslHandshakeRequest("PLAIN"), SaslAuthenticateRequest(token)):
            answer = self.ask(port, request, 1, connection)
            assert not answer["body"]["errorCode"], answer

    def receive(self, port: int, connection: str, wait_ms: int = WAIT_MS) -> Answer:
        """The next answer on a connection."""
        of = self._connections[port, connection]
        of.opened.settimeout(ANSWER_S)
        if not select.select([of.opened], [], [], wait_ms / 1000)[0]:
            return {"timeout": True}
        try:
            frame = next_frame(of.opened)
        except (EOFError, ConnectionError):
            self.close(port, connection)
            return {"closed": True}
        api, version = of.waiting.pop(0)
        response = message_class(f"{api}Response")
        position = 4 + response_header_version(response.API_KEY, version)
        return {"body": document(decode(response, version, frame, position)[0], version)}

    def close(self, port: int, connection: str) -> None:
        """Closes a connection."""
        closed = self._connections.pop((port, connection), None)
        if closed is not None:
            closed.opened.close()


def opened(port: int, address: str = "127.0.0.1") -> socket.socket:
    """A connection to a port of this machine. ``address``: the client's."""
    found = socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S, source_address=(address, 0))
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def next_frame(connection: socket.socket) -> bytes:
    """The next frame without its length. Raises EOFError if the broker has closed the connection."""
    return _exactly(connection, struct.unpack(">i", _exactly(connection, 4))[0])


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = connection.recv(size - len(data))
        if not received:
            raise EOFError
        data += received
    return data
