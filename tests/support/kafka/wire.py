"""Requests to any broker in Apache Kafka's own encoding, sent by one JVM (java/Wire.java)."""

import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from odradek.protocol.messages.structure import Message
from support.data.messages import to_json
from support.kafka.java import TABLE_VERSION
from support.kafka.java_program import JavaProgram

Answer = dict[str, Any]
"""{"body": ...}, {"closed": true}, {"timeout": true} or {"problem": text}."""
Order = dict[str, Any]
"""An order to the program."""
WAIT_MS = 20_000


def sending(port: int, request: Message, version: int, connection: str = "main", client_id: str = "wire") -> Order:
    """The order to send a request and not wait."""
    return {
        "do": "send",
        "port": port,
        "connection": connection,
        "api": request.NAME.removesuffix("Request"),
        "version": version,
        "client": client_id,
        "body": to_json(request, version),
    }


def receiving(port: int, connection: str, wait_ms: int = WAIT_MS) -> Order:
    """The order to wait for the next answer on a connection; with 0, to return it only if it has arrived."""
    return {"do": "receive", "port": port, "connection": connection, "wait": wait_ms}


class Line(ABC):
    """Sends orders to the program, one after the other. Each line has its own connections."""

    @abstractmethod
    def order(self, order: Any) -> Any:
        """The program's answer to an order, or to a list of orders."""

    def ask(
        self, port: int, request: Message, version: int, connection: str = "main", wait_ms: int = WAIT_MS
    ) -> Answer:
        """Sends a request and waits for its answer."""
        return self.all([{**sending(port, request, version, connection), "do": "ask", "wait": wait_ms}])[0]

    def send(self, port: int, request: Message, version: int, connection: str, client_id: str = "wire") -> Answer:
        """Sends a request and does not wait."""
        return self.all([sending(port, request, version, connection, client_id)])[0]

    def receive(self, port: int, connection: str, wait_ms: int = WAIT_MS) -> Answer:
        """The next answer on a connection."""
        return self.all([receiving(port, connection, wait_ms)])[0]

    def close(self, port: int, connection: str) -> None:
        """Closes a connection."""
        self.all([{"do": "close", "port": port, "connection": connection}])

    def all(self, orders: Sequence[Order]) -> list[Answer]:
        """Sends several orders; returns their answers."""
        answers: list[Answer] = self.order(orders)
        for order, answer in zip(orders, answers, strict=True):
            assert "problem" not in answer, f"{answer['problem']} for {order}"
        return answers


class Wire(JavaProgram, Line):
    """The program, which runs during the block."""

    NAME = "Wire"
    RELEASE = TABLE_VERSION

    def __init__(self) -> None:
        super().__init__()
        self._port: int | None = None

    def another(self) -> "AnotherLine":
        """Another line to the same program, for another thread."""
        if self._port is None:
            self._port = self.order({"do": "listen"})["port"]
        return AnotherLine(self._port)


class AnotherLine(Line):
    """A line through a socket instead of the program's input and output, open during the block."""

    def __init__(self, port: int) -> None:
        """``port``: where the program listens."""
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._answers = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._answers.close()
        self._socket.close()

    def order(self, order: Any) -> Any:
        self._socket.sendall(json.dumps(order).encode() + b"\n")
        answer = self._answers.readline()
        assert answer, f"the program ended: {order}"
        return json.loads(answer)
