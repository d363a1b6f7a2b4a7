"""Sends WriteTxnMarkers and AddPartitionsToTxn to other brokers: leaders of partitions, and coordinators.

Shell. Owns: for each broker one connection for markers and one for AddPartitionsToTxn, with a queue each. Never does:
retries (:mod:`.marker_writer` and the producers do). Invariants: a connection has one request in flight; every question
gets one answer, unless this broker ends. Source: ``InterBrokerSendThread``, as ``TransactionMarkerChannelManager`` and
``AddPartitionsToTxnManager`` use it.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Generic

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import AddPartitionsToTxnResponse, WriteTxnMarkersResponse
from odradek.protocol.names.internal_topics import TRANSACTION_STATE_TOPIC

from ..coordinator.partitioning import partition_for
from ..metadata.image.image import MetadataImage
from ..network.broker_client import BrokerClient
from ..network.node_client import PLAINTEXT, NodeSecurity, NodeUnavailableError
from ..timers.repeated_complaint import RepeatedComplaint
from ..timers.work import KindOfWork
from .remote_markers import MarkerDialect, MarkerQuestion
from .remote_membership import MembershipDialect, MembershipQuestion
from .request_queue import Dialect, QuestionOf, RequestQueue, ResponseOf

logger = logging.getLogger(__name__)

PEERS = KindOfWork("transaction-peers", "asks other brokers for transactions")

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
        self._queue: RequestQueue[QuestionOf] = RequestQueue()
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
            response = await self._client.send(request, self._dialect.response_type, self._timeout_s)
            answers = self._dialect.answers(questions, response)
        except NodeUnavailableError as error:
            self._complaint.complain(error)
            return [partial(question.failed, ErrorCode.NETWORK_EXCEPTION) for question in questions]
        except Exception as error:  # noqa: BLE001 - a bug must not leave a transaction open: the marker writer retries
            PEERS.failed(f"{len(questions)} requests to another broker", error)
            return [partial(question.failed, ErrorCode.UNKNOWN_SERVER_ERROR) for question in questions]
        self._complaint.resolved()
        return answers


class TransactionPeers:
    """All other brokers. ``image`` returns the present metadata."""

    def __init__(
        self,
        node_id: int,
        listener_name: str,
        timeout_ms: int,
        image: Callable[[], MetadataImage],
        security: NodeSecurity = PLAINTEXT,
    ) -> None:
        """``listener_name``: the inter-broker listener's; ``timeout_ms``: for one request."""
        self.node_id = node_id
        self._listener_name = listener_name
        self._timeout_s = timeout_ms / 1000
        self._image = image
        self._security = security
        self._markers: dict[int, Peer[MarkerQuestion, WriteTxnMarkersResponse]] = {}
        self._membership: dict[int, Peer[MembershipQuestion, AddPartitionsToTxnResponse]] = {}

    def leader_of(self, topic: str, index: int) -> int | None:
        """The id of the broker that leads a partition, -1 if none does; None if the partition does not exist."""
        partition = self._image().partition(topic, index)
        return None if partition is None else partition.leader

    def coordinator_of(self, transactional_id: str) -> int:
        """The id of the broker that coordinates a transactional id; -1 if none does."""
        topic = self._image().topics_by_name.get(TRANSACTION_STATE_TOPIC)
        if topic is None:
            return -1
        partition = topic.partitions.get(partition_for(transactional_id, len(topic.partitions)))
        return -1 if partition is None else partition.leader

    def write_markers(self, broker_id: int, question: MarkerQuestion) -> None:
        """Has a broker write markers into partitions that it leads."""
        peer = self._markers.get(broker_id)
        if peer is None:
            name, what = self._names("transaction-markers", "can't send transaction markers to broker", broker_id)
            peer = Peer(
                name,
                what,
                MarkerDialect(),
                partial(self._address, broker_id),
                self._timeout_s,
                self._security,
            )
            self._markers[broker_id] = peer
        peer.ask(question)

    def ask_membership(self, broker_id: int, question: MembershipQuestion) -> None:
        """Asks a coordinator whether partitions are part of a transaction, or adds them."""
        peer = self._membership.get(broker_id)
        if peer is None:
            name, what = self._names("add-partitions-to-txn", "can't ask the coordinator on broker", broker_id)
            peer = Peer(
                name,
                what,
                MembershipDialect(),
                partial(self._address, broker_id),
                self._timeout_s,
                self._security,
            )
            self._membership[broker_id] = peer
        peer.ask(question)

    def close(self) -> None:
        """Ends all connections."""
        for marker_peer in self._markers.values():
            marker_peer.close()
        for membership_peer in self._membership.values():
            membership_peer.close()

    def _names(self, client: str, what: str, broker_id: int) -> tuple[str, str]:
        return f"broker-{self.node_id}-{client}-{broker_id}", f"{what} {broker_id}"

    def _address(self, broker_id: int) -> Address | str:
        return self._image().address(broker_id, self._listener_name)
