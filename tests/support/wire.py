"""Questions to any broker in Apache Kafka's own encoding, asked by one JVM (java/Wire.java)."""

from typing import Any

from odradek.protocol.messages.structure import Message
from support.java_program import JavaProgram
from support.messages import to_json

Answer = dict[str, Any]
"""{"body": ...}, {"closed": true}, {"timeout": true} or {"problem": text}."""


class Wire(JavaProgram):
    """The program, as long as the block lasts."""

    NAME = "Wire"

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
        answer: Answer = self.order(order)
        assert "problem" not in answer, f"{answer['problem']} for {order}"
        return answer
