"""Unmodified clients work over TLS, with and without certificates of their own.

The broker with ``ssl.client.auth=required`` enforces ACLs, and its only superuser is the name in the clients'
certificate: nothing works unless the principal is right.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.authorizer import STANDARD_AUTHORIZER
from odradek.testing import InProcessBroker
from odradek.testing.security.certificates import CertificateAuthority
from support.security.tls_files import ALICE_PRINCIPAL, TlsFiles, tls_files

WAIT_S = 60
LARGE = b"x" * 5_000_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    return tls_files(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module", params=["none", "required"])
def tls(request: pytest.FixtureRequest, files: TlsFiles) -> Iterator[tuple[str, bool]]:
    """The broker: (bootstrap servers, whether clients need a certificate)."""
    with_key = request.param == "required"
    configs = {
        "listeners": "SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SSL",
        "message.max.bytes": "8000000",
        **files.listener(client_auth=request.param),
    }
    if with_key:
        configs |= {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": ALICE_PRINCIPAL}
    with InProcessBroker(None, configs) as broker:
        yield broker.bootstrap_servers, with_key


def test_kafka_python(tls: tuple[str, bool], files: TlsFiles) -> None:
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import KafkaAdminClient, NewTopic

    servers, with_key = tls
    settings = {"bootstrap_servers": servers, **files.kafka_python(with_key=with_key)}
    admin = KafkaAdminClient(**settings)
    admin.create_topics([NewTopic("first", 1, 1)])
    admin.close()
    producer = KafkaProducer(**settings, max_request_size=8_000_000)
    sent = [producer.send("first", value) for value in (b"small", LARGE, b"last")]
    assert [one.get(WAIT_S).offset for one in sent] == [0, 1, 2]
    producer.close()
    consumer = KafkaConsumer(group_id="g1", auto_offset_reset="earliest", **settings)
    # After subscribe() this client may never ask for the topic: an earlier request for metadata, which is still on its
    # way, counts as the answer. Once in some forty runs the group was then assigned nothing.
    consumer.assign([TopicPartition("first", 0)])
    received: list[bytes] = []
    while len(received) < 3:
        for records in consumer.poll(timeout_ms=200).values():
            received += [record.value for record in records]
    consumer.commit()
    consumer.close()
    assert received == [b"small", LARGE, b"last"]


def test_confluent_kafka_with_a_transaction(tls: tuple[str, bool], files: TlsFiles) -> None:
    from confluent_kafka import Consumer, Producer

    servers, with_key = tls
    settings = {"bootstrap.servers": servers, **files.librdkafka(with_key=with_key)}
    producer = Producer({**settings, "transactional.id": "t", "message.max.bytes": 8_000_000})
    producer.init_transactions(WAIT_S)
    producer.begin_transaction()
    for value in (b"small", LARGE, b"last"):
        producer.produce("second", value)
    producer.commit_transaction(WAIT_S)
    reset: dict[str, Any] = {"group.id": "g2", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, **reset})
    consumer.subscribe(["second"])
    received: list[bytes | None] = []
    while len(received) < 3:
        for message in consumer.consume(3, 0.2):
            assert message.error() is None
            received.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    assert received == [b"small", LARGE, b"last"]


def test_aiokafka(tls: tuple[str, bool], files: TlsFiles) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    servers, with_key = tls

    async def run() -> list[bytes]:
        settings = {"bootstrap_servers": servers, **files.aiokafka(with_key=with_key)}
        producer = AIOKafkaProducer(**settings, max_request_size=8_000_000)
        await producer.start()
        for value in (b"small", LARGE, b"last"):
            await producer.send_and_wait("third", value)
        await producer.stop()
        consumer = AIOKafkaConsumer("third", group_id="g3", auto_offset_reset="earliest", **settings)
        await consumer.start()
        received = [(await consumer.getone()).value for _ in range(3)]
        await consumer.commit()
        await consumer.stop()
        return received

    assert asyncio.run(run()) == [b"small", LARGE, b"last"]


def test_a_large_backlog_is_consumed_in_large_fetches(tls: tuple[str, bool], files: TlsFiles) -> None:
    from confluent_kafka import Consumer, Producer

    servers, with_key = tls
    settings = {"bootstrap.servers": servers, **files.librdkafka(with_key=with_key)}
    producer = Producer({**settings, "linger.ms": 50})
    values = [b"%06d" % number + b"y" * 10_000 for number in range(4_000)]
    for value in values:
        producer.produce("large", value)
        producer.poll(0)
    assert producer.flush(WAIT_S) == 0
    consumer = Consumer({**settings, "group.id": "g4", "auto.offset.reset": "earliest"})
    consumer.subscribe(["large"])
    received: list[bytes | None] = []
    while len(received) < len(values):
        received += [message.value() for message in consumer.consume(500, 0.2)]
    consumer.close()
    assert received == values


def test_a_client_without_a_certificate_is_refused_where_one_is_required(
    files: TlsFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    configs = {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL"}
    with InProcessBroker(tmp_path, {**configs, **files.listener(client_auth="required")}) as broker:
        settings = files.librdkafka(with_key=False)
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, **settings})
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=1)
    assert "on listener SSL: its TLS handshake failed: peer did not return a certificate" in caplog.text


@pytest.mark.parametrize(
    ("issuer", "days", "reason"),
    [("its own", -2, "certificate has expired"), ("another", 90, "certificate verify failed")],
    ids=["expired", "of another authority"],
)
def test_a_client_with_a_bad_certificate_is_refused_with_the_reason(
    files: TlsFiles, tmp_path: Path, caplog: pytest.LogCaptureFixture, issuer: str, days: int, reason: str
) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    authority = files.authority if issuer == "its own" else CertificateAuthority(issuer)
    store = str(authority.issue("mallory", days=days).write_pem(tmp_path / "mallory.pem"))
    configs = {"listeners": "SSL://127.0.0.1:0", "security.inter.broker.protocol": "SSL"}
    with InProcessBroker(tmp_path / "broker", {**configs, **files.listener(client_auth="required")}) as broker:
        settings = files.librdkafka(with_key=False)
        settings |= {"ssl.certificate.location": store, "ssl.key.location": store}
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, **settings})
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=1)
    lines = [line for line in caplog.text.splitlines() if "its TLS handshake failed" in line]
    assert lines
    assert all("on listener SSL" in line and reason in line for line in lines)
