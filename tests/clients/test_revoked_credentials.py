"""A user's password or rights are revoked during a transaction: no acknowledged record is lost.

Committed records stay. The open transaction is committed or aborted as a whole, and readers continue after it.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from odradek.client import Admin
from odradek.client.admin import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    NewTopic,
    ResourcePattern,
    ScramDeletion,
    ScramUpsertion,
)
from support.brokers.our_broker import OurBroker
from support.brokers.sasl_line import LoginFailed, SaslLine
from support.eventually import eventually

pytestmark = pytest.mark.ci

MODULES = "org.apache.kafka.common.security"
SESSION_MS, TRANSACTION_MS = 1_500, 1_000
WAIT_S = 60
CONFIG = {
    "listeners": "PLAINTEXT://127.0.0.1:0,LASTING://127.0.0.1:0,SHORT://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,LASTING:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    "listener.name.lasting.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    "listener.name.short.scram-sha-256.sasl.jaas.config": f"{MODULES}.scram.ScramLoginModule required;",
    "listener.name.short.connections.max.reauth.ms": str(SESSION_MS),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "connection.failed.authentication.delay.ms": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "group.initial.rebalance.delay.ms": "0",
}
"""PLAINTEXT is for the operator. Sessions on SHORT must be renewed."""


class Case:
    """A user and a topic of one test. The user has committed a record and sent another in an open transaction."""

    def __init__(self, broker: OurBroker, name: str, listener: str) -> None:
        self._broker, self._port = broker, broker.ports()[listener]
        self.name = name
        self.acls = [
            AclBinding(ResourcePattern(kind, name), AclEntry(f"User:{name}", "*", operation, AclPermission.ALLOW))
            for kind, operation in [
                (AclResourceType.TOPIC, AclOperation.ALL),
                (AclResourceType.TRANSACTIONAL_ID, AclOperation.ALL),
            ]
        ]
        self.administer("create_topics", [NewTopic(name, 1, 1)])
        self.administer("create_acls", self.acls)
        self.administer("alter_user_scram_credentials", [ScramUpsertion(name, "SCRAM-SHA-256", "secret")])
        self.producer = self.new_producer()
        self.producer.init_transactions(WAIT_S)
        self.producer.begin_transaction()
        self.send("committed")
        self.producer.commit_transaction(WAIT_S)
        self.producer.begin_transaction()
        self.send("open")

    def administer(self, call: str, *arguments: Any, **more: Any) -> None:
        """A call of the operator's admin client."""

        async def run() -> None:
            async with Admin(self._broker.bootstrap_servers) as admin:
                await getattr(admin, call)(*arguments, **more)

        asyncio.run(run())

    def new_producer(self) -> Producer:
        """The user's producer."""
        return Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{self._port}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.username": self.name,
                "sasl.password": "secret",
                "transactional.id": self.name,
                "transaction.timeout.ms": 600_000 if self._port != self._broker.ports()["SHORT"] else TRANSACTION_MS,
            }
        )

    def send(self, value: str) -> None:
        """Sends a record, and asserts that it is acknowledged."""
        errors: list[object] = []
        self.producer.produce(self.name, value.encode(), on_delivery=lambda error, _: errors.append(error))
        assert self.producer.flush(WAIT_S) == 0
        assert errors == [None]

    def revoke_password(self) -> None:
        """Deletes the credential, and waits until logins with it are refused."""
        self.administer("alter_user_scram_credentials", deletions=[ScramDeletion(self.name, "SCRAM-SHA-256")])
        eventually("the password is refused", self._is_refused)

    def _is_refused(self) -> bool:
        line = SaslLine(self._port)
        try:
            line.scram(self.name, "secret")
        except LoginFailed:
            return True
        finally:
            line.close()
        return False

    def committed(self, until: str) -> list[str]:
        """Sends ``until`` as the operator, and reads committed records up to it."""
        operator = Producer({"bootstrap.servers": self._broker.bootstrap_servers})
        operator.produce(self.name, until.encode())
        assert operator.flush(WAIT_S) == 0
        consumer = Consumer({"bootstrap.servers": self._broker.bootstrap_servers, "group.id": "reader"})
        consumer.assign([TopicPartition(self.name, 0, 0)])
        found: list[str] = []
        while until not in found:
            message = consumer.poll(WAIT_S)
            assert message is not None
            assert message.error() is None
            found.append((message.value() or b"").decode())
        consumer.close()
        return found


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with OurBroker(tmp_path_factory.mktemp("revoked"), CONFIG) as started:
        yield started
        log = started.log()
        assert "Traceback" not in log
        assert "secret" not in log


def test_a_session_that_lasts_commits_without_its_password(broker: OurBroker) -> None:
    """As in Kafka, a password is checked only at a login, so the open session can end its transaction."""
    case = Case(broker, "alice", "LASTING")
    case.revoke_password()
    case.send("after")
    case.producer.commit_transaction(WAIT_S)
    assert case.committed("end") == ["committed", "open", "after", "end"]


def test_a_session_that_ends_leaves_an_aborted_transaction(broker: OurBroker) -> None:
    """The client can't renew its session. The transaction times out and is aborted, and readers continue."""
    case = Case(broker, "bob", "SHORT")
    case.revoke_password()
    assert case.committed("end") == ["committed", "end"]


def test_rights_that_are_taken_away_hold_at_once(broker: OurBroker) -> None:
    """The transaction can neither continue nor commit. Once the rights are restored, its id starts again, which aborts
    it.
    """
    case = Case(broker, "carol", "LASTING")
    case.administer("delete_acls", case.acls[1:])
    with pytest.raises(KafkaException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        case.producer.commit_transaction(WAIT_S)
    case.administer("create_acls", case.acls)
    case.producer = case.new_producer()
    case.producer.init_transactions(WAIT_S)
    case.producer.begin_transaction()
    case.send("again")
    case.producer.commit_transaction(WAIT_S)
    assert case.committed("end") == ["committed", "again", "end"]
