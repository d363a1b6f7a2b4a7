"""Tokens of OAUTHBEARER from an endpoint, a file and a function."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from odradek.client.errors import AuthenticationError
from odradek.client.security.settings import TokenProvider, security_of
from odradek.client.security.tokens import TokenSource
from support.security.secured_kafka import sasl

PREFIX = "sasl.oauthbearer"


def jwt(lifetime_s: float, number: int = 0) -> str:
    claims = json.dumps({"exp": time.time() + lifetime_s, "n": number}).encode()
    return f"e30.{base64.urlsafe_b64encode(claims).rstrip(b'=').decode()}.x"


class Endpoint(HTTPServer):
    """Answers POST with the next of ``answers``, and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, bytes]] = []
        self.asked: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], body))
        status, answer = self.server.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def source(settings: dict[str, str], provider: TokenProvider | None = None) -> TokenSource:
    base = {"security.protocol": "SASL_PLAINTEXT", **sasl("OAUTHBEARER", "u", "")}
    security = security_of({**base, **settings}, provider)
    assert security is not None
    return TokenSource(security, {})


def credentials(url: str, **more: str) -> dict[str, str]:
    return {
        f"{PREFIX}.token.endpoint.url": url,
        f"{PREFIX}.client.credentials.client.id": "app 1",
        f"{PREFIX}.client.credentials.client.secret": "hidden:secret",
        **more,
    }


async def test_the_endpoint_is_asked_as_java_asks_and_its_token_is_kept(endpoint: Endpoint) -> None:
    fresh = jwt(600)
    endpoint.answers = [(200, json.dumps({"access_token": fresh}).encode())]
    tokens = source(credentials(endpoint.url, **{f"{PREFIX}.scope": "read write"}))
    assert await tokens.token() == await tokens.token() == fresh
    [(authorization, body)] = endpoint.asked
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"app 1:hidden:secret"
    assert body == "grant_type=client_credentials&scope=read write"


async def test_a_token_that_ends_soon_is_replaced(endpoint: Endpoint) -> None:
    old, new = jwt(-1, 1), jwt(600, 2)
    endpoint.answers = [(200, json.dumps({"access_token": token}).encode()) for token in (old, new)]
    encoded = {f"{PREFIX}.header.urlencode": "true", f"{PREFIX}.scope": "a b"}
    tokens = source(credentials(endpoint.url, **encoded))
    assert [await tokens.token() for _ in range(3)] == [old, new, new]
    authorization, body = endpoint.asked[0]
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"app+1:hidden%3Asecret"
    assert body == "grant_type=client_credentials&scope=a+b"


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (401, b'{"error": "hidden"}', "answered HTTP 401"),
        (200, b"hidden", "did not answer JSON"),
        (200, b'{"token": "hidden"}', "has no access_token"),
    ],
)
async def test_a_refusal_is_final_and_shows_no_secret(
    endpoint: Endpoint, status: int, answer: bytes, message: str
) -> None:
    endpoint.answers = [(status, answer)]
    with pytest.raises(AuthenticationError, match=message) as caught:
        await source(credentials(endpoint.url)).token()
    assert "hidden" not in str(caught.value)


async def test_an_endpoint_that_is_not_there(endpoint: Endpoint) -> None:
    with pytest.raises(AuthenticationError, match=r"gave no token: .*[Rr]efused"):
        await source(credentials("http://127.0.0.1:1/token")).token()


async def test_a_file_is_read_at_each_login(tmp_path: Path) -> None:
    path = tmp_path / "token"
    tokens = source({f"{PREFIX}.token.endpoint.url": path.as_uri()})
    with pytest.raises(AuthenticationError, match="cannot be read"):
        await tokens.token()
    for text in ("one.e30.x", "two.e30.x"):
        path.write_text(f"{text}\n")
        assert await tokens.token() == text


async def test_a_provider_is_a_function_or_a_coroutine_function() -> None:
    async def later() -> str:
        return "later"

    def of_thread() -> str:
        assert threading.current_thread() is not threading.main_thread()
        return "thread"

    assert await source({}, later).token() == "later"
    assert await source({}, of_thread).token() == "thread"
    with pytest.raises(AuthenticationError, match="returned NoneType, not a token"):
        await source({}, lambda: None).token()  # type: ignore[arg-type, return-value]
