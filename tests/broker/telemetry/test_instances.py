"""The bounds and the expiry of client instances, and subscriptions that can't be used. What is answered is compared
with a real Kafka in ``tests/parity/test_traps_telemetry.py``."""

import itertools
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.metrics.counts import ClientMetricsCounts
from odradek.broker.telemetry.instances import EXPIRY_MS, ClientFields, Instance, Instances
from odradek.broker.telemetry.subscriptions import DEFAULT_INTERVAL_MS, Subscriptions, subscription_of
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest

CLIENT = ClientFields("client", "software", "1.0", "127.0.0.1", 1234, 1)
NOW_MS = 1_700_000_000_000
CLIENT_METRICS, TOPIC = 16, 2


def instances(most: int = 3, **configs: dict[str, str]) -> tuple[Instances, Subscriptions, ClientMetricsCounts]:
    """Instances under these subscriptions."""
    all_configs = {(CLIENT_METRICS, name): one for name, one in configs.items()}
    image: Any = SimpleNamespace(configs={(TOPIC, "t"): {"cleanup.policy": "compact"}, **all_configs})
    subscriptions, counts = Subscriptions(lambda: image), ClientMetricsCounts()
    ids = (bytes([255]) * 12 + number.to_bytes(4, "big") for number in itertools.count(1))
    return Instances(subscriptions, 1_000, lambda: next(ids), counts, most), subscriptions, counts


def get(known: Instances, number: int, now_ms: int, connection_id: int = 1) -> int:
    client = CLIENT._replace(connection_id=connection_id)
    return known.subscription(GetTelemetrySubscriptionsRequest(bytes([number]) * 16), client, now_ms).error_code


def test_the_instance_that_was_used_longest_ago_makes_room() -> None:
    known, _, counts = instances(most=3)
    assert [get(known, number, NOW_MS) for number in (1, 2, 3, 1, 4)] == [0, 0, 0, 89, 0]
    assert known.count(NOW_MS) == 3
    assert [get(known, number, NOW_MS) for number in (1, 3, 4)] == [89] * 3
    assert get(known, 2, NOW_MS) == 0, "it was forgotten, so this is its first request"
    assert counts.throttled == 4


@pytest.mark.parametrize(("interval_ms", "expiry_ms"), [(1_000, EXPIRY_MS), (100_000, 300_000)])
def test_an_instance_expires(interval_ms: int, expiry_ms: int) -> None:
    known, _, _ = instances(one={"interval.ms": str(interval_ms)})
    for number in (1, 2):
        assert get(known, number, NOW_MS) == 0
    known.accept_push(PushTelemetryRequest(bytes([1]) * 16), CLIENT, NOW_MS + 1_000)
    assert known.count(NOW_MS + expiry_ms - 1) == 2
    assert known.count(NOW_MS + expiry_ms) == 1
    assert known.count(NOW_MS + 1_000 + expiry_ms) == 0


def test_the_instance_of_a_connection_that_has_ended_is_forgotten() -> None:
    known, _, _ = instances()
    get(known, 1, NOW_MS, connection_id=7)
    get(known, 1, NOW_MS, connection_id=8)
    known.connection_closed(8)
    assert get(known, 1, NOW_MS) == 89, "another connection has made it"
    known.connection_closed(7)
    assert known.count(NOW_MS) == 0
    assert get(known, 1, NOW_MS) == 0


def test_pushes_of_an_interval() -> None:
    known, _, _ = instances(one={"metrics": "*", "interval.ms": "1000"})
    answer = known.subscription(GetTelemetrySubscriptionsRequest(), CLIENT, NOW_MS)
    assert answer.requested_metrics == ["*"]
    request = PushTelemetryRequest(answer.client_instance_id, answer.subscription_id)

    def pushed(after_ms: int) -> ErrorCode:
        accepted = known.accept_push(request, CLIENT, NOW_MS + after_ms)
        return ErrorCode.NONE if isinstance(accepted, Instance) else accepted

    assert [pushed(after_ms) for after_ms in (500, 1_499, 1_500, 2_499, 2_500)] == [0, 89, 0, 89, 0]


def test_the_changed_subscription_counts_at_once() -> None:
    known, subscriptions, _ = instances()
    assert get(known, 1, NOW_MS) == 0
    subscriptions.changed()
    assert get(known, 1, NOW_MS) == 0
    assert get(known, 1, NOW_MS) == 89


@pytest.mark.parametrize("match", ["client_id=(?=x)", "client_id=a++", r"client_id=(a)\1", "nonsense", "client_id=["])
def test_patterns_that_cannot_be_used_match_no_client(match: str, caplog: pytest.LogCaptureFixture) -> None:
    """Expressions of Java that RE2 does not have, and what another tool may have stored."""
    caplog.set_level(logging.WARNING)
    subscription = subscription_of("s", {"match": f"client_software_name=.*,{match}"})
    assert not subscription.matches(dict.fromkeys(("client_id", "client_software_name"), "a"))
    assert "client metrics subscription 's' matches no client" in caplog.text


def test_invalid_stored_values_count_as_absent() -> None:
    subscription = subscription_of("s", {"metrics": "a,,b", "interval.ms": "soon"})
    assert (subscription.metrics, subscription.interval_ms) == ((), DEFAULT_INTERVAL_MS)
    assert subscription.matches({})


def test_a_pattern_matches_the_whole_value() -> None:
    subscription = subscription_of("s", {"match": "client_id=ab.,client_source_port=\\d+"})
    assert subscription.matches({"client_id": "abc", "client_source_port": "12"})
    assert not subscription.matches({"client_id": "abcd", "client_source_port": "12"})
    assert not subscription.matches({"client_id": None, "client_source_port": "12"})
