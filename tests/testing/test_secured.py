"""A secured broker for tests of users: each client library logs in with the settings that the broker returns."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer as ConfluentProducer
from kafka import KafkaConsumer, KafkaProducer

from odradek.client import Admin, Consumer, Producer
from odradek.client.admin import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    ResourcePattern,
)
from odradek.client.errors import AuthenticationError
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.testing import BrokerSecurity, SecuredBroker
from support.kafka.java_program import JavaProgram


class SecuredClients(JavaProgram):
    """The JVM with Kafka's own clients, as long as the block lasts."""

    NAME = "SecuredClients"


Factory = Callable[..., SecuredBroker]
PASSWORD = "a;b=\"c\\',secret"


def with_kafka_python(servers: str, security: dict[str, Any], topic: str) -> bytes:
    with KafkaProducer(bootstrap_servers=servers, **security) as producer:
        producer.send(topic, b"kafka-python").get(timeout=60)
    with KafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest", **security) as consumer:
        value: bytes = next(consumer).value
        return value


def with_confluent_kafka(servers: str, security: dict[str, Any], topic: str) -> bytes:
    producer = ConfluentProducer({"bootstrap.servers": servers, **security})
    producer.produce(topic, b"confluent-kafka")
    assert producer.flush(60) == 0
    settings = {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest", **security}
    consumer = ConfluentConsumer(settings)
    consumer.subscribe([topic])
    [message] = consumer.consume(1, 60)
    consumer.close()
    return message.value() or b""


def with_aiokafka(servers: str, security: dict[str, Any], topic: str) -> bytes:
    async def round_trip() -> bytes:
        async with AIOKafkaProducer(bootstrap_servers=servers, **security) as producer:
            await producer.send_and_wait(topic, b"aiokafka")
        settings = {"auto_offset_reset": "earliest", **security}
        async with AIOKafkaConsumer(topic, bootstrap_servers=servers, **settings) as consumer:
            value: bytes = (await consumer.getone()).value
            return value

    return asyncio.run(round_trip())


def with_ours(servers: str, security: dict[str, Any], topic: str) -> bytes:
    async def round_trip() -> bytes:
        async with Producer(servers, **security) as producer:
            await producer.send_and_wait(topic, b"odradek")
        settings = {"group_id": topic, "auto_offset_reset": "earliest", **security}
        async with Consumer(topic, bootstrap_servers=servers, **settings) as consumer:
            async for record in consumer:
                return record.value or b""
        raise AssertionError("an endless loop has ended")

    return asyncio.run(round_trip())


CLIENTS = {
    "kafka_python": with_kafka_python,
    "confluent_kafka": with_confluent_kafka,
    "aiokafka": with_aiokafka,
    "odradek": with_ours,
}


@pytest.mark.parametrize(
    ("protocol", "mechanism"),
    [("SASL_SSL", "SCRAM-SHA-512"), ("SASL_SSL", "PLAIN"), ("SASL_PLAINTEXT", "SCRAM-SHA-256"), ("SSL", "PLAIN")],
)
def test_each_client_library_logs_in(kafka_broker_factory: Factory, protocol: str, mechanism: str) -> None:
    security = BrokerSecurity({"alice": PASSWORD}, protocol=protocol, mechanism=mechanism)
    broker = kafka_broker_factory({"auto.create.topics.enable": True}, security=security)
    for name, round_trip in CLIENTS.items():
        broker.create_topic(name)
        value = round_trip(broker.bootstrap_servers, getattr(broker.client("alice"), name), name)
        assert value.decode() == name.replace("_", "-")


@pytest.mark.java
@pytest.mark.parametrize(
    ("protocol", "mechanism"), [("SASL_SSL", "SCRAM-SHA-512"), ("SASL_PLAINTEXT", "PLAIN"), ("SSL", "PLAIN")]
)
def test_java_clients_log_in(kafka_broker_factory: Factory, protocol: str, mechanism: str) -> None:
    """Their producer writes a transaction, their consumer reads it in a group."""
    security = BrokerSecurity({"alice": PASSWORD}, protocol=protocol, mechanism=mechanism)
    broker = kafka_broker_factory(security=security)
    settings = {**broker.client("alice").java, "bootstrap.servers": broker.bootstrap_servers}
    with SecuredClients() as java:
        answer = java.order({"properties": settings, "topic": "java", "values": ["first", "second"]})
    assert answer == {"values": ["first", "second"], "partitions": 1}


async def test_acls_hold_and_outlive_a_restart_and_a_reset(kafka_broker_factory: Factory) -> None:
    """Alice may write one topic. The broker's helpers log in as admin."""
    pattern = ResourcePattern(AclResourceType.TOPIC, "open")
    acl = AclBinding(pattern, AclEntry("User:alice", "*", AclOperation.WRITE, AclPermission.ALLOW))
    broker = kafka_broker_factory(security=BrokerSecurity(acls=[acl]))
    for again in (broker.restart, broker.reset, broker.restart):
        again()
        for topic in {"open", "closed"} - set(broker.topics()):
            broker.create_topic(topic)
        async with Producer(broker.bootstrap_servers, **broker.client("alice").odradek) as producer:
            await producer.send_and_wait("open", b"value")
            with pytest.raises(KafkaError) as caught:
                await producer.send_and_wait("closed", b"value")
            assert caught.value.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert [record.value for record in broker.records("open")][-1:] == [b"value"]


async def test_strangers_are_refused(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory(security=True)
    settings = broker.client("alice").java
    wrong = settings["sasl.jaas.config"].replace("alice-secret", "another")
    with pytest.raises(AuthenticationError):
        await Admin(broker.bootstrap_servers, security={**settings, "sasl.jaas.config": wrong}).start()
    without = {key: text for key, text in settings.items() if not key.startswith("ssl.")}
    with pytest.raises(AuthenticationError, match="TLS"):
        await Admin(broker.bootstrap_servers, security=without).start()


def test_secrets_do_not_show_and_wrong_names_are_refused(kafka_broker_factory: Factory) -> None:
    broker = kafka_broker_factory(security=BrokerSecurity({"bob": PASSWORD}))
    assert PASSWORD not in repr(broker.security)
    assert PASSWORD not in repr(broker.client("bob"))
    with pytest.raises(ValueError, match="must be one of SSL, SASL_PLAINTEXT, SASL_SSL"):
        BrokerSecurity(protocol="TLS")
    with pytest.raises(TypeError, match=r"security must be True or a BrokerSecurity\(\.\.\.\), not 'SASL_SSL'"):
        kafka_broker_factory(security="SASL_SSL")
    with pytest.raises(ValueError, match="must be one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"):
        BrokerSecurity(mechanism="GSSAPI")
    with pytest.raises(ValueError, match="no user 'alice'; it has admin, bob"):
        broker.client("alice")
