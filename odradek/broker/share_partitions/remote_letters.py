"""Has other brokers append dead letters to partitions that they lead.

Shell. Owns: one connection to each such broker. Never does: retries (:mod:`.dead_letters` does). Source:
``ShareGroupDLQStateManager``, which sends Produce over the inter-broker listener.
"""

import logging
from collections.abc import Callable
from functools import partial

from odradek.protocol.errors import ErrorCode, error_of
from odradek.protocol.messages.produce import ProduceRequest, ProduceResponse

from ..metadata.image.image import MetadataImage
from ..network.broker_client import BrokerClient
from ..network.node_client import NodeSecurity, NodeUnavailableError

logger = logging.getLogger(__name__)

ACKS_ALL = -1


class RemoteLetters:
    """The other brokers of the cluster."""

    def __init__(
        self,
        image: Callable[[], MetadataImage],
        node_id: int,
        listener_name: str,
        security: NodeSecurity,
        timeout_ms: int,
    ) -> None:
        """``listener_name``: the inter-broker listener's. ``timeout_ms``: for one request."""
        self._image = image
        self._node_id = node_id
        self._listener_name = listener_name
        self._security = security
        self._timeout_ms = timeout_ms
        self._clients: dict[int, BrokerClient] = {}

    async def produce(self, broker_id: int, topic: str, index: int, batch: bytes) -> ErrorCode:
        """Has a broker append a batch. Returns the partition's error, or NETWORK_EXCEPTION."""
        client = self._clients.get(broker_id)
        if client is None:
            name = f"broker-{self._node_id}-dead-letters-{broker_id}"
            client = self._clients[broker_id] = BrokerClient(partial(self._address, broker_id), name, self._security)
        placed = self._image().topics_by_name.get(topic)
        if placed is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        data = ProduceRequest.PartitionProduceData(index, batch)
        request = ProduceRequest(
            transactional_id=None,
            acks=ACKS_ALL,
            timeout_ms=self._timeout_ms,
            topic_data=[ProduceRequest.TopicProduceData(name=topic, topic_id=placed.topic_id, partition_data=[data])],
        )
        try:
            response = await client.send(request, ProduceResponse, self._timeout_ms / 1_000)
        except NodeUnavailableError as error:
            logger.info("can't send dead letters to broker %d: %s", broker_id, error)
            return ErrorCode.NETWORK_EXCEPTION
        for answered in response.responses:
            for partition in answered.partition_responses:
                return error_of(partition.error_code)
        return ErrorCode.UNKNOWN_SERVER_ERROR

    def close(self) -> None:
        """Closes the connections."""
        for client in self._clients.values():
            client.close()

    def _address(self, broker_id: int) -> tuple[str, int] | str:
        return self._image().address(broker_id, self._listener_name)
