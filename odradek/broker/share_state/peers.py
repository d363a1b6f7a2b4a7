"""Asks the share coordinators of other brokers.

Shell. Owns: the connections to other brokers, CONNECTIONS for each, so that share groups rarely wait for each other.
Never does: retries (:mod:`.state_persister`). Source: ``PersisterStateManager``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from odradek.protocol.names.topics import SHARE_STATE_TOPIC

from ..coordinator.partitioning import partition_for
from ..coordinator.peer import Address, Peer
from ..metadata.image.image import MetadataImage
from ..network.node_client import NodeSecurity
from .remote import StateDialect, StateQuestion

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
