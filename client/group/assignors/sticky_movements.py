"""Which partitions a rebalance has moved so far, so that it does not move one there and another of its topic back.

Pure. Source: ``AbstractStickyAssignor.PartitionMovements``.
"""

from ...types import TopicPartition
from .hash_order import PartitionSet

Move = tuple[str, str]
"""From which member to which."""


class Movements:
    """The moves of one assignment."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[Move, PartitionSet]] = {}
        self._moves: dict[TopicPartition, Move] = {}

    def moved(self, partition: TopicPartition, giver: str, taker: str) -> None:
        """Notes a move; one that goes back where it came from is as if it had not been."""
        earlier = self._moves.pop(partition, None)
        if earlier is not None:
            moves = self._by_topic[partition.topic]
            moves[earlier].remove(partition)
            if not len(moves[earlier]):
                del moves[earlier]
            giver = earlier[0]
            if giver == taker:
                return
        self._moves[partition] = (giver, taker)
        self._by_topic.setdefault(partition.topic, {}).setdefault((giver, taker), PartitionSet()).add(partition)

    def better(self, partition: TopicPartition, giver: str, taker: str) -> TopicPartition:
        """What to move instead: a partition of the topic that came the other way."""
        giver = self._moves.get(partition, (giver, ""))[0]
        back = self._by_topic.get(partition.topic, {}).get((taker, giver))
        return partition if back is None else back.first()
