"""A client's access to the cluster: bootstrap, metadata refreshes, one connection for each broker and purpose.

Owns: connections, the metadata cache and its age. Never does: records, groups. Each producer, consumer and admin client
has one ``Cluster``. A client may open several connections to a broker, one for each purpose: a broker answers the
requests of a connection in order, so a waiting Fetch or JoinGroup would delay all requests after it.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse

from ..errors import (
    AuthenticationError,
    BrokerConnectionError,
    ClientError,
    ClosedError,
    ConfigurationError,
    NoBrokersAvailableError,
    broker_error,
)
from .connection import BrokerConnection, address_of, parse_address
from .metadata import BrokerAddress, ClusterMetadata, TopicMetadata, topics_of

with lazy_imports:
    from ..security import secured

if TYPE_CHECKING:
    from ..security.secured import ConnectionSecurity

logger = logging.getLogger(__name__)

_BOOTSTRAP = -1
ALLOW_AUTO_CREATION_SINCE = 4
NO_TOPIC_FOR_US = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.INVALID_TOPIC_EXCEPTION)
"""Errors of a topic that asking again does not change."""


def parse_bootstrap_servers(bootstrap_servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """Parses ``host:port,host:port`` or a sequence of ``host:port``. Raises ConfigurationError."""
    texts = bootstrap_servers.split(",") if isinstance(bootstrap_servers, str) else list(bootstrap_servers)
    try:
        addresses = [parse_address(text) for text in texts if text.strip()]
    except ValueError as error:
        raise ConfigurationError(f"bootstrap_servers: {error}") from None
    if not addresses:
        raise ConfigurationError("bootstrap_servers is empty; give at least one host:port")
    return addresses


class ClusterTimes(NamedTuple):
    """The times of a client's connections and metadata, in ms, with the names and defaults of Kafka's keys."""

    request_timeout_ms: float = 30_000
    connection_timeout_ms: float = 10_000
    """``socket.connection.setup.timeout.ms``."""
    retry_backoff_ms: float = 100
    retry_backoff_max_ms: float = 1_000
    metadata_max_age_ms: float = 300_000


DEFAULT_TIMES = ClusterTimes()


class Cluster:
    """Connections and metadata of one client."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        client_id: str | None,
        times: ClusterTimes = DEFAULT_TIMES,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        security: "ConnectionSecurity | Mapping[str, str] | None" = None,
    ) -> None:
        """Raises ConfigurationError. ``send_buffer_bytes`` and ``receive_buffer_bytes`` are the sizes of each socket's
        buffers; -1 is the system's default. ``security``: Kafka's ``security.*``, ``ssl.*`` and ``sasl.*`` properties.
        """
        self._bootstrap = parse_bootstrap_servers(bootstrap_servers)
        self._client_id = client_id
        self._times = times
        self._send_buffer_bytes, self._receive_buffer_bytes = send_buffer_bytes, receive_buffer_bytes
        self._connections: dict[tuple[int, str], BrokerConnection] = {}
        self._opening: dict[tuple[int, str], asyncio.Task[BrokerConnection]] = {}
        self._judged: set[tuple[str, int]] = set()
        """Addresses that were reached once, or whose failure was logged."""
        self._refreshed_at = float("-inf")
        self._refresh_lock = asyncio.Lock()
        self._chance = random.Random()
        self._closed = False
        self._secured = None if security is None else _secured(security)
        self.refusal: AuthenticationError | None = None
        """The authentication error of this client. Once it is set, the client opens no connection."""
        self.on_refusal: list[Callable[[], None]] = []
        """Callbacks for the first authentication error."""
        self.metadata = ClusterMetadata()
        self.wanted_topics: set[str] = set()
        """Topics that every refresh requests, in addition to those passed to it."""

    async def start(self, topics: Iterable[str] = ()) -> None:
        """Connects to one bootstrap server and gets the list of brokers, and these topics. Raises
        NoBrokersAvailableError.
        """
        await self.refresh(topics)

    async def close(self) -> None:
        """Closes all connections."""
        self._closed = True
        opening = list(self._opening.values())
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def backoff_s(self, attempts: int) -> float:
        """The seconds to wait before the next attempt: doubled each time, with 20 % jitter (KIP-580)."""
        bounded = min(self._times.retry_backoff_ms * (1 << min(attempts, 20)), self._times.retry_backoff_max_ms)
        jitter: float = self._chance.uniform(0.8, 1.2)
        return bounded * jitter / 1000

    async def back_off(self, error: Exception, attempts: int, deadline: float) -> None:
        """Waits before the next attempt. Raises ``error`` if the wait would end after ``deadline`` (loop time, s)."""
        delay_s = self.backoff_s(attempts)
        if asyncio.get_running_loop().time() + delay_s >= deadline:
            raise error
        await asyncio.sleep(delay_s)

    # Connections

    @property
    def metadata_max_age_s(self) -> float:
        """``metadata_max_age_ms`` in seconds."""
        return self._times.metadata_max_age_ms / 1000

    async def connection(self, node_id: int, purpose: str = "") -> BrokerConnection:
        """The connection to a broker for a purpose; opens it if needed. Raises BrokerConnectionError, KafkaError."""
        broker = self.metadata.brokers.get(node_id)
        if broker is None:
            raise broker_error(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} is not in the cluster's metadata")
        return await self._connection((node_id, purpose), broker.host, broker.port)

    def open_connection(self, node_id: int, purpose: str = "") -> BrokerConnection | None:
        """The connection to a broker for a purpose if it is open already, otherwise None."""
        connection = self._connections.get((node_id, purpose))
        return connection if connection is not None and connection.is_open else None

    def raise_refusal(self) -> None:
        """Raises AuthenticationError if the brokers refuse this client."""
        if self.refusal is not None:
            raise AuthenticationError(str(self.refusal))

    def _refuse(self, error: AuthenticationError) -> None:
        if self.refusal is None:
            self.refusal = error
            for callback in self.on_refusal:
                callback()

    async def _connection(self, key: tuple[int, str], host: str, port: int) -> BrokerConnection:
        if self._closed:
            raise ClosedError("the client is closed")
        connection = self._connections.get(key)
        self.raise_refusal()
        if connection is not None and connection.is_open and (connection.host, connection.port) == (host, port):
            return connection
        if (bootstrap := self._take_over_bootstrap(key, host, port)) is not None:
            return bootstrap
        task = self._opening.get(key)
        if task is None:
            task = asyncio.ensure_future(self._open(key, host, port))
            self._opening[key] = task
            task.add_done_callback(lambda _: self._opening.pop(key, None))
        return await asyncio.shield(task)

    def _take_over_bootstrap(self, key: tuple[int, str], host: str, port: int) -> BrokerConnection | None:
        """An open connection to a bootstrap server that has the broker's address, which is the broker's from now on.

        As in librdkafka. Java opens another one.
        """
        node_id, purpose = key
        if purpose or node_id < 0:
            return None
        for other, connection in self._connections.items():
            if other[0] < 0 and connection.is_open and (connection.host, connection.port) == (host, port):
                del self._connections[other]
                self._connections[key] = connection
                return connection
        return None

    async def _open(self, key: tuple[int, str], host: str, port: int) -> BrokerConnection:
        try:
            connection = await BrokerConnection.open(
                host,
                port,
                client_id=self._client_id,
                request_timeout_ms=self._times.request_timeout_ms,
                connection_timeout_ms=self._times.connection_timeout_ms,
                send_buffer_bytes=self._send_buffer_bytes,
                receive_buffer_bytes=self._receive_buffer_bytes,
                secured=self._secured,
            )
        except AuthenticationError as error:
            self._refuse(error)
            raise
        except BrokerConnectionError as error:
            self._warn_of_advertised(key[0], host, port, error)
            raise
        self._judged.add((host, port))
        connection.on_refusal = self._refuse
        old = self._connections.get(key)
        if old is not None:
            old.close()
        self._connections[key] = connection
        return connection

    def _warn_of_advertised(self, node_id: int, host: str, port: int, error: BrokerConnectionError) -> None:
        """Logs, once for each address, that a broker advertises one that this client has never reached.

        Otherwise a client with a bootstrap address that works would only retry, without saying why.
        """
        if node_id >= 0 and (host, port) not in self._judged:
            self._judged.add((host, port))
            logger.warning(
                "broker %d can't be reached at the address that it advertises, %s: %s. If it runs, set its"
                " advertised.listeners to an address that this client can reach",
                node_id,
                address_of(host, port),
                error,
            )

    async def any_connection(self) -> BrokerConnection:
        """A connection to any broker: an open one, otherwise a new one to a known broker or a bootstrap server.

        Raises NoBrokersAvailableError with the reason for each address that was tried; AuthenticationError at the
        first broker that refuses the client.
        """
        for (_, purpose), connection in self._connections.items():
            if connection.is_open and not purpose:
                return connection
        reasons: dict[str, str] = {}
        known = list(self.metadata.brokers.values())
        self._chance.shuffle(known)
        candidates = [((b.node_id, ""), b.host, b.port) for b in known]
        candidates += [((_BOOTSTRAP - i, ""), host, port) for i, (host, port) in enumerate(self._bootstrap)]
        for key, host, port in candidates:
            if address_of(host, port) in reasons:
                continue
            try:
                return await self._connection(key, host, port)
            except (ClosedError, AuthenticationError):
                raise
            except ClientError as error:
                reasons[address_of(host, port)] = str(error)
        raise NoBrokersAvailableError(
            f"no broker answers at {', '.join(reasons)}: {'; '.join(reasons.values()).rstrip('?')}. "
            "Is the broker running, and is the address right as seen from here?"
        )

    # Metadata

    async def request_metadata(self, topics: Collection[str] | None, *, auto_create: bool = False) -> MetadataResponse:
        """Sends a Metadata request to any broker: for all topics (None), no topics (empty) or these topics."""
        request = MetadataRequest(
            topics=None if topics is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in topics],
            allow_auto_topic_creation=auto_create,
        )
        connection = await self.any_connection()
        if connection.version_for(MetadataRequest) < ALLOW_AUTO_CREATION_SINCE:
            request.allow_auto_topic_creation = True  # these versions always create topics
        return await connection.call(request, MetadataResponse)

    async def refresh(self, topics: Iterable[str] | None = (), *, auto_create: bool = False) -> None:
        """Updates the cached metadata: brokers, and ``wanted_topics`` with ``topics``, or all topics (None)."""
        async with self._refresh_lock:
            asked = None if topics is None else self.wanted_topics.union(topics)
            response = await self.request_metadata(asked, auto_create=auto_create)
            self.metadata.update(response, asked)
            self._refreshed_at = asyncio.get_running_loop().time()

    @property
    def is_stale(self) -> bool:
        """Whether the metadata is older than ``metadata_max_age_ms``."""
        return asyncio.get_running_loop().time() - self._refreshed_at > self._times.metadata_max_age_ms / 1000

    async def topic(self, name: str, *, auto_create: bool = False, timeout_ms: float = 60_000) -> TopicMetadata:
        """A topic with its partitions, from the cache or from the brokers.

        If the topic does not exist, asks again until ``timeout_ms`` is over, then raises UNKNOWN_TOPIC_OR_PARTITION.
        Errors that are not retriable are raised at once: INVALID_TOPIC_EXCEPTION, TOPIC_AUTHORIZATION_FAILED,
        NoBrokersAvailableError.
        """
        known = self.metadata.topics.get(name)
        if known is not None and not known.error_code and known.partitions and not self.is_stale:
            return known
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        attempts = 0
        while True:
            await self.refresh([name], auto_create=auto_create)
            known = self.metadata.topics.get(name)
            code = known.error_code if known is not None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if known is not None and not code and known.partitions:
                return known
            error = broker_error(code or ErrorCode.LEADER_NOT_AVAILABLE, f"topic '{name}'")
            if not error.error_code.retriable:
                raise error
            delay_s = self.backoff_s(attempts)
            if asyncio.get_running_loop().time() + delay_s >= deadline:
                raise error
            await asyncio.sleep(delay_s)
            attempts += 1

    async def list_topics(self) -> list[TopicMetadata]:
        """All topics of the cluster. The cached metadata stays unchanged."""
        return topics_of(await self.request_metadata(None))

    async def leader(self, topic: str, partition: int, *, timeout_ms: float = 30_000) -> int:
        """The node id of a partition's leader. Waits up to ``timeout_ms`` for an election, then raises KafkaError.

        Raises it at once for a topic that this user may not see, or with an invalid name.
        """
        deadline = asyncio.get_running_loop().time() + timeout_ms / 1000
        attempts = 0
        while True:
            found = self.metadata.leader(topic, partition)
            if found is not None:
                return found.leader
            await self.refresh([topic])
            if (found := self.metadata.leader(topic, partition)) is not None:
                return found.leader
            known = self.metadata.topics.get(topic)
            if known is not None and known.error_code in NO_TOPIC_FOR_US:
                raise broker_error(known.error_code, f"{topic}-{partition}")
            unknown = known is None or known.error_code or partition not in known.partitions
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if unknown else ErrorCode.LEADER_NOT_AVAILABLE
            delay_s = self.backoff_s(attempts)
            if asyncio.get_running_loop().time() + delay_s >= deadline:
                raise broker_error(code, f"{topic}-{partition}")
            await asyncio.sleep(delay_s)
            attempts += 1

    async def controller(self) -> BrokerConnection:
        """A connection to the controller that Metadata named, or to any broker (brokers forward to the controller)."""
        controller_id = self.metadata.controller_id
        if controller_id in self.metadata.brokers:
            return await self.connection(controller_id)
        return await self.any_connection()

    async def controller_or_any(self) -> BrokerConnection:
        """As :meth:`controller`; a connection to another broker if the named one can't be reached. It may be dead: the
        controllers name it in the metadata until its session has ended."""
        try:
            return await self.controller()
        except BrokerConnectionError:
            return await self.any_connection()

    def learn_broker(self, node_id: int, host: str, port: int) -> None:
        """Adds a broker from a FindCoordinator response, unless the metadata has it. The next Metadata replaces it."""
        self.metadata.learn_broker(BrokerAddress(node_id, host, port))


def _secured(security: "ConnectionSecurity | Mapping[str, str]") -> "ConnectionSecurity | None":
    """Converts the properties. The import is here because most clients use no security."""
    return security if isinstance(security, secured.ConnectionSecurity) else secured.secured_of(security)
