"""Assigns producer ids from blocks that are reserved in the metadata.

Shell. Owns: the current block. Never does: writing records itself. Invariant: no id is assigned twice, even after a
crash, because a block is in the metadata log before its first id is used. Source: ProducerIdManager.
"""

from ..publisher.controller_link import ProducerIdSource
from ..publisher.service import MetadataService
from .controller import Controller
from .registration import producer_id_block


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
