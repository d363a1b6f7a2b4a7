"""The partitions of this broker by topic name and id.

Pure but for log lines. Owns: the served partitions. Never does: files (the log directory does), deciding which
partitions exist (the metadata does). Source: ``ReplicaManager``.
"""

import logging
from collections.abc import Iterator

from odradek.protocol.errors import ErrorCode, KafkaError

from ..metrics.replica_state import HostedReplicaCounts
from .partition import Partition

logger = logging.getLogger(__name__)

ZERO_UUID = bytes(16)


class Partitions:
    """The served partitions, by topic name or topic id."""

    def __init__(self) -> None:
        self._by_topic: dict[str, dict[int, Partition]] = {}
        self._name_by_id: dict[bytes, str] = {}
        self._named_damage: set[tuple[str, int, str]] = set()

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._by_topic.values():
            yield from partitions.values()

    def __len__(self) -> int:
        return sum(map(len, self._by_topic.values()))

    def counts(self) -> HostedReplicaCounts:
        """The number of replicas on this broker, of usable and of failed ones, for the metrics. 60 ns for each."""
        refusals = [partition.refusal for partition in self if partition.is_replica]
        return HostedReplicaCounts(len(refusals), refusals.count(None), refusals.count(ErrorCode.KAFKA_STORAGE_ERROR))

    def add(self, partition: Partition) -> None:
        """Adds a partition to the served ones."""
        self._by_topic.setdefault(partition.topic, {})[partition.index] = partition
        self._name_by_id[partition.topic_id] = partition.topic

    def remove_topic(self, topic: str) -> list[Partition]:
        """Stops serving a topic. Returns its partitions, whose waiters the caller notifies."""
        partitions = list(self._by_topic.pop(topic, {}).values())
        if partitions:
            self._name_by_id.pop(partitions[0].topic_id, None)
        return partitions

    def topics(self) -> list[str]:
        """The names of all served topics."""
        return list(self._by_topic)

    def of_topic(self, topic: str) -> dict[int, Partition]:
        """The partitions of a topic by index; empty if it is not served."""
        return self._by_topic.get(topic, {})

    def name_damage(self, topic: str, index: int, what: str) -> None:
        """Logs damage of a partition on disk, once, since consumers request it repeatedly."""
        if (topic, index, what) not in self._named_damage:
            self._named_damage.add((topic, index, what))
            logger.error("%s-%d is damaged; consumers can't read past the damage: %s", topic, index, what)

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of the topic with this id."""
        return self._name_by_id.get(topic_id)

    def find(self, topic: str, index: int) -> Partition | None:
        """The partition, or None."""
        partitions = self._by_topic.get(topic)
        return None if partitions is None else partitions.get(index)

    def get(self, topic: str, index: int) -> Partition:
        """The partition. Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION."""
        partition = self.find(topic, index)
        if partition is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return partition

    def get_checked(self, topic: str, topic_id: bytes, index: int) -> Partition:
        """The partition, if its topic has this id (zero bytes: not given).

        Raises KafkaError UNKNOWN_TOPIC_OR_PARTITION, or INCONSISTENT_TOPIC_ID if the topic was deleted and created
        again since the client learnt its id.
        """
        partition = self.get(topic, index)
        if topic_id not in (ZERO_UUID, partition.topic_id):
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID)
        return partition
