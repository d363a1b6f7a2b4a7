"""Reports failed and cordoned log directories to this broker's own controller, which writes metadata records.

Shell. Source: ClusterControlManager.
"""

import logging
from collections.abc import Sequence

from odradek.protocol.errors import KafkaError

from ..publisher.controller_link import BrokerReports
from ..publisher.service import MetadataService
from .controller import Controller
from .directories import cordoned_records, offline_records

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
