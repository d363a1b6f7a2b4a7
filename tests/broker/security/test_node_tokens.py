"""This broker's tokens for other nodes: one attempt at a time, which continues if its connection is closed."""

import asyncio
from collections.abc import Callable

import pytest

from odradek.broker.security.node_tokens import TOKENS, NodeTokens
from odradek.protocol.security.jwt_retriever import JwtRetriever
from odradek.protocol.security.token_settings import RetrieverSettings, TokenError
from support.security.identity_provider import IdentityProvider


def settings(provider: IdentityProvider, secret: str = "secret", **options: str) -> RetrieverSettings:
    texts = {
        "sasl.oauthbearer.token.endpoint.url": provider.token_url,
        "sasl.oauthbearer.client.credentials.client.id": "broker",
        "sasl.oauthbearer.client.credentials.client.secret": secret,
    }
    return RetrieverSettings(texts, options)


async def test_connections_share_a_token() -> None:
    with IdentityProvider({"broker": "secret"}, 1000) as provider:
        tokens = NodeTokens("IN", settings(provider, extension_zone="a"))
        logins = await asyncio.gather(*(tokens.login() for _ in range(20)))
        assert len({login.first() for login in logins}) == 1
        assert logins[0].first().endswith(b"\x01zone=a\x01\x01")
        assert provider.given("broker") == 1


async def test_a_refusal_reaches_all_and_is_not_repeated_at_once() -> None:
    with IdentityProvider({"broker": "secret"}, 1000) as provider:
        tokens = NodeTokens("IN", settings(provider, "wrong-one"))
        answers = await asyncio.gather(*(tokens.login() for _ in range(5)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {TokenError}
        with pytest.raises(TokenError, match="HTTP 401") as caught:
            await tokens.login()
        assert "wrong-one" not in str(caught.value)
        assert provider.refused == 1


async def test_an_attempt_goes_on_without_the_connection_that_began_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with IdentityProvider({"broker": "secret"}, 1000) as provider:
        loop, begun, go_on = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        ask: Callable[[JwtRetriever], str] = JwtRetriever.token

        def slow(retriever: JwtRetriever) -> str:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
            return ask(retriever)

        monkeypatch.setattr(JwtRetriever, "token", slow)
        tokens = NodeTokens("IN", settings(provider))
        first = asyncio.create_task(tokens.login())
        await begun.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        second = asyncio.create_task(tokens.login())
        go_on.set()
        assert (await second).first().startswith(b"n,,\x01auth=Bearer ")
        assert provider.given("broker") == 1


async def test_an_exception_ends_one_attempt_and_is_named_without_its_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ask: Callable[[JwtRetriever], str] = JwtRetriever.token

    def fails(retriever: JwtRetriever) -> str:
        raise KeyError("of-a-token")

    with IdentityProvider({"broker": "secret"}, 1000) as provider:
        monkeypatch.setattr(JwtRetriever, "token", fails)
        before, tokens = TOKENS.failures, NodeTokens("IN", settings(provider), pause_s=0)
        with pytest.raises(TokenError, match="KeyError"):
            await tokens.login()
        assert TOKENS.failures == before + 1
        assert "of-a-token" not in caplog.text
        monkeypatch.setattr(JwtRetriever, "token", ask)
        assert (await tokens.login()).first().startswith(b"n,,\x01auth=Bearer ")
