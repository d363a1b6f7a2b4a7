"""Elects partition leaders. Pure: an image goes in, PartitionChange records come out.

Every record that names a leader raises the leader epoch, so that clients and followers detect a possible loss of
records. A leader is chosen from the in-sync replicas, then the eligible ones (KIP-966), then (unclean) the last known
eligible one, then, if the topic allows it, any available replica. Source: PartitionChangeBuilder,
ReplicationControlManager.electLeaders and handleBrokerUnfenced.
"""

from collections.abc import Callable, Iterator
from functools import partial

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import PartitionChangeRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import ElectLeadersRequest, ElectLeadersResponse

from ..image.features import ELR_SUPPORTED
from ..image.image import NO_LEADER, LeaderRecoveryState, MetadataImage, PartitionImage, ResourceType, TopicImage
from ..publisher.decision import NO_ERROR, ApiError, Decision
from .controller import Controller

PREFERRED, UNCLEAN = 0, 1
PARTITIONS_A_STEP = 64
"""The number of partitions in one step: up to 10 us each."""
UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"


def electable(image: MetadataImage, partition: PartitionImage, broker_id: int) -> bool:
    """Whether a broker and its directory of this partition are online."""
    broker = image.brokers.get(broker_id)
    return (
        broker is not None
        and broker.is_active
        and broker_id in partition.replicas
        and broker.has_online_directory(partition.directory_of(broker_id))
    )


def _choose(partition: PartitionImage, may_lead: Callable[[int], bool], unclean: bool) -> tuple[int, bool]:
    """(the next leader or NO_LEADER, whether the election is clean). The preferred replica comes first."""
    eligible = {*partition.isr, *partition.eligible_leader_replicas}
    for replica in partition.replicas:
        if replica in eligible and may_lead(replica):
            return replica, True
    if not eligible and len(partition.last_known_elr) == 1 and may_lead(partition.last_known_elr[0]):
        return partition.last_known_elr[0], False
    if unclean:
        for replica in partition.replicas:
            if may_lead(replica):
                return replica, False
    return NO_LEADER, True


def _leader_records(
    image: MetadataImage, topic: TopicImage, index: int, leader: int, clean: bool
) -> Iterator[PartitionChangeRecord]:
    """The records that make a broker the leader and, if it was not in sync, the only in-sync replica."""
    partition = topic.partitions[index]
    change = PartitionChangeRecord(partition_id=index, topic_id=topic.topic_id, leader=leader)
    if leader not in partition.isr:
        change.isr = [leader]
        if image.metadata_version >= ELR_SUPPORTED:
            rest = [replica for replica in partition.eligible_leader_replicas if replica != leader]
            change.eligible_leader_replicas = rest if clean else []
            change.last_known_elr = []
    if not clean:
        change.isr = [leader]
        change.leader_recovery_state = LeaderRecoveryState.RECOVERING
    yield change
    if not clean or partition.leader_recovery_state is LeaderRecoveryState.RECOVERING:
        # The leader's log was recovered when it was opened. A Kafka leader reports this by AlterPartition.
        yield PartitionChangeRecord(
            partition_id=index, topic_id=topic.topic_id, leader_recovery_state=LeaderRecoveryState.RECOVERED
        )


def allows_unclean(image: MetadataImage, topic: str, controller: Controller) -> bool:
    """``unclean.leader.election.enable`` of a topic, through its dynamic and static defaults."""
    for resource in (
        (ResourceType.TOPIC, topic),
        (ResourceType.BROKER, str(controller.node_id)),
        (ResourceType.BROKER, ""),
    ):
        text = image.config_of(*resource).get(UNCLEAN_LEADER_ELECTION)
        if text is not None:
            return text.lower() == "true"
    return controller.config.get_boolean(UNCLEAN_LEADER_ELECTION)


def leave_partition(
    image: MetadataImage, topic_id: bytes, index: int, partition: PartitionImage, node_id: int
) -> PartitionChangeRecord:
    """The record that removes a broker from a partition's ISR and leadership, and names another leader or none
    (``generateLeaderAndIsrUpdates``).
    """
    isr = [replica for replica in partition.isr if replica != node_id]
    has_elr = image.features.get("eligible.leader.replicas.version", 0) > 0
    candidates = [*isr, *partition.eligible_leader_replicas]
    leader = next(
        (
            replica
            for replica in (partition.leader, *partition.replicas)
            if replica in candidates and replica != node_id and electable(image, partition, replica)
        ),
        NO_LEADER,
    )
    change = PartitionChangeRecord(index, topic_id)
    if leader != partition.leader:
        change.leader = leader
    if isr or has_elr:
        change.isr = isr
    if has_elr and not isr:
        eligible = {*partition.eligible_leader_replicas, *partition.isr}
        change.eligible_leader_replicas = [replica for replica in partition.replicas if replica in eligible]
        if partition.has_leader and leader == NO_LEADER and partition.last_known_elr != (partition.leader,):
            change.last_known_elr = [partition.leader]
    return change


def elect_at_start(image: MetadataImage, controller: Controller, *, clean: bool) -> list[Message]:
    """The records that elect a leader, in a new epoch, for every partition with a replica here that no other online
    broker leads. Called after this broker is unfenced.

    ``clean``: this broker's last stop was clean. If not, and with eligible leader replicas, the partitions that it led
    get an unclean election, as in Kafka.
    """
    node_id = controller.node_id
    has_elr = image.features.get("eligible.leader.replicas.version", 0) > 0
    records: list[Message] = []
    for topic in image.topics_by_id.values():
        unclean = allows_unclean(image, topic.name, controller)
        for index, partition in topic.partitions.items():
            if node_id not in partition.replicas:
                continue
            if partition.has_leader and partition.leader != node_id and electable(image, partition, partition.leader):
                continue
            may_lead = partial(electable, image, partition)
            leader, was_clean = _choose(partition, may_lead, unclean)
            if leader == NO_LEADER:
                if partition.has_leader:
                    records.append(leave_partition(image, topic.topic_id, index, partition, node_id))
                continue
            lost = has_elr and not clean and leader == node_id
            records += _leader_records(image, topic, index, leader, was_clean and not lost)
    return records


def elect_leaders(
    image: MetadataImage, request: ElectLeadersRequest, version: int
) -> Steps[Decision[ElectLeadersResponse]]:
    """Elects the preferred leader, or an unclean one, of the requested partitions; null means all.

    If all were requested, the answer has only those that needed an election.
    """
    decision: Decision[ElectLeadersResponse] = Decision(ElectLeadersResponse())
    election_type = request.election_type if version >= 1 else PREFERRED
    if election_type not in (PREFERRED, UNCLEAN):
        decision.response.error_code = ErrorCode.INVALID_REQUEST
        return decision
    everything = request.topic_partitions is None
    asked = (
        [(topic.name, topic.partitions) for topic in image.topics_by_name.values()]
        if request.topic_partitions is None
        else [(topic.topic, topic.partitions) for topic in request.topic_partitions]
    )
    for name, indexes in asked:
        result = ElectLeadersResponse.ReplicaElectionResult(topic=name)
        decision.response.replica_election_results.append(result)
        for count, index in enumerate(indexes):
            if not count % PARTITIONS_A_STEP:
                yield
            error = _elect(image, name, index, election_type == UNCLEAN, decision.records)
            if everything and error.code is ErrorCode.ELECTION_NOT_NEEDED:
                continue
            result.partition_result.append(ElectLeadersResponse.PartitionResult(index, error.code, error.message))
    return decision


def _elect(image: MetadataImage, name: str, index: int, unclean: bool, records: list[Message]) -> ApiError:
    topic = image.topics_by_name.get(name)
    if topic is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}")
    partition = topic.partitions.get(index)
    if partition is None:
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}")
    if partition.has_leader if unclean else partition.has_preferred_leader:
        return ApiError.of(ErrorCode.ELECTION_NOT_NEEDED)
    may_lead = partial(electable, image, partition)
    if not unclean:
        preferred = partition.replicas[0]
        if preferred not in partition.isr or not may_lead(preferred):
            return ApiError.of(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
        records += _leader_records(image, topic, index, preferred, clean=True)
        return NO_ERROR
    leader, clean = _choose(partition, may_lead, unclean=True)
    if leader == NO_LEADER:
        return ApiError.of(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)
    records += _leader_records(image, topic, index, leader, clean)
    return NO_ERROR
