"""kafka-python with the protocol of each Kafka release: old versions of the APIs, sent by a real client.

With ``api_version`` kafka-python uses the highest versions that a broker of that release has. Each case produces,
consumes in a group, runs a transaction and calls the admin client, as far as the release has the APIs, and checks the
answers. docs/protocol.md has the resulting versions.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient
from kafka.errors import NoError
from kafka.protocol.broker_version_data import BROKER_API_VERSIONS
from kafka.structs import OffsetAndMetadata

from odradek.broker.dispatch.served import SERVED
from odradek.protocol.apis.api_keys import ApiKey
from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.python_clients import learn_partitions

Release = tuple[int, ...]

RECORDS = 20
FIRST = (0, 11)
"""The first release with record batches. Produce of older messages is not served (docs/differences.md)."""
RELEASES = [
    release
    for release, before in zip(sorted(BROKER_API_VERSIONS)[1:], sorted(BROKER_API_VERSIONS), strict=False)
    if release >= FIRST
    and any(BROKER_API_VERSIONS[release].get(key) != BROKER_API_VERSIONS[before].get(key) for key in SERVED)
]
"""Releases in which a served API got another version."""


class Case:
    """One release, and one topic of one partition."""

    def __init__(self, broker: InProcessBroker, release: Release) -> None:
        self.release = release
        self.topic = f"release-{'.'.join(map(str, release))}"
        self.group = f"{self.topic}-group"
        self.partition = TopicPartition(self.topic, 0)
        self.settings: dict[str, Any] = {"bootstrap_servers": broker.bootstrap_servers, "api_version": release}

    def has(self, key: ApiKey) -> bool:
        """Whether a broker of the release has an API."""
        return key in BROKER_API_VERSIONS[self.release]

    @contextmanager
    def admin(self) -> Iterator[KafkaAdminClient]:
        with closing(KafkaAdminClient(**self.settings)) as admin:
            yield admin

    def consumer(self, **settings: Any) -> KafkaConsumer:
        return KafkaConsumer(
            group_id=self.group, auto_offset_reset="earliest", enable_auto_commit=False, **self.settings, **settings
        )

    def create(self) -> None:
        with self.admin() as admin:
            admin.create_topics({self.topic: {"num_partitions": 1, "replication_factor": 1}})

    def produce(self) -> None:
        with closing(KafkaProducer(acks="all", enable_idempotence=False, **self.settings)) as producer:
            futures = [producer.send(self.topic, b"%d" % number, b"key") for number in range(RECORDS)]
            assert [future.get(60).offset for future in futures] == list(range(RECORDS))

    def consume(self) -> None:
        """Reads everything as a member of a group, and commits."""
        with closing(self.consumer()) as consumer:
            learn_partitions(consumer, self.topic)
            consumer.subscribe([self.topic])
            values: list[bytes] = []
            while len(values) < RECORDS:
                values += [record.value for records in consumer.poll(1000).values() for record in records]
            assert values == [b"%d" % number for number in range(RECORDS)]
            consumer.commit()
            assert consumer.committed(self.partition) == RECORDS
            assert consumer.end_offsets([self.partition]) == {self.partition: RECORDS}

    def transact(self) -> None:
        """Commits one record and the group's offset in a transaction, and aborts another."""
        settings = {"transactional_id": f"{self.topic}-transactions", **self.settings}
        with closing(KafkaProducer(**settings)) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            committed = producer.send(self.topic, b"committed")
            producer.send_offsets_to_transaction({self.partition: OffsetAndMetadata(RECORDS, "", -1)}, self.group)
            producer.commit_transaction()
            producer.begin_transaction()
            producer.send(self.topic, b"aborted")
            producer.flush()
            producer.abort_transaction()
        with closing(self.consumer(isolation_level="read_committed")) as consumer:
            consumer.assign([self.partition])
            consumer.seek(self.partition, RECORDS)
            records = consumer.poll(60_000)[self.partition]
            assert [(record.offset, record.value) for record in records] == [(committed.get(60).offset, b"committed")]

    def administer(self) -> None:
        """Calls the functions of the admin client whose APIs the release has; none may fail."""
        with self.admin() as admin:
            for key, call in self.calls(admin):
                if self.has(key):
                    assert not errors_in(answer := call()), f"{key.name}: {answer}"

    def calls(self, admin: KafkaAdminClient) -> list[tuple[ApiKey, Callable[[], Any]]]:
        config = ConfigResource(ConfigResourceType.TOPIC, self.topic, {"retention.ms": "100000000"})
        transaction = f"{self.topic}-transactions"
        return [
            (ApiKey.LIST_GROUPS, admin.list_groups),
            (ApiKey.DESCRIBE_GROUPS, lambda: admin.describe_groups([self.group])),
            (ApiKey.OFFSET_FETCH, lambda: admin.list_group_offsets({self.group: None})),
            (ApiKey.ALTER_CONFIGS, lambda: admin.alter_configs([config], incremental=False)),
            (ApiKey.INCREMENTAL_ALTER_CONFIGS, lambda: admin.alter_configs([config], incremental=True)),
            (ApiKey.DESCRIBE_CONFIGS, lambda: admin.describe_configs([config])),
            (ApiKey.CREATE_PARTITIONS, lambda: admin.create_partitions({self.topic: 2})),
            (ApiKey.DESCRIBE_LOG_DIRS, admin.describe_log_dirs),
            (ApiKey.DESCRIBE_PRODUCERS, lambda: admin.describe_producers([self.partition])),
            (ApiKey.LIST_TRANSACTIONS, admin.list_transactions),
            (ApiKey.DESCRIBE_TRANSACTIONS, lambda: admin.describe_transactions([transaction])),
            (ApiKey.DESCRIBE_QUORUM, admin.describe_metadata_quorum),
            (ApiKey.DESCRIBE_TOPIC_PARTITIONS, lambda: admin.describe_topic_partitions([self.topic])),
            (ApiKey.LIST_CONFIG_RESOURCES, admin.list_config_resources),
            (ApiKey.LIST_PARTITION_REASSIGNMENTS, admin.list_partition_reassignments),
            (ApiKey.ELECT_LEADERS, lambda: admin.elect_leaders(0, [self.partition], raise_errors=False)),
            (ApiKey.DELETE_RECORDS, lambda: admin.delete_records({self.partition: 1})),
            (ApiKey.OFFSET_DELETE, lambda: admin.delete_group_offsets(self.group, [self.partition])),
            (ApiKey.DELETE_GROUPS, lambda: admin.delete_groups([self.group])),
            (ApiKey.DELETE_TOPICS, lambda: admin.delete_topics([self.topic])),
        ]


def errors_in(answer: Any) -> list[Any]:
    """All errors in an answer of the admin client, by code or class."""
    if isinstance(answer, dict):
        code = answer.get("error_code", 0)
        return [code] * (code != 0) + [error for value in answer.values() for error in errors_in(value)]
    if isinstance(answer, list | tuple):
        return [error for value in answer for error in errors_in(value)]
    return [answer] if isinstance(answer, type) and answer is not NoError else []


@pytest.mark.ci
@pytest.mark.parametrize("release", RELEASES, ids=lambda release: ".".join(map(str, release)))
def test_kafka_python_for_a_broker_of(kafka_broker: InProcessBroker, release: Release) -> None:
    case = Case(kafka_broker, release)
    case.create()
    case.produce()
    case.consume()
    case.transact()
    case.administer()
