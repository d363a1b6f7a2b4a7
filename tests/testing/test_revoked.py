"""Rights that are taken away in the middle of a transaction: what was acknowledged stays, the rest is never seen."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from odradek.client.admin import AclBinding as OurBinding
from odradek.client.admin import AclEntry, ResourcePattern
from odradek.client.admin import AclOperation as Operation
from odradek.client.admin import AclPermission as Permission
from odradek.client.admin import AclResourceType as Kind
from odradek.protocol.errors import ErrorCode
from odradek.testing import BrokerSecurity, SecuredBroker

Factory = Callable[..., SecuredBroker]
WAIT_S = 60
LITERAL = ResourcePatternType.LITERAL


def allowed(kind: ResourceType, name: str) -> AclBinding:
    return AclBinding(kind, name, LITERAL, "User:alice", "*", AclOperation.ALL, AclPermissionType.ALLOW)


RIGHTS = [allowed(ResourceType.TOPIC, "paid"), allowed(ResourceType.TRANSACTIONAL_ID, "clerk")]


def write(producer: Producer, *values: str) -> None:
    """Writes in a new transaction. Each record is acknowledged before this returns."""
    producer.begin_transaction()
    errors: list[object] = []
    for value in values:
        producer.produce("paid", value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(WAIT_S) == 0
    assert errors == [None] * len(values)


@pytest.mark.ci
def test_a_right_or_a_password_that_is_revoked_in_a_transaction(kafka_broker_factory: Factory) -> None:
    # With ACLs from the start, a right needs an ACL.
    other = OurBinding(
        ResourcePattern(Kind.TOPIC, "other"), AclEntry("User:alice", "*", Operation.READ, Permission.ALLOW)
    )
    broker = kafka_broker_factory(security=BrokerSecurity(acls=[other], protocol="SASL_PLAINTEXT"))
    broker.create_topic("paid")
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    admin = AdminClient({**servers, **broker.client("admin").confluent_kafka})
    settings = {**servers, **broker.client("alice").confluent_kafka, "transactional.id": "clerk"}

    def started() -> Producer:
        producer = Producer(settings)
        producer.init_transactions(WAIT_S)
        return producer

    def seen() -> list[str]:
        """The values of the committed records, up to ``last``."""
        reader = Consumer(
            {
                **servers,
                **broker.client("admin").confluent_kafka,
                "group.id": "readers",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            }
        )
        reader.assign([TopicPartition("paid", 0, 0)])
        values: list[str] = []
        while "last" not in values:
            values += [(message.value() or b"").decode() for message in reader.consume(10, 1)]
        reader.close()
        return values

    for future in admin.create_acls(RIGHTS).values():
        future.result(WAIT_S)
    first = started()
    write(first, "one", "two")
    first.commit_transaction(WAIT_S)
    write(first, "lost right")
    gone = [
        AclBindingFilter(kind, name, LITERAL, "User:alice", "*", AclOperation.ANY, AclPermissionType.ANY)
        for kind, name in ((right.restype, right.name) for right in RIGHTS)
    ]
    for deleted in admin.delete_acls(gone).values():
        assert len(deleted.result(WAIT_S)) == 1
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(WAIT_S)
    assert refused.value.args[0].code() == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    for future in admin.create_acls(RIGHTS).values():
        future.result(WAIT_S)
    second = started()
    write(second, "three")
    second.commit_transaction(WAIT_S)
    # A password that is changed leaves the session that has begun with the old one: its commit is acknowledged.
    write(second, "four")
    change = UserScramCredentialUpsertion("alice", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"another")
    for future in admin.alter_user_scram_credentials([change]).values():
        future.result(WAIT_S)
    second.commit_transaction(WAIT_S)
    write(second, "last")
    second.commit_transaction(WAIT_S)
    assert seen() == ["one", "two", "three", "four", "last"]
