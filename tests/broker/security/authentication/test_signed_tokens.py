"""Signed tokens: those that Kafka accepts and refuses (tried on a real one). No other text is accepted."""

import base64
import json
from collections.abc import Mapping
from random import Random
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import get_default_algorithms

from odradek.broker.security.authentication.bearer_token import BearerToken, TokenRefusal, split_token
from odradek.broker.security.authentication.signed_tokens import (
    KEY_TYPES,
    JwksError,
    TokenRules,
    VerificationKey,
    key_id_of,
    parse_jwks,
    validate_signed,
)

NOW_S = 1_795_000_000
PRIVATE: dict[str, Any] = {
    "RSA": rsa.generate_private_key(65537, 2048),
    "P-256": ec.generate_private_key(ec.SECP256R1()),
    "P-384": ec.generate_private_key(ec.SECP384R1()),
    "P-521": ec.generate_private_key(ec.SECP521R1()),
    "Ed25519": ed25519.Ed25519PrivateKey.generate(),
}
SIGNERS = {
    **{name: "RSA" for name, kind in KEY_TYPES.items() if kind == "RSA"},
    "ES256": "P-256",
    "ES384": "P-384",
    "ES512": "P-521",
    "EdDSA": "Ed25519",
}
RULES = TokenRules(frozenset({"kafka"}), "https://issuer")


def jwk(name: str, **fields: Any) -> dict[str, Any]:
    algorithm = get_default_algorithms()[next(alg for alg, key in SIGNERS.items() if key == name)]
    return {**algorithm.to_jwk(PRIVATE[name].public_key(), as_dict=True), "key_ops": ["verify"], "kid": name, **fields}


def keys_of(*jwks: Mapping[str, Any]) -> list[VerificationKey]:
    return parse_jwks(json.dumps({"keys": jwks}))


KEYS = keys_of(*(jwk(name) for name in PRIVATE))


def token(algorithm: str = "RS256", headers: Mapping[str, Any] | None = None, **claims: Any) -> str:
    """A good token, with claims changed; None leaves one out."""
    good = {"sub": "alice", "aud": "kafka", "iss": "https://issuer", "iat": NOW_S - 100, "exp": NOW_S + 300, **claims}
    kept = {name: value for name, value in good.items() if value is not None}
    key = SIGNERS[algorithm]
    # Signed through JWS, which does not check claims.
    payload = json.dumps(kept).encode()
    header = {"kid": key} if headers is None else dict(headers)
    return jwt.api_jws.encode(payload, PRIVATE[key], algorithm, headers=header)


def taken(text: str, rules: TokenRules = RULES, now_s: int = NOW_S, keys: list[VerificationKey] | None = None) -> bool:
    try:
        validate_signed(text, KEYS if keys is None else keys, rules, now_s * 1000)
    except TokenRefusal:
        return False
    return True


def encoded(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).rstrip(b"=").decode()


@pytest.mark.parametrize("algorithm", KEY_TYPES)
def test_each_algorithm_of_a_public_key_is_taken(algorithm: str) -> None:
    assert validate_signed(token(algorithm), KEYS, RULES, NOW_S * 1000) == BearerToken("alice", (NOW_S + 300) * 1000)
    assert taken(token(algorithm, {}), keys=[key for key in KEYS if key.key_id == SIGNERS[algorithm]])


CLAIMS: list[tuple[bool, dict[str, Any]]] = [
    (True, {}),
    (True, {"aud": ["other", "kafka"]}),
    (False, {"aud": "other"}),
    (False, {"aud": ["other"]}),
    (False, {"aud": None}),
    (False, {"aud": {"kafka": 1}}),
    (False, {"iss": "https://other"}),
    (False, {"iss": None}),
    (False, {"iss": ["https://issuer"]}),
    (False, {"exp": None}),
    (False, {"iat": None}),
    (False, {"sub": None}),
    (False, {"sub": " "}),
    (False, {"sub": 7}),
    (False, {"jti": 7}),
    (True, {"exp": NOW_S - 29}),
    (False, {"exp": NOW_S - 30}),
    (False, {"exp": "tomorrow"}),
    (False, {"exp": True}),
    (False, {"exp": 1e300}),
    (False, {"exp": NOW_S + 5, "iat": NOW_S + 6}),
    (True, {"iat": NOW_S + 100}),
    (True, {"nbf": NOW_S + 30}),
    (False, {"nbf": NOW_S + 31}),
    (True, {"scope": "a b"}),
    (True, {"scope": ["a", "b"]}),
    (False, {"scope": ["a", " a"]}),
    (False, {"scope": ["a", ""]}),
    (False, {"scope": [1]}),
    (True, {"scope": 7}),
]


@pytest.mark.parametrize(("is_taken", "claims"), CLAIMS, ids=[str(claims) for _, claims in CLAIMS])
def test_claims(is_taken: bool, claims: dict[str, Any]) -> None:
    assert taken(token(**claims)) is is_taken


def test_claims_that_are_not_configured_are_not_asked() -> None:
    """As in Kafka, a token with an audience is refused if no audience is configured."""
    assert taken(token(aud=None, iss=None), TokenRules())
    assert taken(token(aud=None), TokenRules())
    assert not taken(token(), TokenRules())
    named = TokenRules(name_claim="client", scope_claim="scp")
    signed = token(aud=None, client=" app ", sub=None, scope=[1])
    assert validate_signed(signed, KEYS, named, NOW_S * 1000).name == "app"
    assert not taken(token(aud=None, client="app", scp=[1]), named)


def test_forged_tokens() -> None:
    """No signature, a shared secret made of the public key, another key, another key's id, a changed claim."""
    header, claims, signature = token().split(".")
    public = PRIVATE["RSA"].public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    secret = get_default_algorithms()["HS256"]
    for algorithm in ("none", "None", "HS256", "HS512", "", 7, None, ["RS256"]):
        head = encoded(json.dumps({"alg": algorithm, "kid": "RSA"}).encode())
        signed = f"{head}.{claims}"
        assert not taken(f"{signed}.")
        assert not taken(f"{signed}.{encoded(secret.sign(signed.encode(), pem))}")
    PRIVATE["other"] = rsa.generate_private_key(65537, 2048)
    SIGNERS["RS256"], kept = "other", SIGNERS["RS256"]
    forged, unknown = token(headers={"kid": "RSA"}), token(headers={"kid": "other"})
    SIGNERS["RS256"] = kept
    assert not taken(forged)
    assert not taken(unknown)
    assert key_id_of(unknown) == "other"
    assert not taken(token(headers={"kid": "P-256"}))
    assert not taken(token(headers={"kid": "RSA", "crit": ["b64"], "b64": True}))
    assert not taken(f"{header}.{encoded(split_token(token()).signed)}.{signature}")
    assert not taken(f"{header}.{claims}")
    assert not taken(f"{header}.{claims}.{signature}.")


def test_names_that_occur_twice_are_refused() -> None:
    twice = b'{"sub":"bob","sub":"alice","aud":"kafka","iss":"https://issuer","iat":1,"exp":99999999999}'
    assert not taken(jwt.api_jws.encode(twice, PRIVATE["RSA"], "RS256", headers={"kid": "RSA"}))


def test_keys_of_a_jwks() -> None:
    """Keys that can't verify tokens are ignored: for another use or algorithm, private, small, malformed."""
    small = rsa.generate_private_key(65537, 1024).public_key()
    unfit = [
        jwk("RSA", use="enc"),
        jwk("RSA", key_ops=["sign"]),
        jwk("RSA", kty="oct", k="AAAA"),
        jwk("RSA", n="!"),
        jwk("RSA", kid=7),
        jwk("P-256", crv="secp256k1"),
        jwk("P-256", x="AA"),
        get_default_algorithms()["RS256"].to_jwk(small, as_dict=True),
        {},
    ]
    assert keys_of(*unfit) == []
    assert not taken(token(), keys=keys_of(jwk("RSA", alg="RS512")))
    assert taken(token("RS512"), keys=keys_of(jwk("RSA", alg="RS512")))
    for text in ("", "[]", "{}", '{"keys": {}}', "[" * 100_000, json.dumps({"keys": [{}] * 201})):
        with pytest.raises(JwksError):
            parse_jwks(text)


@given(st.text(alphabet='abcXYZ019-_.=~{}"\\ü', max_size=80))
def test_any_text_is_refused(text: str) -> None:
    assert not taken(text)
    assert key_id_of(text) is None


@given(st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=60))
def test_any_parts_are_refused(header: bytes, claims: bytes, signature: bytes) -> None:
    assert not taken(f"{encoded(header)}.{encoded(claims)}.{encoded(signature)}")


@pytest.mark.parametrize("seed", range(3))
def test_mutated_tokens_are_refused(seed: int) -> None:
    """300 good tokens with some characters changed, cut or repeated, of a random algorithm."""
    random = Random(seed)
    for _ in range(300):
        text = list(token(random.choice(list(KEY_TYPES))))
        parts = split_token("".join(text))
        for _ in range(random.randint(1, 3)):
            at = random.randrange(len(text))
            match random.randrange(3):
                case 0:
                    text[at] = random.choice("ABCabc019-_.=")
                case 1:
                    del text[at]
                case _:
                    text.insert(at, text[random.randrange(len(text))])
        try:
            is_same = split_token("".join(text)) == parts
        except TokenRefusal:
            is_same = False
        assert taken("".join(text)) is is_same, f"seed {seed}: {''.join(text)}"


def test_nested_json_is_refused_before_it_costs_anything() -> None:
    for part in (b"[" * 400_000, b'{"a":' * 100_000, b"9" * 400_000, b'{"exp":' + b"9" * 100_000 + b"}"):
        assert not taken(f"{encoded(part)}.{encoded(part)}.AA")
