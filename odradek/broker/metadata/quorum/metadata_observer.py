"""What to ask the controllers' quorum for next, and what its answers mean for the copy of the metadata log.

Pure. Owns: the position of the next Fetch, the snapshot that is being downloaded, the high watermark. Never does: I/O,
reading records. Invariants: nothing above the high watermark is ever applied; the high watermark never goes back; the
log is never truncated below it. Source: KafkaRaftClient.buildFetchRequest, handleFetchResponse and
handleFetchSnapshotResponse as an observer; KIP-595, KIP-630, KIP-853.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, error_name
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.quorum import FetchSnapshotRequest, FetchSnapshotResponse
from odradek.protocol.names.topics import METADATA_TOPIC, METADATA_TOPIC_ID

from ..log.snapshot_files import SnapshotId
from .channel import described
from .known_controllers import NO_LEADER, Address, KnownControllers

MAX_WAIT_MS = 500
"""``KafkaRaftClient.MAX_FETCH_WAIT_MS``."""
MAX_BYTES = 1 << 20
"""``QuorumConfig.DEFAULT_QUORUM_FETCH_MAX_BYTES`` and the size of a piece of a snapshot."""
RETRY_MS = 50
"""``controller.quorum.retry.backoff.ms`` is 20; a leader that was just elected needs longer."""
UNKNOWN_HIGH_WATERMARK = -1
LEADER_MOVED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


class Append(NamedTuple):
    """Append these batches to the log. ``records`` is empty if the answer brought only a high watermark."""

    records: bytes


class Truncate(NamedTuple):
    """Truncate the log to this offset, where it differs from the leader's. Never below the high watermark."""

    offset: int


class SnapshotPiece(NamedTuple):
    """Write these bytes at ``position`` of a snapshot's file; after the last piece it replaces the log."""

    snapshot_id: SnapshotId
    position: int
    records: bytes
    is_last: bool


class Retry(NamedTuple):
    """Ask again after ``delay_ms``; ``reason`` says why, for the log."""

    delay_ms: int
    reason: str


class Fatal(NamedTuple):
    """The broker can't follow these controllers."""

    reason: str


Step = Append | Truncate | SnapshotPiece | Retry | Fatal
EndOfEpoch = Callable[[int], tuple[int, int]]
"""Leader epoch -> the highest epoch of the log that is not above it, and the offset at which that one ends."""


class MetadataObserver:
    """Decides what an observer of the metadata log asks for, and what the answers mean."""

    def __init__(
        self,
        controllers: KnownControllers,
        node_id: int,
        cluster_id: str,
        directory_id: bytes,
        end_of_epoch: EndOfEpoch,
        high_watermark: int = 0,
    ) -> None:
        """``directory_id``: of the directory with the metadata log. ``high_watermark``: the end offset of the snapshot
        on disk, which is committed; 0 without one."""
        self.high_watermark = high_watermark
        self.is_known = False
        """Whether a leader has sent the high watermark since the start."""
        self._controllers = controllers
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._directory_id = directory_id
        self._end_of_epoch = end_of_epoch
        self._end_offset = 0
        """The end of the log at the last request."""
        self._snapshot: SnapshotId | None = None
        self._position = 0

    def request(self, end_offset: int, last_epoch: int) -> FetchRequest | FetchSnapshotRequest:
        """The next request. ``end_offset``: of the log; ``last_epoch``: of its last batch or snapshot, 0 if empty."""
        self._end_offset = end_offset
        if self._snapshot is not None:
            return self._snapshot_request(self._snapshot)
        partition = FetchRequest.FetchPartition(
            0,
            current_leader_epoch=self._controllers.leader_epoch,
            fetch_offset=end_offset,
            last_fetched_epoch=last_epoch,
            partition_max_bytes=MAX_BYTES,
            replica_directory_id=self._directory_id,
            high_watermark=self.high_watermark if self.is_known else UNKNOWN_HIGH_WATERMARK,
        )
        return FetchRequest(
            cluster_id=self._cluster_id,
            replica_state=FetchRequest.ReplicaState(self._node_id, -1),
            max_wait_ms=MAX_WAIT_MS,
            max_bytes=MAX_BYTES,
            topics=[FetchRequest.FetchTopic(topic=METADATA_TOPIC, topic_id=METADATA_TOPIC_ID, partitions=[partition])],
        )

    def _snapshot_request(self, snapshot_id: SnapshotId) -> FetchSnapshotRequest:
        partition = FetchSnapshotRequest.PartitionSnapshot(
            0,
            current_leader_epoch=self._controllers.leader_epoch,
            snapshot_id=FetchSnapshotRequest.SnapshotId(snapshot_id.end_offset, snapshot_id.epoch),
            position=self._position,
            replica_directory_id=self._directory_id,
        )
        topic = FetchSnapshotRequest.TopicSnapshot(METADATA_TOPIC, [partition])
        return FetchSnapshotRequest(self._cluster_id, self._node_id, MAX_BYTES, [topic])

    def take_fetch(self, response: FetchResponse, said_by: Address | None = None) -> Step:
        """The step that a Fetch response asks for. ``said_by``: the controller that has sent it."""
        for node in response.node_endpoints:
            self._controllers.take_address(node.node_id, Address(node.host, node.port))
        if response.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID:
            return Fatal(
                f"the controllers at {self._controllers} belong to another cluster than this broker's directories"
                f" (cluster.id {self._cluster_id} in meta.properties): correct controller.quorum.voters or"
                " controller.quorum.bootstrap.servers, or format new directories with the cluster's id"
            )
        if response.error_code:
            return _refused(response.error_code)
        partition = next((each for topic in response.responses for each in topic.partitions), None)
        if partition is None:
            return Retry(RETRY_MS, "the answer lacks the metadata partition")
        leader = partition.current_leader
        moved = self._controllers.take_leader(leader.leader_id, leader.leader_epoch, said_by)
        if partition.error_code in LEADER_MOVED:
            return Retry(0 if moved else RETRY_MS, _who_is_active(leader.leader_id, said_by))
        if partition.error_code:
            return _refused(partition.error_code)
        return self._follow(partition)

    def _follow(self, partition: FetchResponse.PartitionData) -> Step:
        snapshot = partition.snapshot_id
        if snapshot.epoch >= 0 and snapshot.end_offset >= 0:
            self._snapshot, self._position = SnapshotId(snapshot.end_offset, snapshot.epoch), 0
            return Retry(0, "the leader no longer has the records that this broker needs next, and sends a snapshot")
        diverging = partition.diverging_epoch
        if diverging.epoch >= 0:
            return self._diverged(diverging.epoch, diverging.end_offset)
        self._commit(partition.high_watermark)
        return Append(bytes(partition.records or b""))

    def _diverged(self, epoch: int, end_offset: int) -> Step:
        """The truncation that a diverging epoch asks for (``RaftLog.truncateToEndOffset``). A leader without any epoch
        up to that of the request answers with epoch 0, which no log has: then only the leader's offset counts."""
        if epoch == 0:
            offset = min(self._end_offset, end_offset)
        else:
            own_epoch, own_end = self._end_of_epoch(epoch)
            offset = min(own_end, end_offset) if own_epoch == epoch else own_end
        if offset < self.high_watermark:
            return Fatal(
                f"the active controller's metadata log differs from this broker's at offset {offset}, below the high"
                f" watermark {self.high_watermark}: committed metadata was lost there. Restore the controllers, or"
                " remove __cluster_metadata-0 from this broker's metadata directory if they are right"
            )
        return Truncate(offset)

    def _commit(self, high_watermark: int) -> None:
        if high_watermark >= 0:
            self.is_known = True
            self.high_watermark = max(self.high_watermark, high_watermark)

    def take_snapshot(self, response: FetchSnapshotResponse, said_by: Address | None = None) -> Step:
        """The step that a FetchSnapshot response asks for. ``said_by``: the controller that has sent it."""
        for node in response.node_endpoints:
            self._controllers.take_address(node.node_id, Address(node.host, node.port))
        partition = next((each for topic in response.topics for each in topic.partitions), None)
        if response.error_code or partition is None:
            self._snapshot = None
            return _refused(response.error_code)
        leader = partition.current_leader
        self._controllers.take_leader(leader.leader_id, leader.leader_epoch, said_by)
        snapshot_id = self._snapshot
        if partition.error_code or snapshot_id is None:
            self._snapshot = None  # not found, or another leader: the next Fetch says which snapshot there is now
            return Retry(RETRY_MS, f"the snapshot can't be read: {error_name(partition.error_code)}")
        records = bytes(partition.unaligned_records or b"")
        if partition.position != self._position or not records:
            self._snapshot = None
            return Retry(
                RETRY_MS, f"the controller sent snapshot bytes from {partition.position}, not {self._position}"
            )
        piece = SnapshotPiece(snapshot_id, self._position, records, self._position + len(records) >= partition.size)
        self._position += len(records)
        if piece.is_last:
            self._snapshot = None
            self.high_watermark = max(self.high_watermark, snapshot_id.end_offset)
        return piece

    def lost_connection(self) -> None:
        """The request was not answered: a snapshot that was being downloaded begins anew, perhaps at another node."""
        self._snapshot = None


def _who_is_active(leader_id: int, said_by: Address | None) -> str:
    """What the answer of a controller that is not active says about the active one."""
    sender = "a controller" if said_by is None else str(said_by)
    if leader_id == NO_LEADER:
        return f"{sender} knows no active controller (none is elected while a majority of the voters is down)"
    return f"{sender} is not active, and names node {leader_id} as the active controller"


def _refused(code: int) -> Retry:
    return Retry(RETRY_MS, f"the controller answers {described(code)}")
