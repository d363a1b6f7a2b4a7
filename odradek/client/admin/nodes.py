"""The admin client's part for the nodes of a cluster: addresses, API versions, unregistering a node.

Source: ``Admin.describeCluster``, ``Admin.unregisterBroker``, ``Admin.unregisterController``,
``BrokerApiVersionsCommand``; KIP-700, KIP-1073.
"""

from typing import NamedTuple

from odradek.protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.messages.quorum import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)

from ..cluster.metadata import BrokerAddress
from ..errors import broker_error
from .base import AdminBase


class NodeDescription(NamedTuple):
    """A node's address and state; controllers are never fenced."""

    address: BrokerAddress
    is_fenced: bool


class NodeAdmin(AdminBase):
    """Calls about nodes; part of Admin."""

    async def describe_nodes(self, *, include_fenced_brokers: bool = False) -> list[NodeDescription]:
        """The brokers, or the controllers if the client was given ``bootstrap_controllers``. Raises KafkaError."""
        connection = await self._cluster.any_connection()
        request = DescribeClusterRequest(
            endpoint_type=self._endpoint_type, include_fenced_brokers=include_fenced_brokers
        )
        response = await connection.call(request, DescribeClusterResponse)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeCluster", response.error_message)
        return [
            NodeDescription(BrokerAddress(broker.broker_id, broker.host, broker.port, broker.rack), broker.is_fenced)
            for broker in response.brokers
        ]

    async def unregister_broker(self, broker_id: int) -> None:
        """Removes the registration of a stopped broker. Raises KafkaError, UnsupportedVersionError."""
        response = await self._controller_call(UnregisterBrokerRequest(broker_id), UnregisterBrokerResponse)
        if response.error_code:
            raise broker_error(response.error_code, f"broker {broker_id}", response.error_message)

    async def unregister_controller(self, controller_id: int) -> None:
        """Removes the registration of a controller that has gone. Raises KafkaError, UnsupportedVersionError."""
        request = UnregisterControllerRequest(controller_id)
        response = await self._controller_call(request, UnregisterControllerResponse)
        if response.error_code:
            raise broker_error(response.error_code, f"controller {controller_id}", response.error_message)

    async def api_versions(self, node_id: int) -> dict[int, tuple[int, int]]:
        """API key -> lowest and highest version that a node announces. Raises BrokerConnectionError, KafkaError."""
        return (await self._cluster.connection(node_id)).versions
