"""Clients get an error for each feature that Odradek does not serve, never silence."""

import pytest
from confluent_kafka import KafkaError, KafkaException
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
