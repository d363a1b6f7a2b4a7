"""Log directories in the metadata: the directory of each replica, failed directories, cordoned directories. Pure.

Source: ReplicationControlManager.handleAssignReplicasToDirs and handleDirectoriesOffline, KIP-858; KIP-1066 (cordoned).
"""

from collections.abc import Iterator, Mapping, Sequence

from odradek.protocol.messages.metadata_records import BrokerRegistrationChangeRecord, PartitionChangeRecord
from odradek.protocol.messages.structure import Message

from ..image.features import CORDONED_DIRECTORIES_SUPPORTED, DIRECTORY_ASSIGNMENT_SUPPORTED
from ..image.image import MetadataImage, PartitionImage, Replica
from .controller import Controller
from .elections import leave_partition


def assignment_records(image: MetadataImage, node_id: int, lies_in: Mapping[Replica, bytes]) -> list[Message]:
    """Records for the replicas whose directory differs from the metadata. `lies_in` has the actual directory ids."""
    records: list[Message] = []
    if image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
        return records
    for (topic_id, index), directory_id in lies_in.items():
        topic = image.topics_by_id.get(topic_id)
        partition = None if topic is None else topic.partitions.get(index)
        if partition is None or node_id not in partition.replicas or partition.directory_of(node_id) == directory_id:
            continue
        directories = list(partition.directories)
        directories[partition.replicas.index(node_id)] = directory_id
        records.append(PartitionChangeRecord(index, topic_id, directories=directories))
    return records


def offline_records(image: MetadataImage, controller: Controller, directory_id: bytes) -> list[Message]:
    """Records for a failed directory of this broker: its partitions get another leader or none."""
    node_id = controller.node_id
    broker = image.brokers[node_id]
    if directory_id not in broker.directories:
        return []
    records: list[Message] = [
        leave_partition(image, topic_id, index, partition, node_id)
        for topic_id, index, partition in _replicas_in(image, node_id, directory_id)
        if node_id in partition.isr or partition.leader == node_id
    ]
    rest = [directory for directory in broker.directories if directory != directory_id]
    records.append(BrokerRegistrationChangeRecord(node_id, broker.epoch, log_dirs=rest))
    return records


def _replicas_in(
    image: MetadataImage, node_id: int, directory_id: bytes
) -> Iterator[tuple[bytes, int, PartitionImage]]:
    for topic in image.topics_by_id.values():
        for index, partition in topic.partitions.items():
            if node_id in partition.replicas and partition.directory_of(node_id) == directory_id:
                yield topic.topic_id, index, partition


def cordoned_records(image: MetadataImage, controller: Controller, cordoned: Sequence[bytes]) -> list[Message]:
    """The record with the directories that take no new partitions; none if the metadata already has them."""
    broker = image.brokers[controller.node_id]
    if image.metadata_version < CORDONED_DIRECTORIES_SUPPORTED or broker.cordoned_directories == tuple(cordoned):
        return []
    return [BrokerRegistrationChangeRecord(controller.node_id, broker.epoch, cordoned_log_dirs=list(cordoned))]
