"""The states of the SASL server: what comes first, what fails, renewals, and 20,000 random frames."""

import random
from collections.abc import Sequence

import pytest

from odradek.broker.security.authentication.mechanism import Authenticated, Mechanisms
from odradek.broker.security.authentication.plain import PlainExchange
from odradek.broker.security.authentication.sasl_server import (
    Failure,
    Outcome,
    Part,
    SaslAnswer,
    SaslServer,
    SaslState,
    Session,
    Success,
)
from odradek.broker.security.authentication.scram import ScramAccount, ScramExchange
from odradek.protocol.codec import decoder
from odradek.protocol.codec.header import encode_request
from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.messages.metadata import ApiVersionsRequest, MetadataRequest
from odradek.protocol.messages.security import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.security import plain
from odradek.protocol.security.scram import (
    SHA_256,
    ClientFinal,
    ClientFirst,
    client_proof,
    credential_of,
    decode_server_first,
    salted_password,
    signed_text,
)
from odradek.protocol.security.scram_credential import ScramCredential

NOW_MS = 1_700_000_000_000
SALTED = salted_password(SHA_256, "builder", b"salt", 4096)
BOB = credential_of(SHA_256, SALTED, b"salt", 4096)
HANDSHAKE, TOKEN = SaslHandshakeRequest, SaslAuthenticateRequest


class Accounts:
    """The user bob, and a token of bob that expires."""

    def user(self, name: str) -> ScramAccount | None:
        return ScramAccount(BOB, "User:bob") if name == "bob" else None

    def token(self, token_id: str) -> ScramAccount | None:
        return ScramAccount(BOB, "User:bob", NOW_MS + 700) if token_id == "id" else None

    def decoy(self, name: str, is_by_token: bool) -> ScramCredential:
        return BOB._replace(salt=b"decoy", stored_key=bytes(32))


class OtherAnswers:
    def api_versions(self, frame: memoryview, version: int) -> tuple[Sequence[Part], bool]:
        if version > 4:
            return [b"unsupported"], False
        if len(frame) < 10:
            raise ProtocolError("too short")
        return [b"versions"], True

    def illegal_state(self, frame: memoryview, api_key: int, version: int) -> Sequence[Part] | None:
        return [b"illegal"]


MECHANISMS: Mechanisms = {
    "PLAIN": lambda: PlainExchange({"alice": "wonder", "bob": "builder"}),
    "SCRAM-SHA-256": lambda: ScramExchange(SHA_256, Accounts(), lambda: "server"),
}


def server(previous: Session | None = None, max_reauth_ms: int = 0) -> SaslServer:
    return SaslServer(MECHANISMS, dict.fromkeys(MECHANISMS, max_reauth_ms), OtherAnswers(), previous)


def framed(message: Message, version: int) -> memoryview:
    return memoryview(encode_request(message, version, 7, "test")[4:])


def ask(asked: SaslServer, message: Message, version: int = 1) -> Outcome:
    return asked.receive(framed(message, version), NOW_MS)


def token(asked: SaslServer, data: bytes, version: int = 2) -> Outcome:
    return ask(asked, TOKEN(data), version)


def handshake(asked: SaslServer, mechanism: str, version: int = 1) -> Outcome:
    return ask(asked, HANDSHAKE(mechanism), version)


def response(outcome: Outcome, cls: type[Message], version: int) -> Message:
    """The message in an outcome's frame."""
    assert outcome.parts is not None
    data = b"".join(bytes(part) for part in outcome.parts)
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    start = 8 + (version >= cls.FLEXIBLE_SINCE)
    return decoder(cls, version)(memoryview(data), start)[0]


def logged_in(outcome: Outcome) -> Success:
    assert isinstance(outcome, Success), outcome
    return outcome


def failed(outcome: Outcome) -> Failure:
    assert isinstance(outcome, Failure), outcome
    return outcome


@pytest.mark.parametrize("version", [0, 1, 2])
def test_plain_after_versions_and_handshake(version: int) -> None:
    asked = server(max_reauth_ms=500)
    too_new = framed(ApiVersionsRequest(), 3).tobytes().replace(b"\0\x12\0\x03", b"\0\x12\0\x09", 1)
    assert asked.receive(memoryview(too_new), NOW_MS) == SaslAnswer([b"unsupported"])
    assert ask(asked, ApiVersionsRequest(), 3) == SaslAnswer([b"versions"])
    offered = response(handshake(asked, "PLAIN"), SaslHandshakeResponse, 1)
    assert offered == SaslHandshakeResponse(0, ["PLAIN", "SCRAM-SHA-256"])
    success = logged_in(token(asked, plain.encode("alice", "wonder"), version))
    assert success.client == Authenticated("User:alice")
    assert success.session_ms == 500
    lifetime = 500 if version else 0
    expected = SaslAuthenticateResponse(0, "", b"", lifetime)
    assert response(success, SaslAuthenticateResponse, version) == expected
    assert asked.state is SaslState.END


def test_raw_tokens_after_the_first_version_of_handshake() -> None:
    asked = server()
    handshake(asked, "PLAIN", 0)
    success = logged_in(asked.receive(memoryview(plain.encode("alice", "wonder")), NOW_MS))
    assert success.parts == [bytes(4)]
    assert success.session_ms is None
    asked = server()
    handshake(asked, "PLAIN", 0)
    failure = failed(asked.receive(memoryview(plain.encode("alice", "hunter2")), NOW_MS))
    assert (failure.parts, failure.is_delayed) == (None, True)
    assert "hunter2" not in failure.reason


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (plain.encode("alice", "hunter2"), "Authentication failed: Invalid username or password"),
        (plain.encode("carol", "wonder"), "Authentication failed: Invalid username or password"),
        (plain.encode("", "wonder"), "Authentication failed: username not specified"),
        (plain.encode("alice", ""), "Authentication failed: password not specified"),
        (b"alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
        (
            plain.encode("alice", "wonder", "bob"),
            "Authentication failed: Client requested an authorization id that is different from username",
        ),
    ],
)
def test_refusals_of_plain(data: bytes, sentence: str) -> None:
    asked = server()
    handshake(asked, "PLAIN")
    failure = failed(token(asked, data))
    expected = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, sentence, b"", 0)
    assert response(failure, SaslAuthenticateResponse, 2) == expected
    assert failure.is_delayed
    assert "wonder" not in failure.reason + "hunter2"


def scram(asked: SaslServer, name: str, salted: bytes = SALTED, extensions: str = "", nonce: str = "") -> Outcome:
    """Sends both messages of a client; returns the outcome."""
    first = ClientFirst(name, "client", "", extensions)
    begun = token(asked, first.encode())
    if not isinstance(begun, SaslAnswer):
        return begun
    answer = response(begun, SaslAuthenticateResponse, 2)
    assert isinstance(answer, SaslAuthenticateResponse)
    seen = decode_server_first(bytes(answer.auth_bytes))
    final = ClientFinal(b"n,,", nonce or seen.nonce)
    proof = client_proof(SHA_256, salted, signed_text(first, seen, final))
    return token(asked, final._replace(proof=proof).encode())


def begin(mechanism: str = "SCRAM-SHA-256", previous: Session | None = None, max_reauth_ms: int = 0) -> SaslServer:
    asked = server(previous, max_reauth_ms)
    assert isinstance(handshake(asked, mechanism), SaslAnswer)
    return asked


def test_scram_of_users_and_tokens() -> None:
    assert logged_in(scram(begin(), "bob")).client.principal == "User:bob"
    by_token = logged_in(scram(begin(max_reauth_ms=9_000), "id", extensions=",tokenauth=true"))
    assert (by_token.client.by_token, by_token.session_ms) == (True, 700)


@pytest.mark.parametrize("name", ["bob", "carol", "id"])
def test_scram_fails_at_the_proof_whether_the_user_exists_or_not(name: str) -> None:
    failure = failed(scram(begin(), name, salted=bytes(32)))
    sentence = (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )
    answer = response(failure, SaslAuthenticateResponse, 2)
    assert answer == SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, sentence, b"", 0)


def test_scram_refuses_another_nonce() -> None:
    assert "nonce" in failed(scram(begin(), "bob", nonce="clientother")).reason


def test_a_decoy_can_not_be_opened_with_the_keys_that_it_has() -> None:
    """Even a correct proof for the decoy's stored key is refused."""
    accounts = Accounts()
    accounts.decoy = lambda name, is_by_token: BOB  # type: ignore[method-assign]
    asked = SaslServer(
        {"SCRAM-SHA-256": lambda: ScramExchange(SHA_256, accounts, lambda: "s")}, {}, OtherAnswers(), None
    )
    handshake(asked, "SCRAM-SHA-256")
    assert "unknown user" in failed(scram(asked, "carol")).reason


def test_what_is_not_expected_ends_the_connection() -> None:
    unknown = failed(handshake(server(), "GSSAPI"))
    assert response(unknown, SaslHandshakeResponse, 1) == SaslHandshakeResponse(
        ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["PLAIN", "SCRAM-SHA-256"]
    )
    assert unknown.is_delayed
    early = failed(ask(server(), MetadataRequest(), 8))
    assert (early.parts, early.is_delayed) == (None, False)
    late = failed(ask(begin("PLAIN"), MetadataRequest(), 8))
    assert (late.parts, late.is_delayed) == ([b"illegal"], True)
    large = failed(begin("PLAIN").receive(memoryview(framed(MetadataRequest(), 8).tobytes() + bytes(20_000)), NOW_MS))
    assert (large.parts, large.is_delayed) == (None, False)
    for data in (b"", b"\0", b"\0\x11\0\x09" + bytes(20), b"GET / HTTP/1.1\r\n\r\n", b"\x60\x82\x01"):
        nothing = failed(server().receive(memoryview(data), NOW_MS))
        assert (nothing.parts, nothing.is_delayed) == (None, False)


def test_renewals_keep_mechanism_and_principal() -> None:
    session = Session("SCRAM-SHA-256", "User:bob")
    assert logged_in(scram(begin(previous=session), "bob")).client.principal == "User:bob"
    other = begin("PLAIN", previous=session)
    failure = failed(token(other, plain.encode("bob", "builder")))
    assert (failure.parts, failure.is_delayed) == (None, True)
    changed = begin("PLAIN", previous=Session("PLAIN", "User:bob"))
    sentence = "Cannot change principals during re-authentication from User.bob: User.alice"
    answer = response(failed(token(changed, plain.encode("alice", "wonder"))), SaslAuthenticateResponse, 2)
    assert answer == SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, sentence, b"", 0)
    twice = server()
    ask(twice, ApiVersionsRequest(), 3)
    assert "a second ApiVersions" in failed(ask(twice, ApiVersionsRequest(), 3)).reason
    versions = server(previous=session)
    assert "ApiVersions" in failed(ask(versions, ApiVersionsRequest(), 3)).reason


def test_random_frames_end_in_an_outcome_and_let_no_client_in() -> None:
    """Seeded fuzzing before authentication: valid frames with changed bytes, truncated, or in another order."""
    frames = [framed(ApiVersionsRequest("a", "1"), 3), framed(HANDSHAKE("PLAIN"), 1), framed(HANDSHAKE("PLAIN"), 0)]
    frames += [framed(HANDSHAKE("SCRAM-SHA-256"), 1), framed(TOKEN(plain.encode("alice", "x")), 2)]
    frames += [framed(TOKEN(ClientFirst("bob", "n").encode()), 1), framed(MetadataRequest(), 8)]
    for seed in range(20_000):
        chance = random.Random(seed)
        asked = server(chance.choice([None, None, Session("PLAIN", "User:alice")]))
        for _ in range(5):
            data = bytearray(chance.choice(frames))
            for _ in range(chance.choice([0, 0, 1, 3])):
                data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
            cut = len(data) if chance.random() < 0.8 else chance.randrange(len(data) + 1)
            outcome = asked.receive(memoryview(bytes(data))[:cut], NOW_MS)
            assert not isinstance(outcome, Success), f"seed {seed}"
            if isinstance(outcome, Failure):
                break
