"""Quotas with real clients: Kafka's own tool sets them, clients hear how long they are throttled, others are not."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, ThrottleEvent

from support.brokers.our_broker import OurBroker
from support.kafka.tools import KafkaTools

pytestmark = pytest.mark.java

CONFIGS = "kafka.admin.ConfigCommand"
VALUE = bytes(40_000)
ASKED = 100
ENTITIES = [
    (["--entity-type", "clients", "--entity-name", "loader"], "producer_byte_rate", 1024.0),
    (["--entity-type", "users", "--entity-default"], "request_percentage", 2000.0),
    (
        ["--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-default"],
        "consumer_byte_rate",
        2048.0,
    ),
    (["--entity-type", "ips", "--entity-name", "10.9.8.7"], "connection_creation_rate", 5.0),
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    with OurBroker(tmp_path_factory.mktemp("quotas")) as started:
        yield started
        assert " ERROR " not in started.log()


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as running:
        yield running


def configs(tools: KafkaTools, broker: OurBroker, *arguments: str) -> str:
    output = tools.run(CONFIGS, broker.bootstrap_servers, *arguments)
    assert output.code == 0, output
    return output.out


@pytest.mark.parametrize(("entity", "key", "value"), ENTITIES)
def test_kafkas_tool_sets_shows_and_removes_quotas(
    broker: OurBroker, tools: KafkaTools, entity: list[str], key: str, value: float
) -> None:
    configs(tools, broker, "--alter", *entity, "--add-config", f"{key}={value:.0f}")
    assert f"{key}={value}" in configs(tools, broker, "--describe", *entity)
    configs(tools, broker, "--alter", *entity, "--delete-config", key)
    assert key not in configs(tools, broker, "--describe", *entity)


@pytest.mark.ci
def test_only_the_client_over_its_quota_is_throttled(broker: OurBroker, tools: KafkaTools) -> None:
    entity = ["--entity-type", "clients", "--entity-name", "loader"]
    configs(tools, broker, "--alter", *entity, "--add-config", "producer_byte_rate=50000")
    throttled: dict[str, list[ThrottleEvent]] = {"loader": [], "other": []}

    def producer(name: str) -> Producer:
        return Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "client.id": name,
                "throttle_cb": throttled[name].append,
                "linger.ms": 0,
                "batch.num.messages": 1,
            }
        )

    loader, other = producer("loader"), producer("other")
    for _ in range(30):
        loader.produce("quotas", VALUE)
    while not throttled["loader"]:
        loader.poll(0.01)
    slowest_s = 0.0
    for _ in range(ASKED):
        begun_s = time.perf_counter()
        other.produce("quotas", b"small")
        assert other.flush() == 0
        slowest_s = max(slowest_s, time.perf_counter() - begun_s)
    assert len(loader) > 0, "the loader is over its quota all the time"
    assert loader.flush() == 0, "a throttled client loses nothing"
    throttle_ms = max(event.throttle_time for event in throttled["loader"]) * 1_000
    assert not throttled["other"]
    assert slowest_s * 1_000 < throttle_ms, f"the slowest took {slowest_s * 1_000:.1f} ms, throttled: {throttle_ms} ms"
    print(f"slowest of others: {slowest_s * 1_000:.1f} ms, throttled: {throttle_ms:.0f} ms")
