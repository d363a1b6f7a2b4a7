"""Client metrics (KIP-714) at Odradek and at a Kafka with a plugin that receives them: the same answers and errors."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from odradek.protocol.records.compression import CompressionType, compress
from parity.side import Side
from support.brokers.our_broker import OurBroker
from support.data.otlp import counter, gauge, push
from support.eventually import eventually
from support.kafka.java import java_class
from support.kafka.mbeans import METRICS
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

CLIENT_METRICS = 16
MAX_BYTES = 10_000
KEYS = {"telemetry.max.bytes": str(MAX_BYTES)}
NAMES = [
    f"org.apache.kafka.{kind}.{name}." for kind in ("producer", "consumer") for name in ("io", "node", "topic", "a.b")
]
SOON, LATE = 200, 300_000
PAYLOAD = push(
    gauge("org.apache.kafka.x", {(): 1.5, (("topic", "t"),): 2.0}), counter("y", {(): 3}), client=(("group_id", "g"),)
)
ZEROS = bytes(MAX_BYTES * 4)

Sides = tuple[Side, Side]


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    """Odradek and Kafka, both with telemetry."""
    receiver = {"metric.reporters": java_class("TelemetryReceiver")}
    with (
        Wire() as wire,
        OurBroker(tmp_path_factory.mktemp("ours"), {**KEYS, **METRICS, "odradek.telemetry.enable": "true"}) as ours,
        RealKafka(tmp_path_factory.mktemp("kafka"), {**KEYS, **receiver}) as kafka,
    ):
        yield Side(wire, ours.port, True), Side(wire, kafka.port, False)


def instance(number: int) -> bytes:
    """A client instance id."""
    return bytes([number]) * 16


def get(side: Side, instance_id: bytes, connection: str = "main") -> Any:
    """The subscription of an instance, or the error."""
    return side.ask(GetTelemetrySubscriptionsRequest(instance_id), 0, connection)


def send(side: Side, instance_id: bytes, subscription_id: int, connection: str = "main", **fields: Any) -> int:
    """The error of a push."""
    request = PushTelemetryRequest(instance_id, subscription_id, **{"metrics": PAYLOAD, **fields})
    return int(side.ask(request, 0, connection)["errorCode"])


def subscribe(side: Side, marker: int, **subscriptions: dict[str, str]) -> None:
    """Replaces all subscriptions, and waits until a client learns of it: Kafka answers before.

    The one named ``marker`` has the shortest interval, for the instance that asks."""
    old = side.ask(ListConfigResourcesRequest([]), 0)["configResources"]
    wanted: dict[str, dict[str, str | None]] = {
        one["resourceName"]: dict.fromkeys(("metrics", "interval.ms", "match")) for one in old
    }
    for name, configs in subscriptions.items():
        wanted[name] = {**wanted.get(name, {}), **{key.replace("_ms", ".ms"): text for key, text in configs.items()}}
    wanted["marker"] = {"metrics": "m", "interval.ms": str(100 + marker), "match": "client_instance_id=AQEB.*"}
    resources = [
        IncrementalAlterConfigsRequest.AlterConfigsResource(
            CLIENT_METRICS,
            name,
            [
                IncrementalAlterConfigsRequest.AlterableConfig(key, 1 if text is None else 0, text)
                for key, text in configs.items()
            ],
        )
        for name, configs in wanted.items()
    ]
    answer = side.ask(IncrementalAlterConfigsRequest(resources), 1)
    assert not any(one["errorCode"] for one in answer["responses"]), answer

    def is_seen() -> bool:
        return bool(get(side, instance(1), "marker").get("pushIntervalMs") == 100 + marker)

    eventually("the subscriptions are in force", is_seen, every_s=0.05)


def both(sides: Sides, scene: Any) -> Any:
    """Plays a scene at both sides, asserts that the results are equal, and returns them."""
    ours, theirs = (scene(side) for side in sides)
    assert ours == theirs, f"\nours:  {ours}\nKafka: {theirs}"
    return ours


def test_both_announce_the_apis(sides: Sides) -> None:
    def scene(side: Side) -> Any:
        announced = side.ask(ApiVersionsRequest("wire", "1"), 3)["apiKeys"]
        return [one for one in announced if one["apiKey"] in (71, 72)]

    assert len(both(sides, scene)) == 2


def test_without_and_with_subscriptions(sides: Sides) -> None:
    """The ids and the order of the metrics too: a client may push to another broker than it has asked."""

    def scene(side: Side) -> Any:
        subscribe(side, 1)
        seen = [get(side, instance(2))]
        subscribe(side, 2, some={"metrics": NAMES[0], "interval_ms": str(SOON)})
        seen.append(get(side, instance(2)))
        subscribe(
            side,
            3,
            some={"metrics": ",".join(NAMES), "interval_ms": "1000"},
            more={"metrics": ",".join(f"m{number}." for number in range(40)), "match": "client_id=wi.e"},
            others={"metrics": "never.", "match": "client_id=wir"},
            long={"metrics": "long.", "interval_ms": "3600000", "match": "client_software_name=unknown|wire"},
            there={"metrics": "there.", "match": r"client_source_address=127\..*,client_source_port=\d+"},
        )
        seen += [get(side, instance(number)) for number in (2, 3, 4)]
        subscribe(side, 4, some={"metrics": f"{NAMES[0]},*"}, more={"metrics": NAMES[1]})
        seen += [get(side, instance(number)) for number in (2, 3)]
        return seen

    seen = both(sides, scene)
    assert seen[0]["requestedMetrics"] == []
    assert "long." in seen[2]["requestedMetrics"]
    assert seen[-1]["requestedMetrics"] == ["*"]


def test_a_client_without_an_id_gets_one(sides: Sides) -> None:
    def scene(side: Side) -> Any:
        answers = [get(side, bytes(16)) for _ in range(2)]
        assert answers[0].pop("clientInstanceId") != answers[1].pop("clientInstanceId")
        return [sorted(answer) for answer in answers]

    both(sides, scene)


def test_requests_that_come_too_early(sides: Sides) -> None:
    def scene(side: Side) -> Any:
        subscribe(side, 11, some={"metrics": "*", "interval_ms": str(LATE)})
        one = instance(20)
        seen = [get(side, one)]
        known = seen[0]["subscriptionId"]
        seen.append(get(side, one))
        seen += [send(side, one, known), send(side, one, known), get(side, one)]
        seen += [send(side, one, known, terminating=True), send(side, one, known), send(side, one, known)]
        subscribe(side, 12, some={"metrics": "*", "interval_ms": str(LATE - 1)})
        seen += [send(side, one, known), get(side, one), get(side, one)]
        known = seen[-2]["subscriptionId"]
        return [*seen, send(side, one, known), send(side, one, known)]

    seen = both(sides, scene)
    assert [one for one in seen if isinstance(one, int)] == [0, 89, 0, 42, 89, 117, 89, 89]


def test_the_next_interval(sides: Sides) -> None:
    def scene(side: Side) -> Any:
        subscribe(side, 21, some={"metrics": "*", "interval_ms": str(SOON)})
        one = instance(30)
        known = get(side, one)["subscriptionId"]
        seen = []
        for _ in range(3):
            seen.append(send(side, one, known))
            _wait_for(SOON)
        return seen

    assert both(sides, scene) == [0, 0, 0]


def _wait_for(interval_ms: int) -> None:
    """Until the brokers' clocks show that an interval is over."""
    end_s = time.time() + (interval_ms + 5) / 1000
    eventually("the interval is over", lambda: time.time() >= end_s, every_s=0.01)


@pytest.mark.parametrize("codec", CompressionType, ids=lambda codec: str(codec.name.lower()))
def test_compressed_pushes(sides: Sides, codec: CompressionType) -> None:
    def scene(side: Side) -> Any:
        subscribe(side, 31 + codec, some={"metrics": "*", "interval_ms": str(LATE)})
        seen = []
        pushes = (
            compress(codec, PAYLOAD),
            compress(codec, ZEROS),
            b"\xff" * 40,
            b"",
            compress(codec, push(gauge("x", {(): float("nan")}))[:-3]),
        )
        for number, metrics in enumerate(pushes, 40 + 8 * codec):
            one = instance(number)
            known = get(side, one)["subscriptionId"]
            code = send(side, one, known, compression_type=int(codec), metrics=metrics)
            seen.append((code, get(side, one)["errorCode"]))
        return seen

    seen = both(sides, scene)
    too_large = 118 if codec is CompressionType.NONE else 87
    assert [code for code, _ in seen] == [0, too_large, 87, 0, 87]


def test_refused_pushes(sides: Sides) -> None:
    def scene(side: Side) -> Any:
        subscribe(side, 51, some={"metrics": "*", "interval_ms": str(LATE)})
        seen = [send(side, bytes(16), 0), send(side, bytes(15) + b"\1", 0)]
        bad: tuple[dict[str, Any], ...] = (
            {"subscription_id": 1},
            {"compression_type": 5},
            {"compression_type": -1},
            {"metrics": bytes(MAX_BYTES)},
            {"metrics": bytes(MAX_BYTES + 1)},
            {"subscription_id": 1, "compression_type": 9, "metrics": ZEROS},
            {"subscription_id": 1, "terminating": True},
        )
        for number, fields in enumerate(bad, 100):
            one = instance(number)
            known = get(side, one)["subscriptionId"]
            fields = {"subscription_id": known, **fields}
            seen += [send(side, one, **fields), get(side, one)["errorCode"], send(side, one, known)]
        return seen

    seen = both(sides, scene)
    assert {42, 76, 87, 89, 117, 118} <= set(seen)


def test_a_connection_ends(sides: Sides) -> None:
    """Its instance is forgotten: the next request is the first one again."""

    def scene(side: Side) -> Any:
        subscribe(side, 61, some={"metrics": "*", "interval_ms": str(LATE)})
        one = instance(120)
        seen = [get(side, one, "first")["errorCode"], get(side, one, "second")["errorCode"]]
        side.wire.close(side.port, "first")
        eventually("the instance is forgotten", lambda: get(side, one, "second")["errorCode"] == 0, every_s=0.05)
        return [*seen, get(side, one, "second")["errorCode"]]

    assert both(sides, scene) == [0, 89, 89]


BAD_CONFIGS = [
    {"metrics": "a,a"},
    {"metrics": "a,,b"},
    {"metrics": ""},
    {"interval.ms": "99"},
    {"interval.ms": "3600001"},
    {"interval.ms": "soon"},
    {"match": "client_id"},
    {"match": "client_id="},
    {"match": "client_id=a="},
    {"match": "client_id=a=b"},
    {"match": "=a"},
    {"match": "client_id=["},
    {"match": "host=a"},
    {"match": "client_id = a , client_software_name = b"},
    {"match": "client_id=a,client_id=b"},
    {"colour": "a"},
    {},
]


@pytest.mark.parametrize("version", [0, 1], ids=["AlterConfigs", "IncrementalAlterConfigs"])
def test_configs(sides: Sides, version: int) -> None:
    def scene(side: Side) -> Any:
        seen: list[Any] = []
        for number, configs in enumerate([*BAD_CONFIGS, {"metrics": "b", "interval.ms": "7000"}]):
            name = f"s{number}" if number != len(BAD_CONFIGS) - 1 else ""
            seen.append(alter(side, version, name, configs))
        eventually("the configs are in force", lambda: described(side, "s17")[0]["configs"][0]["value"] == "7000")
        eventually("the last one is listed", lambda: "s17" in listed(side), every_s=0.05)
        seen += [described(side, name) for name in ("s0", "s13", "s17", "")]
        return [*seen, sorted(listed(side))]

    both(sides, scene)


def alter(side: Side, version: int, name: str, configs: dict[str, str]) -> Any:
    """The answer to setting configs of a subscription."""
    if version == 0:
        alterable = [AlterConfigsRequest.AlterableConfig(key, text) for key, text in configs.items()]
        resource = AlterConfigsRequest.AlterConfigsResource(CLIENT_METRICS, name, alterable)
        return side.ask(AlterConfigsRequest([resource]), 2)["responses"]
    changed = [IncrementalAlterConfigsRequest.AlterableConfig(key, 0, text) for key, text in configs.items()]
    wanted = IncrementalAlterConfigsRequest.AlterConfigsResource(CLIENT_METRICS, name, changed)
    return side.ask(IncrementalAlterConfigsRequest([wanted]), 1)["responses"]


def described(side: Side, name: str) -> Any:
    """The configs of a subscription, by name."""
    resource = DescribeConfigsRequest.DescribeConfigsResource(CLIENT_METRICS, name, None)
    results = side.ask(DescribeConfigsRequest([resource], True), 4)["results"]
    for result in results:
        result["configs"].sort(key=lambda config: str(config["name"]))
    return results


def listed(side: Side) -> list[str]:
    """The names of the subscriptions."""
    found = side.ask(ListConfigResourcesRequest([]), 0)["configResources"]
    return [one["resourceName"] for one in found if one["resourceName"].startswith("s")]
