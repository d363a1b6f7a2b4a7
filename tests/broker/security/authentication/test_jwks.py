"""The keys of an identity provider are read again when the file changes, refreshed in time, and kept if that fails."""

import gc
import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import get_default_algorithms

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.oauthbearer import JwksSettings
from odradek.broker.security.authentication import jwks
from odradek.broker.security.authentication.jwks import FetchedKeys, open_keys
from support.eventually import eventually

KEY = ec.generate_private_key(ec.SECP256R1()).public_key()
PUBLIC: Any = get_default_algorithms()["ES256"].to_jwk(KEY, as_dict=True)


def document(*key_ids: str) -> str:
    return json.dumps({"keys": [{**PUBLIC, "kid": key_id} for key_id in key_ids]})


def settings(url: str, refresh_ms: int = 3_600_000) -> JwksSettings:
    return JwksSettings(url, (), None, "sub", "scope", 30, refresh_ms, 1, 20)


def names(keys: jwks.FileKeys | FetchedKeys) -> list[str | None]:
    return [key.key_id for key in keys.current()]


class Provider:
    """An identity provider whose answers a test can change."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.asked = 0
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked += 1
                code, body = provider.answers[0] if len(provider.answers) == 1 else provider.answers.pop(0)
                self.send_response(code)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Logs nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/jwks"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def fetched(given: JwksSettings) -> FetchedKeys:
    """The keys at a URL."""
    keys = open_keys(given)
    assert isinstance(keys, FetchedKeys)
    return keys


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.close()


def test_a_file_is_read_again_when_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "with space" / "jwks.json"
    path.parent.mkdir()
    path.write_text(document("a"))
    keys = open_keys(settings(path.as_uri()))
    assert names(keys) == ["a"]
    path.write_text(document("a", "b"))
    assert names(keys) == ["a", "b"]
    path.write_text("{")
    os.utime(path, (1, 1))
    assert names(keys) == ["a", "b"]
    path.unlink()
    assert names(keys) == ["a", "b"]
    path.write_text(document("c"))
    assert names(keys) == ["c"]


def test_an_unknown_key_causes_one_early_fetch(provider: Provider) -> None:
    """Further unknown keys cause no fetch for ten seconds, for any number of tokens."""
    provider.answers = [(200, document("a").encode()), (200, document("b").encode())]
    clock_s = 1_000.0
    keys = FetchedKeys(settings(provider.url), jwks.fetch, lambda: clock_s)
    try:
        keys.missing()
        assert names(keys) == ["a"]
        clock_s += 11
        for _ in range(100):
            keys.missing()
        eventually("the new key is known", lambda: names(keys) == ["b"])
        assert provider.asked == 2
    finally:
        keys.close()


def test_keys_are_fetched_again_in_time_and_stay_if_that_fails(provider: Provider) -> None:
    good = document("a").encode()
    provider.answers = [(200, good), (500, b""), (200, b"[]"), (200, b"x" * (jwks.MAX_BYTES + 1)), (200, b"\xff")]
    provider.answers += [(200, document("b").encode())]
    keys = fetched(settings(provider.url, refresh_ms=5))
    try:
        assert names(keys) == ["a"]
        eventually("the later keys are known", lambda: names(keys) == ["b"])
        assert provider.asked >= 6
    finally:
        keys.close()


def test_an_exception_of_one_fetch_ends_no_later_one(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    provider.answers = [(200, document("a").encode())]
    outcomes: list[Exception | str] = [document("a"), IndexError("of a kind that no check foresaw"), document("b")]

    def fetch(_: str) -> str:
        outcome = outcomes.pop(0) if len(outcomes) > 1 else outcomes[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    keys = FetchedKeys(settings(provider.url, refresh_ms=5), fetch)
    try:
        eventually("the later keys are known", lambda: names(keys) == ["b"])
    finally:
        keys.close()
    assert "jwks: FetchedKeys.refresh failed: IndexError" in caplog.text


def test_a_start_without_keys_fails_with_the_url(provider: Provider, tmp_path: Path) -> None:
    provider.answers = [(404, b"")]
    missing = tmp_path / "none.json"
    for url in (provider.url, missing.as_uri(), "http://127.0.0.1:1/jwks"):
        with pytest.raises(ConfigError) as refused:
            open_keys(settings(url))
        assert url in str(refused.value)


def test_the_thread_ends_when_nothing_uses_the_keys(provider: Provider) -> None:
    """A broker in a process of tests may be stopped and started many times."""
    provider.answers = [(200, document("a").encode())]
    before = set(threading.enumerate())
    keys = fetched(settings(provider.url, refresh_ms=60_000))
    [thread] = set(threading.enumerate()) - before
    del keys
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()
