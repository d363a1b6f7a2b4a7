"""Client quotas: Odradek and a real Kafka get the same changes and the same traffic.

``QUOTA_SEED=<seed> pytest tests/parity/test_quotas.py -k random`` replays a failing seed.
"""

import os
import random
import socket
import time
from typing import Any

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.quotas import AlterClientQuotasRequest, DescribeClientQuotasRequest
from odradek.protocol.messages.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from parity.quota_steps import Entity, Entry, Operation, QuotaSteps, quota
from parity.side import DEADLINE_S, batch, fetch_request, produce_request, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

TOPIC = "quota_topic"
WANTED = FetchRequest.FetchTopic(TOPIC, partitions=[FetchRequest.FetchPartition(0, partition_max_bytes=1 << 20)])
EXCEEDED = 89
SEEDS = [int(os.environ["QUOTA_SEED"])] if "QUOTA_SEED" in os.environ else list(range(8))
CHANGES = 25
USERS = [None, "", "alice", "bob", "C=x,O=y"]
CLIENTS = [None, "", "one", "two"]
HOSTS = [None, "", "127.0.0.1", "10.1.2.3", "::1", "localhost", "not an address"]
KINDS = [["user"], ["client-id"], *[["user", "client-id"]] * 2, *[["ip"]] * 2, ["ip", "user"], ["other"]]
KINDS += [["user", "user"], ["user", "other"], []]
KEYS = [
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "connection_creation_rate",
    "unknown",
]
VALUES = [1.0, 2.0, 1000.0, 0.5, 1.0000001, 0.0, -1.0, 2.0**31, 2.0**63, 1e300, 12345.0]


@pytest.fixture(scope="module")
def steps(both: TwoBrokers) -> QuotaSteps:
    same(both, lambda side: side.topic(TOPIC, 1))
    return QuotaSteps(both)


def random_change(chance: random.Random) -> AlterClientQuotasRequest:
    """A request that changes a few entities, most of them valid."""
    entries = [_random_entry(chance) for _ in range(chance.choice((1, 1, 2, 3)))]
    return AlterClientQuotasRequest(entries, validate_only=chance.random() < 0.2)


def _random_entry(chance: random.Random) -> Entry:
    kinds = chance.choice(KINDS)
    names: dict[str, list[Any]] = {"user": USERS, "client-id": CLIENTS, "ip": HOSTS, "other": CLIENTS}
    keys = KEYS[4:5] if kinds == ["ip"] and chance.random() < 0.8 else KEYS
    operations = [
        Operation(chance.choice(keys), chance.choice(VALUES), chance.random() < 0.3)
        for _ in range(chance.choice((1, 1, 2, 3)))
    ]
    return Entry([Entity(kind, chance.choice(names[kind])) for kind in kinds], operations)


def random_filter(chance: random.Random) -> DescribeClientQuotasRequest:
    """A request with a few filter components, most of them valid."""
    component = DescribeClientQuotasRequest.ComponentData
    kinds = chance.choice([[], ["user"], ["client-id"], ["user", "client-id"], ["ip"], ["ip", "user"], ["other"], [""]])
    components = []
    for kind in kinds:
        match_type = chance.choice((0, 0, 1, 2, 3))
        named = match_type == 0 or chance.random() < 0.1
        names: list[str | None] = ["alice", "one", "127.0.0.1", "", None]
        components.append(component(kind, match_type, chance.choice(names) if named else None))
    return DescribeClientQuotasRequest(components, strict=chance.random() < 0.5)


def shown(body: Any) -> Any:
    """An answer with its entities sorted."""
    entries = body["entries"]
    if entries is None:
        return body
    for entry in entries:
        entry["entity"].sort(key=str)
        if "values" in entry:
            entry["values"].sort(key=str)
    return {**body, "entries": sorted(entries, key=str)}


@pytest.mark.parametrize("seed", SEEDS)
def test_random_changes_and_filters_are_answered_as_by_kafka(steps: QuotaSteps, seed: int) -> None:
    chance = random.Random(seed)
    everything = DescribeClientQuotasRequest([], False)
    for number in range(CHANGES):
        request = random_change(chance)
        ours, kafka = map(shown, steps.ask(request, chance.choice((0, 1))))
        assert ours == kafka, f"QUOTA_SEED={seed}, change {number}: {request}"
        deadline = time.monotonic() + DEADLINE_S
        while True:  # Kafka shows changes shortly after its answer
            ours, kafka = map(shown, steps.ask(everything, 1))
            if ours == kafka:
                break
            assert time.monotonic() < deadline, f"QUOTA_SEED={seed}, after change {number}: {ours}, {kafka}"
        asked = random_filter(chance)
        ours, kafka = map(shown, steps.ask(asked, chance.choice((0, 1))))
        assert ours == kafka, f"QUOTA_SEED={seed}, filter {number}: {asked}"
    left = list(steps.ask(everything, 1)[0]["entries"])
    steps.unlimit(
        *(
            Entry(
                [Entity(one["entityType"], one["entityName"]) for one in entry["entity"]],
                [Operation(value["key"]) for value in entry["values"]],
            )
            for entry in left
        )
    )


@pytest.mark.ci
def test_producers_are_throttled_as_by_kafka(steps: QuotaSteps) -> None:
    request = produce_request(TOPIC, batch(0, size=30_000), acks=1)
    with steps.limited(quota({"client-id": "sender"}, "producer_byte_rate", 10_000)) as connection:
        throttled = [
            steps.same_throttle_times(steps.ask(request, version, connection, "sender")) for version in (9, 3, 12, 9, 7)
        ]
        assert [ms > 0 for ms in throttled] == [False, False, False, True, True], throttled
        others = steps.ask(request, 9, steps.connection(), "another")
        assert [body["throttleTimeMs"] for body in others] == [0, 0]


@pytest.mark.ci
def test_consumers_get_less_and_are_throttled_as_by_kafka(steps: QuotaSteps) -> None:
    for _ in range(10):
        steps.ask(produce_request(TOPIC, batch(0, size=8_000), acks=1), 9)
    throttled = []
    limit = quota({"user": None, "client-id": "reader"}, "consumer_byte_rate", 4_000)
    with steps.limited(limit) as connection:
        for _ in range(4):
            answers = steps.ask(fetch_request([WANTED], min_bytes=1), 12, connection, "reader")
            throttled.append(steps.same_throttle_times(answers))
            ours, kafka = (len(body["responses"]) for body in answers)
            assert ours == kafka
            assert (ours == 0) == (throttled[-1] > 0)
    assert 0 < sum(ms > 0 for ms in throttled) < len(throttled)


@pytest.mark.ci
def test_changes_of_the_controller_are_throttled_as_by_kafka(steps: QuotaSteps) -> None:
    with steps.limited(quota({"user": "ANONYMOUS"}, "controller_mutation_rate", 2)) as connection:

        def create(name: str, partitions: int, version: int) -> tuple[int, bool]:
            """Creates a topic. Returns the error code, and True if the connection is throttled."""
            request = CreateTopicsRequest([CreateTopicsRequest.CreatableTopic(name, partitions, 1)], 10_000)
            answers = steps.ask(request, version, connection)
            throttle_ms = steps.same_throttle_times(answers)
            [ours, kafka] = ([body["topics"][0][key] for key in ("errorCode", "errorMessage")] for body in answers)
            assert ours == kafka
            return ours[0], throttle_ms > 0

        assert create("quota_a", 30, 7) == (0, False)  # 8 more than 11 windows allow: exceeded for 4 s
        assert create("quota_b", 1, 6) == (EXCEEDED, True)
        assert create("quota_b", 6, 5) == (0, True)
        answers = steps.ask(DeleteTopicsRequest([], ["quota_b"], 10_000), 5, connection)
        assert [body["responses"][0]["errorCode"] for body in answers] == [0, 0]
        more = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic("quota_a", 31, None)], 10_000)
        answers = steps.ask(more, 3, connection)
        assert [body["results"][0]["errorCode"] for body in answers] == [EXCEEDED, EXCEEDED]
        steps.same_throttle_times(answers, least_ms=1)


def test_time_is_throttled_for_one_window_at_most(steps: QuotaSteps) -> None:
    with steps.limited(quota({"client-id": "asker"}, "request_percentage", 0.000_001)):
        for version in range(4):
            answers = steps.ask(ApiVersionsRequest("wire", "1"), version, steps.connection(), "asker")
            assert [body.get("throttleTimeMs") for body in answers] == [1_000 if version else None] * 2


def test_an_address_may_connect_as_often_as_with_kafka(both: TwoBrokers, steps: QuotaSteps) -> None:
    with steps.limited(quota({"ip": "127.0.0.77"}, "connection_creation_rate", 2)):
        served = [_served(port, 30) for port in (both.ours.port, both.kafka.port)]
    assert served == pytest.approx([20, 20], abs=2)


def _served(port: int, count: int) -> int:
    """Opens ``count`` connections from one address in turn. Returns the number that is served instead of closed."""
    question = encode_request(ApiVersionsRequest("test", "1"), 3, 1, "test")
    served = 0
    for _ in range(count):
        with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.77", 0)) as client:
            try:
                client.sendall(question)
                served += bool(client.recv(4))
            except ConnectionError:
                pass  # the broker closed it with unread bytes
    return served
