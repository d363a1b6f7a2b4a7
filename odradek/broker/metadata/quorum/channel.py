"""Requests to the active controller, over a connection of its own.

Shell. Owns: one connection. Never does: retries (its users decide when), finding the leader (the observer of the
metadata log does). Source: NodeToControllerChannelManager: forwarding, heartbeats and others have a channel each, so
that a long answer of one delays no heartbeat.
"""

from typing import TypeVar

from odradek.protocol.errors import ErrorCode, error_name
from odradek.protocol.messages.structure import Message

from ...network.node_client import NodeClient, NodeUnavailableError, client_at
from .known_controllers import Address, KnownControllers

DENIED = (
    "the controllers deny CLUSTER_ACTION to this broker. Add its principal to super.users of the controllers, or"
    " allow it by an ACL: kafka-acls.sh --bootstrap-controller HOST:PORT --add --cluster --operation ClusterAction"
    " --allow-principal User:NAME"
)


def described(code: int) -> str:
    """The name of an error, with what to do if this broker lacks a permission."""
    name = error_name(code)
    return f"{name}: {DENIED}" if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED else name


Response = TypeVar("Response", bound=Message)

RETRY_MS = 50
"""The pause between a refusal and the next attempt. A new active controller takes requests after about 300 ms."""


class ControllerChannel:
    """Sends requests to the active controller over one connection."""

    def __init__(self, controllers: KnownControllers, client_id: str) -> None:
        """``client_id``: goes into every request; the controllers' logs show it."""
        self._controllers = controllers
        self._client_id = client_id
        self._client: NodeClient | None = None

    @property
    def versions(self) -> dict[int, tuple[int, int]]:
        """API key -> versions that the active controller serves, empty before the first request."""
        return {} if self._client is None else self._client.versions

    async def send(
        self, request: Message, response_type: type[Response], timeout_s: float, max_version: int | None = None
    ) -> Response:
        """Sends one request to the active controller. Raises NodeUnavailableError if none is known or it has lost
        its role: ask again after :data:`RETRY_MS`."""
        client, address = self._active()
        try:
            response = await client.send(request, response_type, timeout_s, max_version)
        except NodeUnavailableError:
            self._controllers.failed(address)
            raise
        if getattr(response, "error_code", 0) == ErrorCode.NOT_CONTROLLER:
            self._controllers.failed(address)
            raise NodeUnavailableError(f"{address} is not the active controller")
        return response

    async def connect(self, timeout_s: float) -> None:
        """Connects to the active controller, for :attr:`versions`. Raises NodeUnavailableError."""
        client, address = self._active()
        try:
            await client.connect(timeout_s)
        except NodeUnavailableError:
            self._controllers.failed(address)
            raise

    def _active(self) -> tuple[NodeClient, Address]:
        address = self._controllers.presumed
        if address is None:
            raise NodeUnavailableError(f"no active controller is known among {self._controllers}")
        security = self._controllers.security
        self._client = client_at(self._client, address.host, address.port, self._client_id, security)
        return self._client, address

    def close(self) -> None:
        """Closes the connection; harmless if there is none."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
