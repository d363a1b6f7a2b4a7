"""The admin port of a broker for tests, asked as a test in another language does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

from odradek.testing.admin.controlled_broker import ControlledBroker
from odradek.testing.admin.routes import AdminControl
from odradek.testing.admin.server import AdminServer


class AdminPort:
    """Asks the port as a test in another language does."""

    def __init__(self, port: int) -> None:
        self.port = port

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the answer, read from JSON."""
        connection = HTTPConnection("127.0.0.1", self.port)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """The answer of a request that succeeds."""
        status, answer = self.ask(method, path, body)
        assert status == 200, answer
        return answer

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """The status and the reason of one that does not."""
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
