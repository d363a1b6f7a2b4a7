"""A broker's links to its own controller: reports of log directories, and producer ids from blocks that it reserves.

Shell. Never does: writing records itself. Invariant: no id is assigned twice, even after a crash, because a block is
in the metadata log before its first id is used. Source: ClusterControlManager, ProducerIdManager.
"""

import logging
from collections.abc import Sequence

from odradek.protocol.errors import KafkaError

from ..publisher.controller_link import BrokerReports, ProducerIdSource
from ..publisher.service import MetadataService
from .controller import Controller
from .directories import cordoned_records, offline_records
from .registration import producer_id_block

logger = logging.getLogger(__name__)


class OwnReports(BrokerReports):
    """Writes the records after the metadata changes before them. The caller does not wait."""

    def __init__(self, metadata: MetadataService, controller: Controller) -> None:
        self._metadata = metadata
        self._controller = controller

    def directory_failed(self, directory_id: bytes, now_ms: int) -> None:
        """Records that a log directory is offline, so that its partitions have no leader.

        If the records can't be written, the metadata directory fails too, which stops the broker.
        """
        metadata = self._metadata

        def unwritten(error: KafkaError) -> None:
            logger.error("could not write to the metadata that a log directory is offline: %s", error)

        metadata.record(lambda: offline_records(metadata.image, self._controller, directory_id), now_ms, unwritten)

    def cordon(self, directory_ids: Sequence[bytes], now_ms: int) -> None:
        """Records the directories that take no new partitions."""
        metadata = self._metadata

        def unwritten(error: KafkaError) -> None:
            logger.error("could not write cordoned.log.dirs to the metadata: %s", error)

        metadata.record(lambda: cordoned_records(metadata.image, self._controller, directory_ids), now_ms, unwritten)


class ProducerIds(ProducerIdSource):
    """The producer ids of this broker."""

    def __init__(self, metadata: MetadataService, controller: Controller) -> None:
        self._metadata = metadata
        self._controller = controller
        self._block = iter(range(0))

    def next_id(self, now_ms: int) -> int:
        """A new producer id. Reserves a new block if the last one is used up. Raises KafkaError."""
        for producer_id in self._block:
            return producer_id
        block, records = producer_id_block(self._metadata.image, self._controller)
        self._metadata.commit(records, now_ms)
        self._block = iter(block)
        return next(self._block)
