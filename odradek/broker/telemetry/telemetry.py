"""What a broker knows of the clients that push metrics: its subscriptions, their instances, their series.

Owns: these parts, and the order of one push. Never does: I/O, reading a clock. Source: ``ClientMetricsManager``.
"""

from collections.abc import Callable

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
)

from ..metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from ..metrics.client_counts import ClientMetricsCounts
from ..metrics.client_metrics import ClientMetricsSources
from ..metrics.pushed_series import PushedSeries
from . import pushes
from .instances import ClientFields, Instances
from .subscriptions import Subscriptions


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
            if (yield from pushes.keep(self._series, request, instance, self._max_bytes, now_ms)):
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
