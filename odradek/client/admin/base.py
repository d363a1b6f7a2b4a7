"""The base of all admin clients: their cluster, start and stop, and the choice of the broker for a request.

The admin client is made of one class for each family of requests, so that a command imports only what it needs.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from odradek.protocol.messages.structure import Message, Structure

from ..cluster.cluster import Cluster, ClusterTimes
from ..cluster.connection import BrokerConnection
from ..cluster.metadata import BrokerAddress
from ..errors import AdminError, BrokerConnectionError, broker_error

if TYPE_CHECKING:
    from ..security.secured import ConnectionSecurity

Response = TypeVar("Response", bound=Message)
BROKERS, CONTROLLERS = 1, 2
"""The values of EndpointType in DescribeCluster."""
REFUSALS = {
    BROKERS: {ErrorCode.NOT_CONTROLLER},
    CONTROLLERS: {ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_LEADER_OR_FOLLOWER},
}
"""Endpoint type -> the errors that a node answers if it is not the active controller (``handleNotControllerError``)."""


class ClusterDescription(NamedTuple):
    """The cluster: its id, controller and brokers."""

    cluster_id: str | None
    controller_id: int
    brokers: list[BrokerAddress]


class AdminBase:
    """An asyncio admin client that sends only DescribeCluster; its subclasses add the other requests."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str] = "localhost:9092",
        *,
        bootstrap_controllers: str | Sequence[str] | None = None,
        client_id: str = "odradek-admin",
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        default_api_timeout_ms: float = 60_000,
        retry_backoff_ms: float = 100,
        retry_backoff_max_ms: float = 1_000,
        security: "ConnectionSecurity | Mapping[str, str] | None" = None,
    ) -> None:
        """With ``bootstrap_controllers`` the client connects to controllers instead of brokers (KIP-919)."""
        self._endpoint_type = BROKERS if bootstrap_controllers is None else CONTROLLERS
        self._cluster = Cluster(
            bootstrap_servers if bootstrap_controllers is None else bootstrap_controllers,
            client_id=client_id,
            times=ClusterTimes(request_timeout_ms, connection_timeout_ms, retry_backoff_ms, retry_backoff_max_ms),
            security=security,
        )
        self._timeout_ms = default_api_timeout_ms

    @classmethod
    def beside(cls, other: "AdminBase") -> Self:
        """An admin client of this class that shares the connections of ``other``. Start and stop only ``other``."""
        made = cls.__new__(cls)
        made._cluster, made._timeout_ms = other._cluster, other._timeout_ms
        made._endpoint_type = other._endpoint_type
        return made

    @property
    def cluster(self) -> Cluster:
        """The connections and the metadata, for requests that this client has no method for."""
        return self._cluster

    async def start(self) -> None:
        """Connects to the cluster and learns its nodes. Raises NoBrokersAvailableError."""
        try:
            await self._learn_nodes()
        except BaseException:
            await self._cluster.close()
            raise

    async def stop(self) -> None:
        """Closes all connections."""
        await self._cluster.close()

    async def __aenter__(self) -> Self:
        """Starts."""
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops."""
        await self.stop()

    async def _learn_nodes(self) -> None:
        """Asks for the nodes and the controller: brokers with Metadata, controllers with DescribeCluster.

        Controllers do not serve Metadata.
        """
        if self._endpoint_type == BROKERS:
            await self._cluster.refresh([])
            return
        described = await self.describe_cluster()
        self._cluster.metadata.controller_id = described.controller_id
        self._cluster.metadata.brokers = {node.node_id: node for node in described.brokers}

    async def _controller_call(self, request: Message, response_type: type[Response]) -> Response:
        """Sends a request to the controller that the metadata names. If it is unreachable, refreshes the metadata once,
        then asks any other node. (Brokers forward the request; what they name as the controller is any one of them.)

        A node that stopped being the active controller answers NOT_CONTROLLER. Then the metadata is refreshed and the
        request is sent again, until ``default_api_timeout_ms`` is over.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._timeout_ms / 1000
        attempts = 0
        while True:
            try:
                connection = await self._cluster.controller()
            except BrokerConnectionError:
                await self._learn_nodes()
                connection = await self._cluster.controller_or_any()
            response = await connection.call(request, response_type, timeout_ms=self._timeout_ms)
            delay_s = self._cluster.backoff_s(attempts)
            if not error_codes(response) & REFUSALS[self._endpoint_type] or loop.time() + delay_s >= deadline:
                return response
            await asyncio.sleep(delay_s)
            await self._learn_nodes()
            attempts += 1

    async def _node_or_any(self, node_id: int | None) -> BrokerConnection:
        return await (self._cluster.any_connection() if node_id is None else self._cluster.connection(node_id))

    def _node_of(self, connection: BrokerConnection) -> int:
        """The node id of a connection's broker, -1 if the metadata has no broker at that address."""
        at = (connection.host, connection.port)
        return next((b.node_id for b in self._cluster.metadata.brokers.values() if (b.host, b.port) == at), -1)

    async def describe_cluster(self) -> ClusterDescription:
        """The cluster's id, controller and brokers. A client of controllers gets the controllers in ``brokers``."""
        connection = await self._cluster.any_connection()
        request = DescribeClusterRequest(endpoint_type=self._endpoint_type)
        response = await connection.call(request, DescribeClusterResponse)
        if response.error_code:
            raise broker_error(response.error_code, "DescribeCluster", response.error_message)
        brokers = [BrokerAddress(b.broker_id, b.host, b.port, b.rack) for b in response.brokers]
        return ClusterDescription(response.cluster_id, response.controller_id, brokers)


def error_codes(part: object) -> set[int]:
    """All error codes of a response, including those of its nested parts (``AbstractResponse.errorCounts``)."""
    if isinstance(part, list):
        return set().union(*map(error_codes, part))
    if not isinstance(part, Structure):
        return set()
    codes = {int(getattr(part, name)) for name in part.__slots__ if name == "error_code"}
    return codes.union(*(error_codes(getattr(part, name)) for name in part.__slots__))


Part = TypeVar("Part")
Value = TypeVar("Value")


def split(answers: Iterable[tuple[Part, int, str | None, Value]]) -> tuple[dict[Part, KafkaError], dict[Part, Value]]:
    """Separates answers (part, error code, error message, value) into errors by part and values by part."""
    errors: dict[Part, KafkaError] = {}
    results: dict[Part, Value] = {}
    for part, code, message, value in answers:
        if code:
            errors[part] = broker_error(code, f"'{part}'", message)
        else:
            results[part] = value
    return errors, results


def all_or_raise(errors: Mapping[Part, KafkaError], results: dict[Part, Value]) -> dict[Part, Value]:
    """Returns the results. If there are errors, raises AdminError with the errors and the results."""
    if errors:
        raise AdminError(errors, results)
    return results
