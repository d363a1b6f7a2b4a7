"""Replays a recording against a broker, and compares the answers.

Owns: the connections, one for each recorded connection, and the order. A request is sent after all earlier requests of
the recording, and after the answers that preceded it in the recording have arrived again. So exchanges that followed
each other do so again, and exchanges that overlapped (a Fetch that waits for a Produce) overlap again. Never does:
deciding what counts as a difference (:mod:`.differences`).
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
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

with lazy_imports:
    from odradek.client import errors
    from odradek.client.cluster import connection as cluster_connection
    from odradek.client.security import secured as security_secured

if TYPE_CHECKING:
    from odradek.client.cluster.connection import BrokerConnection
    from odradek.client.security.secured import ConnectionSecurity


SHOWN = 50
"""The highest number of differences, and of skipped requests, that are printed."""


class ReplayResult:
    """The differences between recorded and replayed answers, and the requests that could not be sent."""

    def __init__(self) -> None:
        self.compared = 0
        """The number of answers that were compared."""
        self.differences: list[Difference] = []
        """The fields that differ, in the order of the answers."""
        self.skipped: list[tuple[RecordedExchange, str]] = []
        """Requests that could not be sent, each with its reason."""

    def differ(self, differences: Sequence[Difference]) -> None:
        """Adds differences."""
        self.differences.extend(differences)

    def skip(self, exchange: RecordedExchange, reason: str) -> None:
        """Adds a request that could not be sent."""
        self.skipped.append((exchange, reason))

    def check(self) -> None:
        """Raises AssertionError, with a readable list, if an answer differs or a request could not be sent."""
        if self.differences or self.skipped:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        """The differences, grouped by request, then the requests that could not be sent."""
        if not self.differences and not self.skipped:
            return f"all {self.compared} answers are as recorded"
        differing = len({difference.number for difference in self.differences})
        lines = [f"{differing} of {self.compared} answers differ, {len(self.skipped)} requests could not be sent"]
        for request, found in groupby(self.differences[:SHOWN], key=lambda difference: difference.request):
            lines += [request, *(f"    {difference}" for difference in found)]
        if len(self.differences) > SHOWN:
            lines.append(f"… and {len(self.differences) - SHOWN} more differences")
        lines += [f"{exchange}\n    not sent: {reason}" for exchange, reason in self.skipped[:SHOWN]]
        return "\n".join(lines)


class ReplayPlan:
    """The requests of a replay that are still to be sent, and the answers that are still to arrive."""

    def __init__(self, exchanges: Iterable[RecordedExchange]) -> None:
        self._left = sorted(exchanges, key=lambda exchange: exchange.step)[::-1]
        """The requests that were not sent yet, the next one last."""
        answers = [
            (exchange.answer_step, exchange.number) for exchange in self._left if exchange.answer_step is not None
        ]
        self._answers = sorted(answers)[::-1]
        """(step, request number) of the recorded answers that have not arrived again, the first one last."""
        self._settled: set[int] = set()

    def ready(self) -> list[RecordedExchange]:
        """The requests that may be sent now, in their order. Each is returned once."""
        found = []
        while self._left and self._left[-1].step < self._first_missing():
            found.append(self._left.pop())
        return found

    def settle(self, number: int) -> None:
        """Notes that a request was answered, or will never be."""
        self._settled.add(number)

    @property
    def is_done(self) -> bool:
        """Whether all requests were sent, and those answered in the recording were answered again."""
        return not self._left and self._first_missing() == float("inf")

    def awaited(self) -> list[int]:
        """The numbers of the requests that must be answered before the next one is sent, in the recorded order."""
        limit = self._left[-1].step if self._left else float("inf")
        return [number for step, number in reversed(self._answers) if step < limit and number not in self._settled]

    def _first_missing(self) -> float:
        """The step of the first recorded answer that has not arrived again; infinite if there is none."""
        while self._answers and self._answers[-1][1] in self._settled:
            self._answers.pop()
        return self._answers[-1][0] if self._answers else float("inf")


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
