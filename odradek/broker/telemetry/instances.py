"""The client instances that ask for subscriptions and push metrics, and what each of them may do now.

Pure. Owns: the state of each instance, and its bounds. Never does: reading what is pushed, reading a clock. Invariants:
at most ``INSTANCES_MAX`` instances are known; one that has not asked for three intervals, or whose connection has
ended, is forgotten; one that comes again begins anew. Source: KIP-714; ``ClientMetricsManager``,
``ClientMetricsInstance``.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
)
from odradek.protocol.records.compression import CompressionType
from odradek.storage.files.meta_properties import uuid_text

from ..metrics.counts import ClientMetricsCounts
from ..timers.expiring import ExpiringEntries
from .subscriptions import Subscribed, Subscriptions

INSTANCES_MAX = 16_384
"""``CACHE_MAX_SIZE``."""
EXPIRY_MS = 60_000
"""``DEFAULT_CACHE_EXPIRY_MS``: how long an instance is known at least after its last request."""
EXPIRY_INTERVALS = 3
SWEPT_AT_ONCE = 64
RESERVED = (ZERO_UUID, bytes(15) + b"\1")
"""``Uuid.RESERVED``."""
ACCEPTED = [CompressionType.ZSTD, CompressionType.LZ4, CompressionType.GZIP, CompressionType.SNAPPY]
"""In the order of preference. Uncompressed pushes are accepted, too."""
AT_ONCE = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
"""After these errors of a push, a client asks for its subscription without waiting."""


class ClientFields(NamedTuple):
    """What a request says of its client."""

    client_id: str | None
    software_name: str
    software_version: str
    address: str
    port: int
    connection_id: int


class Instance:
    """One client instance. Times are milliseconds since the epoch."""

    __slots__ = (
        "fields",
        "instance_id",
        "is_terminating",
        "last_error",
        "last_get_ms",
        "last_push_ms",
        "subscribed",
        "subscription_id",
        "version",
    )

    def __init__(self, instance_id: bytes, fields: dict[str, str | None], subscribed: Subscribed, version: int) -> None:
        """``fields``: of the client, for patterns. ``version``: of the subscriptions that were looked at."""
        self.instance_id = instance_id
        self.fields = fields
        self.subscribed = subscribed
        self.subscription_id = subscribed.subscription_id(instance_id)
        self.version = version
        self.last_get_ms = 0
        self.last_push_ms = 0
        self.is_terminating = False
        """Whether its last push was to be its last one."""
        self.last_error = ErrorCode.NONE

    @property
    def expiry_ms(self) -> int:
        """How long it is known after a request."""
        return max(EXPIRY_MS, EXPIRY_INTERVALS * self.subscribed.interval_ms)

    def take_get(self, now_ms: int) -> bool:
        """Notes a request for the subscription; False if it comes too early."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) < self.subscribed.interval_ms:
            return False
        self.last_get_ms = now_ms
        return True

    def take_push(self, now_ms: int) -> bool:
        """Notes a push; False if it comes too early. The first one after a request for the subscription never does:
        clients add up to half an interval to it, or take as much away."""
        is_early = now_ms - self.last_push_ms < self.subscribed.interval_ms
        if is_early and self.last_get_ms <= self.last_push_ms:
            return False
        self.last_push_ms = now_ms
        return True


class Instances:
    """All instances that the broker knows."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        max_bytes: int,
        random_uuid: Callable[[], bytes],
        counts: ClientMetricsCounts,
        most: int = INSTANCES_MAX,
    ) -> None:
        """``max_bytes``: ``telemetry.max.bytes``. ``random_uuid`` makes the ids of new instances. ``most``: the largest
        number of instances; the one that was used longest ago makes room."""
        self._subscriptions = subscriptions
        self._max_bytes = max_bytes
        self._random_uuid = random_uuid
        self._counts = counts
        self._known: ExpiringEntries[bytes, Instance] = ExpiringEntries(most)
        self._made_by: dict[int, bytes] = {}
        """Connection id -> the instance that was made last for a request of it."""

    def count(self, now_ms: int) -> int:
        """The instances that are known."""
        self._known.sweep(now_ms, SWEPT_AT_ONCE)
        return len(self._known)

    def subscription(
        self, request: GetTelemetrySubscriptionsRequest, client: ClientFields, now_ms: int
    ) -> GetTelemetrySubscriptionsResponse:
        """Answers GetTelemetrySubscriptions. Without an id the client gets one.

        Errors: THROTTLING_QUOTA_EXCEEDED.
        """
        instance_id = request.client_instance_id
        if instance_id == ZERO_UUID:
            instance_id = self._random_uuid()
        instance = self._instance(instance_id, client, now_ms)
        if not instance.take_get(now_ms) and instance.last_error not in AT_ONCE:
            self._counts.throttled += 1
            return GetTelemetrySubscriptionsResponse(error_code=ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        instance.last_error = ErrorCode.NONE
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance_id,
            subscription_id=instance.subscription_id,
            accepted_compression_types=list(map(int, ACCEPTED)),
            push_interval_ms=instance.subscribed.interval_ms,
            telemetry_max_bytes=self._max_bytes,
            delta_temporality=True,
            requested_metrics=list(instance.subscribed.metrics),
        )

    def accept_push(self, request: PushTelemetryRequest, client: ClientFields, now_ms: int) -> Instance | ErrorCode:
        """The instance that may push now, or the error.

        Errors: INVALID_REQUEST, THROTTLING_QUOTA_EXCEEDED, UNKNOWN_SUBSCRIPTION_ID, UNSUPPORTED_COMPRESSION_TYPE,
        TELEMETRY_TOO_LARGE.
        """
        if request.client_instance_id in RESERVED:
            return ErrorCode.INVALID_REQUEST
        instance = self._instance(request.client_instance_id, client, now_ms)
        error = self._refusal(request, instance, now_ms)
        instance.is_terminating = request.terminating
        if error is not ErrorCode.NONE:
            instance.last_error = error
            return error
        return instance

    def _refusal(self, request: PushTelemetryRequest, instance: Instance, now_ms: int) -> ErrorCode:
        """Why a push is refused, in the order of Kafka's checks."""
        if instance.is_terminating:
            return ErrorCode.INVALID_REQUEST
        if not instance.take_push(now_ms) and not request.terminating:
            self._counts.throttled += 1
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if request.subscription_id != instance.subscription_id:
            self._counts.unknown_subscriptions += 1
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if not 0 <= request.compression_type < len(CompressionType):
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        return ErrorCode.TELEMETRY_TOO_LARGE if len(request.metrics) > self._max_bytes else ErrorCode.NONE

    def connection_closed(self, connection_id: int) -> None:
        """Forgets the instance that was made for a request of a connection."""
        instance_id = self._made_by.pop(connection_id, None)
        if instance_id is not None:
            self._known.pop(instance_id)

    def _instance(self, instance_id: bytes, client: ClientFields, now_ms: int) -> Instance:
        """The instance with this id, made anew if it is unknown or if the subscriptions have changed."""
        self._known.sweep(now_ms, SWEPT_AT_ONCE)
        version = self._subscriptions.version
        instance = self._known.get(instance_id, now_ms)
        if instance is None or instance.version < version:
            fields = _fields(instance_id, client) if instance is None else instance.fields
            instance = Instance(instance_id, fields, self._subscriptions.of_client(fields), version)
            self._made_by[client.connection_id] = instance_id
        self._known.put(instance_id, instance, now_ms + instance.expiry_ms)
        return instance


def _fields(instance_id: bytes, client: ClientFields) -> dict[str, str | None]:
    """The fields that ``match`` may compare."""
    return {
        "client_instance_id": uuid_text(instance_id),
        "client_id": client.client_id,
        "client_software_name": client.software_name,
        "client_software_version": client.software_version,
        "client_source_address": client.address,
        "client_source_port": str(client.port),
    }
