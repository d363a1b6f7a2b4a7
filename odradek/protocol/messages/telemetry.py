"""Metrics pushed by clients (KIP-714).

Generated from the message table by ``python -m odradek.protocol.generate``; do not edit.
"""

from __future__ import annotations

from .structure import NEW_LIST, ZERO_UUID, Message


class GetTelemetrySubscriptionsRequest(Message):
    """Kafka's GetTelemetrySubscriptionsRequest (request), API key 71, versions 0, flexible 0+, listeners broker."""

    NAME = "GetTelemetrySubscriptionsRequest"
    API_KEY = 71
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    client_instance_id: bytes = ZERO_UUID
    """uuid, versions 0+"""


class GetTelemetrySubscriptionsResponse(Message):
    """Kafka's GetTelemetrySubscriptionsResponse (response), API key 71, versions 0, flexible 0+."""

    NAME = "GetTelemetrySubscriptionsResponse"
    API_KEY = 71
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
    client_instance_id: bytes = ZERO_UUID
    """uuid, versions 0+"""
    subscription_id: int = 0
    """int32, versions 0+"""
    accepted_compression_types: list[int] = NEW_LIST
    """[]int8, versions 0+"""
    push_interval_ms: int = 0
    """int32, versions 0+"""
    telemetry_max_bytes: int = 0
    """int32, versions 0+"""
    delta_temporality: bool = False
    """bool, versions 0+"""
    requested_metrics: list[str] = NEW_LIST
    """[]string, versions 0+"""


class PushTelemetryRequest(Message):
    """Kafka's PushTelemetryRequest (request), API key 72, versions 0, flexible 0+, listeners broker."""

    NAME = "PushTelemetryRequest"
    API_KEY = 72
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    client_instance_id: bytes = ZERO_UUID
    """uuid, versions 0+"""
    subscription_id: int = 0
    """int32, versions 0+"""
    terminating: bool = False
    """bool, versions 0+"""
    compression_type: int = 0
    """int8, versions 0+"""
    metrics: bytes = b""
    """bytes, versions 0+"""


class PushTelemetryResponse(Message):
    """Kafka's PushTelemetryResponse (response), API key 72, versions 0, flexible 0+."""

    NAME = "PushTelemetryResponse"
    API_KEY = 72
    VERSIONS = (0, 0)
    FLEXIBLE_SINCE = 0

    throttle_time_ms: int = 0
    """int32, versions 0+; how long the client should wait before its next request, because of a quota"""
    error_code: int = 0
    """int16, versions 0+; an ErrorCode, 0 for success"""
