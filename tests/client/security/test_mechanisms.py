"""The client's side of the mechanisms with our own server's side, and with wrong messages."""

import random
import string

import pytest

from odradek.client.errors import ConfigurationError
from odradek.client.security.login import Logins
from odradek.client.security.settings import KEYS, Security, security_of
from odradek.protocol.errors import ErrorCode, LoginRefusedError
from odradek.protocol.messages.security import SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse
from odradek.protocol.security import scram
from odradek.protocol.security.login_exchange import MESSAGES_MAX, login_steps
from odradek.protocol.security.login_mechanisms import (
    ClientLogin,
    MechanismError,
    OAuthBearerLogin,
    PlainLogin,
    ScramLogin,
)
from odradek.protocol.security.token_settings import (
    TokenError,
    TokenSettingsError,
    expiry_of,
    token_of,
    unsecured_token,
)
from support.security.secured_kafka import sasl

PASSWORD = "the;secret=,\"'\\ of ours"


def served(mechanism: str, password: str, salt: bytes, iterations: int, login: ScramLogin, nonce: str) -> bytes:
    """The broker's side of SCRAM: checks the proof; returns the final message."""
    kind = scram.MECHANISMS[mechanism]
    first = scram.decode_client_first(login.first())
    answer = scram.ServerFirst(first.nonce + nonce, salt, iterations)
    reply = login.answer(answer.text.encode())
    assert reply is not None
    final = scram.decode_client_final(reply)
    salted = scram.salted_password(kind, password, salt, iterations)
    credential = scram.credential_of(kind, salted, salt, iterations)
    signed = scram.signed_text(first, answer, final)
    assert scram.verify_proof(kind, credential.stored_key, signed, final.proof)
    return scram.ServerFinal(scram.server_signature(kind, credential.server_key, signed)).encode()


@pytest.mark.parametrize("seed", range(12))
def test_random_passwords_prove_themselves_and_the_broker_does(seed: int) -> None:
    chance = random.Random(seed)
    letters = string.printable + "äß€,="
    password = "".join(chance.choices(letters, k=chance.randrange(1, 30)))
    user = "".join(chance.choices(string.ascii_letters + ",=", k=8))
    mechanism = chance.choice(list(scram.MECHANISMS))
    login = ScramLogin(mechanism, user, password, "client-nonce", by_token=chance.random() < 0.5)
    final = served(mechanism, password, chance.randbytes(16), 4096, login, "server-nonce")
    assert login.answer(final) is None
    assert password not in repr(login)


def test_a_broker_that_does_not_know_the_password_is_refused() -> None:
    login = ScramLogin("SCRAM-SHA-256", "alice", PASSWORD, "nonce")
    login.answer(scram.ServerFirst("nonce-and-more", b"salt", 4096).text.encode())
    with pytest.raises(MechanismError, match="could not prove that it knows the password"):
        login.answer(scram.ServerFinal(bytes(32)).encode())


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (b"r=other,s=c2FsdA==,i=4096", "nonce"),
        (b"r=nonce,s=c2FsdA==,i=4096", "nonce"),
        (b"r=nonce2,s=c2FsdA==,i=4095", "asks for 4095 iterations"),
        (b"r=nonce2,s=c2FsdA==,i=99999999", "asks for 99999999 iterations"),
        (b"rubbish", "Invalid SCRAM server first message format"),
        (b"", "Invalid SCRAM server first message format"),
    ],
)
def test_a_first_answer_that_is_wrong_is_refused(message: bytes, error: str) -> None:
    with pytest.raises(MechanismError, match=error):
        ScramLogin("SCRAM-SHA-256", "alice", PASSWORD, "nonce").answer(message)


def test_plain_sends_one_message() -> None:
    login = PlainLogin("alice", PASSWORD)
    assert login.first() == b"\0alice\0" + PASSWORD.encode()
    assert login.answer(b"") is None
    assert PASSWORD not in repr(login)
    with pytest.raises(MechanismError):
        login.answer(b"more")


def test_oauthbearer_sends_token_and_extensions_and_ends_after_a_refusal() -> None:
    login = OAuthBearerLogin("abc.def.", {"traceId": "1"})
    assert login.first() == b"n,,\x01auth=Bearer abc.def.\x01traceId=1\x01\x01"
    assert login.answer(b"") is None
    assert login.answer(b'{"status":"invalid_token"}') == b"\x01"
    for token, extensions in (("a b", {}), ("a", {"auth": "1"}), ("a", {"k1": "1"}), ("a", {"k": "\x01"}), ("", {})):
        with pytest.raises(MechanismError):
            OAuthBearerLogin(token, extensions)


def run(mechanism: ClientLogin, *answers: SaslAuthenticateResponse) -> int:
    """Runs a login that gets these answers; returns the session lifetime."""
    steps = login_steps(mechanism, "broker:9093")
    assert isinstance(next(steps), SaslHandshakeRequest)
    steps.send(SaslHandshakeResponse(0, [mechanism.name]))
    try:
        for answer in answers:
            steps.send(answer)
    except StopIteration as done:
        lifetime: int = done.value
        return lifetime
    raise AssertionError("the login is not complete")


def test_a_login_ends_with_the_lifetime_of_the_session() -> None:
    assert run(PlainLogin("alice", PASSWORD), SaslAuthenticateResponse(session_lifetime_ms=3_000)) == 3_000


def test_refusals_name_broker_mechanism_and_user() -> None:
    refused = SaslAuthenticateResponse(ErrorCode.SASL_AUTHENTICATION_FAILED, "Authentication failed: no")
    with pytest.raises(LoginRefusedError) as caught:
        run(PlainLogin("alice", PASSWORD), refused)
    assert str(caught.value) == "broker:9093 (PLAIN, user 'alice') refuses the login: Authentication failed: no"
    steps = login_steps(PlainLogin("alice", PASSWORD), "broker:9093")
    next(steps)
    with pytest.raises(LoginRefusedError, match="does not enable the mechanism PLAIN; it enables SCRAM-SHA-256"):
        steps.send(SaslHandshakeResponse(ErrorCode.UNSUPPORTED_SASL_MECHANISM, ["SCRAM-SHA-256"]))


def test_a_broker_that_goes_on_asking_is_refused() -> None:
    answers = [SaslAuthenticateResponse(auth_bytes=b"more")] * MESSAGES_MAX
    with pytest.raises(LoginRefusedError, match="did not end the login"):
        run(OAuthBearerLogin("token", {}), *answers)


def security(mechanism: str = "PLAIN", **more: str) -> Security:
    made = security_of({"security.protocol": "SASL_PLAINTEXT", **sasl(mechanism, "alice", PASSWORD), **more})
    assert made is not None
    return made


async def test_secrets_do_not_show() -> None:
    for made in (security(), security("SCRAM-SHA-256"), Logins(security()), await Logins(security()).mechanism()):
        assert "secret" not in repr(made)


MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
WRONG = {
    "security.protocol is 'TLS'; it can be PLAINTEXT, SSL": {"security.protocol": "TLS"},
    "sasl.mechanism is 'GSSAPI' (Java's default); it can be PLAIN": {},
    "sasl.mechanism is 'MD5'; it can be PLAIN": {"sasl.mechanism": "MD5"},
    "sasl.jaas.config is not set; PLAIN needs org.apache": {"sasl.mechanism": "PLAIN"},
    "sasl.jaas.config: SCRAM-SHA-256 needs the login module": {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{MODULE} username="u" password="secret";',
    },
    "sasl.jaas.config: the option 'username' is missing": {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} password="secret";',
    },
    "sasl.jaas.config: line 1, column": {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{MODULE} username="u" password=0secret;',
    },
    "security: 'sasl.user' has no effect here": {"sasl.user": "u"},
    "sasl.oauthbearer.token.endpoint.url must be a URL": {
        **sasl("OAUTHBEARER", "u", ""),
        "sasl.oauthbearer.token.endpoint.url": "ftp://x",
    },
    "sasl.oauthbearer.client.credentials.client.id is not set": {
        **sasl("OAUTHBEARER", "u", ""),
        "sasl.oauthbearer.token.endpoint.url": "https://x",
    },
    "OAUTHBEARER needs a source of tokens": sasl("OAUTHBEARER", "", ""),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_settings_name_the_key_and_no_secret(message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Logins(security_of({"security.protocol": "SASL_PLAINTEXT", **WRONG[message]}) or security())
    assert str(caught.value).startswith(message)
    assert "secret" not in str(caught.value).replace("client.secret", "")


def test_every_key_is_javas() -> None:
    assert all(key == "security.protocol" or key.startswith(("ssl.", "sasl.")) for key in KEYS)


def test_unsecured_tokens_have_javas_claims() -> None:
    options = {
        "unsecuredLoginStringClaim_sub": "alice",
        "unsecuredLoginNumberClaim_level": "3",
        "unsecuredLoginListClaim_roles": "|a|b",
        "unsecuredLoginLifetimeSeconds": "60",
    }
    token = unsecured_token(options, 1_000.5)
    assert token.endswith(".")
    assert expiry_of(token) == 1_060
    for wrong in ({"unsecuredLoginNumberClaim_x": "y"}, {"unsecuredLoginStringClaim_exp": "1"}, {}):
        with pytest.raises(TokenSettingsError):
            unsecured_token(wrong, 0.0)


@pytest.mark.parametrize("token", ["", "a", "a.b.c", "a.e30.c", "a.eyJleHAiOiJ4In0.c"])
def test_a_token_without_a_time_has_no_expiry(token: str) -> None:
    assert expiry_of(token) is None


def test_the_answer_of_an_endpoint_is_never_shown() -> None:
    assert token_of(b'{"access_token": " abc "}', "https://x") == "abc"
    for answer in (b"<html>secret", b'{"refresh_token": "secret"}', b"[]", b'"secret"', b'{"access_token": 1}'):
        with pytest.raises(TokenError) as caught:
            token_of(answer, "https://x")
        assert "secret" not in str(caught.value)
