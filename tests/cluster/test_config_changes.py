"""AlterConfigs and IncrementalAlterConfigs at our broker and at Kafka's broker of one cluster: the same answers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.protocol.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from odradek.protocol.messages.structure import Message
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
"""The id of the broker that is asked."""

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
        if (case, make) != ("twice", replacing)  # Kafka's broker never answers that
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
    tool = ("kafka.admin.ConfigCommand", "--bootstrap-server", ours.bootstrap_servers)
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
