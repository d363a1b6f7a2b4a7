"""Reassigns partitions to other brokers. Pure: image and request go in, records come out.

Removals and changes of the order are done at once. A reassignment that needs a copy stays in progress until the new
replicas are in sync. A single broker has no other broker to copy to, but it can end reassignments in a directory that
comes from a cluster. Source: ReplicationControlManager.alterPartitionReassignments, PartitionReassignmentReplicas,
PartitionChangeBuilder; KIP-455, KIP-860.
"""

from collections.abc import Sequence

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

from ..image.features import DIRECTORY_ASSIGNMENT_SUPPORTED
from ..image.image import NO_LEADER, MetadataImage, PartitionImage, TopicImage
from ..image.replay_topics import NO_LEADER_CHANGE
from ..publisher.decision import ApiError, Decision
from .controller import Controller
from .elections import allows_unclean, electable
from .placement import Placer


def alter_reassignments(
    image: MetadataImage, request: AlterPartitionReassignmentsRequest, controller: Controller
) -> Steps[Decision[AlterPartitionReassignmentsResponse]]:
    """Begins, changes or (replicas null) ends the reassignment of each partition. Each succeeds or fails
    independently.
    """
    if not request.topics:
        return Decision(AlterPartitionReassignmentsResponse())  # as Kafka does, without a check (QuorumController)
    decision = Decision(AlterPartitionReassignmentsResponse(error_message=None))
    decision.response.allow_replication_factor_change = request.allow_replication_factor_change
    placer = Placer(image, controller)
    yield from placer.prepare()
    for topic in request.topics:
        result = AlterPartitionReassignmentsResponse.ReassignableTopicResponse(topic.name)
        decision.response.responses.append(result)
        for partition in topic.partitions:
            yield
            try:
                record = _alter(
                    image, topic.name, partition, request.allow_replication_factor_change, controller, placer
                )
            except KafkaError as error:
                refused = ApiError.from_error(error)
                code, message = refused.code, refused.message
            else:
                code, message = ErrorCode.NONE, None
                if record is not None:
                    decision.records.append(record)
            result.partitions.append(
                AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
                    partition.partition_index, code, message
                )
            )
    return decision


def _alter(
    image: MetadataImage,
    name: str,
    wanted: AlterPartitionReassignmentsRequest.ReassignablePartition,
    allow_replication_factor_change: bool,
    controller: Controller,
    placer: Placer,
) -> PartitionChangeRecord | None:
    topic = image.topics_by_name.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {name}.")
    index = wanted.partition_index
    partition = topic.partitions.get(index)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {name}:{index}.")
    change = PartitionChange(image, topic, index, placer)
    if wanted.replicas is None:
        return _cancel(change, allows_unclean(image, name, controller))
    change.placer.check_manual(wanted.replicas, None)
    if not allow_replication_factor_change:
        _check_replication_factor(partition, wanted.replicas)
    removing = sorted(set(partition.replicas) - set(wanted.replicas))
    adding = sorted(set(wanted.replicas) - set(partition.replicas))
    change.replicas = [*wanted.replicas, *removing]
    change.removing = removing or change.removing
    change.adding = adding or change.adding
    change.complete_if_possible()
    return change.record()


def _check_replication_factor(partition: PartitionImage, wanted: Sequence[int]) -> None:
    """Raises KafkaError if the request changes the replication factor (KIP-860). Replicas that a reassignment in
    progress removes do not count."""
    factor = len({*partition.replicas, *partition.adding_replicas} - set(partition.removing_replicas))
    if factor != len(wanted):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {factor} to {len(wanted)}",
        )


def _cancel(change: "PartitionChange", unclean: bool) -> PartitionChangeRecord | None:
    """Ends a reassignment and restores the replicas from before it (``PartitionReassignmentRevert``)."""
    partition = change.partition
    if not partition.is_reassigning:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    change.replicas = [replica for replica in partition.replicas if replica not in partition.adding_replicas]
    change.isr = [replica for replica in partition.isr if replica not in partition.adding_replicas]
    if not change.isr:
        if not unclean:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {change.topic.name}:{change.index} because it would "
                "require an unclean leader election.",
            )
        change.isr = change.replicas[:1]
    change.removing, change.adding = [], []
    return change.record()


class PartitionChange:
    """The future state of a partition. The record has only the differences (``PartitionChangeBuilder``)."""

    def __init__(self, image: MetadataImage, topic: TopicImage, index: int, placer: Placer) -> None:
        self.topic = topic
        self.index = index
        self.partition = partition = topic.partitions[index]
        self.placer = placer
        self.replicas = list(partition.replicas)
        self.isr = list(partition.isr)
        self.removing = list(partition.removing_replicas)
        self.adding = list(partition.adding_replicas)
        self._image = image

    def complete_if_possible(self) -> None:
        """Ends the reassignment if all remaining replicas are in sync (``maybeCompleteReassignment``)."""
        staying = [replica for replica in self.replicas if replica not in self.removing]
        in_sync = [replica for replica in self.isr if replica not in self.removing]
        if in_sync and staying and set(staying) <= set(in_sync):
            self.replicas, self.isr = staying, in_sync
            self.removing, self.adding = [], []

    def record(self) -> PartitionChangeRecord | None:
        """The record; None if nothing changes."""
        before = self.partition
        change = PartitionChangeRecord(self.index, self.topic.topic_id)
        leader = self._leader()
        # If a replica is removed the epoch rises, so that all brokers learn of it.
        if leader != before.leader or not set(before.replicas) <= set(self.replicas):
            change.leader = leader
        if self.isr != list(before.isr):
            change.isr = self.isr
        directories = self._directories()
        if directories is not None and directories != list(before.directories):
            change.directories = directories
        if self.replicas != list(before.replicas):
            change.replicas = self.replicas
        if self.removing != list(before.removing_replicas):
            change.removing_replicas = self.removing
        if self.adding != list(before.adding_replicas):
            change.adding_replicas = self.adding
        unchanged = (change.leader, change.isr, change.directories, change.replicas) == (NO_LEADER_CHANGE,) + (
            None,
        ) * 3
        return None if unchanged and change.removing_replicas is None and change.adding_replicas is None else change

    def _leader(self) -> int:
        """The present leader if it may stay, else the first replica that is in sync and online."""
        for replica in (self.partition.leader, *self.replicas):
            if replica in self.isr and replica in self.replicas and electable(self._image, self.partition, replica):
                return replica
        return NO_LEADER

    def _directories(self) -> list[bytes] | None:
        if self._image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
            return None
        known = dict(zip(self.partition.replicas, self.partition.directories, strict=True))
        return [known[replica] if replica in known else self.placer.directory(replica) for replica in self.replicas]
