"""The tokens of a node: requests to an endpoint, behaviour without it, and places where credentials must not appear."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.protocol.security.jwt_retriever import JwtRetriever
from odradek.protocol.security.token_settings import RetrieverSettings, TokenError, TokenSettingsError, url_encoded
from support.security.token_endpoint import TokenEndpoint, answer_with, jwt

PREFIX = "sasl.oauthbearer."


@pytest.fixture
def endpoint() -> Iterator[TokenEndpoint]:
    with TokenEndpoint() as server:
        yield server


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def retriever(url: str, clock: Clock, **options: str) -> JwtRetriever:
    texts = {
        f"{PREFIX}token.endpoint.url": url,
        f"{PREFIX}client.credentials.client.id": "node",
        f"{PREFIX}client.credentials.client.secret": "hidden",
    }
    return JwtRetriever(RetrieverSettings(texts, options), {}, clock)


def problem_of(tokens: JwtRetriever) -> str | None:
    return tokens.problem


def test_a_token_is_replaced_at_four_fifths_of_its_life(endpoint: TokenEndpoint) -> None:
    clock = Clock()
    first, second = jwt(100, 1), jwt(180, 2)
    endpoint.answers = [answer_with(first), answer_with(second)]
    tokens = retriever(endpoint.url, clock)
    assert tokens.token() == first
    clock.now_s = 79.9
    assert tokens.token() == first
    clock.now_s = 80.0
    assert tokens.token() == second
    assert len(endpoint.asked) == 2


def test_a_token_serves_until_it_expires_if_it_can_not_be_replaced(endpoint: TokenEndpoint) -> None:
    clock = Clock()
    first = jwt(100, 1)
    endpoint.answers = [answer_with(first), (503, b"hidden"), (503, b"hidden"), answer_with(jwt(300, 2))]
    tokens = retriever(endpoint.url, clock)
    assert tokens.token() == first
    assert problem_of(tokens) is None
    clock.now_s = 99.0
    assert tokens.token() == first
    assert problem_of(tokens) == f"{endpoint.url} answered HTTP 503 Service Unavailable"
    clock.now_s = 100.0
    with pytest.raises(TokenError, match="HTTP 503") as caught:
        tokens.token()
    assert "hidden" not in str(caught.value)
    assert tokens.token() == jwt(300, 2)
    assert problem_of(tokens) is None


def test_credentials_do_not_follow_a_redirection(endpoint: TokenEndpoint) -> None:
    endpoint.answers = [(302, f"{endpoint.url}/elsewhere".encode()), answer_with(jwt(100, 1))]
    with pytest.raises(TokenError, match="HTTP 302"):
        retriever(endpoint.url, Clock()).token()
    assert len(endpoint.asked) == 1


def test_an_answer_without_an_end_is_refused(endpoint: TokenEndpoint) -> None:
    endpoint.answers = [(200, b"x" * (1 << 21))]
    with pytest.raises(TokenError, match="did not send a complete answer"):
        retriever(endpoint.url, Clock()).token()


def test_a_file_is_read_at_each_login(tmp_path: Path) -> None:
    path = tmp_path / "a token"
    tokens = retriever(path.as_uri(), Clock())
    with pytest.raises(TokenError, match="cannot be read"):
        tokens.token()
    path.write_text("\n")
    with pytest.raises(TokenError, match="is empty"):
        tokens.token()
    for text in (jwt(1e9, 1), jwt(1e9, 2)):
        path.write_text(f"{text}\n")
        assert tokens.token() == text


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"token.endpoint.url": "ftp://x"}, "must be a URL with http, https or file"),
        ({"token.endpoint.url": "http://x"}, "client.credentials.client.id is not set"),
        ({"client.credentials.client.id": "x"}, "needs a source of tokens"),
    ],
)
def test_settings_without_a_source_are_refused(texts: dict[str, str], message: str) -> None:
    settings = RetrieverSettings({PREFIX + key: text for key, text in texts.items()}, {"clientSecret": "hidden"})
    with pytest.raises(TokenSettingsError, match=message) as caught:
        JwtRetriever(settings, {})
    assert "hidden" not in f"{caught.value} {settings}"


def test_a_timeout_that_is_no_number_is_refused() -> None:
    texts = {f"{PREFIX}token.endpoint.url": "http://x", "sasl.login.read.timeout.ms": "soon"}
    with pytest.raises(TokenSettingsError, match=r"sasl.login.read.timeout.ms must be a number of ms, not 'soon'"):
        JwtRetriever(RetrieverSettings(texts, {"clientId": "a", "clientSecret": "b"}), {})


def test_names_and_secrets_are_encoded_as_java_does() -> None:
    assert url_encoded("a b*-._~é/:") == "a+b*-._%7E%C3%A9%2F%3A"
