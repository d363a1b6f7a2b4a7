"""Configs and client quotas are changed at our broker and at Kafka's in one cluster, with equal answers and effects."""

import json
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreateTopicsRequest
from parity.quota_steps import HARDLY_ANY, quota
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.java import run_class
from support.kafka.real_controllers import RealControllers, RealMember
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOPIC, BROKER, LOGGER, GROUP = 2, 4, 8, 32
SET, DELETE, APPEND = 0, 1, 2
OURS, THEIRS = "1", "2"
OWN = "own"
"""Stands for the id of the broker that gets the request."""

Change = tuple[int, str, list[tuple[str, int, str | None]]]
CASES: dict[str, list[Change]] = {
    "topic": [(TOPIC, "t", [("retention.ms", SET, "1000")])],
    "mixed": [
        (TOPIC, "t", [("retention.ms", SET, "2000")]),
        (LOGGER, OWN, [("no.such.Logger", SET, "DEBUG")]),
        (BROKER, OWN, [("log.cleaner.backoff.ms", SET, "16000")]),
        (TOPIC, "unknown", [("retention.ms", SET, "2000")]),
        (GROUP, "g", [("consumer.session.timeout.ms", SET, "50000")]),
    ],
    "logger-append": [(LOGGER, OWN, [("no.such.Logger", APPEND, "DEBUG")])],
    "logger-without-changes": [(LOGGER, OWN, [])],
    "logger-of-another": [(LOGGER, "77", [("kafka", SET, "DEBUG")])],
    "logger-of-none": [(LOGGER, "", [("kafka", SET, "DEBUG")])],
    "broker-of-another": [(BROKER, "77", [("log.cleaner.backoff.ms", SET, "16000")])],
    "broker-not-a-number": [(BROKER, "x", [("log.cleaner.backoff.ms", SET, "16000")])],
    "all-brokers": [(BROKER, "", [("log.cleaner.backoff.ms", SET, "17000")])],
    "broker-read-only-key": [
        (BROKER, OWN, [("broker.rack", SET, "r")]),
        (TOPIC, "t", [("retention.ms", DELETE, None)]),
    ],
    "broker-unknown-operation": [(BROKER, OWN, [("log.cleaner.backoff.ms", 9, "16000")])],
    "topic-unknown-operation": [(TOPIC, "t", [("retention.ms", 9, "16000")])],
    "twice": [
        (TOPIC, "t", [("retention.ms", SET, "1")]),
        (TOPIC, "t", [("retention.ms", SET, "2")]),
        (TOPIC, "unknown", [("retention.ms", SET, "2")]),
    ],
    "key-twice": [(TOPIC, "t", [("retention.ms", SET, "1"), ("retention.ms", SET, "2")])],
    "null": [(TOPIC, "t", [("retention.ms", SET, None)]), (GROUP, "", [])],
    "no-kind": [(0, "x", [("a", SET, "b")]), (77, "y", [("a", SET, "b")])],
}


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OurBroker, RealMember]]:
    """Ours and Kafka's, with the topic ``t``."""
    path = tmp_path_factory.mktemp("configs")
    with RealControllers(path / "controllers") as controllers, controllers.broker(path / OURS, int(OURS)) as ours:
        theirs = controllers.kafka_broker(path / THEIRS, int(THEIRS))
        theirs.start()
        try:
            admin = AdminClient({"bootstrap.servers": ours.bootstrap_servers})
            admin.create_topics([NewTopic("t", 1, replica_assignment=[[int(OURS)]])])["t"].result(60)
            eventually("both know the topic", lambda: "t" in names(ours) and "t" in names(theirs))
            yield ours, theirs
        finally:
            theirs.stop()
        assert " ERROR " not in ours.log()


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with Wire() as started:
        yield started


def names(broker: OurBroker | RealMember) -> set[str]:
    return set(AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=60).topics)


def incremental(changes: list[Change], node_id: str) -> tuple[Message, int]:
    request = IncrementalAlterConfigsRequest
    resources = [
        request.AlterConfigsResource(
            kind, node_id if name == OWN else name, [request.AlterableConfig(*config) for config in configs]
        )
        for kind, name, configs in changes
    ]
    return request(resources, validate_only=False), 1


def replacing(changes: list[Change], node_id: str) -> tuple[Message, int]:
    request = AlterConfigsRequest
    resources = [
        request.AlterConfigsResource(
            kind,
            node_id if name == OWN else name,
            [request.AlterableConfig(key, value) for key, _, value in configs],
        )
        for kind, name, configs in changes
    ]
    return request(resources, validate_only=False), 2


def answer(wire: Wire, broker: OurBroker | RealMember, request: tuple[Message, int], node_id: str) -> Any:
    """The answer, with the broker's own id written as ``own``."""
    found = wire.ask(broker.port, *request, connection=node_id)
    assert "body" in found, f"broker {node_id}: {found}"
    text = json.dumps(found["body"])
    text = re.sub(rf'"resourceName": "{node_id}"', f'"resourceName": "{OWN}"', text)
    return json.loads(re.sub(rf"(?i)(expected) {node_id}\b", rf"\1 {OWN}", text))


@pytest.mark.parametrize(
    ("case", "make"),
    [
        (case, make)
        for case in CASES
        for make in (incremental, replacing)
        if (case, make) != ("twice", replacing)  # Kafka's broker never answers this request
    ],
)
def test_both_brokers_answer_the_same(brokers: tuple[OurBroker, RealMember], wire: Wire, case: str, make: Any) -> None:
    ours, theirs = brokers
    expected = answer(wire, theirs, make(CASES[case], THEIRS), THEIRS)
    assert answer(wire, ours, make(CASES[case], OURS), OURS) == expected
    assert len(expected["responses"]) == len(CASES[case])


def test_kafkas_tool_is_refused_a_logger_and_sets_what_the_controllers_keep(
    brokers: tuple[OurBroker, RealMember],
) -> None:
    ours, _ = brokers
    tool = ("org.apache.kafka.tools.ConfigCommand", "--bootstrap-server", ours.bootstrap_servers)
    entity = ("--entity-type", "broker-loggers", "--entity-name", OURS)
    refused = run_class(*tool, "--alter", *entity, "--add-config", "kafka.server=DEBUG")
    assert "kafka.server" in refused.stdout + refused.stderr
    assert refused.returncode != 0 or "rror" in refused.stdout + refused.stderr
    entity = ("--entity-type", "brokers", "--entity-name", OURS)
    changed = run_class(*tool, "--alter", *entity, "--add-config", "log.cleaner.backoff.ms=18000")
    assert changed.returncode == 0, changed.stdout + changed.stderr
    eventually(
        "our broker has the new value from the controllers",
        lambda: "log.cleaner.backoff.ms=18000" in run_class(*tool, "--describe", *entity).stdout,
    )


def altered(wire: Wire, broker: OurBroker | RealMember, entity: dict[str, str], key: str, value: float | None) -> None:
    """Sets a quota at a broker; None removes it."""
    request = AlterClientQuotasRequest([quota(entity, key, value)])
    [entry] = wire.ask(broker.port, request, 1, "quotas")["body"]["entries"]
    assert entry["errorCode"] == ErrorCode.NONE, entry


def asked(wire: Wire, broker: OurBroker | RealMember, request: Message, version: int, client_id: str) -> Any:
    wire.send(broker.port, request, version, client_id, client_id)
    return wire.receive(broker.port, client_id)["body"]


def throttle_ms(wire: Wire, broker: OurBroker | RealMember, client_id: str) -> int:
    return int(asked(wire, broker, ApiVersionsRequest("wire", "1"), 3, client_id)["throttleTimeMs"])


def test_quotas_of_clients_come_with_the_metadata(brokers: tuple[OurBroker, RealMember], wire: Wire) -> None:
    """A quota that is set at either broker is enforced by both."""
    setters: list[OurBroker | RealMember] = [*brokers]
    for number, setter in enumerate(setters):
        client_id = f"limited-{number}"
        altered(wire, setter, {"client-id": client_id}, "request_percentage", HARDLY_ANY)
        for broker in brokers:
            eventually("the quota is enforced", lambda: throttle_ms(wire, broker, client_id) > 0)  # noqa: B023
            assert throttle_ms(wire, broker, "unlimited") == 0
        altered(wire, setter, {"client-id": client_id}, "request_percentage", None)
        for broker in brokers:
            eventually("the quota is gone", lambda: throttle_ms(wire, broker, client_id) == 0)  # noqa: B023


def test_quotas_of_addresses_come_with_the_metadata(brokers: tuple[OurBroker, RealMember], wire: Wire) -> None:
    ours, theirs = brokers
    altered(wire, theirs, {"ip": "127.0.0.9"}, "connection_creation_rate", 1)

    def is_closed() -> bool:
        """Whether the last of 15 connections, more than the quota allows in all its windows, is closed."""
        with ExitStack() as opened:
            address = ("127.0.0.1", ours.port)
            for _ in range(15):
                client = opened.enter_context(socket.create_connection(address, source_address=("127.0.0.9", 0)))
            client.settimeout(1.5)  # such a connection is closed after at most a second
            try:
                return client.recv(1) == b""
            except TimeoutError:
                return False

    eventually("the address connects too often", is_closed)
    altered(wire, theirs, {"ip": "127.0.0.9"}, "connection_creation_rate", None)


def test_the_controllers_count_changes_for_all_brokers(brokers: tuple[OurBroker, RealMember], wire: Wire) -> None:
    """``controller_mutation_rate``: partitions that are created through one broker also count at the other."""
    ours, theirs = brokers
    altered(wire, ours, {"client-id": "creator"}, "controller_mutation_rate", 1)

    def create(broker: OurBroker | RealMember, name: str) -> tuple[int, int]:
        request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, 20, 1)], 30_000)
        body = asked(wire, broker, request, 7, "creator")
        return body["topics"][0]["errorCode"], body["throttleTimeMs"]

    assert create(ours, "created-first")[0] == ErrorCode.NONE
    for broker, name in ((ours, "created-here"), (theirs, "created-there")):
        code, throttle = create(broker, name)
        assert code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert 0 < throttle <= 20_000
    assert names(ours).isdisjoint({"created-here", "created-there"})
    altered(wire, ours, {"client-id": "creator"}, "controller_mutation_rate", None)
