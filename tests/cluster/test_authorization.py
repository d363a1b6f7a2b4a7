"""ACLs in a cluster: brokers and controllers with Apache Kafka's authorizer, ours and real ones."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.topics import CreateTopicsRequest
from odradek.protocol.security.acl import CLUSTER_NAME, Acl, AclOperation, AclPermission, AclResourceType, PatternType
from parity.authorization_questions import QUESTIONS
from parity.secured import (
    ADMIN,
    ANONYMOUS,
    AUTHORIZER_KEYS,
    CLUSTER,
    GROUP,
    OPERATIONS,
    THE_BROKER,
    TOPIC,
    TRANSACTIONAL,
    Secured,
    ask_under_random_acls,
    compare,
    everything_allowed,
)
from parity.two_brokers import KAFKA_KEYS, SAME_KEYS
from support.eventually import eventually
from support.kafka.real_controllers import RealControllers

pytestmark = [pytest.mark.java, pytest.mark.ci]


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Secured, Secured]]:
    """Two clusters of one broker each: ours and a real one. Controllers and brokers have the authorizer."""
    with ExitStack() as stack:
        ours_by, kafka_by = (
            stack.enter_context(RealControllers(tmp_path_factory.mktemp("controller"), configs=AUTHORIZER_KEYS))
            for _ in range(2)
        )
        ours = ours_by.broker(tmp_path_factory.mktemp("ours"), 1, {**SAME_KEYS, **AUTHORIZER_KEYS})
        kafka = kafka_by.kafka_broker(tmp_path_factory.mktemp("kafka"), 1, {**KAFKA_KEYS, **AUTHORIZER_KEYS})
        sides = []
        for broker in (ours, kafka):
            stack.enter_context(broker)
            sides.append(Secured(broker.port))
            stack.callback(sides[-1].close)
            sides[-1].prepare()
        yield sides[0], sides[1]


class Mixed(NamedTuple):
    """Two brokers of ours, and a real one. ``admin`` may do everything."""

    bootstrap_servers: str
    admin: Secured

    def ids_of_each_coordinator(self) -> list[str]:
        """Transactional ids, one for each coordinating broker."""
        request = FindCoordinatorRequest(key_type=1, coordinator_keys=[f"payer-{number}" for number in range(20)])

        def found() -> dict[int, str]:
            answers = self.admin.ask(request, 6).coordinators
            return {one.node_id: one.key for one in answers if not one.error_code}

        eventually("each broker coordinates", lambda: found().keys() == {1, 2, 3})
        return list(found().values())


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    """Brokers 1 and 2 of ours, and a real one. They replicate ``orders``, and each leads one partition."""
    place = tmp_path_factory.mktemp("mixed")
    with ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(place / "controllers", configs=AUTHORIZER_KEYS))
        ours = [stack.enter_context(controllers.broker(place / f"b{node}", node, AUTHORIZER_KEYS)) for node in (1, 2)]
        kafka = stack.enter_context(controllers.kafka_broker(place / "b3", 3, AUTHORIZER_KEYS))
        admin = Secured(ours[0].port)
        stack.callback(admin.close)
        admin.create_acls(
            [
                *(of(ADMIN, kind, CLUSTER_NAME if kind is CLUSTER else "*", AclOperation.ALL) for kind in OPERATIONS),
                of(THE_BROKER, CLUSTER, CLUSTER_NAME, AclOperation.CLUSTER_ACTION),
                of(THE_BROKER, CLUSTER, CLUSTER_NAME, AclOperation.CREATE),  # for internal topics
                of(THE_BROKER, TOPIC, "orders", AclOperation.WRITE),
                of(THE_BROKER, TOPIC, "orders", AclOperation.READ),
                of(THE_BROKER, GROUP, "readers", AclOperation.READ),
                of(THE_BROKER, TRANSACTIONAL, "payer-", AclOperation.WRITE, PatternType.PREFIXED),
            ]
        )
        create(admin, "orders")
        create(admin, "hidden")
        yield Mixed(",".join([*(one.bootstrap_servers for one in ours), kafka.bootstrap_servers]), admin)


def of(
    host: str,
    kind: AclResourceType,
    name: str,
    operation: AclOperation,
    pattern: PatternType = PatternType.LITERAL,
) -> Acl:
    return Acl(kind, name, pattern, ANONYMOUS, host, operation, AclPermission.ALLOW)


def create(admin: Secured, topic: str) -> None:
    """Creates a topic with one partition led by each broker, and waits until all replicas are in sync."""
    assignment = CreateTopicsRequest.CreatableReplicaAssignment
    replicas = [assignment(index, [(index + place) % 3 + 1 for place in range(3)]) for index in range(3)]
    [created] = admin.ask(CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(topic, -1, -1, replicas)]), 7).topics
    assert created.error_code == 0, created
    eventually(f"all replicas of {topic} are in sync", lambda: in_sync(admin, topic))


def in_sync(admin: Secured, topic: str) -> bool:
    request = MetadataRequest([MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    [found] = admin.ask(request, 12).topics
    return len(found.partitions) == 3 and all(len(one.isr_nodes) == 3 for one in found.partitions)


def test_transactions_over_brokers(mixed: Mixed) -> None:
    """Followers copy, markers reach the leaders, and leaders send requests to the coordinators, with CLUSTER_ACTION."""
    for transactional_id in mixed.ids_of_each_coordinator():
        producer = Producer({"bootstrap.servers": mixed.bootstrap_servers, "transactional.id": transactional_id})
        producer.init_transactions(60)
        producer.begin_transaction()
        for index in range(3):
            producer.produce("orders", "value", partition=index)
        producer.commit_transaction(60)
    consumer = Consumer(
        {
            "bootstrap.servers": mixed.bootstrap_servers,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    consumer.subscribe(["orders"])
    read = [0, 0, 0]
    while sum(read) < 9:
        message = consumer.poll(60)
        assert message is not None, read
        assert message.error() is None, message.error()
        read[message.partition() or 0] += 1
    consumer.close()
    assert read == [3, 3, 3]
    assert in_sync(mixed.admin, "orders")


def test_client_that_lacks_a_right_is_refused_by_every_leader(mixed: Mixed) -> None:
    """A Produce to a topic that the client may not write to gets TOPIC_AUTHORIZATION_FAILED, and nothing is written."""
    errors: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": mixed.bootstrap_servers})
    for index in range(3):
        producer.produce("hidden", b"value", partition=index, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    assert [error and error.code() for error in errors] == [KafkaError.TOPIC_AUTHORIZATION_FAILED] * 3


def test_everything_and_nothing_allowed(members: tuple[Secured, Secured]) -> None:
    """Every API answers as Kafka's. Forwarded requests have the client's principal and address."""
    differing = [one for acls in ([], everything_allowed()) for one in compare(members, acls, QUESTIONS)]
    assert not differing, "\n".join(differing)[:6_000]


def test_random_acls(members: tuple[Secured, Secured]) -> None:
    """Every API answers as Kafka's under random ACLs."""
    ask_under_random_acls(members, 6)
