"""Replays a recording against a broker, and compares the answers.

Owns: the connections, one for each recorded connection. Never does: deciding the order (:mod:`.replay_plan`) or what
counts as a difference (:mod:`.differences`).
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from odradek.protocol.apis.api_keys import ApiKey, api
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ProtocolError
from odradek.protocol.messages.structure import Message
from odradek.protocol.show.message_documents import Document

from .differences import Comparison, Difference
from .documents import has_secrets, message_document, request_from
from .exchange import RecordedExchange
from .minted import Minted
from .replay_plan import ReplayPlan
from .replay_result import ReplayResult

with lazy_imports:
    from odradek.client import errors
    from odradek.client.cluster import connection as cluster_connection
    from odradek.client.security import secured as security_secured

if TYPE_CHECKING:
    from odradek.client.cluster.connection import BrokerConnection
    from odradek.client.security.secured import ConnectionSecurity

LOGIN = (ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
NOTHING = "no answer"


class Replayer:
    """One replay of a recording against one broker."""

    def __init__(
        self,
        exchanges: Iterable[RecordedExchange],
        address: tuple[str, int],
        ignore: Collection[str],
        timeout_s: float,
        secured: "ConnectionSecurity | None",
    ) -> None:
        self._exchanges = list(exchanges)
        self._address = address
        self._ignore = ignore
        self._timeout_ms = timeout_s * 1000
        self._secured = secured
        self._plan = ReplayPlan(self._exchanges)
        self._minted = Minted()
        self._connections: dict[int, BrokerConnection] = {}
        self._waiting: dict[asyncio.Future[Any], RecordedExchange] = {}
        self._result = ReplayResult()

    async def run(self) -> ReplayResult:
        """Sends all requests and compares the answers. A request that can't be sent is skipped, with the reason."""
        try:
            while not self._plan.is_done:
                for exchange in self._plan.ready():
                    await self._send(exchange)
                if self._plan.is_done or not self._plan.awaited():
                    continue
                done, _ = await asyncio.wait(self._waiting, return_when=asyncio.FIRST_COMPLETED)
                for future in done:
                    self._take(self._waiting.pop(future), future)
            return self._result
        finally:
            for connection in self._connections.values():
                connection.close()

    async def _send(self, exchange: RecordedExchange) -> None:
        """Sends a request, or notes in the result why it can't be sent."""
        reason = None
        try:
            reason = await self._try_to_send(exchange)
        except (ProtocolError, errors.ClientError) as error:
            reason = str(error)
        if reason is not None:
            self._result.skip(exchange, reason)
            self._plan.settle(exchange.number)

    async def _try_to_send(self, exchange: RecordedExchange) -> str | None:
        """Sends a request; returns the reason if it can't be sent, else None. Raises ProtocolError, ClientError."""
        if exchange.api_key in LOGIN or has_secrets(exchange.request):
            return "its secrets were not recorded"
        request = request_from(exchange.api_key, exchange.version, self._minted.mapped(exchange.request))
        connection = await self._connection(exchange)
        if not connection.is_open:
            return "the broker has closed its connection"
        if connection.version_for(type(request), exchange.version) != exchange.version:
            return f"the broker does not support version {exchange.version}"
        if exchange.api_key == ApiKey.PRODUCE and exchange.request["acks"] == 0:
            connection.send_without_response(request, max_version=exchange.version)
            self._plan.settle(exchange.number)
            return None
        response_class: type[Message] = api(exchange.api_key).response_class()
        future = connection.send(request, response_class, timeout_ms=self._timeout_ms, max_version=exchange.version)
        self._waiting[future] = exchange
        return None

    async def _connection(self, exchange: RecordedExchange) -> "BrokerConnection":
        known = self._connections.get(exchange.connection)
        if known is None:
            known = await cluster_connection.BrokerConnection.open(
                *self._address, client_id=exchange.client_id, secured=self._secured
            )
            self._connections[exchange.connection] = known
        return known

    def _take(self, exchange: RecordedExchange, future: "asyncio.Future[Message]") -> None:
        """Compares the answer to a request with the recorded one, if one was recorded."""
        self._plan.settle(exchange.number)
        if exchange.answer_step is None:
            future.exception()  # retrieves an exception, so that asyncio does not log it
            return
        error = future.exception()
        replayed = f"{NOTHING}: {error}" if error is not None else None
        if exchange.closed is not None or replayed is not None:
            if (exchange.closed is None) != (replayed is None):
                recorded = f"connection closed: {exchange.closed}" if exchange.closed is not None else "an answer"
                self._result.differ([self._difference(exchange, "", recorded, replayed or "an answer")])
            self._result.compared += 1
            return
        self._compare(exchange, message_document(future.result(), exchange.version))

    def _compare(self, exchange: RecordedExchange, replayed: Document) -> None:
        assert exchange.response is not None
        comparison = Comparison(self._minted, self._ignore, exchange.api)
        found = comparison.differences(exchange.request, exchange.response, replayed)
        self._result.compared += 1
        if exchange.api not in self._ignore:
            self._result.differ([self._difference(exchange, *difference) for difference in found])

    @staticmethod
    def _difference(exchange: RecordedExchange, path: str, recorded: str, replayed: str) -> Difference:
        return Difference(exchange.number, str(exchange), path, recorded, replayed)


async def replay(
    exchanges: Iterable[RecordedExchange],
    bootstrap_server: str,
    *,
    ignore: Collection[str] = (),
    timeout_s: float,
    security: Mapping[str, str] | None = None,
) -> ReplayResult:
    """Replays against ``host:port``, see :meth:`.recording.Traffic.replay`. Raises ValueError for a wrong address."""
    secured = None if security is None else security_secured.secured_of(security)
    return await Replayer(
        exchanges, cluster_connection.parse_address(bootstrap_server), ignore, timeout_s, secured
    ).run()
