"""One other broker, which a coordinator of this broker, or who asks one, has questions for.

Shell. Owns: one connection, with a queue. Never does: retries. Invariants: the connection has one request in flight;
every question gets one answer, unless this broker ends. Source: ``InterBrokerSendThread``.
"""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Generic

from odradek.protocol.apis.api_keys import api
from odradek.protocol.errors import ErrorCode

from ..network.broker_client import BrokerClient
from ..network.node_client import NodeSecurity, NodeUnavailableError
from ..timers.repeated_complaint import RepeatedComplaint
from ..timers.work import KindOfWork
from .request_queue import Dialect, QuestionOf, RequestQueue, ResponseOf

PEERS = KindOfWork("coordinator-peers", "asks other brokers for coordinators")

Address = tuple[str, int]


class Peer(Generic[QuestionOf, ResponseOf]):
    """One other broker, for questions of one kind."""

    def __init__(
        self,
        client_id: str,
        what: str,
        dialect: Dialect[QuestionOf, ResponseOf],
        address: Callable[[], Address | str],
        timeout_s: float,
        security: NodeSecurity,
    ) -> None:
        """``address`` returns the broker's address, or a text that says why it has none. ``what`` begins the log line
        of a failure, such as "can't send transaction markers to broker 2". ``timeout_s``: for one request."""
        self._dialect = dialect
        self._timeout_s = timeout_s
        self._queue: RequestQueue[QuestionOf] = RequestQueue(dialect.together)
        self._client = BrokerClient(address, client_id, security)
        self._task: asyncio.Task[None] | None = None
        self._complaint = RepeatedComplaint(what, time.monotonic)

    def ask(self, question: QuestionOf) -> None:
        """Sends a question with the next request."""
        self._queue.put(question)
        if self._task is None:
            self._task = PEERS.task(self._run())

    def close(self) -> None:
        """Stops sending and closes the connection. Questions in the queue get no answer."""
        if self._task is not None:
            self._task.cancel()
        self._client.close()

    async def _run(self) -> None:
        """Sends until no question is left."""
        try:
            await self._send_all()
        finally:
            self._task = None  # no await since the queue was found empty, so the next question starts a new task

    async def _send_all(self) -> None:
        while self._queue:
            for answer in await self._answers(self._queue.take()):
                PEERS.soon(answer)  # a callback of its own: if one raises, the others still run

    async def _answers(self, questions: list[QuestionOf]) -> list[Callable[[], None]]:
        """Sends the questions in one request. Returns a callback for each, which delivers its answer or an error."""
        try:
            request = self._dialect.request(questions)
            response_type: Any = api(request.API_KEY).response_class()
            response = await self._client.send(request, response_type, self._timeout_s)
            answers = self._dialect.answers(questions, response)
        except NodeUnavailableError as error:
            self._complaint.complain(error)
            return [partial(question.failed, ErrorCode.NETWORK_EXCEPTION) for question in questions]
        except Exception as error:  # noqa: BLE001 - a bug must not leave a question without an answer
            PEERS.failed(f"{len(questions)} requests to another broker", error)
            return [partial(question.failed, ErrorCode.UNKNOWN_SERVER_ERROR) for question in questions]
        self._complaint.resolved()
        return answers
