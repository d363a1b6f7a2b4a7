"""Secrets are compared in constant time in all packages."""

import ast
import hashlib
import hmac
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.broker.security.authentication import plain as plain_server
from odradek.broker.security.authentication.mechanism import Refused
from odradek.protocol.security import plain, scram
from tools.secret_comparisons import early_comparisons

ROOT = Path(__file__).parents[2]
CHECKED = ("broker", "client", "protocol", "testing")


@pytest.mark.parametrize("package", CHECKED)
def test_no_secret_is_compared_by_equality(package: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in early_comparisons(ast.parse(path.read_text()))
    ]
    assert not found, "use hmac.compare_digest"


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ("given == password", 1),
        ("user.password != given", 1),
        ("mac(key) == self._hmac", 1),
        ("client_proof(a) == b", 1),
        ("secrets[name] == given", 1),
        ("password == ''", 0),
        ("password is None", 0),
        ("hmac.compare_digest(password, given)", 0),
        ("len(password) == length", 0),
    ],
)
def test_the_rule_finds_comparisons(code: str, count: int) -> None:
    assert len(list(early_comparisons(ast.parse(code)))) == count


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """The pairs that were compared in constant time."""
    found: list[tuple[bytes, bytes]] = []
    compare: Callable[[bytes, bytes], bool] = hmac.compare_digest

    def noted(one: bytes, other: bytes) -> bool:
        found.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    return found


@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("nobody", "wrong"), ("ann", "right")])
def test_each_password_of_plain_is_compared_once(compared: list[tuple[bytes, bytes]], user: str, password: str) -> None:
    """A password is also compared once if the user does not exist."""
    exchange = plain_server.PlainExchange({"ann": "right"})
    if (user, password) == ("ann", "right"):
        exchange.respond(plain.encode(user, password), 0)
    else:
        with pytest.raises(Refused):
            exchange.respond(plain.encode(user, password), 0)
    assert len(compared) == 1
    assert compared[0][1] == password.encode()


@pytest.mark.parametrize("name", scram.MECHANISMS)
def test_a_proof_of_scram_is_compared_once(compared: list[tuple[bytes, bytes]], name: str) -> None:
    mechanism = scram.MECHANISMS[name]
    salted = scram.salted_password(mechanism, "right", b"salt", 4096)
    proof = scram.client_proof(mechanism, salted, b"signed")
    stored = hashlib.new(mechanism.hash, scram.client_key(mechanism, salted)).digest()
    for given, expected in ((proof, True), (bytes(len(proof)), False)):
        compared.clear()
        assert scram.verify_proof(mechanism, stored, b"signed", given) is expected
        assert len(compared) == 1
