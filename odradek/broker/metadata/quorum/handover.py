"""Which log directory this broker reports for a replica, so that others lead while the directory has no room.

A broker that refuses clients' records for lack of space reports ``DirectoryId.LOST`` for what it leads. Controllers
treat such a replica as one in a failed directory: they take it out of the ISR, elect another leader, and do not elect
this broker again (preferred leaders included) until its real directory is reported. The broker is not fenced, so it
goes on following, and joins the ISR again as soon as it has caught up. Other directories of the broker are not touched.

Pure. Never does: reading a clock, sending. Invariants: a leadership is handed over only if another replica may lead at
once; a partition that no other broker can lead is taken back, because a full disk still serves reads. Source: our own
use of KIP-858 (``ReplicationControlManager.handleAssignReplicasToDirs``, ``LeaderAcceptor``); Kafka's broker ends
itself.
"""

from collections.abc import Set

from ..image.image import DIRECTORY_LOST, MetadataImage, PartitionImage


def directory_to_report(
    image: MetadataImage, partition: PartitionImage, node_id: int, lies_in: bytes, full: Set[bytes]
) -> bytes:
    """The directory id to report for this broker's replica: the one in which it lies, or DIRECTORY_LOST.

    ``full``: the ids of the directories that refuse clients' records.
    """
    if lies_in not in full:
        return lies_in
    if partition.leader == node_id:
        return DIRECTORY_LOST if _another_may_lead(image, partition, node_id) else lies_in
    is_handed_over = partition.directory_of(node_id) == DIRECTORY_LOST
    return DIRECTORY_LOST if is_handed_over and partition.has_leader else lies_in


def may_leave(partition: PartitionImage, node_id: int) -> bool:
    """Whether this broker's replica can be taken out of the ISR: it is in it, and another broker leads."""
    return partition.has_leader and partition.leader != node_id and node_id in partition.isr


def waits_for_election(partition: PartitionImage, node_id: int) -> bool:
    """Whether a partition without a leader might have this broker elected.

    Controllers look at the directory that they knew before a report. So the report of the real directory elects no
    leader yet, and the same report once more does.
    """
    return not partition.has_leader and node_id in (*partition.isr, *partition.eligible_leader_replicas)


def _another_may_lead(image: MetadataImage, partition: PartitionImage, node_id: int) -> bool:
    for replica, directory in zip(partition.replicas, partition.directories, strict=True):
        broker = image.brokers.get(replica)
        if (
            replica != node_id
            and replica in partition.isr
            and broker is not None
            and broker.is_active
            and broker.has_online_directory(directory)
        ):
            return True
    return False
