"""Which replica a consumer should read from: ``replica.selector.class`` (KIP-392).

Pure. Owns: nothing. Never does: knowing followers (:mod:`.leading` does). Source: ReplicaSelector,
RackAwareReplicaSelector, ``ReplicaManager.findPreferredReadReplica``.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..metadata.image.image import MetadataImage


class ReplicaView(NamedTuple):
    """An in-sync follower that has the offset. Views are compared as tuples: the one that has caught up most is the
    largest (``ReplicaView.comparator``)."""

    end_offset: int
    caught_up_ms: int
    """When the follower last had all that the leader had, in ms of a monotonic clock."""
    broker_id: int


class RackAwareReplicaSelector:
    """Chooses a replica in the consumer's rack: the leader if it is there, else the one that has caught up most."""

    def __init__(self, node_id: int, image: Callable[[], MetadataImage]) -> None:
        """``image`` returns the newest image. Fenced brokers, and those without the listener, are not chosen."""
        self._node_id = node_id
        self._image = image

    def select(self, rack: str, listener_name: str, followers: Iterable[ReplicaView]) -> int | None:
        """The broker to read from, for a partition that this broker leads; None for this broker."""
        if self._is_in_rack(self._node_id, rack, listener_name):
            return None
        near = (follower for follower in followers if self._is_in_rack(follower.broker_id, rack, listener_name))
        best = max(near, default=None)
        return None if best is None else best.broker_id

    def _is_in_rack(self, broker_id: int, rack: str, listener_name: str) -> bool:
        image = self._image()
        return image.endpoint(broker_id, listener_name) is not None and image.brokers[broker_id].rack == rack
