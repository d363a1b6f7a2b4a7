"""Applies metadata changes to the broker: serves, drops and reconfigures partitions, and notifies groups.

Owns: the order of these steps, the effect of configs in the metadata on logs and moves. Never does: I/O of its own.
Invariant: the request that caused a change is answered after the last step (``metadata/service.py``).
Source: ``BrokerMetadataPublisher``.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import KafkaError
from odradek.storage.log.log_config import LogConfig

from ..config.server_config import ServerConfig
from ..config.topic_config import log_config_for
from ..metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from ..metadata.publisher.controller_link import BrokerReports
from ..replicas.directories.disk_space import CAP_KEY, segment_bytes_under
from ..replicas.directories.identity import cordoned_paths
from ..replicas.hosted_replicas import HOSTING, HostedReplicas
from ..replicas.moves import THROTTLE_KEY
from ..replicas.replication_throttle import dynamic_rate
from ..timers.work import KindOfWork
from .broker import Broker
from .client_limits import ClientLimits

if TYPE_CHECKING:
    from ..security.tls.listeners import TlsListeners

logger = logging.getLogger(__name__)

HOST_AGAIN_MAX_S = 30.0
CORDONING = KindOfWork("cordoned-log-dirs", "applies and reports cordoned log directories")


class BrokerMetadataPublisher:
    """The broker's part in each change of the metadata, in steps."""

    def __init__(
        self,
        broker: Broker,
        hosting: HostedReplicas,
        reports: BrokerReports,
        limits: ClientLimits,
        tls: "TlsListeners | None",
        clock_ms: Callable[[], int],
        host_again_s: float,
    ) -> None:
        """``limits`` enforce quotas. ``tls``: of the listeners that have it; None without one. ``clock_ms``:
        milliseconds since the epoch. ``host_again_s``: the pause before a partition is hosted again; it doubles up to
        half a minute."""
        self._broker = broker
        self._reports = reports
        self._hosting = hosting
        self._limits = limits
        self._tls = tls
        self._clock_ms = clock_ms
        self._first_pause_s = host_again_s
        self._host_again_after_s: dict[tuple[bytes, int], float] = {}
        """The last pause before the next try, for each partition that lacked file descriptors or disk space."""

    def host_drafts(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """Serves new and changed topics before they are in the image, so that a client can use a topic as soon as it
        sees it. Continues after a topic with a partition that can't be hosted, and raises the first KafkaError at the
        end.
        """
        changed: dict[bytes, list[int]] = {}
        for topic_id, index in delta.changed_partitions:
            changed.setdefault(topic_id, []).append(index)
        refusal: KafkaError | None = None
        for topic_id, indexes in changed.items():
            if topic_id in delta.drafts:
                try:
                    yield from self._hosting.host_topic(delta.drafts[topic_id], indexes)
                except KafkaError as error:
                    refusal = refusal or error.with_traceback(None)
        if refusal is not None:
            try:
                raise refusal
            finally:
                refusal = None  # its traceback holds this frame: a cycle

    def host_later(self, topic_id: bytes, index: int) -> None:
        """Hosts a partition again after a pause, which grows to half a minute."""
        pause_s = min(2 * self._host_again_after_s.get((topic_id, index), self._first_pause_s / 2), HOST_AGAIN_MAX_S)
        self._host_again_after_s[topic_id, index] = pause_s
        HOSTING.later(pause_s, self._host_again, topic_id, index)

    def _host_again(self, topic_id: bytes, index: int) -> None:
        topic = self._broker.metadata.image.topics_by_id.get(topic_id)
        if topic is not None and index in topic.partitions:
            try:
                run_to_end(self._hosting.host_topic(topic, [index]))
            except KafkaError as error:
                logger.warning("%s-%d can't be hosted yet: %s", topic.name, index, error)
                return
            logger.info("%s-%d is hosted after all", topic.name, index)
        self._host_again_after_s.pop((topic_id, index), None)

    def changed(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """Drops and reconfigures topics according to the change."""
        broker, hosting = self._broker, self._hosting
        yield from broker.access.changed(image, delta)
        broker.client_telemetry.changed(delta)
        if delta.changed_client_quotas:
            self._limits.update(image.client_quotas, delta.changed_client_quotas)
        for topic in delta.deleted_topics.values():
            broker.replica_moves.topic_deleted(topic.name)
            yield from hosting.drop_topic(topic.name, self._clock_ms())
        yield from broker.coordinators.leaders_changed(image, delta)
        yield from broker.coordinators.topics_deleted(delta.deleted_topics.values())
        yield from broker.coordinators.topics_changed(image, delta)
        if broker.configs.changed(image, delta):
            broker.coordinators.reconfigure(broker.config, image)
            if self._tls is not None:
                self._tls.reconfigure(image.broker_configs(broker.metadata.node_id))
            CORDONING.soon(self._cordon)
            yield from hosting.reconfigure_all()
        for resource_type, name in delta.changed_configs:
            if resource_type == ResourceType.TOPIC:
                yield from hosting.reconfigure_topic(name)

    def _cordon(self) -> None:
        """Applies the current ``cordoned.log.dirs``, and reports it to the controller."""
        log_dirs = self._broker.log_dirs
        log_dirs.cordon(cordoned_paths(self._broker.config, log_dirs.paths))
        self._reports.cordon(log_dirs.cordoned_ids, self._clock_ms())


def log_config(config: ServerConfig, image: MetadataImage, topic: str) -> LogConfig:
    """The configuration of a topic's logs: its own configs, else the broker's.

    Segments are made small enough for ``odradek.log.dirs.max.bytes``.
    """
    configured = log_config_for(config, image.config_of(ResourceType.TOPIC, topic))
    segment_bytes = segment_bytes_under(config.get_int(CAP_KEY), configured.segment_bytes)
    if segment_bytes == configured.segment_bytes:
        return configured
    return replace(configured, segment_bytes=segment_bytes)


def move_throttle(image: MetadataImage, node_id: int) -> int:
    """Bytes a second that moves between directories may copy: this broker's dynamic config, or that of all brokers."""
    return dynamic_rate(image, node_id, THROTTLE_KEY)
