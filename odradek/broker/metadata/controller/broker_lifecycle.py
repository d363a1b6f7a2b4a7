"""Registers this broker and elects leaders at its start, and fences it at its stop, as its controller decides.

Shell. Owns: the order of the records of a start and of a stop, and the broker epoch. Never does: writing records
itself, changing the image. Invariant: when :meth:`BrokerLifecycle.start` returns, leaders and their epochs are final.
Source: Kafka's BrokerLifecycleManager, ClusterControlManager and QuorumController.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.structure import Message

from ...config.server_config import ServerConfig
from ..image.features import (
    DIRECTORY_ASSIGNMENT_SUPPORTED,
    FORMER_METADATA_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    no_way_back,
)
from ..image.image import Endpoint, Replica
from ..publisher.service import MetadataService
from .controller import Controller
from .directories import assignment_records, cordoned_records
from .elections import elect_at_start
from .registration import abort_record, bootstrap_records, registration_records, stop_records

logger = logging.getLogger(__name__)


class BrokerLifecycle:
    """Writes the metadata records of this broker's start and stop."""

    def __init__(self, metadata: MetadataService, controller: Controller) -> None:
        self._metadata = metadata
        self._controller = controller
        self.broker_epoch = -1
        """The offset of this broker's RegisterBroker record; -1 before :meth:`start`."""

    def start(
        self,
        endpoints: Sequence[Endpoint],
        now_ms: int,
        *,
        directory_ids: Sequence[bytes],
        clean_epoch: int,
        cordoned: Sequence[bytes] = (),
        lies_in: Mapping[Replica, bytes] = MappingProxyType({}),
    ) -> None:
        """Becomes the leader of the metadata log in a new epoch, registers this broker with these endpoints, unfences
        it, and elects partition leaders. Raises KafkaError.

        ``directory_ids``: the online directories. ``clean_epoch``: the broker epoch in the markers of the clean stop;
        -1 without one. ``cordoned``: the directories that take no new partitions. ``lies_in``: the directory in which
        each partition was found.
        """
        metadata, controller = self._metadata, self._controller
        previous = metadata.image.brokers.get(metadata.node_id)
        clean = previous is None or previous.epoch == clean_epoch
        metadata.log.become_leader(metadata.node_id, now_ms)
        if metadata.log.has_open_transaction:
            metadata.commit([abort_record()], now_ms)
        is_new = _bootstrap(metadata, controller.config, now_ms)
        _log_levels(metadata.image.features, is_new=is_new)
        self.broker_epoch = metadata.log.log_end_offset
        if metadata.image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
            directory_ids = ()  # before KIP-858 a registration had none
        metadata.commit(registration_records(controller, endpoints, directory_ids, self.broker_epoch), now_ms)
        metadata.commit(cordoned_records(metadata.image, controller, cordoned), now_ms)
        metadata.commit(assignment_records(metadata.image, metadata.node_id, lies_in), now_ms)
        metadata.commit(elect_at_start(metadata.image, controller, clean=clean), now_ms)

    def stop(self, now_ms: int) -> None:
        """Fences this broker, so that the next start (of Odradek or Kafka) need not wait for a session to expire.

        A disk error is logged as a warning, and the stop continues.
        """
        metadata = self._metadata
        try:
            records = stop_records(metadata.image, self._controller)
            if records:
                metadata.write(records, now_ms)
        except KafkaError as error:
            logger.warning(
                "could not fence this broker in the metadata. If Apache Kafka starts on this directory next, it waits"
                " until the broker's session has expired: %s",
                error,
            )
        metadata.write_snapshot_at_stop(now_ms)


def seed_metadata(
    metadata: MetadataService,
    config: ServerConfig,
    records_for: Callable[[int], Sequence[Message]],
    now_ms: int,
) -> None:
    """Writes the first records of a metadata log. The next start registers the broker.

    ``records_for`` is called with the finalised metadata.version. Its records are written after the feature levels.
    Raises KafkaError.
    """
    metadata.log.become_leader(metadata.node_id, now_ms)
    _bootstrap(metadata, config, now_ms)
    metadata.commit(records_for(metadata.image.metadata_version), now_ms)


def _log_levels(levels: Mapping[str, int], *, is_new: bool) -> None:
    """Logs finalised levels that restrict what the directory can be used for. ``is_new``: they are this start's."""
    level = levels[METADATA_VERSION]
    if is_new and level > FORMER_METADATA_VERSION:
        logger.info("%s", no_way_back(level))


def _bootstrap(metadata: MetadataService, config: ServerConfig, now_ms: int) -> bool:
    """Writes the first records of a new cluster, unless it has some. Returns whether it did. Raises KafkaError,
    ConfigError.
    """
    if METADATA_VERSION in metadata.image.features:
        return False
    # Kafka's own format tool stores the chosen levels in the directory.
    records = bootstrap_records(config, metadata.log.bootstrap_records())
    metadata.write(records, now_ms, LATEST_METADATA_VERSION)
    metadata.check_feature_levels()
    return True
