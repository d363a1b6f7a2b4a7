"""Kafka's own kafka-delegation-tokens.sh, and a Java client that logs in with a token, at our broker."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.kafka.tools import KafkaTools

pytestmark = [pytest.mark.java, pytest.mark.ci]

MODULES = "org.apache.kafka.common.security"
TOKENS, TOPICS = "org.apache.kafka.tools.DelegationTokenCommand", "org.apache.kafka.tools.TopicCommand"
PREFIX = "listener.name.sasl_plaintext."
CONFIG = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    f"{PREFIX}plain.sasl.jaas.config": f'{MODULES}.plain.PlainLoginModule required user_alice="a" user_bob="b";',
    f"{PREFIX}scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:alice",
    "delegation.token.secret.key": "s3cret-of-brokers",
    "delegation.token.expiry.check.interval.ms": "50",
    "connection.failed.authentication.delay.ms": "1",
}


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    directory = tmp_path / "broker"
    directory.mkdir()
    with OurBroker(directory, CONFIG) as started:
        yield started


def client(directory: Path, user: str, password: str, module: str = "plain.Plain", more: str = "") -> tuple[str, str]:
    """The arguments of a tool that logs in this way."""
    path = directory / f"{user}.properties"
    mechanism = "PLAIN" if module.startswith("plain") else "SCRAM-SHA-256"
    path.write_text(
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f'sasl.jaas.config={MODULES}.{module}LoginModule required username="{user}" password="{password}" {more};\n'
    )
    return "--command-config", str(path)


def test_the_life_of_a_token(broker: OurBroker, tmp_path: Path) -> None:
    """The tool creates, describes, renews and expires a token, and logs in with it. A removed token stays removed after
    a restart."""
    with KafkaTools() as tools:
        alice, address = client(tmp_path, "alice", "a"), broker.bootstrap_servers
        new = ("--create", "--max-life-time-period", "-1")
        made = tools.run(TOKENS, address, *alice, *new, "--renewer-principal", "User:bob")
        assert made.code == 0, made
        row = re.search(r"^(\S+)\s+(\S+==)\s+User:alice\s+User:alice\s+\[User:bob\]", made.out, re.MULTILINE)
        assert row is not None, made.out
        token_id, digest = row[1], row[2]
        by_token = client(tmp_path, token_id, digest, "scram.Scram", 'tokenauth="true"')
        assert tools.run(TOPICS, address, *by_token, "--create", "--topic", "made-by-token").code == 0
        described = tools.run(TOKENS, address, *alice, "--describe", "--owner-principal", "User:alice")
        assert token_id in described.out
        assert digest in described.out
        bob = client(tmp_path, "bob", "b")
        renewed = tools.run(TOKENS, address, *bob, "--renew", "--renew-time-period", "-1", "--hmac", digest)
        assert renewed.code == 0, renewed
        refused = tools.run(TOKENS, address, *by_token, *new)
        assert refused.code == 1
        assert "Delegation Token requests are not allowed" in refused.out + refused.err
        broker.stop()
        broker.start()
        address = broker.bootstrap_servers
        assert "made-by-token" in tools.run(TOPICS, address, *by_token, "--list").out
        assert tools.run(TOKENS, address, *bob, "--expire", "--expiry-time-period", "-1", "--hmac", digest).code == 0
        assert token_id not in tools.run(TOKENS, address, *alice, "--describe").out
        short = tools.run(TOKENS, address, *alice, "--create", "--max-life-time-period", "1")
        assert short.code == 0, short
    log = broker.log()
    assert digest not in log
    assert "s3cret-of-brokers" not in log
