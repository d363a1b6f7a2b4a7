"""Questions to any broker in Apache Kafka's own encoding, asked by one JVM (java/Wire.java)."""

import json
import subprocess
from types import TracebackType
from typing import Any

from odradek.protocol.messages.structure import Message
from support.java import java_arguments, java_or_skip, java_source
from support.messages import to_json

Answer = dict[str, Any]
"""{"body": ...}, {"closed": true}, {"timeout": true} or {"problem": text}."""


class Wire:
    """The program, as long as the block lasts."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Wire":
        java_or_skip()
        command = [*java_arguments(), str(java_source("Wire"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        finally:
            self._process.kill()

    def ask(self, port: int, request: Message, version: int, connection: str = "main", wait_ms: int = 20_000) -> Answer:
        """Sends a request and waits for its answer."""
        return self._order("ask", port, request, version, connection, wait_ms)

    def send(self, port: int, request: Message, version: int, connection: str, client_id: str = "wire") -> Answer:
        """Sends a request and does not wait."""
        return self._order("send", port, request, version, connection, 0, client_id)

    def receive(self, port: int, connection: str, wait_ms: int = 20_000) -> Answer:
        """The next answer on a connection."""
        return self._do({"do": "receive", "port": port, "connection": connection, "wait": wait_ms})

    def close(self, port: int, connection: str) -> None:
        """Closes a connection."""
        self._do({"do": "close", "port": port, "connection": connection})

    def _order(
        self,
        what: str,
        port: int,
        request: Message,
        version: int,
        connection: str,
        wait_ms: int,
        client_id: str = "wire",
    ) -> Answer:
        order = {
            "do": what,
            "port": port,
            "connection": connection,
            "api": request.NAME.removesuffix("Request"),
            "version": version,
            "client": client_id,
            "body": to_json(request, version),
            "wait": wait_ms,
        }
        return self._do(order)

    def _do(self, order: dict[str, Any]) -> Answer:
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer: Answer = json.loads(self._process.stdout.readline())
        assert "problem" not in answer, f"{answer['problem']} for {order}"
        return answer
