"""Sends WriteTxnMarkers and AddPartitionsToTxn to other brokers: leaders of partitions, and coordinators.

Shell. Owns: for each broker one connection for markers and one for AddPartitionsToTxn, with a queue each. Never does:
retries (:mod:`.marker_writer` and the producers do). Source: ``TransactionMarkerChannelManager``,
``AddPartitionsToTxnManager``.
"""

from collections.abc import Callable
from functools import partial

from odradek.protocol.messages.transactions import AddPartitionsToTxnResponse, WriteTxnMarkersResponse
from odradek.protocol.names.topics import TRANSACTION_STATE_TOPIC

from ..coordinator.partitioning import partition_for
from ..coordinator.peer import Address, Peer
from ..metadata.image.image import MetadataImage
from ..network.node_client import PLAINTEXT, NodeSecurity
from .remote_markers import MarkerDialect, MarkerQuestion
from .remote_membership import MembershipDialect, MembershipQuestion


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
