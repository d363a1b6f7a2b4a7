"""The metrics of quotas: Kafka's names, the rates of clients with a quota, a bounded number of names."""

import asyncio
import math
import urllib.request

import pytest
from confluent_kafka import Producer
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from odradek.broker.metrics.pieces import encoded
from odradek.broker.metrics.quota_metrics import MOST_SHOWN, QuotaMetrics, QuotasInForce
from odradek.broker.quotas.client_quota import QuotaWindows
from odradek.broker.quotas.client_quotas import ClientQuotas
from odradek.broker.quotas.connection_rates import ConnectionRates
from odradek.client import Admin
from odradek.testing import InProcessBroker

WINDOWS = QuotaWindows(11, 1_000)
ALICE = (("user", "alice"),)
ANY_CLIENT = (("client-id", None),)
ANY_ADDRESS = (("ip", None),)
RATE, THROTTLE = "kafka_server_produce_byte_rate", "kafka_server_produce_throttle_time"
Samples = dict[tuple[str, ...], float]


def samples_in(text: str) -> Samples:
    """Name, user, client id (or address) of each sample."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = sample.labels
            if "listener" in labels and not labels.get("ip"):
                found[sample.name, labels["listener"]] = sample.value
                continue
            where = (labels["ip"],) if "ip" in labels else (labels.get("user", ""), labels.get("client_id", ""))
            found[sample.name, *where] = sample.value
    return found


def samples_at(url: str) -> Samples:
    with urllib.request.urlopen(url) as answer:
        return samples_in(answer.read().decode())


class Setup:
    now_ms = 10_000

    def __init__(self) -> None:
        self.quotas = QuotasInForce(ClientQuotas(WINDOWS, WINDOWS), ConnectionRates(WINDOWS))
        self.metrics = QuotaMetrics(lambda: self.quotas, lambda: None, lambda: self.now_ms)

    def limit(self, limits: dict[tuple[tuple[str, str | None], ...], dict[str, float]]) -> None:
        self.quotas.clients.update(limits, limits)
        self.quotas.addresses.update(limits, limits, {})

    def samples(self) -> Samples:
        return samples_in(b"".join(encoded(self.metrics, generate_latest)).decode())


def test_without_quotas_there_are_no_samples() -> None:
    assert not b"".join(encoded(QuotaMetrics(lambda: None, lambda: None, lambda: 0), generate_latest))
    assert Setup().samples() == {}


def test_rates_throttle_times_and_tokens_have_kafkas_names() -> None:
    setup = Setup()
    setup.limit(
        {
            ALICE: {"producer_byte_rate": 100.0, "controller_mutation_rate": 2.0},
            ANY_ADDRESS: {"connection_creation_rate": 5.0},
        }
    )
    clients = setup.quotas.clients
    sensor = clients.produce.sensor("alice", "loader", setup.now_ms)
    throttle_ms = clients.produce.throttle_ms(sensor, 5_000, setup.now_ms)
    assert throttle_ms > 0
    sensor.throttled(throttle_ms, setup.now_ms)
    changes = clients.mutation.sensor("alice", "loader", setup.now_ms)
    clients.mutation.take(changes, 3, setup.now_ms)
    assert setup.quotas.addresses.delay_ms("10.1.2.3", setup.now_ms) == 0
    found = setup.samples()
    assert found[RATE, "alice", ""] == 5_000 / 10
    assert found[THROTTLE, "alice", ""] == throttle_ms
    assert found["kafka_server_controllermutation_mutation_rate", "alice", ""] == 0.3
    assert found["kafka_server_controllermutation_tokens", "alice", ""] == 2 * 11 - 3
    assert math.isnan(found["kafka_server_controllermutation_throttle_time", "alice", ""])
    assert found["kafka_server_socket_server_metrics_connection_accept_rate", "10.1.2.3"] == 0.1
    assert not [name for name in found if name[0].startswith(("kafka_server_fetch_", "kafka_server_request_"))]


def test_names_of_clients_are_bounded() -> None:
    """The last 1,000 are shown. All clients without a sensor share one sample."""
    setup = Setup()
    setup.limit({ANY_CLIENT: {"producer_byte_rate": 100.0}})
    produce = setup.quotas.clients.produce
    produce.sensors._most = MOST_SHOWN + 500
    for number in range(MOST_SHOWN + 501):
        produce.throttle_ms(produce.sensor("u", f"client-{number}", setup.now_ms), 10, setup.now_ms)
    names = {client_id for metric, _, client_id in setup.samples() if metric == RATE}
    assert len(names) == MOST_SHOWN + 1
    assert "others" in names
    assert f"client-{MOST_SHOWN + 499}" in names
    assert "client-0" not in names


@pytest.mark.kafka(topics="orders", configs={"odradek.metrics.listener": "127.0.0.1:0"})
async def test_metrics_of_a_real_producer(kafka: InProcessBroker) -> None:
    async with Admin(kafka.bootstrap_servers) as admin:
        await admin.alter_client_quotas({"client-id": "loader"}, set_quotas={"producer_byte_rate": 1e6})
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "client.id": "loader"})
    producer.produce("orders", bytes(20_000))
    assert producer.flush(60) == 0
    [port] = kafka.ports() - {kafka.port}
    found = await asyncio.to_thread(samples_at, f"http://127.0.0.1:{port}/metrics")
    assert 20_000 / 11 < found[RATE, "", "loader"] < 25_000 / 9
    assert found["kafka_server_socket_server_metrics_broker_connection_accept_rate", "", ""] > 0
    assert found["kafka_server_socket_server_metrics_connection_accept_rate", "PLAINTEXT"] > 0
    assert math.isnan(found["kafka_server_socket_server_metrics_connection_accept_throttle_time", "PLAINTEXT"])
