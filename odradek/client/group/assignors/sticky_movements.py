"""Records the moves of a rebalance, to avoid moving two partitions of a topic in opposite directions.

Pure. Source: ``AbstractStickyAssignor.PartitionMovements``.
"""

from ...types import TopicPartition
from .hash_order import PartitionSet

Move = tuple[str, str]
"""(member that loses the partition, member that gets it)."""


class Movements:
    """The moves of one assignment."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[Move, PartitionSet]] = {}
        self._moves: dict[TopicPartition, Move] = {}

    def moved(self, partition: TopicPartition, giver: str, taker: str) -> None:
        """Records a move. If the partition moved before, both moves become one; a move back cancels the first."""
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
        """The partition to move instead: one of the same topic that moved from ``taker`` to ``giver`` before.

        Moving it back has the same effect with fewer moves. Without such a partition, returns ``partition``.
        """
        giver = self._moves.get(partition, (giver, ""))[0]
        back = self._by_topic.get(partition.topic, {}).get((taker, giver))
        return partition if back is None else back.first()
