"""A connection to one broker: the socket I/O for the protocol state in ``exchange.py``.

Owns: the transport, the deadlines of the waiting requests. Never does: metadata, retries. Requests are pipelined:
``send`` writes at once and returns a future, so that requests go out in the order of the calls. A request that times
out closes the connection, because answers come in order and the later ones would be late too (as ``NetworkClient``
does). Large responses are received directly into their own memory.
"""

import asyncio
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.metadata import ApiVersionsResponse
from odradek.protocol.messages.structure import Message

from ..errors import AuthenticationError, BrokerConnectionError, ClientError, RequestTimedOutError
from .exchange import Exchange, PendingRequest

if TYPE_CHECKING:
    from ..security.login import Logins
    from ..security.secured import ConnectionSecurity

Response = TypeVar("Response", bound=Message)


class HeldRequest(NamedTuple):
    """A request that waits until the client has authenticated again. ``future`` is None if no answer will come."""

    request: Message
    version: int
    response_type: type[Message] | None
    future: "asyncio.Future[Any] | None"
    timeout_ms: float


class RequestDeadline(NamedTuple):
    """When a waiting request times out: the event loop's time in seconds."""

    at_s: float
    request_name: str
    timeout_ms: float


class BrokerConnection(asyncio.BufferedProtocol):
    """One open connection with negotiated versions. Get it with ``BrokerConnection.open``."""

    def __init__(self, host: str, port: int, client_id: str | None, request_timeout_ms: float) -> None:
        self.host = host
        self.port = port
        self._exchange = Exchange(client_id)
        self._request_timeout_ms = request_timeout_ms
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._deadlines: dict[int, RequestDeadline] = {}
        """By the correlation id of each waiting request."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_s = 0.0
        self._failure: Exception | None = None
        self._logins: Logins | None = None
        self._renew_at: float | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._held: list[HeldRequest] = []
        self.on_refusal: Callable[[AuthenticationError], None] | None = None
        """Called if the broker refuses a re-authentication, or the client's certificate after the handshake."""

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = "odradek",
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        send_buffer_bytes: int = -1,
        receive_buffer_bytes: int = -1,
        secured: "ConnectionSecurity | None" = None,
    ) -> "BrokerConnection":
        """Connects, negotiates API versions, authenticates. Buffer sizes of -1 are the system's defaults.

        Raises BrokerConnectionError, RequestTimedOutError, AuthenticationError.
        """
        loop = asyncio.get_running_loop()
        tls = None if secured is None else secured.tls
        name = None if tls is None else host
        address = address_of(host, port)
        try:
            async with asyncio.timeout(connection_timeout_ms / 1000):
                transport, connection = await loop.create_connection(
                    lambda: cls(host, port, client_id, request_timeout_ms), host, port, ssl=tls, server_hostname=name
                )
        except TimeoutError:
            raise BrokerConnectionError(
                f"{address} did not accept a connection within {connection_timeout_ms:.0f} ms; "
                "check the address and what filters it"
            ) from None
        except OSError as error:
            if tls is not None:
                raise _tls_error(address, error) from None
            raise BrokerConnectionError(f"cannot connect to {address}: {_reason(error)}") from error
        for option, size in ((socket.SO_SNDBUF, send_buffer_bytes), (socket.SO_RCVBUF, receive_buffer_bytes)):
            if size >= 0:
                transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, option, size)
        try:
            await connection._negotiate(min(connection_timeout_ms, request_timeout_ms))
            if secured is not None and secured.logins is not None:
                connection._logins = secured.logins
                await connection._log_in()
        except BaseException:
            connection.close()
            raise
        return connection

    async def _negotiate(self, timeout_ms: float) -> None:
        request, version = self._exchange.api_versions_request()
        while True:
            response = await self._send(request, version, ApiVersionsResponse, timeout_ms)
            retry = self._exchange.accept_api_versions(version, response)
            if retry is None:
                return
            request, version = self._exchange.api_versions_request(retry)

    async def _log_in(self) -> None:
        """Authenticates with SASL once. Raises AuthenticationError and the errors of ``call``."""
        from odradek.protocol.security.login_exchange import RESPONSES, LoginRefusedError, login_steps

        assert self._logins is not None
        steps = login_steps(await self._logins.mechanism(), self.address)
        request = next(steps)
        while True:
            version = self._exchange.version_for(type(request))
            response_type = RESPONSES[type(request)]
            answer: Message = await self._send_now(request, version, response_type, self._request_timeout_ms)
            try:
                request = steps.send(answer)
            except StopIteration as done:
                renew_after_ms = self._logins.renew_after_ms(done.value)
                break
            except LoginRefusedError as refusal:
                raise AuthenticationError(str(refusal)) from None
        self._renew_at = None if renew_after_ms is None else self._loop.time() + renew_after_ms / 1000

    async def _renew(self) -> None:
        """Re-authenticates (KIP-368), then sends the requests that were held. A failure closes the connection."""
        try:
            await self._log_in()
        except ClientError as error:
            self._fail(error)
            return
        finally:
            self._renewal = None
        held, self._held = self._held, []
        for request, version, response_type, future, timeout_ms in held:
            if response_type is None:
                self._write(request, version)
            elif future is not None and not future.done():
                self._send_now(request, version, response_type, timeout_ms, future)

    def _must_hold(self) -> bool:
        """Whether requests must wait for a re-authentication. Starts one if it is due: only requests start it, as in
        Java."""
        if self._renewal is None and self._renew_at is not None and self._loop.time() >= self._renew_at:
            self._renewal = asyncio.ensure_future(self._renew())
        return self._renewal is not None

    @property
    def address(self) -> str:
        """``host:port``."""
        return address_of(self.host, self.port)

    @property
    def versions(self) -> dict[int, tuple[int, int]]:
        """API key -> lowest and highest version that the broker serves."""
        return self._exchange.versions

    @property
    def finalized_features(self) -> dict[str, int]:
        """The cluster's feature levels at the time when the connection was opened."""
        return self._exchange.finalized_features

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and self._failure is None

    def version_for(self, request_type: type[Message], max_version: int | None = None) -> int:
        """The version that a request of this type would use. Raises UnsupportedVersionError."""
        return self._exchange.version_for(request_type, max_version)

    def send(
        self,
        request: Message,
        response_type: type[Response],
        *,
        timeout_ms: float | None = None,
        max_version: int | None = None,
    ) -> asyncio.Future[Response]:
        """Sends a request at once and returns a future of its response.

        Raises UnsupportedVersionError at once; the future raises BrokerConnectionError, RequestTimedOutError or
        ProtocolError. ``timeout_ms`` defaults to the connection's request timeout.
        """
        version = self._exchange.version_for(type(request), max_version)
        return self._send(request, version, response_type, timeout_ms or self._request_timeout_ms)

    async def call(
        self,
        request: Message,
        response_type: type[Response],
        *,
        timeout_ms: float | None = None,
        max_version: int | None = None,
    ) -> Response:
        """Sends a request and waits for its response; errors as ``send``."""
        return await self.send(request, response_type, timeout_ms=timeout_ms, max_version=max_version)

    def send_without_response(self, request: Message, *, max_version: int | None = None) -> None:
        """Sends a request that the broker does not answer: Produce with acks=0. Raises BrokerConnectionError."""
        version = self._exchange.version_for(type(request), max_version)
        if self._transport is None or self._failure is not None:
            raise self._failure or BrokerConnectionError(f"the connection to {self.address} is closed")
        if self._must_hold():
            self._held.append(HeldRequest(request, version, None, None, 0))
        else:
            self._write(request, version)

    def _write(self, request: Message, version: int) -> None:
        assert self._transport is not None
        _, frame = self._exchange.request(request, version, None)
        self._transport.write(frame)

    def close(self) -> None:
        """Closes the connection; waiting requests fail with BrokerConnectionError."""
        self._fail(BrokerConnectionError(f"the connection to {self.address} was closed"))

    def _send(
        self, request: Message, version: int, response_type: type[Response], timeout_ms: float
    ) -> asyncio.Future[Response]:
        future: asyncio.Future[Response] = self._loop.create_future()
        if self._must_hold() and self._failure is None:
            self._held.append(HeldRequest(request, version, response_type, future, timeout_ms))
            return future
        return self._send_now(request, version, response_type, timeout_ms, future)

    def _send_now(
        self,
        request: Message,
        version: int,
        response_type: type[Response],
        timeout_ms: float,
        future: "asyncio.Future[Response] | None" = None,
    ) -> "asyncio.Future[Response]":
        future = self._loop.create_future() if future is None else future
        if self._transport is None or self._failure is not None:
            future.set_exception(self._failure or BrokerConnectionError(f"{self.address} is not connected"))
            return future
        correlation_id, frame = self._exchange.request(request, version, response_type, future)
        deadline_s = self._loop.time() + timeout_ms / 1000
        self._deadlines[correlation_id] = RequestDeadline(deadline_s, type(request).__name__, timeout_ms)
        if self._timer is None or deadline_s < self._timer_at_s:
            self._watch(deadline_s)
        self._transport.write(frame)
        return future

    def _watch(self, at_s: float) -> None:
        """Sets the one timer of all requests. It is not moved at each answer: if it is early, it only looks."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at_s = at_s
        self._timer = self._loop.call_at(at_s, self._check_deadlines)

    def _check_deadlines(self) -> None:
        self._timer = None
        if not self._deadlines:
            return
        at_s, name, timeout_ms = min(self._deadlines.values())
        if at_s > self._loop.time():
            self._watch(at_s)
            return
        name = name.removesuffix("Request")
        self._fail(RequestTimedOutError(f"{self.address} did not answer {name} within {timeout_ms:.0f} ms"))

    def _fail(self, failure: Exception) -> None:
        """Closes the connection once; every waiting request fails with ``failure``."""
        if self._failure is None:
            self._failure = failure
            if self.on_refusal is not None and isinstance(failure, AuthenticationError):
                self.on_refusal(failure)
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._deadlines.clear()
        held, self._held = self._held, []
        for future in [pending.token for pending in self._exchange.pending] + [request.future for request in held]:
            if future is not None:
                _set_exception(future, self._failure)

    def _lost(self, error: Exception | None, waiting: list[PendingRequest]) -> ClientError:
        """The error for a connection that the broker closed, with its probable reason."""
        if error is not None and type(error).__module__ == "ssl":
            assert isinstance(error, OSError)
            return _tls_error(self.address, error)  # TLS 1.3 refuses a client's certificate after the handshake
        reason = f": {error}" if error else ""
        text = f"{self.address} closed the connection{reason}"
        if waiting and not self._exchange.versions:
            text += "; is it a Kafka broker, and is security.protocol right for this listener?"
        elif waiting:
            text += f" while {waiting[0].request} waited for its answer"
            if self._exchange.answered == 1 and self._logins is None:
                text += "; if the listener requires SASL, set security.protocol"
        return BrokerConnectionError(text)

    # asyncio.BufferedProtocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the event loop after connecting."""
        # uvloop's transports do not inherit from asyncio.Transport.
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, _size_hint: int) -> memoryview:
        """Called by the event loop before it reads: returns where to."""
        return self._exchange.target()

    def buffer_updated(self, count: int) -> None:
        """Called by the event loop with the number of received bytes: each complete response sets its future."""
        try:
            for pending, message in self._exchange.received(count):
                self._deadlines.pop(pending.correlation_id, None)
                future: asyncio.Future[Any] = pending.token
                if not future.done():
                    future.set_result(message)
        except ProtocolError as error:
            self._fail(BrokerConnectionError(f"{self.address}: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop after the socket closed: all waiting requests fail."""
        if self._failure is None:
            waiting = self._exchange.pending
            self._failure = self._lost(exc, waiting)
        self._fail(self._failure)


def _tls_error(address: str, error: OSError) -> ClientError:
    """The error for a failed TLS connection: AuthenticationError for TLS itself, otherwise BrokerConnectionError."""
    import ssl

    from ..security.tls import tls_failure

    if isinstance(error, ssl.SSLError):
        return AuthenticationError(f"TLS with {address} failed: {tls_failure(error)}")
    hint = "; does it have a TLS listener there?" if isinstance(error, ConnectionError) and not error.errno else ""
    return BrokerConnectionError(f"cannot connect to {address} with TLS: {_reason(error)}{hint}")


def _set_exception(future: "asyncio.Future[Any]", failure: Exception) -> None:
    if not future.done():
        future.set_exception(failure)
        # Marks the exception as retrieved. Otherwise asyncio logs it if the caller was cancelled and never reads it.
        future.exception()


def _reason(error: OSError) -> str:
    """The system's text for an error number; asyncio replaces it by "Connect call failed"."""
    if isinstance(error, socket.gaierror):
        return f"{error.strerror} (the host's name is not known here)"
    return os.strerror(error.errno) if error.errno else str(error)


def address_of(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(text: str) -> tuple[str, int]:
    """Parses ``host:port`` or ``[v6]:port``. Raises ValueError with the reason."""
    host, separator, port = text.strip().rpartition(":")
    if not separator or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"'{text}' is not host:port")
    if "/" in host:
        raise ValueError(f"'{text}' is not host:port: remove the text before the host")
    if not host.strip("[]"):
        raise ValueError(f"'{text}' has no host")
    return host.strip("[]"), int(port)
