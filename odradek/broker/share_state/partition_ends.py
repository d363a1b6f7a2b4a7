"""The ends of partitions, of which the lag of share groups is made: of this broker's, and of other leaders'.

Shell. Owns: one connection to each other broker, for ListOffsets. Never does: retries. Invariant: each question gets
one answer, unless this broker ends. Source: ``NetworkPartitionMetadataClient``; KIP-1226.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError, error_of
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse

from ..coordinator.peer import Address, Peer
from ..metadata.image.image import MetadataImage
from ..network.node_client import NodeSecurity
from ..replicas.partitions import Partitions

CONSUMER = -1
LATEST = -1
"""The timestamp by which a consumer asks for the high watermark."""
EndKnown = Callable[[int | ErrorCode], None]
"""Gets the high watermark of a partition, or why it is not known."""


class EndQuestion(NamedTuple):
    """A question for the leader of a partition."""

    topic: str
    partition: int
    done: EndKnown

    @property
    def key(self) -> tuple[str, int]:
        """The partition, by which the response names it."""
        return self.topic, self.partition

    def failed(self, error: ErrorCode) -> None:
        """Delivers the error, because the other broker did not answer."""
        self.done(error)


class EndsDialect:
    """Encodes questions as one ListOffsets request, and takes its response apart."""

    def together(self, _: EndQuestion) -> None:
        """A request may have any partitions."""

    def request(self, questions: list[EndQuestion]) -> ListOffsetsRequest:
        """One request of a consumer that reads uncommitted records, too."""
        topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
        for question in questions:
            asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=question.partition, timestamp=LATEST)
            topics.setdefault(question.topic, []).append(asked)
        return ListOffsetsRequest(
            CONSUMER, topics=[ListOffsetsRequest.ListOffsetsTopic(name, asked) for name, asked in topics.items()]
        )

    def answers(self, questions: list[EndQuestion], response: ListOffsetsResponse) -> list[Callable[[], None]]:
        """Returns a callback for each question. One that the response does not name gets UNKNOWN_SERVER_ERROR."""
        found = {(topic.name, one.partition_index): one for topic in response.topics for one in topic.partitions}
        return [partial(question.done, _end_in(found.get(question.key))) for question in questions]


def _end_in(answer: ListOffsetsResponse.ListOffsetsPartitionResponse | None) -> int | ErrorCode:
    if answer is None:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return error_of(answer.error_code) if answer.error_code else answer.offset


class PartitionEnds:
    """Looks up the ends of partitions at their leaders."""

    def __init__(
        self,
        node_id: int,
        partitions: Partitions,
        image: Callable[[], MetadataImage],
        listener_name: str,
        timeout_ms: int,
        security: NodeSecurity | None,
    ) -> None:
        """``listener_name``: the inter-broker listener's. ``timeout_ms``: for one request. ``security``: the settings
        of connections to other brokers; None without other brokers."""
        self._node_id = node_id
        self._partitions = partitions
        self._image = image
        self._listener_name = listener_name
        self._timeout_s = timeout_ms / 1000
        self._security = security
        self._peers: dict[int, Peer[EndQuestion, ListOffsetsResponse]] = {}

    def ask(self, topic: str, index: int, done: EndKnown) -> None:
        """Passes the end of a partition to ``done``, now or later."""
        known = self._image().partition(topic, index)
        if known is None or known.leader == self._node_id or self._security is None:
            done(self._local(topic, index))
        elif known.leader < 0:
            done(ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            self._peer(known.leader, self._security).ask(EndQuestion(topic, index, done))

    def close(self) -> None:
        """Ends all connections. Questions without an answer get none."""
        for peer in self._peers.values():
            peer.close()

    def _local(self, topic: str, index: int) -> int | ErrorCode:
        """The high watermark of a partition that this broker leads."""
        try:
            partition = self._partitions.get(topic, index)
            log = partition.log_to_fetch(only_leader=True)
        except KafkaError as error:
            return error.error_code
        if partition.leading is not None and not partition.leading.isr.are_offsets_settled:
            return ErrorCode.OFFSET_NOT_AVAILABLE
        return log.high_watermark

    def _peer(self, broker_id: int, security: NodeSecurity) -> Peer[EndQuestion, ListOffsetsResponse]:
        peer = self._peers.get(broker_id)
        if peer is None:
            peer = self._peers[broker_id] = Peer(
                f"broker-{self._node_id}-partition-ends-{broker_id}",
                f"can't ask broker {broker_id} for the ends of partitions",
                EndsDialect(),
                partial(self._address, broker_id),
                self._timeout_s,
                security,
            )
        return peer

    def _address(self, broker_id: int) -> Address | str:
        return self._image().address(broker_id, self._listener_name)
