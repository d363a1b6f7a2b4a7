"""The quotas decide as Kafka's own managers do for the same events at the same times. Seeded.

A failing seed is replayed by ``QUOTA_SEED=<seed> pytest tests/broker/quotas/test_kafkas_managers.py``.
"""

import os
import random
from typing import Any

import pytest

from odradek.broker.quotas.client_quota import MutationQuota, QuotaWindows
from odradek.broker.quotas.client_quotas import CONNECTION_KEY, ClientQuotas
from odradek.broker.quotas.connection_rates import ConnectionRates
from support.kafka.java_program import JavaProgram

pytestmark = pytest.mark.java

SEEDS = [int(os.environ["QUOTA_SEED"])] if "QUOTA_SEED" in os.environ else list(range(120))
EVENTS = 150
DEFAULT = "<default>"
USERS = ["alice", "bob", "C=x, O=y", "ünï"]
CLIENTS = ["", "one", "two"]
HOSTS = ["10.0.0.1", "10.0.0.2", "fe80::1"]
KINDS = ["produce", "request", "mutation", "connections"]

History = dict[str, Any]
Event = tuple[str, int, str | None, str | None, float | None]


class QuotaOracle(JavaProgram):
    """Kafka's own managers of quotas."""

    NAME = "QuotaOracle"


def history(seed: int) -> History:
    """Quotas are set, changed and removed. Requests come in bursts, with gaps that may be longer than all windows."""
    chance = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    samples, window_s = chance.choice((1, 2, 11, 11)), chance.choice((1, 1, 2))
    now_ms, events = chance.randrange(10**9, 2 * 10**9), []
    most_used = 10 ** chance.randrange(1, 4)
    for _ in range(EVENTS):
        now_ms += chance.choice((0, 1, 7, 100, 333, 1_000, chance.randrange(window_s * 1_000 * (samples + 2))))
        events.append(_event(chance, kind, now_ms, most_used))
    return {"kind": kind, "samples": samples, "windowS": window_s, "events": events}


def _event(chance: random.Random, kind: str, now_ms: int, most_used: int) -> Event:
    changes = chance.random() < 0.15
    if kind == "connections":
        if changes:
            return "set", now_ms, chance.choice([DEFAULT, *HOSTS]), None, chance.choice([None, 1, 2, 5, 20])
        return "use", now_ms, chance.choice(HOSTS), None, None
    if changes:
        user = chance.choice([None, DEFAULT, *USERS])
        clients = [DEFAULT, *CLIENTS[1:]]
        client = chance.choice(clients if user is None else [None, *clients])
        return "set", now_ms, user, client, chance.choice([None, None, 0.5, 1, 10, 1_000, 12_345.5])
    name = "use"
    if kind == "mutation":
        name = chance.choice(["use", "strict"])
    elif chance.random() < 0.2:
        name = chance.choice(["most", "undo"])
    return name, now_ms, chance.choice(USERS), chance.choice(CLIENTS), chance.randrange(1, most_used)


def answers(one: History) -> list[float]:
    """Our answer to each event."""
    windows = QuotaWindows(one["samples"], one["windowS"] * 1_000)
    if one["kind"] == "connections":
        return _connections(windows, one["events"])
    quotas = ClientQuotas(windows, windows)
    quota = {"produce": quotas.produce, "request": quotas.request, "mutation": quotas.mutation}[one["kind"]]
    found: list[float] = []
    for name, now_ms, user, client, value in one["events"]:
        if name == "set":
            pairs = [("user", user)] * (user is not None) + [("client-id", client)] * (client is not None)
            quota.entities.set([(kind, None if who == DEFAULT else who) for kind, who in pairs], value)
            found.append(0)
        elif not quota.is_enabled:
            found.append(float("inf") if name == "most" else 0)
        else:
            found.append(_judged(quota, name, now_ms, user, client, value))
    return found


def _judged(quota: Any, name: str, now_ms: int, user: str, client: str, value: float) -> float:
    sensor = quota.sensor(user, client, now_ms)
    if name == "most":
        most: float = quota.most_in_window(sensor)
        return most
    if name == "undo":
        sensor.rate.record(-value, now_ms)
        return 0
    if isinstance(quota, MutationQuota) and name == "strict":
        missing_ms = quota.missing_ms(sensor, now_ms)
        if not missing_ms:
            quota.take(sensor, value, now_ms)
        return -missing_ms
    throttle_ms: int = quota.throttle_ms(sensor, value, now_ms)
    return throttle_ms


def _connections(windows: QuotaWindows, events: list[Event]) -> list[float]:
    rates = ConnectionRates(windows)
    found: list[float] = []
    for name, now_ms, host, _, value in events:
        if name == "set":
            entity = (("ip", None if host == DEFAULT else host),)
            rates.update({} if value is None else {entity: {CONNECTION_KEY: value}}, [entity], {})
            found.append(0)
        else:
            assert host is not None
            found.append(rates.delay_ms(host, now_ms))
    return found


def test_each_throttle_time_is_that_of_kafka() -> None:
    throttled = dict.fromkeys(KINDS, 0)
    with QuotaOracle() as oracle:
        for seed in SEEDS:
            one = history(seed)
            theirs = [min(answer, 2**31 - 1) if answer < 1e300 else float("inf") for answer in oracle.order(one)]
            ours = answers(one)
            for number, (event, our, their) in enumerate(zip(one["events"], ours, theirs, strict=True)):
                assert our == pytest.approx(their, rel=1e-9, abs=1), (
                    f"QUOTA_SEED={seed}: event {number}, {event} of {one['kind']}"
                )
            throttled[one["kind"]] += sum(answer != 0 for answer in theirs)
    assert "QUOTA_SEED" in os.environ or all(count > 100 for count in throttled.values()), throttled
