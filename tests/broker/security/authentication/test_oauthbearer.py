"""OAUTHBEARER on the broker's side: the exchange, and tokens without a signature."""

import base64
import json
from typing import Any

import pytest

from odradek.broker.security.authentication.bearer_token import BearerToken, TokenRefusal
from odradek.broker.security.authentication.mechanism import Authenticated, Refused
from odradek.broker.security.authentication.oauthbearer import OAuthBearerExchange
from odradek.broker.security.authentication.unsecured_tokens import UnsecuredRules, validate_unsecured
from odradek.protocol.security.oauthbearer import ClientInitial
from support.security.oauthbearer import encode_client_initial

NOW_MS = 1_795_000_000_000
NOW_S = NOW_MS // 1000


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def token(header: object = None, signature: str = "", **claims: Any) -> str:
    good = {"sub": "alice", "iat": NOW_S - 5, "exp": NOW_S + 60, **claims}
    kept = {name: value for name, value in good.items() if value is not None}
    return f"{encoded(header or {'alg': 'none'})}.{encoded(kept)}.{signature}"


def exchange(**rules: Any) -> OAuthBearerExchange:
    return OAuthBearerExchange(lambda text, now_ms: validate_unsecured(text, UnsecuredRules(**rules), now_ms))


def taken(text: str, **rules: Any) -> bool:
    try:
        validate_unsecured(text, UnsecuredRules(**rules), NOW_MS)
    except TokenRefusal:
        return False
    return True


def test_a_good_token_names_the_client_and_ends_the_session() -> None:
    said = encode_client_initial(ClientInitial(token(), "alice", {"trace": "1"}))
    assert exchange().respond(said, NOW_MS) == Authenticated("User:alice", b"", NOW_MS + 60_000)


def test_a_refused_token_costs_a_second_message() -> None:
    """The client gets the error as JSON, and is refused after its acknowledgement. It may also send another token."""
    started = exchange()
    bad, good = (encode_client_initial(ClientInitial(text)) for text in (token(exp=NOW_S - 1), token()))
    error = b'{"status":"invalid_token"}'
    assert started.respond(bad, NOW_MS) == error
    with pytest.raises(Refused) as refused:
        started.respond(b"\x01", NOW_MS)
    assert refused.value.answer == error.decode()
    assert "expired" in str(refused.value)
    with pytest.raises(Refused, match="client first message"):
        exchange().respond(b"\x01", NOW_MS)
    assert started.respond(bad, NOW_MS) == error
    assert isinstance(started.respond(good, NOW_MS), Authenticated)


def test_another_authorization_id_is_refused() -> None:
    said = encode_client_initial(ClientInitial(token(), "bob"))
    with pytest.raises(Refused) as refused:
        exchange().respond(said, NOW_MS)
    assert refused.value.answer == (
        "Authentication failed: Client requested an authorization id (bob) that is different from the token's "
        "principal name (alice)"
    )


def test_a_missing_scope_is_named() -> None:
    rules = {"required_scopes": ("read", "write")}
    said = encode_client_initial(ClientInitial(token(scope=["read"])))
    assert exchange(**rules).respond(said, NOW_MS) == b'{"status":"insufficient_scope", "scope":"[read, write]"}'
    assert taken(token(scope=["write", " read "]), **rules)
    assert not taken(token(scope="read write"), **rules)  # a single scope, as in Kafka
    assert taken(token(scope="read"), required_scopes=("read",))
    assert not taken(token(scope=7))


@pytest.mark.parametrize(
    ("is_taken", "text"),
    [
        (True, token()),
        (True, token(iat=None)),
        (True, token(exp=NOW_S + 0.5)),
        (False, token(exp=NOW_S)),
        (False, token(exp=None)),
        (False, token(exp="1")),
        (False, token(exp=1e300)),
        (False, token(iat=NOW_S + 1)),
        (False, token(iat="1")),
        (False, token(iat=NOW_S, exp=NOW_S)),
        (False, token(sub=None)),
        (False, token(sub=" ")),
        (False, token(sub=7)),
        (False, token({"alg": "HS256"}, "AAAA")),
        (False, token({"alg": "none"}, "AAAA")),
        (False, token({"alg": "None"})),
        (False, token(["alg"])),
        (False, "a.b.c"),
        (False, ".."),
        (False, ""),
    ],
)
def test_unsecured_tokens(is_taken: bool, text: str) -> None:
    assert taken(text) is is_taken


def test_options_of_the_login_module() -> None:
    options = {
        "unsecuredValidatorPrincipalClaimName": "client",
        "unsecuredValidatorScopeClaimName": "scp",
        "unsecuredValidatorRequiredScope": "a  b",
        "unsecuredValidatorAllowableClockSkewMs": "3000",
        "unsecuredLoginStringClaim_sub": "admin",
    }
    rules = UnsecuredRules.of(options)
    assert rules == UnsecuredRules("client", "scp", ("a", "b"), 3000)
    late = token(client="app", sub=None, scp=["a", "b"], exp=NOW_S - 2)
    assert validate_unsecured(late, rules, NOW_MS) == BearerToken("app", NOW_MS - 2000)
    assert UnsecuredRules.of({}) == UnsecuredRules()
    for skew in ("-1", "x", "9" * 11):
        with pytest.raises(ValueError, match="AllowableClockSkewMs"):
            UnsecuredRules.of({"unsecuredValidatorAllowableClockSkewMs": skew})
