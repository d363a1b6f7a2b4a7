"""Clients from before Kafka 0.11, whose Fetch (versions 0 to 3) reads messages of format 0 and 1.

kafka-python behaves like one if its `api_version` is that of an old broker. Our own connection sends each version.
"""

from collections.abc import Callable
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from odradek.client.cluster.connection import BrokerConnection
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.records.compression import CompressionType
from odradek.testing.broker.in_process import InProcessBroker

WAIT_MS = 60_000
START_MS = 1_700_000_000_000
RECORDS = 500
CODECS = ["none", "gzip", "snappy", "lz4"]


def produce(servers: str, topic: str, codec: str, count: int = RECORDS) -> list[tuple[int, bytes | None, bytes | None]]:
    """Produces records with headers, null keys and null values; returns (offset, key, value) of each."""
    producer = KafkaProducer(
        bootstrap_servers=servers, compression_type=None if codec == "none" else codec, linger_ms=500
    )
    expected: list[tuple[int, bytes | None, bytes | None]] = []
    for number in range(count):
        key = None if number % 3 == 0 else b"key-%d" % number
        value = None if number % 7 == 1 and key is not None else b"value-%d" % number
        producer.send(topic, value, key, headers=[("h", b"x")], timestamp_ms=START_MS + number)
        expected.append((number, key, value))
    producer.flush()
    producer.close()
    return expected


@pytest.mark.parametrize(
    ("version", "codec"),
    [
        pytest.param(version, codec, id=f"fetch-{fetch_version}-{codec}")
        for fetch_version, version in {1: (0, 9), 2: (0, 10, 0), 3: (0, 10, 1)}.items()
        for codec in CODECS
        if (fetch_version, codec) != (1, "lz4")  # it needs one more package for the checksum of that format
    ],
)
def test_kafka_python_of_that_time_consumes(
    kafka_broker: InProcessBroker, version: tuple[int, ...], codec: str
) -> None:
    servers = kafka_broker.bootstrap_servers
    topic = f"old-{'.'.join(map(str, version))}-{codec}"
    expected = produce(servers, topic, codec)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        api_version=version,
        group_id=topic,
        auto_offset_reset="earliest",
        consumer_timeout_ms=WAIT_MS,
    )
    received = []
    for record in consumer:
        received.append((record.offset, record.key, record.value))
        assert record.timestamp == (None if version == (0, 9) else START_MS + record.offset)
        assert record.headers == []
        if len(received) == RECORDS:
            break
    assert received == expected
    consumer.seek(TopicPartition(topic, 0), RECORDS // 2)
    assert next(consumer).offset == RECORDS // 2
    consumer.commit()
    consumer.close()


Ask = Callable[[str, int, int, int], Any]


@pytest.fixture
async def fetch(kafka_broker: InProcessBroker) -> Any:
    """``fetch(topic, version, offset, max_bytes)``: the answer to Fetch of that version for partition 0."""
    host, _, port = kafka_broker.bootstrap_servers.rpartition(":")
    connection = await BrokerConnection.open(host, int(port))

    async def ask(topic: str, version: int, offset: int = 0, max_bytes: int = 1 << 20) -> FetchResponse.PartitionData:
        wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
        request = FetchRequest(
            replica_id=-1, max_wait_ms=100, min_bytes=0, topics=[FetchRequest.FetchTopic(topic, partitions=[wanted])]
        )
        response = await connection.call(request, FetchResponse, max_version=version)
        return response.responses[0].partitions[0]

    yield ask
    connection.close()


MAGIC_POSITION = 16
FORMATS = {0: 0, 1: 0, 2: 1, 3: 1, 4: 2}


@pytest.mark.parametrize("version", FORMATS)
async def test_each_version_gets_its_message_format(fetch: Any, kafka_broker: InProcessBroker, version: int) -> None:
    topic = f"format-{version}"
    produce(kafka_broker.bootstrap_servers, topic, "none", count=10)
    data = await fetch(topic, version)
    assert data.error_code == 0
    assert data.high_watermark == 10
    assert data.records[MAGIC_POSITION] == FORMATS[version]
    small = await fetch(topic, version, max_bytes=1)
    assert 0 < len(small.records) <= len(data.records)
    at_the_end = await fetch(topic, version, offset=10)
    assert (at_the_end.error_code, at_the_end.records) == (0, b"")
    beyond = await fetch(topic, version, offset=11)
    assert beyond.error_code == 1


@pytest.mark.parametrize(("version", "error"), [(0, 76), (1, 76), (2, 76), (3, 76), (4, 0)])
async def test_zstd_needs_record_batches(fetch: Any, kafka_broker: InProcessBroker, version: int, error: int) -> None:
    topic = f"zstd-{version}"
    produce(kafka_broker.bootstrap_servers, topic, CompressionType.ZSTD.name.lower(), count=10)
    assert (await fetch(topic, version)).error_code == error
