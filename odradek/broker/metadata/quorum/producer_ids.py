"""Gets producer ids from the controllers, in blocks. Source: RPCProducerIdManager.

Owns: the block in use, and the next one. Invariant: no id is given out twice; the next block is asked for when nine
tenths of this one are used, so that producers wait for the controllers only after a start.
"""

import asyncio
import logging
import time
from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.quorum import AllocateProducerIdsRequest, AllocateProducerIdsResponse

from ...network.node_client import NodeUnavailableError
from ...timers.repeated_complaint import RepeatedComplaint
from ..publisher.controller_link import ProducerIdSource
from .channel import RETRY_MS, ControllerChannel, described

logger = logging.getLogger(__name__)

REQUEST_TIMEOUT_S = 2.0
PREFETCH_AT = 0.9
"""``RPCProducerIdManager.PID_PREFETCH_THRESHOLD``."""


class ProducerIdBlocks(ProducerIdSource):
    """Gives out the producer ids of this broker."""

    def __init__(self, node_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel) -> None:
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._block = range(0)
        self._used = 0
        self._next: range | None = None
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._complaint = RepeatedComplaint("could not get producer ids from the controllers", time.monotonic)

    def next_id(self, now_ms: int) -> int:
        """A producer id that was never given out. Raises KafkaError (COORDINATOR_LOAD_IN_PROGRESS: ask again)."""
        if self._used == len(self._block) and self._next is not None:
            self._block, self._next, self._used = self._next, None, 0
        if self._next is None and self._used >= len(self._block) * PREFETCH_AT:
            self._wanted.set()
        if self._used == len(self._block):
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        self._used += 1
        return self._block[self._used - 1]

    async def run(self) -> None:
        """Asks for a block whenever one is wanted, until it is cancelled."""
        try:
            while True:
                await self._wanted.wait()
                self._next = await self._allocate()
                self._wanted.clear()
        finally:
            self._channel.close()

    async def _allocate(self) -> range:
        while True:
            request = AllocateProducerIdsRequest(self._node_id, self._broker_epoch())
            try:
                response = await self._channel.send(request, AllocateProducerIdsResponse, REQUEST_TIMEOUT_S)
            except NodeUnavailableError as error:
                self._complaint.complain(error)
            else:
                if not response.error_code:
                    self._complaint.resolved()
                    return range(response.producer_id_start, response.producer_id_start + response.producer_id_len)
                self._complaint.complain(described(response.error_code))
            await asyncio.sleep(RETRY_MS / 1000)
