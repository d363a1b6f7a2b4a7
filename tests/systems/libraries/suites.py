"""The suites that the packages of some libraries carry: how each is run, and which of its tests don't pass and why.

The tests are unmodified. Those of kafka-go have the port 9092 in them; there the port is replaced by the broker's.
"""

from collections.abc import Mapping
from typing import NamedTuple

from systems.libraries.table import Registry


class Suite(NamedTuple):
    """One suite."""

    name: str
    version: str
    registry: Registry
    arguments: tuple[str, ...]
    """Of ``pytest``, ``go test`` or ``cargo test``."""
    variables: Mapping[str, str]
    """Of its environment; ``{servers}`` stands for the broker's address."""
    configs: Mapping[str, str] = {}
    """Of the broker."""
    failing: Mapping[str, str] = {}
    """Tests that do not pass at Odradek, always or sometimes, each with the reason."""
    passing: int = 0
    """The least number of tests that pass."""


AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}
"""Some tests create ACLs."""

BROKEN = "-skip=TestReaderConsumerGroup/(verify_offset_committed|consumer_group_commits_on_close)"
"""Tests of kafka-go that dereference nil, which ends all later ones."""

SUITES = [
    Suite(
        "kafka-python",
        "3.0.12",
        Registry.PYPI,
        ("test/integration", "--timeout=120", "--timeout-method=signal"),
        {"KAFKA_URI": "kafka://{servers}", "KAFKA_VERSION": "4.3.0", "KAFKA_ROOT": "."},
        {**AUTHORIZER, "num.partitions": "4", "node.id": "0", "group.min.session.timeout.ms": "1000"},
        {
            **dict.fromkeys(
                ("TestSSLConnection::test_legacy_kafka_client_ssl", "TestSSLConnection::test_ssl_handshake"),
                "starts a broker of its own, from Kafka's distribution",
            ),
            "test_consumer_integration::test_heartbeat_thread": "on a busy machine the member sends no heartbeats, "
            "a defect of the client (`learn_partitions` in `python_clients.py` describes it)",
        },
        48,
    ),
    Suite(
        "github.com/twmb/franz-go",
        "v1.22.3",
        Registry.GO,
        ("github.com/twmb/franz-go/pkg/kgo",),
        {"KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "20000", "KGO_LOG_LEVEL": "none", "KGO_SEEDS": "{servers}"},
        passing=152,
    ),
    Suite(
        "github.com/segmentio/kafka-go",
        "v0.4.51",
        Registry.GO,
        (BROKEN, "."),
        {"KAFKA_VERSION": "3.7.0"},
        AUTHORIZER,
        {
            **dict.fromkeys(
                ("TestClientFindCoordinator", "TestDialer", "TestDialerResolver", "TestDialerTLS"),
                "expects a broker that calls itself localhost:9092",
            ),
            "TestConn": "expects that, too. Two of its 43 steps expect that a deleted topic does not come back at "
            "once; here Metadata creates it again ([differences.md](differences.md#fetch-and-metadata))",
            **dict.fromkeys(
                ("TestUnsupportedSASLMechanism", "TestWriter"), "expects a listener with SASL on port 9093, in one step"
            ),
            "TestReaderConsumerGroup": "a step reads 12 records with each of two readers, but one of them has one "
            "partition, with 8 records",
            "TestReaderReadCompactedMessage": "creates a topic with `segment.bytes=200`, which Kafka 4 refuses, and so "
            "does Odradek",
        },
        145,
    ),
    Suite(
        "github.com/ThreeDotsLabs/watermill-kafka/v3",
        "v3.0.6",
        Registry.GO,
        ("-short", "github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"),
        {"WATERMILL_TEST_KAFKA_BROKERS": "{servers}"},
        passing=6,
    ),
    Suite(
        "rskafka",
        "0.6.0",
        Registry.CRATES,
        ("--tests", "--features", "full"),
        {"TEST_INTEGRATION": "1", "KAFKA_CONNECT": "{servers}", "TEST_BROKER_IMPL": "kafka"},
        {},
        {"client::test_non_existing_partition": "expects a broker with `auto.create.topics.enable=false`"},
        174,
    ),
]
