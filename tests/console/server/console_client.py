"""A browser's side of the console, without a browser: requests with the page's headers, cookies, event streams."""

import http.client
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

HEADER = {"X-Odradek-Console": "1", "Content-Type": "application/json"}


class Answer(NamedTuple):
    """An answer: its JSON, if it has any."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


class ConsoleClient:
    """One browser, at 127.0.0.1."""

    def __init__(self, port: int, tls: ssl.SSLContext | None = None) -> None:
        self.port = port
        self._tls = tls
        self.cookie = ""
        self.host = f"127.0.0.1:{port}"
        self.origin = f"{'http' if tls is None else 'https'}://{self.host}"

    def _connect(self) -> http.client.HTTPConnection:
        if self._tls is not None:
            return http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls)
        return http.client.HTTPConnection("127.0.0.1", self.port)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """One request. A header that is None is left out."""
        given: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie or None}
        if method == "POST":
            given |= {**HEADER, "Origin": self.origin}
        given |= headers or {}
        connection = self._connect()
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            received = answer.read()
            cookie = answer.headers["Set-Cookie"]
            if cookie is not None:
                self.cookie = cookie.partition(";")[0]
            return Answer(answer.status, dict(answer.headers.items()), received)
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        """A GET. ``headers``: names with _ for -."""
        return self.send("GET", path, None, {name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, document: object, **headers: str | None) -> Answer:
        """A POST of JSON."""
        body = json.dumps(document).encode()
        return self.send("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def log_in(self, **given: str) -> Answer:
        """Opens a session."""
        return self.post("/api/session", given)

    @contextmanager
    def stream(self, path: str) -> Iterator[Iterator[bytes]]:
        """The lines of an event stream."""
        connection = self._connect()
        connection.request("GET", path, headers={"Host": self.host, "Cookie": self.cookie})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        try:
            yield iter(answer.readline, b"")
        finally:
            answer.close()
            connection.close()
