"""What a broker knows of the clients that push metrics: its subscriptions, their instances, their series.

Owns: these parts, and the order of one push: decompressing, reading and keeping, in steps of about a millisecond. Never
does: I/O, reading a clock. Invariant: decompressed, a push has ``telemetry.max.bytes`` at most. Source:
``ClientMetricsManager``, ``ClientTelemetryUtils.decompress``, ``ClientTelemetryExporterPlugin``.
"""

from collections.abc import Callable

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
)
from odradek.protocol.records.compression import CHUNK_SIZE, CompressionType, decompressed_chunks
from odradek.storage.files.meta_properties import uuid_text

from ..metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from ..metrics.client_metrics import ClientMetricsSources
from ..metrics.counts import ClientMetricsCounts
from ..metrics.pushed_series import PushedSeries
from .instances import ClientFields, Instance, Instances
from .otlp import Attributes, OtlpError, points
from .subscriptions import Subscriptions

SHOWN_OF_CLIENT = ("group_id", "transactional_id")
"""The attributes of the client that its series have as labels."""


def keep(
    series: PushedSeries, request: PushTelemetryRequest, instance: Instance, max_bytes: int, now_ms: int
) -> Steps[bool]:
    """Keeps the values of a push. Returns False if it can't be read; values before the damage are kept."""
    try:
        data = bytearray()
        for chunk in decompressed_chunks(CompressionType(request.compression_type), request.metrics, max_bytes):
            data += chunk
            if len(data) >= CHUNK_SIZE:
                yield
        client = series.begin_push(
            uuid_text(instance.instance_id), instance.fields["client_id"] or "", instance.subscribed.interval_ms, now_ms
        )
        if client is None:
            return True
        for point in points(bytes(data)):
            if point is None:
                yield
                continue
            attributes = point.attributes + _of_client(point.resource)
            series.add(
                client,
                point.name,
                attributes,
                point.value,
                is_counter=point.is_monotonic,
                is_delta=point.is_delta,
            )
        series.end_push(client)
    except (KafkaError, OtlpError):
        return False
    return True


def _of_client(resource: Attributes) -> Attributes:
    return tuple(pair for pair in resource if pair[0] in SHOWN_OF_CLIENT)


class Telemetry:
    """The clients that push metrics."""

    def __init__(
        self,
        image: Callable[[], MetadataImage],
        random_uuid: Callable[[], bytes],
        clock_ms: Callable[[], int],
        max_bytes: int,
        series_max: int,
        *,
        keeps_pushes: bool,
    ) -> None:
        """``max_bytes``: of one push, compressed and decompressed. ``series_max``: of all clients together.
        ``clock_ms``: wall clock, milliseconds since the epoch. ``keeps_pushes``: otherwise they are accepted and
        dropped."""
        self._clock_ms = clock_ms
        self._max_bytes = max_bytes
        self._keeps_pushes = keeps_pushes
        self._counts = ClientMetricsCounts()
        self._subscriptions = Subscriptions(image)
        self._instances = Instances(self._subscriptions, max_bytes, random_uuid, self._counts)
        self._series = PushedSeries(series_max, self._counts)

    def subscription(
        self, request: GetTelemetrySubscriptionsRequest, client: ClientFields, now_ms: int
    ) -> GetTelemetrySubscriptionsResponse:
        """What a client pushes, and how often."""
        return self._instances.subscription(request, client, now_ms)

    def push(self, request: PushTelemetryRequest, client: ClientFields, now_ms: int) -> Steps[ErrorCode]:
        """Keeps what a client pushes. Returns the error."""
        instance = self._instances.accept_push(request, client, now_ms)
        if isinstance(instance, ErrorCode):
            return instance
        instance.last_error = ErrorCode.NONE
        if request.metrics and self._keeps_pushes:
            if (yield from keep(self._series, request, instance, self._max_bytes, now_ms)):
                self._counts.exports += 1
            else:
                self._counts.errors += 1
                instance.last_error = ErrorCode.INVALID_RECORD
        return instance.last_error

    def changed(self, delta: MetadataDelta) -> None:
        """Looks at the subscriptions again if a change of the metadata has changed one."""
        if any(kind == ResourceType.CLIENT_METRICS for kind, _ in delta.changed_configs):
            self._subscriptions.changed()

    def connection_closed(self, connection_id: int) -> None:
        """Forgets the instance of a connection. What it has pushed is still shown for some time."""
        self._instances.connection_closed(connection_id)

    def sources(self) -> ClientMetricsSources | None:
        """What the metrics show; None if pushes are dropped."""
        if not self._keeps_pushes:
            return None
        return ClientMetricsSources(self._counts, lambda: self._instances.count(self._clock_ms()), self._series)
