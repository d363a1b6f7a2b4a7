"""The parsers of input from unknown clients, and of JAAS texts: one function for each kind of input.

A function takes any bytes, and raises only if there is a bug: an exception that no caller expects, a message that does
not survive its own encoding, plaintext on a TLS connection, an accepted login. :data:`SEEDS` has good inputs to start
from. ``fuzz.py`` beside it runs a coverage-guided fuzzer over them.
"""

import asyncio
import base64
import json
import ssl
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from jwt.algorithms import OKPAlgorithm

from odradek.broker.network.connection import Connection
from odradek.broker.security.authentication.bearer_token import BearerToken, TokenRefusal
from odradek.broker.security.authentication.mechanism import Authenticated, Mechanisms
from odradek.broker.security.authentication.oauthbearer import OAuthBearerExchange
from odradek.broker.security.authentication.plain import PlainExchange
from odradek.broker.security.authentication.sasl_server import (
    OtherAnswers,
    Part,
    SaslServer,
    SaslState,
    Session,
    Success,
)
from odradek.broker.security.authentication.scram import ScramAccount, ScramExchange
from odradek.broker.security.authentication.signed_tokens import TokenRules, key_id_of, parse_jwks, validate_signed
from odradek.broker.security.authentication.unsecured_tokens import UnsecuredRules, validate_unsecured
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.security import SaslAuthenticateRequest, SaslHandshakeRequest
from odradek.protocol.security import scram
from odradek.protocol.security.jaas import JaasError, parse_file, parse_modules
from odradek.protocol.security.oauthbearer import decode_client_initial
from odradek.protocol.security.scram_credential import ScramCredential
from odradek.protocol.security.tls_context import ServerTls, TlsSettings, client_context, server_tls
from support.security.handshakes import End
from support.security.oauthbearer import encode_client_initial
from support.security.tls_connection import BrokerSide, TlsClient, assert_only_records
from support.security.tls_files import tls_files

NOW_MS = 1_700_000_000_000
SECRET = "a password that no input contains"


def _raised(kind: type[Exception], call: Callable[..., object], *arguments: object) -> Exception | None:
    """The error of this kind that a call raises; None if it raises none. Another error is a bug, and is raised."""
    try:
        call(*arguments)
    except kind as error:
        return error
    return None


# JAAS strings and files.


def jaas(data: bytes) -> None:
    """The text of ``sasl.jaas.config`` and of a JAAS file. An error has the position, but no value."""
    text = data.decode("utf-8", "replace")
    hidden = f'a.B required password="{SECRET}" {text}'
    for parse in (parse_modules, parse_file):
        for one in (text, hidden, f"KafkaServer {{ {hidden}"):
            error = _raised(JaasError, parse, one)
            assert SECRET not in str(error)


# SCRAM messages.


def scram_messages(data: bytes) -> None:
    """Each of the four messages. An accepted one must be the same after encoding."""
    for decode in (
        scram.decode_client_first,
        scram.decode_server_first,
        scram.decode_client_final,
        scram.decode_server_final,
    ):
        if _raised(scram.ScramError, decode, data) is not None:
            continue
        message = decode(data)
        if isinstance(message, scram.ServerFirst):
            assert scram.decode_server_first(message.text.encode()) == message
        else:
            assert decode(message.encode()) == message


# Tokens (JWT), and the message with a token.

_KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
_KEYS = parse_jwks(json.dumps({"keys": [{**OKPAlgorithm.to_jwk(_KEY.public_key(), as_dict=True), "kid": "one"}]}))
_RULES = TokenRules(frozenset({"kafka"}), "tests")


def tokens(data: bytes) -> None:
    """The input as a token, and a token with a valid signature whose header and claims are the input."""
    text = data.decode("latin-1")
    header, _, claims = data.partition(b"\0")
    parts = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (header, claims))
    signed = (parts + b"." + base64.urlsafe_b64encode(_KEY.sign(parts))).decode()
    for one in (text, signed, f"{parts.decode()}."):
        key_id_of(one)
        for token in (_signed(one), _unsecured(one)):
            if token is not None:
                assert token.name
                assert token.name == token.name.strip()
                assert NOW_MS - 31_000 < token.expires_ms < 1 << 63


def _signed(text: str) -> BearerToken | None:
    try:
        return validate_signed(text, _KEYS, _RULES, NOW_MS)
    except TokenRefusal:
        return None


def _unsecured(text: str) -> BearerToken | None:
    try:
        return validate_unsecured(text, UnsecuredRules(), NOW_MS)
    except TokenRefusal:
        return None


# SASL: requests before authentication.


class _Accounts:
    """Bob, whose password is :data:`SECRET`."""

    _STORED = scram.credential_of(
        scram.SHA_256, scram.salted_password(scram.SHA_256, SECRET, b"salt", 4096), b"salt", 4096
    )

    def user(self, name: str) -> ScramAccount | None:
        """Bob's account."""
        return ScramAccount(self._STORED, "User:bob") if name == "bob" else None

    def token(self, token_id: str) -> ScramAccount | None:
        """Returns None: no token is known."""
        return None

    def decoy(self, name: str, is_by_token: bool) -> ScramCredential:
        """The account of an unknown user."""
        return self._STORED._replace(salt=b"decoy", stored_key=bytes(32))


class _Answers:
    def api_versions(self, frame: memoryview, version: int) -> tuple[Sequence[Part], bool]:
        """The broker's answer, without reading the request."""
        if len(frame) < 10:
            raise ProtocolError("too short")
        return [b"versions"], version <= 4

    def illegal_state(self, frame: memoryview, api_key: int, version: int) -> Sequence[Part] | None:
        """The broker's answer."""
        return [b"illegal"]


_ANSWERS: OtherAnswers = _Answers()


def _validated(text: str, now_ms: int) -> BearerToken:
    found = _signed(text)
    if found is None:
        raise TokenRefusal("the token is not one of ours")
    return found


_MECHANISMS: Mechanisms = {
    "PLAIN": lambda: PlainExchange({"alice": SECRET}),
    "SCRAM-SHA-256": lambda: ScramExchange(scram.SHA_256, _Accounts(), lambda: "server"),
    "OAUTHBEARER": lambda: OAuthBearerExchange(_validated),
}


def sasl(data: bytes) -> None:
    """Frames with a size of two bytes, before a login and in a renewal. None may log in, and an end is final."""
    for previous in (None, Session("PLAIN", "User:alice")):
        server = SaslServer(_MECHANISMS, {"PLAIN": 1000}, _ANSWERS, previous)
        rest = data
        while len(rest) >= 2 and server.state is not SaslState.END:
            size = int.from_bytes(rest[:2])
            outcome = server.receive(memoryview(rest[2 : 2 + size]), NOW_MS)
            assert not isinstance(outcome, Success | Authenticated), "it has logged in without a password"
            assert SECRET not in repr(outcome)
            rest = rest[2 + size :]


def bearer_message(data: bytes) -> None:
    """The first message of OAUTHBEARER. An accepted one must be the same after encoding."""
    try:
        message = decode_client_initial(data)
    except ValueError:
        return
    assert decode_client_initial(encode_client_initial(message)) == message


# TLS records.


@cache
def _tls() -> tuple[asyncio.AbstractEventLoop, ServerTls, ssl.SSLContext]:
    directory = Path(tempfile.mkdtemp(prefix="fuzz-tls-"))
    files = tls_files(directory)
    server = server_tls(TlsSettings(files.listener(client_auth="requested")))
    return asyncio.new_event_loop(), server, client_context(TlsSettings({"ssl.truststore.location": files.trust}))


def tls_records(data: bytes) -> None:
    """Bytes that arrive on a TLS connection: at its start, after a ClientHello, after the handshake, and encrypted.

    The first byte chooses the case. Only TLS records may come back, and only encrypted bytes may reach the connection.
    """
    loop, server, client = _tls()
    loop.run_until_complete(_arrives(server, client, data[:1], data[1:]))


async def _arrives(server: ServerTls, context: ssl.SSLContext, kind: bytes, data: bytes) -> None:
    frames: list[bytes] = []

    def served(connection: Connection, frame: memoryview, owned: bool) -> None:
        frames.append(bytes(frame))
        connection.answered([len(frame).to_bytes(4, "big") + bytes(frame)])

    client = TlsClient(BrokerSide(server, served), context)
    if kind in (b"2", b"3"):
        await client.connect()
    if kind == b"3":
        client.write(data or b"\0")
    else:
        client.put((End(context, "localhost").step() if kind == b"1" else b"") + data)
    for _ in range(6):
        await _turn(client)
    assert_only_records(client.socket.sent)
    assert kind == b"3" or not frames
    client.connection.connection_lost(None)


async def _turn(client: TlsClient) -> None:
    try:
        await client.turn()
    except ssl.SSLError:
        await asyncio.sleep(0)  # the client does not understand the alert, or what answers to another one's hello


TARGETS: Mapping[str, Callable[[bytes], None]] = {
    "jaas": jaas,
    "scram": scram_messages,
    "tokens": tokens,
    "sasl": sasl,
    "bearer": bearer_message,
    "tls": tls_records,
}


def _frames(*frames: bytes) -> bytes:
    return b"".join(len(one).to_bytes(2) + one for one in frames)


def _login(mechanism: str, *messages: bytes) -> bytes:
    requests = [encode_request(SaslHandshakeRequest(mechanism), 1, 7, "fuzz")[4:]]
    requests += [encode_request(SaslAuthenticateRequest(one), 2, 7, "fuzz")[4:] for one in messages]
    return _frames(encode_request(ApiVersionsRequest(), 3, 7, "fuzz")[4:], *map(bytes, requests))


_FIRST, _FINAL = b"n,,n=bob,r=client", b"c=biws,r=clientserver,p=" + base64.b64encode(bytes(32))
_CLAIMS = {"sub": "alice", "aud": ["kafka"], "iss": "tests", "iat": NOW_MS // 1000, "exp": NOW_MS // 1000 + 60}
SEEDS: Mapping[str, Sequence[bytes]] = {
    "jaas": [
        b"org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password='b\\101' x=y;",
        b"// c\nKafkaServer { a.B optional /* c */ u='1'; c.D sufficient; }; Client { e.F requisite; };",
    ],
    "scram": [
        _FIRST,
        b"n,a=bob,m=x,n=b=2Co=3D,r=client,tokenauth=true",
        b"r=clientserver,s=c2FsdA==,i=4096",
        _FINAL,
        b"v=c2FsdA==",
        b"e=unknown-user",
    ],
    "tokens": [
        json.dumps({"alg": "EdDSA", "kid": "one"}).encode() + b"\0" + json.dumps(_CLAIMS).encode(),
        b'{"alg":"none"}\0{"sub":"a","exp":1900000000,"scope":["a","b"],"nbf":1e9,"jti":"x"}',
        b"eyJhbGciOiJub25lIn0.e30.",
    ],
    "sasl": [
        _login("PLAIN", b"\0alice\0wrong"),
        _login("SCRAM-SHA-256", _FIRST, _FINAL),
        _login("OAUTHBEARER", b"n,,\x01auth=Bearer a.b.c\x01\x01", b"\x01"),
        _frames(bytes(encode_request(SaslHandshakeRequest("PLAIN"), 0, 7, "fuzz")[4:]), b"\0alice\0wrong"),
    ],
    "bearer": [b"n,a=alice,\x01auth=Bearer a.b.c\x01key=value\x01\x01", b"n,,\x01auth=Bearer a.b.c\x01\x01"],
    "tls": [
        b"0\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
        b"1\x14\x03\x03\x00\x01\x01",
        b"2\x15\x03\x03\x00\x02\x01\x00",
        b"2\x17\x03\x03\x00\x03abc",
        b"3\x00\x00\x00\x04abcd\xff\xff\xff\xff",
    ],
}
