"""Asks the share coordinators of other brokers, with the APIs 83 to 87.

Shell. Owns: how questions become one request, and its response their outcomes; the connections to other brokers,
CONNECTIONS for each, so that share groups rarely wait for each other. Never does: retries
(:mod:`.state_persister`). Source: ``PersisterStateManager``, its
RequestCoalescerHelper.
"""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

from odradek.protocol.errors import ErrorCode, error_of
from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.share_groups import (
    DeleteShareGroupStateRequest,
    InitializeShareGroupStateRequest,
    ReadShareGroupStateRequest,
    ReadShareGroupStateSummaryRequest,
    WriteShareGroupStateRequest,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import SHARE_STATE_TOPIC

from ..coordinator.partitioning import partition_for
from ..coordinator.peer import Address, Peer
from ..metadata.image.image import MetadataImage
from ..network.node_client import NodeSecurity
from .operations import (
    Answer,
    DeleteOperation,
    InitializeOperation,
    Operation,
    ReadOperation,
    StateOutcome,
    SummarizeOperation,
    WriteOperation,
    refused,
)
from .persister import ReadState, StateSummary


class StateQuestion(NamedTuple):
    """One operation for another broker. ``done`` gets its outcome."""

    share_partition: SharePartitionKey
    operation: Operation
    done: Answer

    @property
    def key(self) -> SharePartitionKey:
        """The share partition, which the response names by topic and partition."""
        return self.share_partition

    def failed(self, error: ErrorCode) -> None:
        """Delivers the error, because the other broker did not answer."""
        self.done(refused(error))


class StateDialect:
    """Encodes operations of one kind for one share group as one request, and takes its response apart."""

    def together(self, question: StateQuestion) -> Hashable:
        """A request has one share group and one API."""
        return question.share_partition.group_id, type(question.operation)

    def request(self, questions: list[StateQuestion]) -> Message:
        """One request with an entry for each share partition."""
        topics: dict[bytes, list[Any]] = {}
        for question in questions:
            topics.setdefault(question.share_partition.topic_id, []).append(_entry(question))
        group_id = questions[0].share_partition.group_id
        request, topic = _KINDS[type(questions[0].operation)]
        asked: Message = request(group_id, [topic(topic_id, entries) for topic_id, entries in topics.items()])
        return asked

    def answers(self, questions: list[StateQuestion], response: Any) -> list[Callable[[], None]]:
        """Returns a callback for each question. One that the response does not name gets UNKNOWN_SERVER_ERROR."""
        found = {
            (topic.topic_id, result.partition): result for topic in response.results for result in topic.partitions
        }
        return [
            partial(question.done, _outcome(question.operation, found.get(question.share_partition[1:])))
            for question in questions
        ]


_KINDS: dict[type[Operation], tuple[Callable[..., Message], Callable[..., Any]]] = {
    InitializeOperation: (InitializeShareGroupStateRequest, InitializeShareGroupStateRequest.InitializeStateData),
    ReadOperation: (ReadShareGroupStateRequest, ReadShareGroupStateRequest.ReadStateData),
    WriteOperation: (WriteShareGroupStateRequest, WriteShareGroupStateRequest.WriteStateData),
    DeleteOperation: (DeleteShareGroupStateRequest, DeleteShareGroupStateRequest.DeleteStateData),
    SummarizeOperation: (ReadShareGroupStateSummaryRequest, ReadShareGroupStateSummaryRequest.ReadStateSummaryData),
}
"""The request of each operation, and its entry for a topic."""


def _entry(question: StateQuestion) -> Any:
    """The entry of a partition."""
    partition = question.share_partition.partition
    match question.operation:
        case InitializeOperation(state_epoch, start_offset):
            return InitializeShareGroupStateRequest.PartitionData(partition, state_epoch, start_offset)
        case ReadOperation(leader_epoch):
            return ReadShareGroupStateRequest.PartitionData(partition, leader_epoch)
        case WriteOperation(state_epoch, leader_epoch, start_offset, complete_count, batches):
            state_batches = [WriteShareGroupStateRequest.StateBatch(*batch) for batch in batches]
            return WriteShareGroupStateRequest.PartitionData(
                partition, state_epoch, leader_epoch, start_offset, complete_count, state_batches
            )
        case DeleteOperation():
            return DeleteShareGroupStateRequest.PartitionData(partition)
        case SummarizeOperation(leader_epoch):
            return ReadShareGroupStateSummaryRequest.PartitionData(partition, leader_epoch)


def _outcome(operation: Operation, result: Any) -> StateOutcome:
    if result is None:
        return refused(ErrorCode.UNKNOWN_SERVER_ERROR, "The share coordinator's answer lacks the share partition.")
    if result.error_code:
        return StateOutcome(error_of(result.error_code), result.error_message)
    match operation:
        case ReadOperation():
            return StateOutcome(
                state=ReadState(result.state_epoch, result.start_offset, _batches(result.state_batches))
            )
        case SummarizeOperation():
            summary = StateSummary(
                result.state_epoch, result.leader_epoch, result.start_offset, result.delivery_complete_count
            )
            return StateOutcome(state=summary)
    return StateOutcome()


def _batches(stored: Sequence[Any]) -> tuple[StateBatch, ...]:
    return tuple(
        StateBatch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in stored
    )


CONNECTIONS = 4


class ShareStatePeers:
    """All other brokers."""

    def __init__(
        self,
        node_id: int,
        listener_name: str,
        timeout_ms: int,
        image: Callable[[], MetadataImage],
        security: NodeSecurity,
    ) -> None:
        """``listener_name``: the inter-broker listener's; ``timeout_ms``: for each step of one request."""
        self._node_id = node_id
        self._listener_name = listener_name
        self._timeout_s = timeout_ms / 1000
        self._image = image
        self._security = security
        self._peers: dict[tuple[int, int], Peer[StateQuestion, Any]] = {}

    def ask(self, broker_id: int, question: StateQuestion) -> None:
        """Asks a broker. The operations of a share group are sent in order."""
        number = partition_for(question.share_partition.group_id, CONNECTIONS)
        peer = self._peers.get((broker_id, number))
        if peer is None:
            peer = self._peers[broker_id, number] = Peer(
                f"broker-{self._node_id}-share-state-{broker_id}-{number}",
                f"can't ask the share coordinator of {SHARE_STATE_TOPIC} on broker {broker_id}",
                StateDialect(),
                partial(self._address, broker_id),
                self._timeout_s,
                self._security,
            )
        peer.ask(question)

    def close(self) -> None:
        """Ends all connections. Questions without an answer get none."""
        for peer in self._peers.values():
            peer.close()

    def _address(self, broker_id: int) -> Address | str:
        return self._image().address(broker_id, self._listener_name)
