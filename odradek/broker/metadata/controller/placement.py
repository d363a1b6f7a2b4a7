"""Places the replicas of new partitions. Pure. Source: StripedReplicaPlacer, ReplicationControlManager,
ClusterControlManager.defaultDir.
"""

from collections.abc import Sequence
from itertools import islice

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import PartitionRecord

from ..image.features import DIRECTORY_ASSIGNMENT_SUPPORTED
from ..image.image import DIRECTORY_UNASSIGNED, MetadataImage
from .controller import Controller

PLACED_A_STEP = 64
"""The number of partitions placed in one step: 5 us each."""


class Placer:
    """Chooses replicas and directories for the partitions of one request, spread evenly.

    Call :meth:`prepare` first.
    """

    def __init__(self, image: MetadataImage, controller: Controller) -> None:
        self._image = image
        self._shortage_in = controller.shortage_in
        self._chosen: dict[bytes, int] = {}

    def prepare(self) -> Steps[None]:
        """Counts the partitions of each directory, if a broker has several to choose from."""
        if all(len(broker.directories) < 2 for broker in self._image.brokers.values()):
            return
        for topic in list(self._image.topics_by_id.values()):
            for first in range(0, len(topic.partitions), PLACED_A_STEP):
                yield
                for partition in islice(topic.partitions.values(), first, first + PLACED_A_STEP):
                    for directory in partition.directories:
                        self._chosen[directory] = self._chosen.get(directory, 0) + 1

    def place(self, first_index: int, count: int, replication_factor: int) -> Steps[list[list[int]]]:
        """The replicas of ``count`` partitions from ``first_index`` on. Unfenced brokers come before fenced ones.

        Raises KafkaError INVALID_REPLICATION_FACTOR with the sentences of Kafka's placer.
        """
        brokers = {broker_id: broker for broker_id, broker in self._image.brokers.items() if not broker.is_cordoned}
        usable = sorted(broker_id for broker_id in brokers if not brokers[broker_id].fenced)
        if not usable:
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                "All brokers are currently fenced, or have all their log directories cordoned.",
            )
        if replication_factor > len(brokers):
            raise KafkaError(
                ErrorCode.INVALID_REPLICATION_FACTOR,
                f"The target replication factor of {replication_factor} cannot be reached because only "
                f"{len(brokers)} broker(s) are registered or some brokers have all their log directories cordoned.",
            )
        fenced = sorted(broker_id for broker_id in brokers if brokers[broker_id].fenced)
        placed = []
        for index in range(first_index, first_index + count):
            if not index % PLACED_A_STEP:
                yield
            start = index % len(usable)
            placed.append((usable[start:] + usable[:start] + fenced)[:replication_factor])
        return placed

    def check_manual(self, replicas: Sequence[int], replication_factor: int | None) -> None:
        """Raises KafkaError INVALID_REPLICA_ASSIGNMENT for an impossible assignment."""
        prefix = "The manual partition assignment includes"
        if not replicas:
            raise _bad_assignment(f"{prefix} an empty replica list.")
        previous = None
        for broker_id in sorted(replicas):
            if broker_id not in self._image.brokers:
                raise _bad_assignment(f"{prefix} broker {broker_id}, but no such broker is registered.")
            if broker_id == previous:
                raise _bad_assignment(f"{prefix} the broker {previous} more than once.")
            previous = broker_id
        if replication_factor is not None and len(replicas) != replication_factor:
            raise _bad_assignment(
                f"{prefix} a partition with {len(replicas)} replica(s), but this is not consistent with previous "
                f"partitions, which have {replication_factor} replica(s)."
            )

    def all_active(self, placed: Sequence[Sequence[int]]) -> Steps[bool]:
        """Whether each partition has a replica that can be in its first ISR."""
        for count, replicas in enumerate(placed):
            if not count % PLACED_A_STEP:
                yield
            if not self.active(replicas):
                return False
        return True

    def active(self, replicas: Sequence[int]) -> list[int]:
        """The replicas that can be in a partition's first ISR: their brokers are active."""
        return [replica for replica in replicas if self._image.brokers[replica].is_active]

    def partition_record(self, topic_id: bytes, index: int, replicas: Sequence[int]) -> PartitionRecord:
        """The record of a new partition, led by its first active replica; at least one must be active."""
        isr = self.active(replicas)
        directories = []
        if self._image.metadata_version >= DIRECTORY_ASSIGNMENT_SUPPORTED:
            directories = [self.directory(broker_id) for broker_id in replicas]
        return PartitionRecord(
            partition_id=index,
            topic_id=topic_id,
            replicas=list(replicas),
            isr=isr,
            leader=isr[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=directories,
        )

    def directory(self, broker_id: int) -> bytes:
        """The directory for a new replica on a broker: the one that is least short of space and, among several, has the
        fewest partitions, as a broker's LogManager chooses.
        """
        broker = self._image.brokers[broker_id]
        candidates = [directory for directory in broker.directories if directory not in broker.cordoned_directories]
        if not candidates:
            return DIRECTORY_UNASSIGNED
        if len(candidates) == 1:
            return candidates[0]
        chosen = min(candidates, key=lambda directory: (self._shortage_in(directory), self._chosen.get(directory, 0)))
        self._chosen[chosen] = self._chosen.get(chosen, 0) + 1
        return chosen


def _bad_assignment(sentence: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, sentence)
