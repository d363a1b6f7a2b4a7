"""A connection to one broker: the socket for the protocol state in an ``Exchange``.

Owns: the transport, the timer, the future of each request. Never does: metadata, retries. Requests are pipelined:
``send`` writes at once and returns a future, so that requests go out in the order of the calls. A request that times
out closes the connection, because answers come in order and the later ones would be late too (as ``NetworkClient``
does). Large responses are received directly into their own memory.
"""

import asyncio
import os
import random
import socket
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar, cast

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import LoginRefusedError
from odradek.protocol.exchange import Exchange, NoCommonVersionError, ResponseLimits
from odradek.protocol.framing.frames import SIZE, Frames, describe_size
from odradek.protocol.messages.structure import Message

from ..errors import (
    AuthenticationError,
    BrokerConnectionError,
    ClientError,
    RequestTimedOutError,
    UnsupportedVersionError,
)

with lazy_imports:
    import ssl

    from ..security import tls as security_tls

if TYPE_CHECKING:
    from ..security.login import Logins
    from ..security.secured import ConnectionSecurity

Response = TypeVar("Response", bound=Message)

TLS_ALERT_AND_MAJOR_VERSION = b"\x15\x03"
MAX_RESPONSE_BYTES = 256 * 1024 * 1024
"""Larger frames are protocol errors. The first 4 bytes of HTTP and TLS answers, read as a size, exceed this limit."""


def _refusal(size: int, limit: int) -> str:
    first = SIZE.pack(size)
    if first == b"HTTP":
        return "an HTTP server answers there, not a Kafka broker; check host and port"
    if first.startswith(TLS_ALERT_AND_MAJOR_VERSION):
        return "the listener requires TLS: set security.protocol=SSL or SASL_SSL, or name a PLAINTEXT listener"
    return describe_size("MAX_RESPONSE_BYTES", size, limit)


BROKER = ResponseLimits(MAX_RESPONSE_BYTES, receive_buffer_bytes=64 * 1024, frames=Frames(_refusal, 2 * 1024 * 1024))
"""A Fetch response of the default size gets its whole buffer at once, so that its bytes are not copied."""


class BrokerConnection(asyncio.BufferedProtocol):
    """One open connection with negotiated versions. Get it with ``BrokerConnection.open``."""

    def __init__(
        self, host: str, port: int, client_id: str | None, request_timeout_ms: float, logins: "Logins | None" = None
    ) -> None:
        self.host = host
        self.port = port
        self._exchange = Exchange(client_id, BROKER, has_login=logins is not None, is_wanted=_is_wanted)
        self.versions = self._exchange.versions
        """API key -> lowest and highest version that the broker serves."""
        self.finalized_features = self._exchange.finalized_features
        """The cluster's feature levels at the time when the connection was opened."""
        self._request_timeout_ms = request_timeout_ms
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at_s = inf
        self._failure: Exception | None = None
        self._logins = logins
        self._renewal: asyncio.Task[None] | None = None
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
        tls, logins = (None, None) if secured is None else (secured.tls, secured.logins)
        make = partial(cls, host, port, client_id, request_timeout_ms, logins)
        name = None if tls is None else host
        address = address_of(host, port)
        try:
            async with asyncio.timeout(connection_timeout_ms / 1000):
                transport, connection = await loop.create_connection(make, host, port, ssl=tls, server_hostname=name)
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
            await connection._outcome(connection._exchange.negotiate, min(connection_timeout_ms, request_timeout_ms))
            if logins is not None:
                await connection._log_in(logins)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _log_in(self, logins: "Logins") -> None:
        """Authenticates with SASL once. Raises AuthenticationError and the errors of ``call``."""
        event = partial(self._exchange.log_in, await logins.mechanism(), self.address, random.random())
        await self._outcome(event, self._request_timeout_ms)

    async def _renew(self, logins: "Logins") -> None:
        """Re-authenticates (KIP-368); the exchange holds requests until then. A failure closes the connection."""
        try:
            await self._log_in(logins)
        except ClientError as error:
            self._fail(error)
        finally:
            self._renewal = None

    def _renew_if_due(self) -> None:
        """Starts a re-authentication if it is due: only requests start it, as in Java."""
        due = self._exchange.is_renewal_due(self._loop.time())
        if due and self._renewal is None and self._failure is None and self._logins is not None:
            self._exchange.hold()
            self._renewal = asyncio.ensure_future(self._renew(self._logins))

    @property
    def address(self) -> str:
        """``host:port``."""
        return address_of(self.host, self.port)

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and self._failure is None

    def version_for(self, request_type: type[Message], max_version: int | None = None) -> int:
        """The version that a request of this type would use. Raises UnsupportedVersionError."""
        try:
            return self._exchange.version_for(request_type, max_version)
        except NoCommonVersionError as error:
            raise UnsupportedVersionError(str(error)) from None

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
        version = self.version_for(type(request), max_version)
        self._renew_if_due()
        event = partial(self._exchange.request, request, version, response_type)
        return self._begin(event, timeout_ms or self._request_timeout_ms)

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
        version = self.version_for(type(request), max_version)
        if self._transport is None or self._failure is not None:
            raise self._failure or BrokerConnectionError(f"the connection to {self.address} is closed")
        self._renew_if_due()
        self._exchange.request(request, version, None, None, 0, self._loop.time())
        self._flush()

    def close(self) -> None:
        """Closes the connection; waiting requests fail with BrokerConnectionError."""
        self._fail(BrokerConnectionError(f"the connection to {self.address} was closed"))

    def _begin(self, event: Callable[[Any, float, float], None], timeout_ms: float) -> "asyncio.Future[Any]":
        """Calls a method of the exchange that has an outcome: with the token, the timeout and the time, in seconds.
        Returns a future of the outcome."""
        future: asyncio.Future[Any] = self._loop.create_future()
        if self._transport is None or self._failure is not None:
            future.set_exception(self._failure or BrokerConnectionError(f"{self.address} is not connected"))
            return future
        event(future, timeout_ms / 1000, self._loop.time())
        self._flush()
        return future

    async def _outcome(self, event: Callable[[Any, float, float], None], timeout_ms: float) -> None:
        """As :meth:`_begin`, for a negotiation or a login. Raises AuthenticationError, UnsupportedVersionError and the
        errors of ``call``."""
        try:
            await self._begin(event, timeout_ms)
        except LoginRefusedError as refusal:
            raise AuthenticationError(str(refusal)) from None
        except NoCommonVersionError as error:
            raise UnsupportedVersionError(str(error)) from None

    def _flush(self) -> None:
        """Writes what the exchange sends, and sets the timer."""
        assert self._transport is not None
        if self._exchange.unsent:
            self._transport.write(self._exchange.take_unsent())
        if self._exchange.check_at_s < self._timer_at_s:
            self._set_timer(self._exchange.check_at_s)

    def _set_timer(self, at_s: float) -> None:
        """Sets the one timer of all requests. It is not moved at each answer: if it is early, it only looks."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if at_s == inf else self._loop.call_at(at_s, self._check_deadlines)
        self._timer_at_s = at_s

    def _check_deadlines(self) -> None:
        late = self._exchange.overdue(self._loop.time())
        if late is None:
            self._set_timer(self._exchange.check_at_s)
            return
        text = f"{self.address} did not answer {late.name} within {late.timeout_s * 1000:.0f} ms"
        self._fail(RequestTimedOutError(text))

    def _fail(self, failure: Exception) -> None:
        """Closes the connection once; every waiting request fails with ``failure``."""
        if self._failure is None:
            self._failure = failure
            if self.on_refusal is not None and isinstance(failure, AuthenticationError):
                self.on_refusal(failure)
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        self._set_timer(inf)
        for future in self._exchange.abandon():
            if future is not None:
                _set_exception(future, self._failure)

    def _lost(self, error: Exception | None) -> ClientError:
        """The error for a connection that the broker closed, with its probable reason."""
        if error is not None and type(error).__module__ == "ssl":
            assert isinstance(error, OSError)
            return _tls_error(self.address, error)  # TLS 1.3 refuses a client's certificate after the handshake
        reason = f": {error}" if error else ""
        text = f"{self.address} closed the connection{reason}"
        waiting = self._exchange.pending
        if waiting and not self._exchange.versions:
            text += "; is it a Kafka broker, and is security.protocol right for this listener?"
        elif waiting:
            text += f" while {waiting[0].name} waited for its answer"
            if self._exchange.answered == self._exchange.negotiated and self._logins is None:
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
        for future, outcome in self._exchange.received(count, self._loop.time()):
            if isinstance(outcome, Exception):
                _set_exception(future, outcome)
            elif not future.done():
                future.set_result(outcome)
        if self._exchange.failure is not None:
            self._fail(BrokerConnectionError(f"{self.address}: {self._exchange.failure}"))
        elif self._exchange.unsent and self._transport is not None:
            self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the event loop after the socket closed: all waiting requests fail."""
        if self._failure is None:
            self._failure = self._lost(exc)
        self._fail(self._failure)


def _tls_error(address: str, error: OSError) -> ClientError:
    """The error for a failed TLS connection: AuthenticationError for TLS itself, otherwise BrokerConnectionError."""
    if isinstance(error, ssl.SSLError):
        return AuthenticationError(f"TLS with {address} failed: {security_tls.tls_failure(error)}")
    hint = "; does it have a TLS listener there?" if isinstance(error, ConnectionError) and not error.errno else ""
    return BrokerConnectionError(f"cannot connect to {address} with TLS: {_reason(error)}{hint}")


def _is_wanted(future: "asyncio.Future[Any] | None") -> bool:
    return future is None or not future.done()  # None: a request without a response; done: it was cancelled


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
