"""A connection that this broker opens to another node: a controller, or another broker.

Shell. Owns: one socket, the versions that the other node announced, the login there, one request in flight. Never does:
retries, knowing who leads. Invariants: only the login is sent before it is accepted; a request that times out or is
cancelled closes the connection, since its answer would be taken for the next one's; a response is never larger than its
limit. Each step (the connection with TLS, the versions, each message of the login, the request) has the time limit for
itself, so a node that is slow but answers can be reached. Source: Kafka's NetworkClient with
``max.in.flight.requests.per.connection=1``, as InterBrokerSendThread uses it: there, too, a request's time begins when
it is sent.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from odradek import __version__
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode, ProtocolError
from odradek.protocol.messages.headers import ResponseHeader
from odradek.protocol.messages.metadata import ApiVersionsRequest, ApiVersionsResponse
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.buffers import Buffer

from ..timers.work import KindOfWork
from .node_connection import NodeConnection

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

HEADER_BYTES = 4
"""The size of the shortest response header, which has only the correlation id."""
SOFTWARE_NAME, SOFTWARE_VERSION = "odradek", __version__
ANY_VERSION = 1 << 15
LOGIN_PAUSE_S = 1.0
"""The pause after a refused login. The other node delays its refusals, too."""
RENEW_AFTER, RENEW_JITTER = 0.85, 0.10
"""A session is renewed after 85 to 95 % of its life (``SaslClientAuthenticator``)."""


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
        self._correlation_id = 0
        self._connection: NodeConnection | None = None
        self._security = security
        self.renew_at_s: float | None = None
        """When to log in again, by the loop's clock; None if the session does not end."""
        self._refused: tuple[float, str] | None = None
        """After a refusal: the time until which no login is tried, by the loop's clock, and the reason."""

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"

    async def send(
        self, request: Message, response_type: type[Response], timeout_s: float, max_version: int = ANY_VERSION
    ) -> Response:
        """Sends one request in the highest version that both nodes know, at most ``max_version``. Returns the response.

        ``timeout_s``: for each step, see the module. Raises NodeUnavailableError.
        """

        async def exchange() -> Response:
            if not self._is_open():
                await self._open(timeout_s)
            elif self.renew_at_s is not None and asyncio.get_running_loop().time() >= self.renew_at_s:
                await self._log_in(timeout_s)
            return await self._exchange(request, self._version(request, max_version), response_type, timeout_s)

        if self.is_ready:  # a follower's fetch comes here
            version = self._version(request, max_version)
            return await self._judged(timeout_s, self._exchange(request, version, response_type, timeout_s))
        return await self._judged(timeout_s, exchange())

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`send_at_once` can be called: it is connected, and its login does not expire."""
        return self.renew_at_s is None and self._is_open()

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
        version = self._version(request, ANY_VERSION)
        encoded = self._encoded(request, version)

        def take(outcome: Buffer | Exception) -> None:
            response: Response | NodeUnavailableError
            try:
                if isinstance(outcome, Exception):
                    raise outcome
                response = self._decoded(request, version, response_type, outcome)
            except (OSError, EOFError, ProtocolError) as error:
                if connection is not self._connection:
                    return  # the caller has closed it, and expects no answer
                response = self._failed(error.with_traceback(None), timeout_s)
            except Exception as error:  # noqa: BLE001 - a bug in decoding: without an answer, the caller waits for ever
                response = self._failed(ProtocolError(f"it can't be decoded: {error!r}"), timeout_s)
            answered(response)

        connection.send(encoded, take, timeout_s)

    async def connect(self, timeout_s: float) -> None:
        """Opens the connection, if there is none, and learns the node's versions. ``timeout_s``: for each step, see the
        module. Raises NodeUnavailableError."""
        if not self._is_open():
            await self._judged(timeout_s, self._open(timeout_s))

    def _is_open(self) -> bool:
        """Whether there is a connection that the other node has not reset; uvloop refuses a write to a closed one."""
        if self._connection is not None and not self._connection.is_open:
            self.close()
        return self._connection is not None

    async def _judged(self, timeout_s: float, work: Coroutine[None, None, Result]) -> Result:
        """Awaits work on the connection, and closes the connection if that fails. Raises NodeUnavailableError."""
        try:
            return await work
        except (OSError, EOFError, ProtocolError) as error:
            raise self._failed(error, timeout_s) from error
        except BaseException:  # cancelled, or a bug: the answer to a request in flight may still arrive
            self.close()
            raise

    def _failed(self, error: OSError | EOFError | ProtocolError, timeout_s: float) -> NodeUnavailableError:
        """Closes the connection. Returns the error for the caller."""
        self.close()
        if isinstance(error, TimeoutError):
            return NodeSilentError(f"{self.address} did not answer within {timeout_s:.1f} s")
        if isinstance(error, ProtocolError):
            return NodeAnswerError(f"{self.address} sent no answer of Kafka's protocol: {error}")
        return NodeUnavailableError(f"{self.address}: {error or type(error).__name__}")

    def close(self) -> None:
        """Closes the connection; harmless if there is none."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    async def _open(self, timeout_s: float) -> None:
        """Connects, asks for versions, as Kafka's clients do first, and logs in. ``timeout_s``: for each step."""
        loop = asyncio.get_running_loop()
        if self._refused is not None and loop.time() < self._refused[0]:
            raise NodeLoginError(self._refused[1])
        # On a thread: a key store that has changed is read again.
        tls = None if self._security.tls is None else await SECURITY.awaited_on_thread(self._security.tls)
        server_hostname = None if tls is None else self.host
        try:
            async with asyncio.timeout(timeout_s):
                _, self._connection = await loop.create_connection(
                    NodeConnection, self.host, self.port, ssl=tls, server_hostname=server_hostname
                )
        except ValueError as error:  # controllers register a broker with any text as its host
            raise NodeUnavailableError(f"{self.host!r} is not a host name: {error}") from error
        request = ApiVersionsRequest(SOFTWARE_NAME, SOFTWARE_VERSION)
        version = ApiVersionsRequest.VERSIONS[1]
        answer = await self._exchange(request, version, ApiVersionsResponse, timeout_s)
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            known = [api.max_version for api in answer.api_keys if api.api_key == ApiVersionsRequest.API_KEY]
            version = min(known[0], version) if known else 0
            answer = await self._exchange(request, version, ApiVersionsResponse, timeout_s)
        if answer.error_code:
            raise ProtocolError(f"ApiVersions was answered with error {answer.error_code}")
        self.versions = {key.api_key: (key.min_version, key.max_version) for key in answer.api_keys}
        if self._security.login is not None:
            await self._log_in(timeout_s)

    async def _log_in(self, timeout_s: float) -> None:
        """Logs in, or renews the session. ``timeout_s``: for each step; getting a token is one. Raises NodeLoginError,
        after which no login is tried for LOGIN_PAUSE_S."""
        from odradek.protocol.security.login_exchange import (  # not without SASL
            RESPONSES,
            LoginRefusedError,
            login_steps,
        )

        assert self._security.login is not None
        now_s = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout(timeout_s):
                mechanism = await self._security.login()
        except ValueError as problem:
            raise self._no_login(f"{self.address}: {problem}") from None
        steps = login_steps(mechanism, self.address)
        request = next(steps)
        while True:
            response_type = RESPONSES[type(request)]
            answer = await self._exchange(request, self._version(request, ANY_VERSION), response_type, timeout_s)
            try:
                request = steps.send(answer)
            except StopIteration as done:
                lifetime_ms = done.value
                break
            except LoginRefusedError as refusal:
                raise self._no_login(str(refusal)) from None
        share = RENEW_AFTER + RENEW_JITTER * random.random()
        self.renew_at_s = now_s() + share * lifetime_ms / 1000 if lifetime_ms > 0 else None

    def _no_login(self, why: str) -> NodeLoginError:
        self.close()
        self._refused = asyncio.get_running_loop().time() + LOGIN_PAUSE_S, why
        return NodeLoginError(why)

    def _version(self, request: Message, max_version: int) -> int:
        lowest, highest = request.VERSIONS
        theirs = self.versions.get(request.API_KEY)
        if theirs is not None:
            version = min(highest, theirs[1], max_version)
            if version >= max(lowest, theirs[0]):
                return version
        raise NodeUnavailableError(f"{self.address} supports no version of {request.NAME} that this broker supports")

    async def _exchange(
        self, request: Message, version: int, response_type: type[Response], timeout_s: float
    ) -> Response:
        """Sends a request and returns the response. Raises TimeoutError, OSError, EOFError, ProtocolError."""
        assert self._connection is not None
        frame = await self._connection.exchange(self._encoded(request, version), timeout_s)
        return self._decoded(request, version, response_type, frame)

    def _encoded(self, request: Message, version: int) -> bytes:
        """The next request as a frame."""
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        return encode_request(request, version, self._correlation_id, self._client_id)

    def _decoded(self, request: Message, version: int, response_type: type[Response], frame: Buffer) -> Response:
        """The answer to the request that was encoded last. Raises ProtocolError."""
        if len(frame) < HEADER_BYTES:
            raise ProtocolError(f"a response of {len(frame)} bytes arrived")
        if response_type is ApiVersionsResponse and version and frame[4:6] == _UNSUPPORTED:
            version = 0  # a node that doesn't know our version answers in the layout of version 0 (KIP-511)
        header, position = decode(ResponseHeader, response_header_version(request.API_KEY, version), frame)
        if header.correlation_id != self._correlation_id:
            raise ProtocolError(f"request {self._correlation_id} got the answer to {header.correlation_id}")
        return decode(response_type, version, frame, position)[0]


def client_at(
    client: NodeClient | None, host: str, port: int, client_id: str, security: NodeSecurity = PLAINTEXT
) -> NodeClient:
    """Returns ``client`` if it connects to this address. Otherwise closes it and returns a new one."""
    if client is not None:
        if (client.host, client.port) == (host, port):
            return client
        client.close()
    return NodeClient(host, port, client_id, security)


_UNSUPPORTED = int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2, "big")
