"""The messages of OAUTHBEARER are accepted and refused as by Kafka's regular expressions (with hypothesis)."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from odradek.protocol.security.oauthbearer import (
    ClientInitial,
    OAuthBearerError,
    decode_client_initial,
    encode_server_error,
)
from support.security.oauthbearer import encode_client_initial

# OAuthBearerClientInitialResponse, in Python's notation.
PAIRS = "(?:[A-Za-z]+=[\\x21-\\x7e \t\r\n]+\x01)*"
MESSAGE = re.compile(rf"n,(?:a=(?P<name>(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01(?P<pairs>{PAIRS})\x01")
AUTH = re.compile(r"(\w+)[ ]+([-_~+/.a-zA-Z0-9]+=*)", re.ASCII)

WORDS = [
    "n",
    "y",
    ",",
    "a=",
    "=",
    "=2C",
    "=3D",
    "\x01",
    "auth",
    "auth=",
    "Basic",
    "abc.def.",
    "x=1",
    "ü",
    "\x00",
    "==",
    "~",
]
PIECES = st.sampled_from([*WORDS, "Bearer ", "bearer  ", "trace=1 2", "\t", "\r\n"])
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def as_kafka(text: str) -> ClientInitial | None:
    """The message, parsed as by Kafka."""
    found = MESSAGE.fullmatch(text)
    if found is None:
        return None
    pairs = dict(pair.split("=", 1) for pair in found["pairs"].split("\x01") if pair)
    auth = AUTH.fullmatch(pairs.pop("auth", ""))
    if auth is None or auth[1].lower() != "bearer":
        return None
    return ClientInitial(auth[2], found["name"] or "", pairs)


def ours(data: bytes) -> ClientInitial | None:
    try:
        return decode_client_initial(data)
    except OAuthBearerError:
        return None


@given(TEXTS)
@example("n,,\x01auth=Bearer a.b.\x01\x01")
@example("n,a=bob=2C,\x01auth=bearer  t==\x01trace=1 2\x01\x01")
@example("n,a=\x01,\x01auth=Bearer t\x01\x01")
@example("n,,\x01auth=Bearer t\x01auth=Basic t\x01\x01")
def test_a_message_is_read_as_by_kafkas_expressions(text: str) -> None:
    assert ours(text.encode()) == as_kafka(text)


@given(TEXTS)
def test_what_follows_a_good_beginning_is_read_so_too(rest: str) -> None:
    for beginning in ("n,,\x01auth=Bearer a.b.c", "n,a=bob,\x01", "n,,\x01auth=Bearer t\x01"):
        assert ours((beginning + rest).encode()) == as_kafka(beginning + rest)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    assert ours(data) == as_kafka(data.decode("utf-8", "replace"))


def test_a_client_writes_what_a_server_reads() -> None:
    for message in (ClientInitial("a.b.c"), ClientInitial("t=", "bob", {"traceId": "1 2"})):
        assert decode_client_initial(encode_client_initial(message)) == message
    for key, value in (("auth", "x"), ("key1", "x"), ("key", ""), ("key", "\x01")):
        with pytest.raises(OAuthBearerError):
            decode_client_initial(encode_client_initial(ClientInitial("t", extensions={key: value})))


def test_nothing_shows_a_token() -> None:
    message = ClientInitial("secret.secret.secret", "bob", {"key": "secret"})
    assert "secret" not in repr(message)
    for data in (b"n,,\x01auth=Basic secret\x01\x01", b"n,,\x01auth=Bearer s?cret\x01\x01", b"secret"):
        with pytest.raises(OAuthBearerError) as refused:
            decode_client_initial(data)
        assert "cret" not in str(refused.value)


def test_the_servers_error_is_kafkas_json() -> None:
    assert encode_server_error("invalid_token") == b'{"status":"invalid_token"}'
    assert encode_server_error("insufficient_scope", "[a, b]") == b'{"status":"insufficient_scope", "scope":"[a, b]"}'


def test_a_long_message_takes_linear_time() -> None:
    """Half a megabyte of each text that could match in several ways is refused at once."""
    for piece in ("a", "=2C", "\x01", "auth=", " ", "a=b\x01"):
        assert ours(b"n,a=" + piece.encode() * (500_000 // len(piece))) is None
        assert ours(b"n,,\x01auth=Bearer " + piece.encode() * (500_000 // len(piece)) + b"?") is None
