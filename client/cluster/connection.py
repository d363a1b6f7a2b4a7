"""A connection to one broker: the socket around ``exchange.py``.

Owns: the transport, a timer for each waiting request. Never does: metadata, retries. Requests are pipelined: ``send``
writes at once and returns a future, so that requests go out in the order of the calls. A request that times out closes
the connection, because the later answers would also come too late (as ``NetworkClient`` does).
"""

import asyncio
import os
import socket
from typing import Any, TypeVar

from ...protocol.errors import ProtocolError
from ...protocol.messages.metadata import ApiVersionsResponse
from ...protocol.messages.structure import Message
from ..errors import BrokerConnectionError, RequestTimedOutError
from .exchange import Exchange, PendingRequest

Response = TypeVar("Response", bound=Message)


class BrokerConnection(asyncio.Protocol):
    """One open connection with negotiated versions. Get it with ``BrokerConnection.open``."""

    def __init__(self, host: str, port: int, client_id: str | None, request_timeout_ms: float) -> None:
        self.host = host
        self.port = port
        self._exchange = Exchange(client_id)
        self._request_timeout_ms = request_timeout_ms
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._failure: Exception | None = None

    @classmethod
    async def open(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = "odradek",
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
    ) -> "BrokerConnection":
        """Connects and asks for the broker's versions. Raises BrokerConnectionError, RequestTimedOutError."""
        loop = asyncio.get_running_loop()
        address = address_of(host, port)
        try:
            async with asyncio.timeout(connection_timeout_ms / 1000):
                _, connection = await loop.create_connection(
                    lambda: cls(host, port, client_id, request_timeout_ms), host, port
                )
        except TimeoutError:
            raise BrokerConnectionError(
                f"{address} did not accept a connection within {connection_timeout_ms:.0f} ms; "
                "check the address and what filters it"
            ) from None
        except OSError as error:
            raise BrokerConnectionError(f"cannot connect to {address}: {_reason(error)}") from error
        try:
            await connection._negotiate(min(connection_timeout_ms, request_timeout_ms))
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
        """The cluster's feature levels as of the connection's opening."""
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
        """Sends a request now; the future gives its response.

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
        _, frame = self._exchange.request(request, version, None)
        self._transport.write(frame)

    def close(self) -> None:
        """Closes the connection; waiting requests fail with BrokerConnectionError."""
        self._fail(BrokerConnectionError(f"the connection to {self.address} was closed"))

    def _send(
        self, request: Message, version: int, response_type: type[Response], timeout_ms: float
    ) -> asyncio.Future[Response]:
        future: asyncio.Future[Response] = self._loop.create_future()
        if self._transport is None or self._failure is not None:
            future.set_exception(self._failure or BrokerConnectionError(f"{self.address} is not connected"))
            return future
        correlation_id, frame = self._exchange.request(request, version, response_type, future)
        self._timers[correlation_id] = self._loop.call_later(timeout_ms / 1000, self._timed_out, request, timeout_ms)
        self._transport.write(frame)
        return future

    def _timed_out(self, request: Message, timeout_ms: float) -> None:
        name = type(request).__name__.removesuffix("Request")
        self._fail(RequestTimedOutError(f"{self.address} did not answer {name} within {timeout_ms:.0f} ms"))

    def _fail(self, failure: Exception) -> None:
        """Closes the connection once; every waiting request fails with ``failure``."""
        if self._failure is None:
            self._failure = failure
        if self._transport is not None:
            self._transport.abort()
            self._transport = None
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for pending in self._exchange.pending:
            _set_exception(pending, self._failure)

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by the loop: each answer resolves its future."""
        try:
            for pending, message in self._exchange.receive(data):
                timer = self._timers.pop(pending.correlation_id, None)
                if timer is not None:
                    timer.cancel()
                future: asyncio.Future[Any] = pending.token
                if not future.done():
                    future.set_result(message)
        except ProtocolError as error:
            self._fail(BrokerConnectionError(f"{self.address}: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        if self._failure is None:
            waiting = self._exchange.pending
            reason = f": {exc}" if exc else ""
            text = f"{self.address} closed the connection{reason}"
            if waiting and not self._exchange.versions:
                text += "; is it a Kafka broker, and a PLAINTEXT listener?"
            elif waiting:
                text += f" while {waiting[0].request} waited for its answer"
            self._failure = BrokerConnectionError(text)
        self._fail(self._failure)


def _set_exception(pending: PendingRequest, failure: Exception) -> None:
    future: asyncio.Future[Any] = pending.token
    if not future.done():
        future.set_exception(failure)
        # Marks the exception as retrieved: asyncio would log it if the caller was cancelled.
        future.exception()


def _reason(error: OSError) -> str:
    """The system's words for an error; asyncio hides them behind "Connect call failed"."""
    if isinstance(error, socket.gaierror):
        return f"{error.strerror} (the host's name is not known here)"
    return os.strerror(error.errno) if error.errno else str(error)


def address_of(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of ``host:port`` or ``[v6]:port``. Raises ValueError with what is wrong."""
    host, separator, port = text.strip().rpartition(":")
    if not separator or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"'{text}' is not host:port")
    if "/" in host:
        raise ValueError(f"'{text}' is not host:port: remove the text before the host")
    if not host.strip("[]"):
        raise ValueError(f"'{text}' has no host")
    return host.strip("[]"), int(port)
