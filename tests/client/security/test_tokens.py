"""Tokens of OAUTHBEARER from an endpoint, a file and a function."""

import base64
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.client.errors import AuthenticationError
from odradek.client.security.login import TokenSource
from odradek.client.security.settings import TokenProvider, security_of
from support.security.secured_kafka import sasl
from support.security.token_endpoint import TokenEndpoint, answer_with, jwt

PREFIX = "sasl.oauthbearer"


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as server:
        yield server


def fresh(number: int = 0) -> str:
    return jwt(time.time() + 600, number)


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


async def test_the_endpoint_is_asked_as_java_asks_and_its_token_is_kept(endpoint: TokenEndpoint) -> None:
    token = fresh()
    endpoint.answers = [answer_with(token)]
    tokens = source(credentials(endpoint.url, **{f"{PREFIX}.scope": "read write"}))
    assert await tokens.token() == await tokens.token() == token
    [(authorization, body)] = endpoint.asked
    assert base64.b64decode(authorization.removeprefix("Basic ")) == b"app 1:hidden:secret"
    assert body == "grant_type=client_credentials&scope=read write"


async def test_a_token_that_ends_soon_is_replaced(endpoint: TokenEndpoint) -> None:
    old, new = jwt(time.time() - 1, 1), fresh(2)
    endpoint.answers = [answer_with(old), answer_with(new)]
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
        (200, b"hidden", "is not JSON"),
        (200, b'{"token": "hidden"}', "has no access_token"),
    ],
)
async def test_a_refusal_is_final_and_shows_no_secret(
    endpoint: TokenEndpoint, status: int, answer: bytes, message: str
) -> None:
    endpoint.answers = [(status, answer)]
    with pytest.raises(AuthenticationError, match=message) as caught:
        await source(credentials(endpoint.url)).token()
    assert "hidden" not in str(caught.value)


async def test_an_endpoint_that_is_not_there(endpoint: TokenEndpoint) -> None:
    with pytest.raises(AuthenticationError, match=r"returned no token: .*[Rr]efused"):
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
