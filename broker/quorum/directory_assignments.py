"""Tracks replicas of this broker whose log directory is not the one in the metadata, until the controllers confirm it.

    assignments.placed(topic_id, index, directory_id)   a replica lies there
    assignments.next(image, broker_epoch)               -> the next request, or None
    assignments.answered(response)                      or unanswered(), then wait for assignments.backoff_ms

A broker with several log directories chooses one for each replica. The controllers must know the choice: if a directory
fails, they move the leaderships of the replicas in it. Pure. Owns: the queued assignments, those in the request that is
in flight. Never does: I/O, reading a clock. Invariants: one request is in flight; an assignment is forgotten only if
the controllers have confirmed it, if the metadata holds it, or if the replica is gone; of several directories that were
reported for a replica, the newest is sent last. Source: AssignmentsManager, Assignment (KIP-858).
"""

from collections.abc import Collection, Mapping

from ...protocol.errors import ErrorCode, error_of
from ...protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from ..metadata.features import DIRECTORY_ASSIGNMENT_SUPPORTED
from ..metadata.image import MetadataImage, Replica

MAX_IN_REQUEST = 500
"""Assignments in one request, which takes 1 ms to encode. Controllers accept 2,250 (MAX_ASSIGNMENTS_PER_REQUEST)."""
FIRST_BACKOFF_MS = 100
MAX_BACKOFF_MS = 10_000
"""``AssignmentsManager.STANDARD_BACKOFF``: the backoff doubles with every failure, up to this."""


class DirectoryAssignments:
    """The unconfirmed assignments of one broker process."""

    def __init__(self, node_id: int, max_in_request: int = MAX_IN_REQUEST) -> None:
        self._node_id = node_id
        self._max_in_request = max_in_request
        self._waiting: dict[Replica, bytes] = {}
        """Replica -> its directory id. Those that failed are at the end."""
        self._sent: dict[Replica, bytes] = {}
        """The same for the request in flight; empty if there is none."""
        self._failures = 0
        """Requests in a row that confirmed nothing."""

    @property
    def pending(self) -> Mapping[Replica, bytes]:
        """Replica -> directory id of everything that the controllers have not confirmed."""
        return {**self._sent, **self._waiting}

    @property
    def backoff_ms(self) -> int:
        """How long to wait before the next request; 0 if the last one confirmed anything."""
        if not self._failures:
            return 0
        return int(min(FIRST_BACKOFF_MS * 2 ** min(self._failures - 1, 10), MAX_BACKOFF_MS))

    def placed(self, topic_id: bytes, index: int, directory_id: bytes) -> None:
        """Queues the report that a replica lies in this directory, if the metadata names another one or none."""
        replica = topic_id, index
        if self._sent.get(replica) == directory_id:
            self._waiting.pop(replica, None)
        else:
            self._waiting[replica] = directory_id

    def topics_deleted(self, topic_ids: Collection[bytes]) -> None:
        """Forgets the replicas of deleted topics."""
        for assignments in (self._waiting, self._sent):
            for replica in [one for one in assignments if one[0] in topic_ids]:
                del assignments[replica]

    def next(self, image: MetadataImage, broker_epoch: int) -> AssignReplicasToDirsRequest | None:
        """The next request, or None if nothing can be sent now.

        An assignment stays queued while the image does not hold its topic: a partition is served before clients can see
        it.
        """
        if self._sent or image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
            return None
        for replica, directory_id in list(self._waiting.items()):
            if len(self._sent) == self._max_in_request:
                break
            topic = image.topics_by_id.get(replica[0])
            if topic is None:
                continue
            del self._waiting[replica]
            partition = topic.partitions.get(replica[1])
            if partition is None or self._node_id not in partition.replicas:
                continue
            if partition.directory_of(self._node_id) != directory_id:
                self._sent[replica] = directory_id
        return self._request(broker_epoch) if self._sent else None

    def _request(self, broker_epoch: int) -> AssignReplicasToDirsRequest:
        topics: dict[bytes, dict[bytes, list[int]]] = {}
        for (topic_id, index), directory_id in self._sent.items():
            topics.setdefault(directory_id, {}).setdefault(topic_id, []).append(index)
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
                    if self._sent.get(replica) != directory.id:
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
        for replica, directory_id in self._sent.items():
            self._waiting.setdefault(replica, directory_id)
        self._sent.clear()
        self._failures += 1
