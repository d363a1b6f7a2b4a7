"""Tracks replicas of this broker whose log directory is not the one in the metadata, until the controllers confirm it.

    assignments.placed(topic_id, index, directory_id)   a replica lies there
    assignments.next(image, broker_epoch)               -> the next request, or None
    assignments.answered(response)                      or unanswered(), then wait for assignments.backoff_ms
    assignments.refuse_in(ids)                          directories that refuse clients' records

A broker with several log directories chooses one for each replica. The controllers must know the choice: if a directory
fails, they move the leaderships of the replicas in it. Pure. Owns: the queued assignments, those in the request that is
in flight. Never does: I/O, reading a clock. Invariants: one request is in flight; an assignment is forgotten only if
the controllers have confirmed it, if the metadata holds it, or if the replica is gone; of several directories that were
reported for a replica, the newest is sent last. Source: AssignmentsManager, Assignment (KIP-858).

A broker that refuses clients' records for lack of space reports ``DirectoryId.LOST`` for what it leads. Controllers
treat such a replica as one in a failed directory: they take it out of the ISR, elect another leader, and do not elect
this broker again (preferred leaders included) until its real directory is reported. The broker is not fenced, so it
goes on following, and joins the ISR again as soon as it has caught up. Invariants: a leadership is handed over only if
another replica may lead at once; a partition that no other broker can lead is taken back, because a full disk still
serves reads. Source: our own use of KIP-858 (``handleAssignReplicasToDirs``, ``LeaderAcceptor``); Kafka's broker ends.
"""

from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_of
from odradek.protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

from ..image.features import DIRECTORY_ASSIGNMENT_SUPPORTED
from ..image.image import DIRECTORY_LOST, MetadataImage, PartitionImage, Replica


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


MAX_IN_REQUEST = 500
"""Assignments in one request, which takes 1 ms to encode. Controllers accept 2,250 (MAX_ASSIGNMENTS_PER_REQUEST)."""
FIRST_BACKOFF_MS = 100
MAX_BACKOFF_MS = 10_000
"""``AssignmentsManager.STANDARD_BACKOFF``: the backoff doubles with every failure, up to this."""


class Sent(NamedTuple):
    """An assignment in flight: the directory in which the replica lies, and the one that is reported."""

    lies_in: bytes
    reported: bytes


class DirectoryAssignments:
    """The unconfirmed assignments of one broker process."""

    def __init__(self, node_id: int, max_in_request: int = MAX_IN_REQUEST) -> None:
        self._node_id = node_id
        self._max_in_request = max_in_request
        self.full: Set[bytes] = frozenset()
        """The directories that refuse clients' records; see :meth:`refuse_in`."""
        self._waiting: dict[Replica, bytes] = {}
        """Replica -> the directory in which it lies. Those that failed are at the end."""
        self._sent: dict[Replica, Sent] = {}
        """The same for the request in flight; empty if there is none."""
        self._stuck: dict[Replica, bytes] = {}
        """Followed replicas that must not be in the ISR, because their logs can't take what the leader sends, and the
        directories in which they lie."""
        self._taken_back: set[Replica] = set()
        """Replicas that were reported in their real directories because the partition had no leader. The same report
        once more lets controllers elect this broker."""
        self._failures = 0
        """Requests in a row that confirmed nothing."""

    @property
    def pending(self) -> Mapping[Replica, bytes]:
        """Replica -> directory id of everything that the controllers have not confirmed."""
        return {**{replica: sent.reported for replica, sent in self._sent.items()}, **self._waiting}

    @property
    def backoff_ms(self) -> int:
        """How long to wait before the next request; 0 if the last one confirmed anything."""
        if not self._failures:
            return 0
        return int(min(FIRST_BACKOFF_MS * 2 ** min(self._failures - 1, 10), MAX_BACKOFF_MS))

    def placed(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Queues the report that a replica lies in this directory, if the metadata names another one or none."""
        replica = topic_id, index
        sent = self._sent.get(replica)
        if sent is not None and sent.reported == directory_id:
            self._waiting.pop(replica, None)
        else:
            self._waiting[replica] = directory_id

    def refuse_in(self, directory_ids: Set[bytes]) -> None:
        """Sets the directories that refuse clients' records. Queue what this broker leads in them, and what it has
        handed over."""
        have_room = self.full - directory_ids
        for replica in [key for key, lies_in in self._stuck.items() if lies_in in have_room]:
            del self._stuck[replica]
        self.full = directory_ids

    def is_stuck(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Keeps a followed replica out of the ISR until its directory has room: its log can't take what the leader
        sends. ``directory_id``: where it lies."""
        self._stuck[topic_id, index] = self._waiting[topic_id, index] = directory_id

    def topics_deleted(self, topic_ids: Collection[bytes]) -> None:
        """Forgets the replicas of deleted topics."""
        gone = [replica for replica in self.pending.keys() | self._stuck.keys() if replica[0] in topic_ids]
        for replica in gone:
            self._waiting.pop(replica, None)
            self._sent.pop(replica, None)
            self._stuck.pop(replica, None)
        self._taken_back = {replica for replica in self._taken_back if replica[0] not in topic_ids}

    def next(self, image: MetadataImage, broker_epoch: int) -> AssignReplicasToDirsRequest | None:
        """The next request, or None if nothing can be sent now.

        An assignment stays queued while the image does not hold its topic: a partition is served before clients can see
        it.
        """
        if self._sent or image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
            return None
        for replica, lies_in in list(self._waiting.items()):
            if len(self._sent) == self._max_in_request:
                break
            if replica[0] not in image.topics_by_id:
                continue
            del self._waiting[replica]
            reported = self._report(image, replica, lies_in)
            if reported is not None:
                self._sent[replica] = Sent(lies_in, reported)
        return self._request(broker_epoch) if self._sent else None

    def _report(self, image: MetadataImage, replica: Replica, lies_in: bytes) -> bytes | None:
        """The directory to report for a replica, None if the controllers know it."""
        partition = image.topics_by_id[replica[0]].partitions.get(replica[1])
        if partition is None or self._node_id not in partition.replicas:
            return None
        if replica in self._stuck and may_leave(partition, self._node_id):
            return DIRECTORY_LOST
        reported = directory_to_report(image, partition, self._node_id, lies_in, self.full)
        is_leaderless = waits_for_election(partition, self._node_id)
        if reported != partition.directory_of(self._node_id):
            if is_leaderless:
                self._taken_back.add(replica)
            return reported
        return reported if is_leaderless else None

    def changed(self, image: MetadataImage, replica: Replica) -> None:
        """Takes a change of a partition in the metadata: it may have to be handed over, or reported once more."""
        topic = image.topics_by_id.get(replica[0])
        partition = None if topic is None else topic.partitions.get(replica[1])
        if partition is None or self._node_id not in partition.replicas:
            self._taken_back.discard(replica)
            self._stuck.pop(replica, None)
            return
        directory_id = partition.directory_of(self._node_id)
        if replica in self._taken_back and directory_id != DIRECTORY_LOST:
            self._taken_back.discard(replica)
            if waits_for_election(partition, self._node_id):
                # Not by `placed`: the first report, whose answer may come after its change, does not count as this one.
                self._waiting[replica] = directory_id
        if replica in self._stuck and may_leave(partition, self._node_id):
            self.placed(*replica, self._stuck[replica])
        if partition.leader == self._node_id and directory_id in self.full:
            self.placed(*replica, directory_id)

    def _request(self, broker_epoch: int) -> AssignReplicasToDirsRequest:
        topics: dict[bytes, dict[bytes, list[int]]] = {}
        for (topic_id, index), sent in self._sent.items():
            topics.setdefault(sent.reported, {}).setdefault(topic_id, []).append(index)
        partition = AssignReplicasToDirsRequest.PartitionData
        return AssignReplicasToDirsRequest(
            self._node_id,
            broker_epoch,
            [
                AssignReplicasToDirsRequest.DirectoryData(
                    directory_id,
                    [
                        AssignReplicasToDirsRequest.TopicData(topic_id, [partition(index) for index in indexes])
                        for topic_id, indexes in by_topic.items()
                    ],
                )
                for directory_id, by_topic in topics.items()
            ],
        )

    def answered(self, response: AssignReplicasToDirsResponse) -> dict[ErrorCode, int]:
        """Takes the answer: what it does not confirm is sent again.

        Returns how many assignments each error has refused.
        """
        if response.error_code:
            refused = {error_of(response.error_code): len(self._sent)}
            self.unanswered()
            return refused
        refused = {}
        is_confirmed = False
        for directory in response.directories:
            for topic in directory.topics:
                for partition in topic.partitions:
                    replica = topic.topic_id, partition.partition_index
                    sent = self._sent.get(replica)
                    if sent is None or sent.reported != directory.id:
                        continue
                    if partition.error_code:
                        code = error_of(partition.error_code)
                        refused[code] = refused.get(code, 0) + 1
                    else:
                        del self._sent[replica]
                        is_confirmed = True
        failures = self._failures
        self.unanswered()
        self._failures = 0 if is_confirmed else failures + 1
        return refused

    def unanswered(self) -> None:
        """Queues the assignments in flight again, unless a replica has moved since. Counts a failure."""
        for replica, sent in self._sent.items():
            self._waiting.setdefault(replica, sent.lies_in)
        self._sent.clear()
        self._failures += 1
