"""One SCRAM message does not tell a stranger which users exist, at a whole broker and over its restarts."""

import base64
from pathlib import Path

from odradek.protocol.messages.security import AlterUserScramCredentialsRequest
from odradek.protocol.security.scram import MECHANISMS
from odradek.testing import InProcessBroker
from support.brokers.sasl_line import SaslLine

MODULES = "org.apache.kafka.common.security"
CONFIGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,USERS://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.users.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
}
MECHANISM = MECHANISMS["SCRAM-SHA-256"]
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


def add_users(broker: InProcessBroker, names: list[str], salt_bytes: int, iterations: int) -> None:
    added = [
        Upsertion(name, MECHANISM.type, iterations, name.encode().ljust(salt_bytes, b"."), bytes(32)) for name in names
    ]
    line = SaslLine(broker.port)
    answer = line.ask(AlterUserScramCredentialsRequest([], added), 0)
    assert {one.error_code for one in answer.results} == {0}
    line.close()


def shown(broker: InProcessBroker, name: str, extension: str = "") -> tuple[bytes, int]:
    """The salt and the iterations that a stranger gets for a name."""
    [port] = broker.ports() - {broker.port}
    line = SaslLine(port)
    line.begin("SCRAM-SHA-256")
    first = line.token(f"n,,n={name},r=abc{extension}".encode()).decode()
    line.close()
    fields = dict(part.split("=", 1) for part in first.split(","))
    return base64.b64decode(fields["s"]), int(fields["i"])


def test_unknown_names_look_as_users_do_and_stay_as_they_are(tmp_path: Path) -> None:
    users, names = [f"user-{n}" for n in range(8)], [f"nobody-{n}" for n in range(8)]
    with InProcessBroker(tmp_path, CONFIGS) as broker:
        add_users(broker, users, salt_bytes=20, iterations=8192)
        before = [shown(broker, name) for name in names]
        assert {(len(salt), iterations) for salt, iterations in before} == {(20, 8192)}
        assert len({salt for salt, _ in before}) == len(names)
        add_users(broker, ["another"], salt_bytes=20, iterations=8192)
        assert [shown(broker, name) for name in names] == before
    with InProcessBroker(tmp_path, CONFIGS) as broker:
        assert [shown(broker, name) for name in names] == before
        assert shown(broker, users[0])[0] == b"user-0".ljust(20, b".")


def test_a_damaged_secret_is_replaced(tmp_path: Path) -> None:
    with InProcessBroker(tmp_path, CONFIGS) as broker:
        before = shown(broker, "nobody")
        [secret] = broker.log_dir.glob("odradek.scram.secret")
    secret.write_bytes(b"short")
    with InProcessBroker(tmp_path, CONFIGS) as broker:
        after = shown(broker, "nobody")
        assert after != before
    assert len(secret.read_bytes()) == 32


def test_unknown_tokens_look_as_tokens_do(tmp_path: Path) -> None:
    """Brokers with the same secret key for tokens show the same."""
    configs = {**CONFIGS, "delegation.token.secret.key": "the cluster's key"}
    with InProcessBroker(tmp_path / "one", configs) as one, InProcessBroker(tmp_path / "other", configs) as other:
        assert shown(one, "an-id", ",tokenauth=true") == shown(other, "an-id", ",tokenauth=true")
        assert shown(one, "nobody") == shown(other, "nobody")
        assert not list(one.log_dir.glob("odradek.scram.secret"))
