"""The connection to one other broker, at the address that the metadata has now.

Shell. Owns: one connection. Never does: retries. Source: InterBrokerSendThread, BrokerBlockingSender.
"""

from collections.abc import Callable
from typing import TypeVar

from odradek.protocol.messages.structure import Message

from .node_client import PLAINTEXT, NodeClient, NodeSecurity, NodeUnavailableError, client_at

Response = TypeVar("Response", bound=Message)


class BrokerClient:
    """Requests to one broker. It connects anew when the broker's address has changed."""

    def __init__(
        self, address: Callable[[], tuple[str, int] | str], client_id: str, security: NodeSecurity = PLAINTEXT
    ) -> None:
        """``address``: host and port of the inter-broker listener, or why the broker has none."""
        self._address = address
        self._client_id = client_id
        self._security = security
        self._client: NodeClient | None = None

    async def send(self, request: Message, response_type: type[Response], timeout_s: float) -> Response:
        """Sends one request. Raises NodeUnavailableError."""
        address = self._address()
        if isinstance(address, str):
            raise NodeUnavailableError(address)
        self._client = client_at(self._client, *address, self._client_id, self._security)
        return await self._client.send(request, response_type, timeout_s)

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`send_at_once` can be called now. Does not look up the address again: :meth:`send` does."""
        return self._client is not None and self._client.is_ready

    def send_at_once(
        self,
        request: Message,
        response_type: type[Response],
        timeout_s: float,
        answered: Callable[[Response | NodeUnavailableError], None],
    ) -> None:
        """Sends a request without a task, as :meth:`NodeClient.send_at_once`. Raises NodeUnavailableError."""
        assert self._client is not None
        self._client.send_at_once(request, response_type, timeout_s, answered)

    def close(self) -> None:
        """Closes the connection; harmless if there is none."""
        if self._client is not None:
            self._client.close()
