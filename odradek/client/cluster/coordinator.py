"""Finds the coordinator of one group or transactional id, connects to it, and keeps the connection until it moves.

Owns: only which connection is the coordinator's. After an error in COORDINATOR_MOVED the caller must look again.
Source: FindCoordinator in KIP-98.
"""

import asyncio

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse

from ..errors import BrokerConnectionError, broker_error
from .cluster import Cluster
from .connection import BrokerConnection

GROUP_KEY_TYPE = 0
TRANSACTION_KEY_TYPE = 1
SEVERAL_KEYS_SINCE = 4
COORDINATOR_MOVED = frozenset(
    {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT}
)


class CoordinatorConnection:
    """Finds and keeps the connection to the coordinator of a key: a group's id, or a transactional id."""

    def __init__(
        self,
        cluster: Cluster,
        key: str,
        *,
        key_type: int = GROUP_KEY_TYPE,
        purpose: str = "",
        timeout_ms: float = 60_000,
    ) -> None:
        """``purpose`` is passed to Cluster.connection: JoinGroup waits long and needs a connection of its own."""
        self._cluster = cluster
        self._key = key
        self._key_type = key_type
        self._purpose = purpose
        self._timeout_ms = timeout_ms
        self._connection: BrokerConnection | None = None

    def forget(self) -> None:
        """Makes the next call of ``connection`` look for the coordinator again: it moved, or its connection broke."""
        self._connection = None

    async def connection(self) -> BrokerConnection:
        """The connection to the coordinator. Looks for it, with retries until ``timeout_ms`` is over.

        Raises KafkaError, BrokerConnectionError.
        """
        if self._connection is not None and self._connection.is_open:
            return self._connection
        deadline = asyncio.get_running_loop().time() + self._timeout_ms / 1000
        attempts = 0
        while True:
            try:
                node_id = await self._find()
                self._connection = await self._cluster.connection(node_id, self._purpose)
                return self._connection
            except (KafkaError, BrokerConnectionError) as error:
                delay_s = self._cluster.backoff_s(attempts)
                final = isinstance(error, KafkaError) and not error.error_code.retriable
                if final or asyncio.get_running_loop().time() + delay_s >= deadline:
                    raise
            await asyncio.sleep(delay_s)
            attempts += 1

    async def _find(self) -> int:
        connection = await self._cluster.any_connection()
        request = FindCoordinatorRequest(key_type=self._key_type)
        if connection.version_for(FindCoordinatorRequest) >= SEVERAL_KEYS_SINCE:
            request.coordinator_keys = [self._key]
        else:
            request.key = self._key
        response = await connection.call(request, FindCoordinatorResponse)
        found = response.coordinators[0] if response.coordinators else response
        if found.error_code:
            kind = "group" if self._key_type == GROUP_KEY_TYPE else "transactional id"
            raise broker_error(found.error_code, f"coordinator of {kind} '{self._key}'", found.error_message)
        self._cluster.learn_broker(found.node_id, found.host, found.port)
        return found.node_id
