"""Rates of new connections: waits, refusals and metrics equal those of Kafka's own ConnectionQuotas. Seeded.

Random connections to three listeners from three addresses at the same times, with changing limits of the broker, of
listeners and of addresses. A failing seed is replayed by
``CONNECTION_SEED=<seed> pytest tests/broker/quotas/test_connection_rates.py``.
"""

import math
import os
import random
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from odradek.broker.config.connection_limits import UNLIMITED, ConnectionLimits
from odradek.broker.metrics.pieces import encoded
from odradek.broker.metrics.quota_metrics import QuotaMetrics, QuotasInForce
from odradek.broker.network.connection_quotas import ConnectionQuotas
from odradek.broker.quotas.client_quota import QuotaWindows
from odradek.broker.quotas.client_quotas import CONNECTION_KEY, ClientQuotas
from odradek.broker.quotas.connection_rates import ConnectionRates
from odradek.broker.quotas.creation_rates import CreationRates
from support.kafka.java_program import JavaProgram

pytestmark = pytest.mark.java

SEEDS = [int(os.environ["CONNECTION_SEED"])] if "CONNECTION_SEED" in os.environ else list(range(60))
EVENTS = 200
DEFAULT = "<default>"
LISTENERS = ["INSIDE", "OUTSIDE", "OTHER"]
PROTECTED = "INSIDE"
HOSTS = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
PREFIX = "kafka_server_socket_server_metrics_"

Event = tuple[str, int, str | None, str | None, int | None]


class ListenerOracle(JavaProgram):
    """Kafka's own ConnectionQuotas."""

    NAME = "QuotaOracle"


def history(seed: int) -> dict[str, Any]:
    """Connections in bursts, with gaps that may be longer than all windows."""
    chance = random.Random(seed)
    samples, window_s = chance.choice((1, 2, 11, 11)), chance.choice((1, 1, 2))
    now_ms, events = chance.randrange(10**9, 2 * 10**9), []
    for _ in range(EVENTS):
        now_ms += chance.choice((0, 0, 0, 1, 7, 100, 1_000, chance.randrange(window_s * 1_000 * (samples + 2))))
        events.append(event_of(chance, now_ms))
    return {"kind": "listeners", "samples": samples, "windowS": window_s, "interBroker": PROTECTED, "events": events}


def event_of(chance: random.Random, now_ms: int) -> Event:
    draw = chance.random()
    if draw < 0.06:
        return "limit", now_ms, chance.choice([None, *LISTENERS]), None, chance.choice([0, 1, 2, 5, UNLIMITED])
    if draw < 0.10:
        return "set", now_ms, chance.choice([DEFAULT, *HOSTS]), None, chance.choice([None, 1, 2, 20])
    return "use", now_ms, chance.choice(LISTENERS), chance.choice(HOSTS), None


class Ours:
    """The calls of an acceptor, with given times."""

    def __init__(self, windows: QuotaWindows) -> None:
        self.addresses = ConnectionRates(windows)
        self.rates = CreationRates(windows, LISTENERS, PROTECTED)
        self.quotas = ConnectionQuotas()
        self.limits = dict.fromkeys((None, *LISTENERS), UNLIMITED)
        self.in_force = QuotasInForce(ClientQuotas(windows, windows), self.addresses)
        self.limit()

    def limit(self) -> None:
        per_listener = {name: ConnectionLimits(UNLIMITED, self.limits[name]) for name in LISTENERS}
        self.quotas.limit(
            ConnectionLimits(UNLIMITED, self.limits[None]),
            per_listener,
            protected=PROTECTED,
            max_connections_per_ip=UNLIMITED,
            max_connections_per_ip_overrides={},
            new_rates=lambda: self.rates,
        )

    def answer(self, event: Event) -> list[int]:
        name, now_ms, where, host, value = event
        if name == "limit":
            assert value is not None
            self.limits[where] = value
            self.limit()
            return []
        if name == "set":
            entity = (("ip", None if where == DEFAULT else where),)
            self.addresses.update({} if value is None else {entity: {CONNECTION_KEY: value}}, [entity], {})
            return []
        assert where is not None
        assert host is not None
        wait_ms = self.quotas.creation_delay_ms(where, now_ms)
        refused_ms = self.addresses.delay_ms(host, now_ms)
        if refused_ms:
            self.quotas.refused(where, refused_ms, now_ms)
        return [wait_ms, refused_ms]

    def metrics(self, now_ms: int) -> dict[str, float]:
        """The metrics by Kafka's names, with the value of the tag in brackets."""
        found = {}
        text = b"".join(
            encoded(QuotaMetrics(lambda: self.in_force, lambda: self.rates, lambda: now_ms), generate_latest)
        ).decode()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name.startswith(PREFIX):
                    tags = ", ".join(value for value in sample.labels.values() if value)
                    found[f"{sample.name.removeprefix(PREFIX).replace('_', '-')}[{tags}]"] = sample.value
        return found


def test_waits_refusals_and_metrics_are_those_of_kafka() -> None:
    waits = refusals = 0
    with ListenerOracle() as oracle:
        for seed in SEEDS:
            one = history(seed)
            *theirs, values = oracle.order(one)
            ours = Ours(QuotaWindows(one["samples"], one["windowS"] * 1_000))
            for number, (event, their) in enumerate(zip(one["events"], theirs, strict=True)):
                if event[0] == "use":
                    assert ours.answer(event) == their, f"CONNECTION_SEED={seed}: event {number}, {event}"
                    waits += their[0] > 0
                    refusals += their[1] > 0
                else:
                    ours.answer(event)
            expected = {name: float(value) for name, value in values.items()}
            found = ours.metrics(one["events"][-1][1])
            assert found.keys() == expected.keys(), f"CONNECTION_SEED={seed}"
            for name, value in expected.items():
                same = math.isnan(value) and math.isnan(found[name])
                assert same or found[name] == pytest.approx(value), f"CONNECTION_SEED={seed}: {name}"
    assert "CONNECTION_SEED" in os.environ or min(waits, refusals) > 500, (waits, refusals)
