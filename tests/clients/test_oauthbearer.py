"""Clients log in with OAUTHBEARER: refused tokens, the principal of a token, tokens without a signature.

test_security_matrix.py has each client library with a good token.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine
from support.eventually import eventually
from support.kafka.tools import KafkaTools

KEY = rsa.generate_private_key(65537, 2048)
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"


def config(jwks: Path) -> dict[str, str]:
    signed, unsigned = "listener.name.signed.", "listener.name.unsigned."
    return {
        "listeners": "SIGNED://127.0.0.1:0,UNSIGNED://127.0.0.1:0",
        "listener.security.protocol.map": "SIGNED:SASL_PLAINTEXT,UNSIGNED:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SIGNED",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        f"{signed}oauthbearer.sasl.jaas.config": f"{MODULE} required;",
        f"{signed}oauthbearer.sasl.server.callback.handler.class": HANDLER,
        "sasl.oauthbearer.jwks.endpoint.url": jwks.as_uri(),
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "tests",
        f"{unsigned}oauthbearer.sasl.jaas.config": f'{MODULE} required unsecuredLoginStringClaim_sub="admin";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:alice",
        "connection.failed.authentication.delay.ms": "1",
    }


class TwoListeners(OurBroker):
    """A broker with a listener for signed tokens and one for others."""

    def ports(self) -> dict[str, int]:
        """The ports by listener name."""
        ready: dict[str, Any] = json.loads((self.directory / "ready.json").read_text())
        return {name: one["port"] for name, one in ready["listeners"].items()}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwoListeners]:
    directory = tmp_path_factory.mktemp("oauth")
    jwks = directory / "jwks.json"
    jwks.write_text(json.dumps({"keys": [{**RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True), "kid": "one"}]}))
    with TwoListeners(directory, config(jwks)) as started:
        yield started


def token(**claims: Any) -> str:
    now = int(time.time())
    good = {"sub": "alice", "aud": "kafka", "iss": "tests", "iat": now, "exp": now + 3600, **claims}
    return jwt.encode(good, KEY, "RS256", headers={"kid": "one"})


def bootstrap(broker: TwoListeners) -> str:
    return f"127.0.0.1:{broker.ports()['SIGNED']}"


def confluent(broker: TwoListeners, text: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap(broker),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (text, time.time() + 3600),
    }


@pytest.mark.parametrize("claims", [{"aud": "other"}, {"iss": "other"}, {"exp": 1}, {"sub": ""}], ids=str)
def test_a_bad_token_is_refused(broker: TwoListeners, claims: dict[str, Any]) -> None:
    """confluent-kafka reports it. aiokafka treats the error as a success, and gets no metadata."""
    said: list[str] = []
    admin = AdminClient(confluent(broker, token(**claims)) | {"error_cb": lambda error: said.append(error.str())})

    def is_refused() -> bool:
        admin.poll(0.1)
        return any("invalid_token" in one for one in said)

    eventually(lambda: f"the client is refused: {said}", is_refused)


def test_the_principal_is_the_tokens_name_and_the_session_as_long(broker: TwoListeners) -> None:
    """Bob's token is good, but he may do nothing."""
    bob = AdminClient(confluent(broker, token(sub="bob")))
    bob.poll(0)
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        bob.create_topics([NewTopic("forbidden", 1, 1)])["forbidden"].result(60)
    line = SaslLine(broker.ports()["SIGNED"])
    line.begin("OAUTHBEARER")
    line.token(f"n,,\x01auth=Bearer {token(exp=int(time.time()) + 1000)}\x01\x01".encode())
    assert 900_000 < line.session_ms <= 1_000_000
    line.close()


def test_a_refused_client_gets_the_reason_after_its_answer(broker: TwoListeners) -> None:
    line = SaslLine(broker.ports()["SIGNED"])
    line.begin("OAUTHBEARER")
    unsigned = jwt.encode({"sub": "alice", "exp": 1 << 33, "iat": 1}, "", "none")
    assert line.token(f"n,,\x01auth=Bearer {unsigned}\x01\x01".encode()) == b'{"status":"invalid_token"}'
    with pytest.raises(LoginFailed, match="invalid_token"):
        line.token(b"\x01")
    assert unsigned not in broker.log()


@pytest.mark.java
@pytest.mark.ci
def test_kafkas_own_tool_with_a_token_without_signature(broker: TwoListeners, tmp_path: Path) -> None:
    """Any name can log in at that listener, which the broker logged at its start."""
    properties = tmp_path / "client.properties"
    properties.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=OAUTHBEARER\n"
        f'sasl.jaas.config={MODULE} required unsecuredLoginStringClaim_sub="alice";\n'
    )
    with KafkaTools() as tools:
        address = f"127.0.0.1:{broker.ports()['UNSIGNED']}"
        command = ("--create", "--topic", "java", "--command-config", str(properties))
        assert tools.run("org.apache.kafka.tools.TopicCommand", address, *command).code == 0
    assert "OAUTHBEARER accepts tokens without a signature: a client can log in with any name" in broker.log()
