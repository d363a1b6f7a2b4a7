"""Quotas with real clients: Kafka's own tool sets them, clients get their throttle times, others are not throttled."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, ThrottleEvent

from support.brokers.our_broker import OurBroker
from support.kafka.tools import KafkaTools

pytestmark = pytest.mark.java

CONFIGS = "org.apache.kafka.tools.ConfigCommand"
VALUE = bytes(40_000)
ASKED = 100
QUOTAS = {"alice": 40_000, "bob": 80_000}
"""The byte rates of two users, per second."""
MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
BROKER = {
    "listeners": "PLAINTEXT://127.0.0.1:0,USERS://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.users.plain.sasl.jaas.config": f'{MODULE} required user_alice="x" user_bob="x" user_other="x";',
}
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
    with OurBroker(tmp_path_factory.mktemp("quotas"), BROKER) as started:
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
def test_only_the_users_over_their_quotas_are_throttled(broker: OurBroker, tools: KafkaTools) -> None:
    """Two users exceed their own quotas at once. The third one is not slowed down."""
    for user, rate in QUOTAS.items():
        entity = ["--entity-type", "users", "--entity-name", user]
        configs(tools, broker, "--alter", *entity, "--add-config", f"producer_byte_rate={rate}")
    throttled: dict[str, list[ThrottleEvent]] = {user: [] for user in (*QUOTAS, "other")}

    def producer(user: str) -> Producer:
        return Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{broker.ports()['USERS']}",
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": user,
                "sasl.password": "x",
                "throttle_cb": throttled[user].append,
                "linger.ms": 0,
                "batch.num.messages": 1,
            }
        )

    def slowest_ms() -> float:
        slowest_s = 0.0
        for _ in range(ASKED):
            begun_s = time.perf_counter()
            other.produce("quotas", b"small")
            assert other.flush() == 0
            slowest_s = max(slowest_s, time.perf_counter() - begun_s)
        return slowest_s * 1_000

    loaders, other = {user: producer(user) for user in QUOTAS}, producer("other")
    alone_ms = slowest_ms()
    for user, loader in loaders.items():
        for _ in range(15 * QUOTAS[user] // len(VALUE)):
            loader.produce("quotas", VALUE)
    while not all(throttled[user] for user in QUOTAS):
        for loader in loaders.values():
            loader.poll(0.01)
    beside_ms = slowest_ms()
    assert all(len(loader) > 0 for loader in loaders.values()), "they are over their quotas all the time"
    assert not any(loader.flush() for loader in loaders.values()), "a throttled client loses nothing"
    throttle_ms = [max(event.throttle_time for event in throttled[user]) * 1_000 for user in QUOTAS]
    assert not throttled["other"]
    assert beside_ms < min(throttle_ms), f"the slowest took {beside_ms:.1f} ms, throttled: {throttle_ms} ms"
    print(f"slowest of others: {beside_ms:.1f} ms, alone {alone_ms:.1f} ms; throttled: {throttle_ms} ms")
