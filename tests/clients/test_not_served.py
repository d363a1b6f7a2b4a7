"""Clients get an error for each feature that Odradek does not serve, never silence."""

import pytest
from confluent_kafka import KafkaError, KafkaException, ShareConsumer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from kafka.admin import ACLFilter, ACLOperation, ACLPermissionType, KafkaAdminClient, ResourcePattern
from kafka.admin import ResourceType as PythonResourceType
from kafka.errors import SecurityDisabledError

from odradek.testing import InProcessBroker


def _poll_for_ever(consumer: ShareConsumer) -> None:
    while True:
        consumer.poll(1.0)


def test_a_share_consumer_gets_a_fatal_error(kafka: InProcessBroker) -> None:
    """librdkafka polls for ever if ShareGroupHeartbeat is not announced."""
    consumer = ShareConsumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": "sharing"})
    consumer.subscribe(["orders"])
    with pytest.raises(KafkaException) as raised:
        _poll_for_ever(consumer)
    assert raised.value.args[0].code() == KafkaError.UNSUPPORTED_VERSION
    assert raised.value.args[0].fatal()
    consumer.close()


def test_librdkafka_reports_that_there_is_no_authorizer(kafka: InProcessBroker) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    binding = AclBinding(
        ResourceType.TOPIC,
        "orders",
        ResourcePatternType.LITERAL,
        "User:me",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    with pytest.raises(KafkaException) as raised:
        admin.create_acls([binding])[binding].result(60)
    assert raised.value.args[0].code() == KafkaError.SECURITY_DISABLED


def test_kafka_python_reports_that_there_is_no_authorizer(kafka: InProcessBroker) -> None:
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)
    wanted = ACLFilter(
        None, None, ACLOperation.ANY, ACLPermissionType.ANY, ResourcePattern(PythonResourceType.TOPIC, "x")
    )
    with pytest.raises(SecurityDisabledError):
        admin.describe_acls(wanted)
    admin.close()
