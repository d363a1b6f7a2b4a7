"""Metrics pushed by clients (KIP-714).

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from .structure import ZERO_UUID, Message


class GetTelemetrySubscriptionsRequest(Message):
    """Kafka's GetTelemetrySubscriptionsRequest (request), API key 71, versions 0, flexible 0+, listeners broker.

    - client_instance_id: uuid, versions 0+
    """

    __slots__ = ("client_instance_id",)

    NAME: ClassVar[str] = "GetTelemetrySubscriptionsRequest"
    API_KEY: ClassVar[int] = 71
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        client_instance_id: bytes = ZERO_UUID,
    ) -> None:
        self.client_instance_id = client_instance_id
        self.unknown_tagged_fields = None


class GetTelemetrySubscriptionsResponse(Message):
    """Kafka's GetTelemetrySubscriptionsResponse (response), API key 71, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    - client_instance_id: uuid, versions 0+
    - subscription_id: int32, versions 0+
    - accepted_compression_types: []int8, versions 0+
    - push_interval_ms: int32, versions 0+
    - telemetry_max_bytes: int32, versions 0+
    - delta_temporality: bool, versions 0+
    - requested_metrics: []string, versions 0+
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
        "client_instance_id",
        "subscription_id",
        "accepted_compression_types",
        "push_interval_ms",
        "telemetry_max_bytes",
        "delta_temporality",
        "requested_metrics",
    )

    NAME: ClassVar[str] = "GetTelemetrySubscriptionsResponse"
    API_KEY: ClassVar[int] = 71
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        accepted_compression_types: list[int] | None = None,
        push_interval_ms: int = 0,
        telemetry_max_bytes: int = 0,
        delta_temporality: bool = False,
        requested_metrics: list[str] | None = None,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.accepted_compression_types = [] if accepted_compression_types is None else accepted_compression_types
        self.push_interval_ms = push_interval_ms
        self.telemetry_max_bytes = telemetry_max_bytes
        self.delta_temporality = delta_temporality
        self.requested_metrics = [] if requested_metrics is None else requested_metrics
        self.unknown_tagged_fields = None


class PushTelemetryRequest(Message):
    """Kafka's PushTelemetryRequest (request), API key 72, versions 0, flexible 0+, listeners broker.

    - client_instance_id: uuid, versions 0+
    - subscription_id: int32, versions 0+
    - terminating: bool, versions 0+
    - compression_type: int8, versions 0+
    - metrics: bytes, versions 0+
    """

    __slots__ = (
        "client_instance_id",
        "subscription_id",
        "terminating",
        "compression_type",
        "metrics",
    )

    NAME: ClassVar[str] = "PushTelemetryRequest"
    API_KEY: ClassVar[int] = 72
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        client_instance_id: bytes = ZERO_UUID,
        subscription_id: int = 0,
        terminating: bool = False,
        compression_type: int = 0,
        metrics: bytes = b"",
    ) -> None:
        self.client_instance_id = client_instance_id
        self.subscription_id = subscription_id
        self.terminating = terminating
        self.compression_type = compression_type
        self.metrics = metrics
        self.unknown_tagged_fields = None


class PushTelemetryResponse(Message):
    """Kafka's PushTelemetryResponse (response), API key 72, versions 0, flexible 0+.

    - throttle_time_ms: int32, versions 0+; how long the client should wait before its next request, because of a
      quota
    - error_code: int16, versions 0+; an ErrorCode, 0 for success
    """

    __slots__ = (
        "throttle_time_ms",
        "error_code",
    )

    NAME: ClassVar[str] = "PushTelemetryResponse"
    API_KEY: ClassVar[int] = 72
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)
    FLEXIBLE_SINCE: ClassVar[int] = 0

    def __init__(
        self,
        throttle_time_ms: int = 0,
        error_code: int = 0,
    ) -> None:
        self.throttle_time_ms = throttle_time_ms
        self.error_code = error_code
        self.unknown_tagged_fields = None
