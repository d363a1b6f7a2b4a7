"""Clients' telemetry of a broker, which is made when the first client asks for its subscription.

Owns: the moment at which it is made. Never does: anything else. A broker whose clients push nothing imports none of it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..config.server_config import ServerConfig
from ..metadata.image.image import MetadataDelta
from ..metadata.publisher.published import PublishedMetadata

with lazy_imports:
    from ..telemetry import telemetry
    from . import random_ids

if TYPE_CHECKING:
    from ..metrics.client_metrics import ClientMetricsSources
    from ..telemetry.telemetry import Telemetry


class ClientTelemetry:
    """The telemetry of clients, made at its first use."""

    def __init__(self, config: ServerConfig, metadata: PublishedMetadata, clock_ms: Callable[[], int]) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch."""
        self._config = config
        self._metadata = metadata
        self._clock_ms = clock_ms
        self._made: Telemetry | None = None

    @property
    def telemetry(self) -> "Telemetry":
        """The clients that push, and what they push."""
        if self._made is None:
            config, metadata = self._config, self._metadata
            self._made = telemetry.Telemetry(
                lambda: metadata.image,
                random_ids.random_uuid,
                self._clock_ms,
                config.get_int("telemetry.max.bytes"),
                config.get_int("odradek.telemetry.series.max"),
                keeps_pushes=config.get_boolean("odradek.telemetry.enable"),
            )
        return self._made

    def sources(self) -> "ClientMetricsSources | None":
        """What the metrics show; None before the first use, and if pushes are dropped."""
        return None if self._made is None else self._made.sources()

    def changed(self, delta: MetadataDelta) -> None:
        """Looks at the subscriptions again if a change of the metadata has changed one."""
        if self._made is not None:
            self._made.changed(delta)

    def connection_closed(self, connection_id: int) -> None:
        """Forgets the instance of a connection."""
        if self._made is not None:
            self._made.connection_closed(connection_id)
