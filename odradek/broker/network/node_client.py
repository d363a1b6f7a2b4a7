"""A connection that this broker opens to another node: a controller, or another broker.

Shell. Owns: one connection, when to log in there. Never does: retries, knowing who leads, messages (``Exchange`` does).
Invariants: only the login is sent before it is accepted; a request that times out or is cancelled closes the
connection, since its answer would be taken for the next one's; a response is never larger than its limit. Each step
(the connection with TLS, the versions, each message of the login, the request) has the time limit for itself, so a node
that is slow but answers can be reached. Source: Kafka's NetworkClient with
``max.in.flight.requests.per.connection=1``, as InterBrokerSendThread uses it: there, too, a request's time begins when
it is sent.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from odradek.protocol.errors import LoginRefusedError, ProtocolError
from odradek.protocol.exchange import NoCommonVersionError
from odradek.protocol.messages.structure import Message

from ..timers.work import KindOfWork
from .node_connection import Event, NodeConnection

if TYPE_CHECKING:
    import ssl

    from odradek.protocol.security.login_mechanisms import ClientLogin

logger = logging.getLogger(__name__)


class NodeSecurity(NamedTuple):
    """How this broker connects to the nodes of one listener. Each connection asks for both anew.

    ``tls`` returns the context of a connection, None without TLS. ``login`` begins a login, None without SASL; it
    raises TokenError or MechanismError, which are ValueErrors, if it gets no token.
    """

    tls: "Callable[[], ssl.SSLContext] | None" = None
    login: "Callable[[], Awaitable[ClientLogin]] | None" = None


PLAINTEXT = NodeSecurity()


Response = TypeVar("Response", bound=Message)
Result = TypeVar("Result")

SECURITY = KindOfWork("node-security", "reads key stores and passwords for connections to other nodes")

LOGIN_PAUSE_S = 1.0
"""The pause after a refused login. The other node delays its refusals, too."""


class NodeUnavailableError(Exception):
    """The other node can't be reached, closed the connection, did not answer in time, or lacks a version."""


class NodeSilentError(NodeUnavailableError):
    """The other node did not answer in time: perhaps it hangs."""


class NodeAnswerError(NodeUnavailableError):
    """The other node's answer can't be decoded, or is not one to the request."""


class NodeLoginError(NodeUnavailableError):
    """The other node refuses this broker's login, or this broker gets no token for it."""


class NodeClient:
    """One connection, opened when it is first needed; after an error the next request opens a new one."""

    def __init__(self, host: str, port: int, client_id: str, security: NodeSecurity = PLAINTEXT) -> None:
        self.host = host
        self.port = port
        self.versions: dict[int, tuple[int, int]] = {}
        """API key -> lowest and highest version that the node serves; empty before the first connection."""
        self._client_id = client_id
        self._connection: NodeConnection | None = None
        self._security = security
        self._refused: tuple[float, str] | None = None
        """After a refusal: the time until which no login is tried, by the loop's clock, and the reason."""

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"

    @property
    def renew_at_s(self) -> float | None:
        """When to log in again, by the loop's clock; None if the session does not end."""
        return None if self._connection is None else self._connection.exchange.renew_at_s

    async def send(
        self, request: Message, response_type: type[Response], timeout_s: float, max_version: int | None = None
    ) -> Response:
        """Sends one request in the highest version that both nodes know, at most ``max_version``. Returns the response.

        ``timeout_s``: for each step, see the module. Raises NodeUnavailableError.
        """

        async def exchange() -> Any:
            connection = self._usable()
            if connection is None:
                connection = await self._open(timeout_s)
            elif connection.exchange.is_renewal_due(asyncio.get_running_loop().time()):
                await self._log_in(connection, timeout_s)
            return await connection.outcome(self._request(connection, request, response_type, max_version), timeout_s)

        connection = self._usable()
        if connection is None or self.renew_at_s is not None:
            work = exchange()
        else:  # as of a follower's fetch
            work = connection.outcome(self._request(connection, request, response_type, max_version), timeout_s)
        response: Response = await self._judged(timeout_s, work)
        return response

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`send_at_once` can be called: it is connected, and its login does not expire."""
        return self.renew_at_s is None and self._usable() is not None

    def send_at_once(
        self,
        request: Message,
        response_type: type[Response],
        timeout_s: float,
        answered: Callable[[Response | NodeUnavailableError], None],
    ) -> None:
        """As :meth:`send`, without a task. ``answered`` is called once, after this call has returned, unless
        :meth:`close` comes first. Needs :attr:`is_ready`.

        A task takes 20 us more for each request, with the turn of the event loop in which it continues. Raises
        NodeUnavailableError.
        """
        connection = self._connection
        assert connection is not None
        event = self._request(connection, request, response_type, None)

        def take(outcome: Response | Exception) -> None:
            if not isinstance(outcome, Exception):
                answered(outcome)
            elif connection is self._connection:  # otherwise the caller has closed it, and expects no answer
                answered(self._failed(outcome, timeout_s))

        connection.begin(event, take, timeout_s)

    async def connect(self, timeout_s: float) -> None:
        """Opens the connection, if there is none, and learns the node's versions. ``timeout_s``: for each step, see the
        module. Raises NodeUnavailableError."""
        if self._usable() is None:
            await self._judged(timeout_s, self._open(timeout_s))

    def _usable(self) -> NodeConnection | None:
        """The connection, unless the other node has reset it: uvloop refuses a write to a closed one."""
        if self._connection is not None and not self._connection.is_open:
            self.close()
        return self._connection

    async def _judged(self, timeout_s: float, work: Coroutine[None, None, Result]) -> Result:
        """Awaits work on the connection, and closes the connection if that fails. Raises NodeUnavailableError."""
        try:
            return await work
        except (OSError, EOFError, ProtocolError, NoCommonVersionError) as error:
            raise self._failed(error, timeout_s) from error
        except BaseException:  # cancelled, or a bug: the answer to a request in flight may still arrive
            self.close()
            raise

    def _failed(self, error: Exception, timeout_s: float) -> NodeUnavailableError:
        """Closes the connection. Returns the error for the caller."""
        self.close()
        if isinstance(error, TimeoutError):
            return NodeSilentError(f"{self.address} did not answer within {timeout_s:.1f} s")
        if isinstance(error, NoCommonVersionError):
            return self._no_version(error)
        if isinstance(error, (OSError, EOFError)):
            return NodeUnavailableError(f"{self.address}: {error or type(error).__name__}")
        reason = error if isinstance(error, ProtocolError) else f"it can't be decoded: {error!r}"
        return NodeAnswerError(f"{self.address} sent no answer of Kafka's protocol: {reason}")

    def _no_version(self, error: NoCommonVersionError) -> NodeUnavailableError:
        return NodeUnavailableError(f"{self.address} supports no version of {error.request} that this broker supports")

    def close(self) -> None:
        """Closes the connection; harmless if there is none."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    async def _open(self, timeout_s: float) -> NodeConnection:
        """Connects, asks for versions, as Kafka's clients do first, and logs in. ``timeout_s``: for each step."""
        loop = asyncio.get_running_loop()
        if self._refused is not None and loop.time() < self._refused[0]:
            raise NodeLoginError(self._refused[1])
        # On a thread: a key store that has changed is read again.
        tls = None if self._security.tls is None else await SECURITY.awaited_on_thread(self._security.tls)
        make = partial(NodeConnection, self._client_id, has_login=self._security.login is not None)
        name = None if tls is None else self.host
        try:
            async with asyncio.timeout(timeout_s):
                _, connection = await loop.create_connection(make, self.host, self.port, ssl=tls, server_hostname=name)
        except ValueError as error:  # controllers register a broker with any text as its host
            raise NodeUnavailableError(f"{self.host!r} is not a host name: {error}") from error
        self._connection = connection
        await connection.outcome(connection.exchange.negotiate, timeout_s)
        self.versions = connection.exchange.versions
        if self._security.login is not None:
            await self._log_in(connection, timeout_s)
        return connection

    async def _log_in(self, connection: NodeConnection, timeout_s: float) -> None:
        """Logs in, or renews the session. ``timeout_s``: for each step; getting a token is one. Raises NodeLoginError,
        after which no login is tried for LOGIN_PAUSE_S."""
        assert self._security.login is not None
        try:
            async with asyncio.timeout(timeout_s):
                login = await self._security.login()
        except ValueError as problem:
            raise self._no_login(f"{self.address}: {problem}") from None
        try:
            event = partial(connection.exchange.log_in, login, self.address, random.random())
            await connection.outcome(event, timeout_s)
        except LoginRefusedError as refusal:
            raise self._no_login(str(refusal)) from None

    def _no_login(self, why: str) -> NodeLoginError:
        self.close()
        self._refused = asyncio.get_running_loop().time() + LOGIN_PAUSE_S, why
        return NodeLoginError(why)

    def _request(
        self, connection: NodeConnection, request: Message, response_type: type[Message], max_version: int | None
    ) -> Event:
        """The event of the exchange that sends a request. Raises NodeUnavailableError if no version is served."""
        try:
            version = connection.exchange.version_for(type(request), max_version)
        except NoCommonVersionError as error:
            raise self._no_version(error) from None
        return partial(connection.exchange.request, request, version, response_type)


def client_at(
    client: NodeClient | None, host: str, port: int, client_id: str, security: NodeSecurity = PLAINTEXT
) -> NodeClient:
    """Returns ``client`` if it connects to this address. Otherwise closes it and returns a new one."""
    if client is not None:
        if (client.host, client.port) == (host, port):
            return client
        client.close()
    return NodeClient(host, port, client_id, security)
