"""Pushes to a running broker, with telemetry and without it."""

import socket
import struct
from typing import Any, Self

import pytest

from odradek.client.admin import Admin
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages import message_class
from odradek.protocol.messages.metadata import ApiVersionsRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.telemetry import GetTelemetrySubscriptionsRequest, PushTelemetryRequest
from odradek.testing import InProcessBroker
from support.data.otlp import counter, gauge, push
from support.eventually import PATIENCE_S, eventually

from ..metrics.metric_samples import samples_of

ENDPOINT = {"odradek.metrics.listener": "127.0.0.1:0"}
TELEMETRY = pytest.mark.kafka(configs={**ENDPOINT, "odradek.telemetry.enable": "true", "telemetry.max.bytes": "100000"})
PUSH = push(counter("org.apache.kafka.producer.record.send.total", {(("topic", "t"),): 7}), gauge("x", {(): 1.5}))
MEBIBYTE = 1 << 20


async def subscribe(kafka: InProcessBroker) -> None:
    """A subscription for all clients."""
    async with Admin(kafka.bootstrap_servers) as admin:
        await admin.incremental_alter_configs(
            "client-metrics", "all", set_configs={"metrics": "*", "interval.ms": "1000"}
        )


class Client:
    """A client that pushes, on one connection: an instance is forgotten with its connection."""

    def __init__(self, kafka: InProcessBroker) -> None:
        self._socket = socket.create_connection(("127.0.0.1", kafka.port), timeout=PATIENCE_S)
        self._answers = self._socket.makefile("rb")
        self.answer = self.ask(GetTelemetrySubscriptionsRequest(), 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()
        self._socket.close()

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request, and returns the response."""
        self._socket.sendall(encode_request(request, version, 7, "pushing"))
        (size,) = struct.unpack(">i", self._answers.read(4))
        kind = message_class(request.NAME.replace("Request", "Response"))
        frame = self._answers.read(size)
        return decode(kind, version, frame, 4 + response_header_version(request.API_KEY, version))[0]

    def push(self, metrics: bytes, **fields: Any) -> int:
        """Returns the error."""
        ids = self.answer.client_instance_id, self.answer.subscription_id
        return int(self.ask(PushTelemetryRequest(*ids, metrics=metrics, **fields), 0).error_code)


def pushed(kafka: InProcessBroker) -> dict[str, float]:
    """The names of pushed metrics with their values."""
    return {key[0]: value for key, value in samples_of(kafka).items() if key[0].startswith("kafka_client_")}


@TELEMETRY
async def test_pushed_metrics_are_shown_for_some_time(kafka: InProcessBroker) -> None:
    await subscribe(kafka)
    with Client(kafka) as client:
        assert list(client.answer.requested_metrics) == ["*"]
        assert client.push(PUSH) == 0
        assert client.push(PUSH) == 89
        kafka.advance(seconds=1)
        assert client.push(PUSH, terminating=True) == 0
        shown = {"kafka_client_producer_record_send_total": 14.0, "kafka_client_x": 1.5}
        assert pushed(kafka) == shown
        samples = samples_of(kafka)
        group = "kafka_server_client_metrics_"
        assert samples[f"{group}instance_count",] == 1
        assert samples[f"{group}plugin_export_count",] == 2
        assert samples[f"{group}throttle_count",] == 1
        assert samples["odradek_client_metrics_series",] == 2
    eventually("the instance has gone", lambda: not samples_of(kafka)[f"{group}instance_count",])
    kafka.advance(seconds=50)
    assert pushed(kafka) == shown
    kafka.advance(seconds=10)
    assert pushed(kafka) == {}
    assert samples_of(kafka)["odradek_client_metrics_series",] == 0


@TELEMETRY
async def test_a_push_that_cannot_be_read(kafka: InProcessBroker) -> None:
    await subscribe(kafka)
    for metrics, compression_type, code in ((PUSH + b"\xff", 0, 87), (bytes(200_000), 0, 118), (PUSH, 1, 87)):
        with Client(kafka) as client:
            assert client.push(metrics, compression_type=compression_type) == code
    assert samples_of(kafka)["kafka_server_client_metrics_plugin_error_count",] == 2


@pytest.mark.kafka(configs={**ENDPOINT, "odradek.telemetry.enable": "true"})
async def test_the_largest_push_is_read_in_slices(kafka: InProcessBroker) -> None:
    await subscribe(kafka)
    metrics = push(gauge("y", {(("topic", f"t{number}"),): 1.0 for number in range(20_000)}))
    assert MEBIBYTE // 2 < len(metrics) <= MEBIBYTE
    with Client(kafka) as client:
        assert client.push(metrics) == 0
    samples = samples_of(kafka)
    assert samples["odradek_client_metrics_series",] == 1_000
    assert samples["odradek_client_metrics_dropped_points_total", "client"] == 19_000


@pytest.mark.kafka(configs=ENDPOINT)
async def test_without_telemetry_pushes_are_not_asked_for_and_dropped(kafka: InProcessBroker) -> None:
    """As by a Kafka without a plugin."""
    await subscribe(kafka)
    with Client(kafka) as client:
        assert client.push(PUSH) == 0
        assert client.push(PUSH) == 89
        announced = {one.api_key for one in client.ask(ApiVersionsRequest("a", "1"), 3).api_keys}
    assert not announced & {71, 72}
    assert {74, 94} <= announced
    assert pushed(kafka) == {}
