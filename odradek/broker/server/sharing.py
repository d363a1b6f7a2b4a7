"""Share groups' side of a broker, which is made when the first client uses it.

Owns: the moment at which share partitions are made. Never does: anything else. A broker without share groups imports
none of it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports

from ..metadata.publisher.controller_link import TopicCreator
from ..metadata.publisher.published import PublishedMetadata
from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from ..timers.loop_timers import LoopTimers
from .coordinators import Coordinators
from .dynamic_configs import DynamicConfigs

with lazy_imports:
    from ..metrics import counts
    from ..share_partitions import dead_letters, registry, remote_letters, settings

if TYPE_CHECKING:
    from ..metrics.share_metrics import ShareSources
    from ..network.node_client import NodeSecurity
    from ..share_partitions.registry import SharePartitions


class ShareGroupsSide:
    """The share partitions of a broker, made at their first use."""

    def __init__(self, make: Callable[[], "SharePartitions"]) -> None:
        self._make = make
        self._made: SharePartitions | None = None

    @property
    def share_partitions(self) -> "SharePartitions":
        """The share partitions that this broker leads, and the sessions of their members."""
        if self._made is None:
            self._made = self._make()
        return self._made

    def sources(self) -> "ShareSources | None":
        """What the metrics show; None before the first use."""
        return None if self._made is None else self._made.sources()

    def connection_closed(self, connection_id: int) -> None:
        """Ends the share sessions of a connection."""
        if self._made is not None:
            self._made.connection_closed(connection_id)


def sharing_of(
    *,
    config: DynamicConfigs,
    metadata: PublishedMetadata,
    partitions: Partitions,
    coordinators: Coordinators,
    timers: LoopTimers,
    record_work: RecordWork,
    topics: TopicCreator,
    inter_broker: "NodeSecurity | None",
    clock_ms: Callable[[], int],
) -> ShareGroupsSide:
    """Share groups' side of a broker. ``inter_broker``: the security settings of connections to other brokers; None
    without other brokers. ``clock_ms``: wall clock, milliseconds since the epoch."""

    def make() -> "SharePartitions":
        share_counts = counts.ShareCounts()
        remote = None
        if inter_broker is not None:
            static = config.static
            timeout_ms = static.get_int("request.timeout.ms")
            listener = static.inter_broker_listener_name
            remote = remote_letters.RemoteLetters(
                lambda: metadata.image, metadata.node_id, listener, inter_broker, timeout_ms
            )
        letters = dead_letters.DeadLetters(
            lambda: metadata.image,
            lambda: config.current,
            metadata.node_id,
            partitions,
            topics,
            record_work,
            clock_ms,
            None if remote is None else remote.produce,
            share_counts,
        )
        return registry.SharePartitions(
            metadata,
            partitions,
            lambda: coordinators.persister,
            timers,
            record_work,
            clock_ms,
            settings.KnownSettings(lambda: metadata.image, lambda: config.current).of,
            letters.write,
            config.current.get_int("group.share.max.share.sessions"),
            share_counts,
        )

    return ShareGroupsSide(make)
