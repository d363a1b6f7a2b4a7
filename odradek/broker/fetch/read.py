"""Reads for a Fetch request: one pass over its partitions within the limits of bytes.

Pure but for the given logs. Owns: which partitions need no read, since nothing has changed for a follower. Never does:
waiting (:mod:`.wait` does), answering, reading one partition (:mod:`.partition_read` does). Invariant: at least one
whole batch is returned for the first partition that has one, even if the limits are smaller, so that a consumer always
makes progress (KIP-74). Source: ``ReplicaManager.readFromLog``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError

from ..replicas.partitions import Partitions
from .partition_read import FetchingFollower, FetchLimits, PartitionRead, read_partition, refused_read
from .session import SessionPartition

READS_A_STEP = 32
"""Partitions that are read in one step: each takes about 5 us, or 30 us if it has records."""
LOOKS_A_READ = 8
"""The number of unchanged partitions of a follower that take as long as one read: 0.6 us each."""


@dataclass(slots=True)
class FetchRead:
    """The result of one pass. ``completes``: the request must be answered at once (an error, a diverging epoch, a
    preferred read replica). ``follower``: the broker that fetches; None for a consumer."""

    reads: list[PartitionRead]
    total_bytes: int
    completes: bool
    follower: "FetchingFollower | None" = None
    still: list[SessionPartition] = field(default_factory=list)
    """The partitions with nothing new for a follower, which were not read."""

    def close(self) -> None:
        """Closes file regions that will not be sent."""
        for read in self.reads:
            read.close()

    def add(self, read: PartitionRead) -> None:
        """Adds the result for one more partition."""
        data = read.data
        diverging = data.diverging_epoch
        if (
            read.partition is None
            or diverging.epoch >= 0
            or diverging.end_offset >= 0
            or data.preferred_read_replica >= 0
        ):
            self.completes = True
        self.total_bytes += read.records_bytes
        self.reads.append(read)


def read_partitions(
    partitions: Partitions, wanted: Iterable[SessionPartition], limits: FetchLimits
) -> Steps[FetchRead]:
    """Reads each partition from its fetch offset, in order, until the limit of bytes is used up."""
    follower, looks = limits.follower, 0
    result = FetchRead([], 0, False, follower)
    for want in wanted:
        if looks >= READS_A_STEP * LOOKS_A_READ:
            looks = 0
            yield
        if follower is not None and (_passes_over(want, limits, follower) or _is_at_end(want, limits, follower)):
            result.still.append(want)
            looks += 1
        else:
            _read_next(partitions, want, limits, result)
            looks += LOOKS_A_READ
    return result


def _passes_over(want: SessionPartition, limits: FetchLimits, follower: FetchingFollower) -> bool:
    """Whether nothing has changed in a partition since the follower's last fetch of it. If so, notes this fetch.

    This is the fast path: a session has all partitions that a broker follows here, and most of them are idle.
    """
    partition = want.still
    if partition is None or want.current_leader_epoch != partition.leader_epoch:
        return False
    leading, offset = partition.leading, want.fetch_offset
    if leading is None or want.sent_high_watermark != offset:
        return False
    if not leading.is_still(follower.broker_id, follower.broker_epoch, offset, want.sent_log_start_offset):
        return False
    if not limits.is_second_read:
        leading.fetched_again(follower.broker_id)
    return True


def _is_at_end(want: SessionPartition, limits: FetchLimits, follower: FetchingFollower) -> bool:
    """Whether the follower's log now ends where this one does. If so, notes this fetch, and the partition is not read.

    A produce with acks=all waits for such a fetch. Also False if only a whole read can decide. A high watermark that
    the follower does not know yet is in the answer to this fetch if the fetch waits, otherwise in the next answer.
    """
    partition = want.known
    if (
        partition is None
        or want.still is not None
        or limits.is_second_read
        or want.current_leader_epoch != partition.leader_epoch
    ):
        return False
    leading = partition.leading
    if leading is None or not leading.is_at_end(want.fetch_offset, want.last_fetched_epoch):
        return False
    if limits.may_read is not None and not limits.may_read(want.resolved_name):
        return False
    try:
        leading.isr.check_follower(follower.broker_id, follower.broker_epoch, want.current_leader_epoch)
    except KafkaError:
        return False
    leading.fetched(follower.broker_id, follower.broker_epoch, want.fetch_offset, want.log_start_offset)
    want.still = partition
    return True


def _grown(want: SessionPartition, limits: FetchLimits, left: int, nothing_yet: bool) -> PartitionRead | None:
    """Reads what was appended while a follower's fetch waited. Returns None if a whole read is needed. Raises
    KafkaError.

    The other checks of the first read still hold: their outcome changes only with the leadership or its epoch, and
    both are checked again here.
    """
    partition, follower = want.still, limits.follower
    if partition is None or follower is None or not limits.is_second_read or limits.check_crcs:
        return None
    if limits.may_read is not None and not limits.may_read(want.resolved_name):
        return None
    leading, log = partition.leading, partition.open_log
    if leading is None or log is None or want.current_leader_epoch != partition.leader_epoch:
        return None
    offsets, offset = log.offsets, want.fetch_offset
    if not (offsets.log_start_offset <= offset < offsets.log_end_offset) or leading.is_throttled(follower.broker_id):
        return None
    if left <= 0 and not nothing_yet:
        return None
    max_bytes = min(want.max_bytes, left, limits.max_partition_bytes)
    return PartitionRead(want, partition, leading.read(offset, max_bytes, min_one_batch=nothing_yet))


def _read_next(partitions: Partitions, want: SessionPartition, limits: FetchLimits, result: FetchRead) -> None:
    left = max(0, limits.max_bytes - result.total_bytes)
    try:
        nothing_yet = result.total_bytes == 0
        read = _grown(want, limits, left, nothing_yet) or read_partition(partitions, want, limits, left, nothing_yet)
    except KafkaError as error:
        want.still = want.known = None
        read = refused_read(partitions, want, error, limits)
    result.add(read)
