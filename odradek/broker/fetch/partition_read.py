"""Reads one partition for a Fetch request.

Pure but for the given logs. Owns: nothing. Never does: choosing the partitions (:mod:`.read` does), waiting, answering.
Invariant: a follower's offsets are noted before the high watermark of its answer is read. Source:
``Partition.fetchRecords``, ``Partition.readRecords``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.records.varint import MAX_INT32
from odradek.storage.log.log import Log, ReadResult

from ..replicas.partition import Partition
from ..replicas.partitions import Partitions
from .session import SessionPartition

with lazy_imports:
    from odradek.storage.log import read_check

READ_COMMITTED = 1
NO_RECORDS = b""
UNKNOWN_PARTITION_ERRORS: dict[int, int] = {
    ErrorCode.UNKNOWN_TOPIC_ID: 1,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: 2,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 3,
}
"""Errors found before anything is read, with their order in the answer."""


@dataclass(slots=True)
class FetchLimits:
    """The limits of one answer. ``max_bytes``: of the whole answer; ``check_crcs``: whether the checksum of each batch
    is verified before it is sent.
    ``max_partition_bytes``: of one partition, even if the client requests more. ``follower``: the broker that fetches;
    None for a consumer. ``only_leader``: reads only partitions that this broker leads, for followers and for clients
    before version 11. ``consumer``: a consumer that may be sent to another replica; None for followers and for clients
    without a rack. ``may_read``: whether the client may read a topic, by name; None if everything is allowed.
    ``is_second_read``: True for the read after a wait; the first read has already noted the follower's offsets.

    Not frozen: a frozen one takes 1 us to make, and each request makes one.
    """

    max_bytes: int
    isolation_level: int
    follower: "FetchingFollower | None"
    check_crcs: bool = False
    max_partition_bytes: int = MAX_INT32
    only_leader: bool = False
    consumer: "RackedConsumer | None" = None
    may_read: Callable[[str], bool] | None = None
    is_second_read: bool = False


class FetchingFollower(NamedTuple):
    """The broker that follows the partitions."""

    broker_id: int
    broker_epoch: int


class RackedConsumer(NamedTuple):
    """A consumer with ``client.rack``, and the listener that it uses."""

    rack: str
    listener_name: str


class PartitionRead:
    """The result for one partition. ``partition`` is None if ``data`` has an error."""

    __slots__ = ("data", "partition", "wanted")
    is_throttled = False
    """Whether a follower got no records because of the leader's throttle."""

    def __init__(
        self, wanted: SessionPartition, partition: Partition | None, data: FetchResponse.PartitionData
    ) -> None:
        self.wanted = wanted
        self.partition = partition
        self.data = data

    @property
    def records_bytes(self) -> int:
        """The number of bytes of records in the answer."""
        return len(self.data.records or NO_RECORDS)

    def close(self) -> None:
        """Closes a file region that will not be sent."""
        close = getattr(self.data.records, "close", None)
        if close is not None:
            close()


class ThrottledRead(PartitionRead):
    """The result for a throttled follower: no records. Its fetch does not wait for this partition either."""

    __slots__ = ()
    is_throttled = True


def refused_read(
    partitions: Partitions, want: SessionPartition, error: KafkaError, limits: FetchLimits
) -> PartitionRead:
    """The answer for a partition whose read raised an error. Damage is logged."""
    if error.error_code == ErrorCode.CORRUPT_MESSAGE:
        partitions.name_damage(want.resolved_name, want.index, error.message)
    read = PartitionRead(want, None, failed(want.index, error.error_code))
    if error.error_code in UNKNOWN_PARTITION_ERRORS and not limits.is_second_read:
        # Kafka answers these before the first read, with an empty list instead of null.
        read.data.aborted_transactions = []
    return read


def _error_of_unknown_id(limits: FetchLimits) -> ErrorCode:
    """The error for an unknown topic id. A broker without permission to copy does not learn that the id is unknown; a
    consumer does, as in Kafka."""
    if limits.follower is not None and limits.may_read is not None and not limits.may_read(""):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.UNKNOWN_TOPIC_ID


def read_partition(
    partitions: Partitions, want: SessionPartition, limits: FetchLimits, left: int, nothing_yet: bool
) -> PartitionRead:
    """Reads one partition; raises KafkaError."""
    name = want.resolved_name
    if not name:
        name = partitions.topic_name(want.topic_id) or ""
        if not name:
            raise KafkaError(_error_of_unknown_id(limits))
        want.resolved_name = name
    if limits.may_read is not None and not limits.may_read(name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    partition = partitions.get_checked(name, want.topic_id, want.index)
    # Unlike in other requests, any epoch below 0 counts as not given (FetchRequest.optionalEpoch).
    partition.check_leader_epoch(max(want.current_leader_epoch, -1))
    log = partition.log if partition.copy is None else partition.log_to_fetch(only_leader=limits.only_leader)
    offsets = log.offsets
    if limits.follower is not None:
        _check_follower(partition, want, limits.follower)
    high_watermark = offsets.high_watermark
    last_stable_offset = offsets.last_stable_offset
    log_start_offset = offsets.log_start_offset
    data = FetchResponse.PartitionData(
        partition_index=want.index,
        high_watermark=high_watermark,
        last_stable_offset=last_stable_offset,
        log_start_offset=log_start_offset,
        aborted_transactions=None,
        records=NO_RECORDS,
    )
    if limits.consumer is not None and _reads_elsewhere(partition, want, limits.consumer, data):
        return PartitionRead(want, partition, data)
    if want.last_fetched_epoch >= 0 and _diverges(log, want, data):
        return PartitionRead(want, partition, data)
    if not log_start_offset <= want.fetch_offset <= offsets.log_end_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    committed_only = limits.isolation_level == READ_COMMITTED
    bound = last_stable_offset if committed_only else high_watermark
    if limits.follower is not None:
        if not limits.is_second_read:
            _note_follower(partition, want, limits.follower)
        data.high_watermark, committed_only, bound = offsets.high_watermark, False, offsets.log_end_offset
        if partition.leading is not None and partition.leading.is_throttled(limits.follower.broker_id):
            return ThrottledRead(want, partition, data)
        want.still = want.known = partition
    result: ReadResult | None = None
    if want.fetch_offset < bound and (left > 0 or nothing_yet):
        max_bytes = min(want.max_bytes, left, limits.max_partition_bytes)
        if limits.check_crcs:
            result = read_check.read_checked(log, want.fetch_offset, max_bytes, bound, min_one_batch=nothing_yet)
        else:
            result = log.read(want.fetch_offset, max_bytes, upper_bound_offset=bound, min_one_batch=nothing_yet)
        data.records = result.data
    # If the limit is smaller than the first batch, Kafka leaves out the aborted transactions.
    if committed_only and (result is None or len(result.data) > 0):
        data.aborted_transactions = [] if result is None else _aborted(log, want.fetch_offset, result, limits)
    return PartitionRead(want, partition, data)


def _aborted(log: Log, first: int, result: ReadResult, limits: FetchLimits) -> list[FetchResponse.AbortedTransaction]:
    """The aborted transactions with records in the result of a read from ``first``."""
    found = log.aborted_in_read(first, len(result.data))
    if found and limits.check_crcs:
        read_check.check_aborted(log, found)
    return [FetchResponse.AbortedTransaction(aborted.producer_id, aborted.first_offset) for aborted in found]


def _check_follower(partition: Partition, want: SessionPartition, follower: FetchingFollower) -> None:
    """Raises KafkaError if the sender of a fetch does not follow this partition."""
    if partition.leading is None:
        # Only brokers that the metadata names as replicas are followers; a client's claim does not count
        # (CVE-2018-1288).
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition.leading.isr.check_follower(follower.broker_id, follower.broker_epoch, want.current_leader_epoch)


def _note_follower(partition: Partition, want: SessionPartition, follower: FetchingFollower) -> None:
    """Notes that the follower has everything below its fetch offset. This may raise the high watermark, so the answer
    takes it afterwards."""
    if partition.leading is not None:
        partition.leading.fetched(follower.broker_id, follower.broker_epoch, want.fetch_offset, want.log_start_offset)


def _reads_elsewhere(
    partition: Partition, want: SessionPartition, consumer: RackedConsumer, data: FetchResponse.PartitionData
) -> bool:
    """Whether the consumer should read from another replica (KIP-392). If so, names that replica in ``data``."""
    if partition.leading is None:
        return False
    preferred = partition.leading.preferred_read_replica(consumer.rack, consumer.listener_name, want.fetch_offset)
    if preferred is None:
        return False
    data.preferred_read_replica = preferred
    return True


def _diverges(log: Log, want: SessionPartition, data: FetchResponse.PartitionData) -> bool:
    """Whether the client's log differs from this one before its fetch offset: its last fetched epoch ends earlier here
    (KIP-595). If so, sets ``diverging_epoch`` in ``data``.

    Raises KafkaError OFFSET_OUT_OF_RANGE if that epoch is later than all in this log, or if the fetch offset is below
    the log start, even if the logs differ (KAFKA-12996).
    """
    end = log.offsets.epoch_end_offset(want.last_fetched_epoch)
    if end is None or want.fetch_offset < log.log_start_offset:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
    epoch, end_offset = end
    if epoch < want.last_fetched_epoch or end_offset < want.fetch_offset:
        data.diverging_epoch = FetchResponse.EpochEndOffset(epoch, end_offset)
        return True
    return False


def failed(index: int, error_code: ErrorCode) -> FetchResponse.PartitionData:
    """The answer for a partition that could not be read: only an error."""
    return FetchResponse.PartitionData(
        partition_index=index,
        error_code=error_code,
        high_watermark=-1,
        last_stable_offset=-1,
        log_start_offset=-1,
        aborted_transactions=None,
        records=NO_RECORDS,
    )
