"""A client of the admin port of a broker for tests, as a test in another language would use it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from odradek.testing.admin.controlled_broker import ControlledBroker
from odradek.testing.admin.routes import AdminControl
from odradek.testing.admin.server import AdminServer


class AdminPort:
    """Sends requests to the port over HTTP."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Sends a request; returns the status and the parsed JSON answer."""
        connection = HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """Sends a request that must succeed; returns the answer."""
        status, answer = self.ask(method, path, body)
        assert status == 200, answer
        return answer

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Sends a request that must be refused; returns the status and the reason."""
        status, answer = self.ask(method, path, body)
        assert list(answer) == ["error"]
        return status, answer["error"]


@contextmanager
def admin_port(broker: ControlledBroker) -> Iterator[AdminPort]:
    """An admin port for a broker."""
    server = AdminServer("127.0.0.1", 0, AdminControl(broker, lambda: broker.advertised))
    server.start()
    try:
        yield AdminPort(server.port)
    finally:
        server.stop()
