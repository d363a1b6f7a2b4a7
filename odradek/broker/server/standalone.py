"""A broker that is its own controller: ``process.roles=broker,controller`` with one voter, the default.

Owns: the order of the steps that only this role has. Source: BrokerServer and ControllerServer in one process.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.names.topics import OFFSETS_TOPIC
from odradek.storage.directory.log_directories import LogDirectories

from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from ..config.stored import ADVERTISED
from ..metadata.controller.auto_topic_creation import AutoTopicCreation
from ..metadata.controller.broker_lifecycle import BrokerLifecycle
from ..metadata.controller.controller import Controller
from ..metadata.controller.directories import assignment_records
from ..metadata.controller.own_controller import OwnReports, ProducerIds
from ..metadata.image.image import BrokerState, Endpoint, Replica
from ..metadata.image.local_replicas import LocalReplicas
from ..metadata.publisher.service import MetadataService
from ..network.listening import BindError, BoundListener
from ..replicas.directories.identity import format_new, identify
from .advertising import endpoints as endpoints_of
from .random_ids import random_uuid
from .role import ControlledBy, Role

with lazy_imports:
    from ..api import loggers
    from ..metrics import controller_metrics

if TYPE_CHECKING:
    from ..metrics.pieces import MetricsSource

logger = logging.getLogger(__name__)


class Standalone(Role):
    """One broker, one controller, one process."""

    def __init__(
        self,
        config: ServerConfig,
        cluster_id: str | None,
        bound: Sequence[BoundListener],
        check_listeners: Callable[[Mapping[str, str]], None],
    ) -> None:
        """``cluster_id``: for a new data directory; None takes a random one. ``bound``: the listeners, which are bound
        before :meth:`open`. ``check_listeners``: as for :class:`.Controller`."""
        self._config = config
        self._cluster_id = cluster_id
        self._bound = bound
        self._check_listeners = check_listeners
        self._endpoints: Sequence[Endpoint] = ()

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it."""
        return self._lifecycle.broker_epoch

    async def open(self, log_dirs: LogDirectories, endpoints: Sequence[Endpoint], now_ms: int) -> ControlledBy:
        """Formats new directories, reads the metadata log (in ``metadata.log.dir``, or in the first directory)."""
        ids = identify(log_dirs, random_uuid)
        config = self._config
        metadata = self._metadata = MetadataService.open(
            log_dirs.metadata,
            config,
            directory_id=ids[0],
            now_ms=now_ms,
            random_uuid=random_uuid,
            cluster_id=self._cluster_id,
        )
        format_new(log_dirs, ids, metadata.cluster_id, metadata.node_id)
        self._endpoints = endpoints
        controller = Controller(
            config.node_id,
            config,
            random_uuid,
            log_dirs.shortage_in,
            check_listeners=self._check_listeners,
            has_logger=_has_logger,
            endpoints_under=self._endpoints_under,
        )
        self._lifecycle = BrokerLifecycle(metadata, controller)
        self._topic_creator = AutoTopicCreation(metadata, controller)
        return ControlledBy(
            metadata=metadata,
            controller=controller,
            topic_creator=self._topic_creator,
            producer_ids=ProducerIds(metadata, controller),
            reports=OwnReports(metadata, controller),
        )

    def register(self, log_dirs: LogDirectories, now_ms: int) -> None:
        """Registers, elects, and creates the offsets topic, so that it is ready before the first group."""
        metadata = self._metadata
        self._lifecycle.start(
            self._advertised(),
            now_ms,
            directory_ids=[directory.directory_id for directory in log_dirs.online],
            clean_epoch=log_dirs.previous_broker_epoch,
            cordoned=log_dirs.cordoned_ids,
            lies_in=log_dirs.replicas(LocalReplicas(metadata.image, metadata.node_id).topic_id),
        )
        try:
            self._topic_creator.ensure(OFFSETS_TOPIC, now_ms)
        except KafkaError:  # as at Kafka, the broker serves what needs no group, and FindCoordinator tries again
            logger.warning(
                "Consumer groups can't begin until %s can be created. This broker is alone: set %s to 1",
                OFFSETS_TOPIC,
                "offsets.topic.replication.factor",
            )

    def _advertised(self) -> Sequence[Endpoint]:
        """The addresses for clients: of the dynamic ``advertised.listeners``, if one is set and still fits."""
        metadata = self._metadata
        text = metadata.image.broker_configs(metadata.node_id).get(ADVERTISED)
        try:
            return self._endpoints_under(text)
        except KafkaError as misfit:
            logger.warning("the dynamic config %s=%s is not used: %s", ADVERTISED, text, misfit.message)
            return self._endpoints

    def _endpoints_under(self, advertised: str | None) -> Sequence[Endpoint]:
        """``Controller.endpoints_under``."""
        if advertised is None:
            return self._endpoints
        try:
            return endpoints_of(self._config.advertising(advertised), self._bound)
        except (ConfigError, BindError) as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, " ".join(str(error).splitlines())) from error

    def assign(self, lies_in: Mapping[Replica, bytes], now_ms: int) -> None:
        """Records that replicas have moved to other directories. Raises KafkaError."""
        metadata = self._metadata
        metadata.commit(assignment_records(metadata.image, metadata.node_id, lies_in), now_ms)

    def metrics(self) -> "Sequence[MetricsSource]":
        """The metrics of the broker's state, which is RUNNING from the first metrics to the last, and of the
        controller."""
        return [
            controller_metrics.BrokerStateMetric(lambda: BrokerState.RUNNING),
            controller_metrics.ControllerMetrics(lambda: self._metadata.image),
        ]

    async def close(self, now_ms: int) -> None:
        """Writes the records of a stop."""
        self._lifecycle.stop(now_ms)


def _has_logger(name: str) -> bool:
    return loggers.has_logger(name)
