"""One followed partition: decides what to fetch next, and what to do with the copy after a leader's answer.

Pure. Owns: the leader epoch, the pause after an error. Never does: I/O, reading a clock. Invariants: an answer counts
only while the copy has the end offset and the leader epoch that were requested; no batch of a later leader epoch is
appended (KAFKA-18723); the copy never goes beyond the leader's log. Source: AbstractFetcherThread, PartitionFetchState;
KIP-101, KIP-279, KIP-595 (truncation by the answer to a fetch).
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError, error_name, error_of
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.records.batch import HEADER, MAGIC, MAGIC_POSITION, BatchHeader, batch_size, leader_epoch_at
from odradek.protocol.records.buffers import Buffer

MAX_BYTES = 1 << 20
"""Kafka's default for ``replica.fetch.max.bytes``."""
NO_EPOCH = -1
MAX_OFFSET = 2**63 - 1
FAILURE_PAUSE_MAX_MS = 30_000
"""The longest pause in ms after a failure, unless ``replica.fetch.backoff.ms`` is longer."""
NEWS_RETRY_MS = 20
"""The first pause in ms after an error of :data:`LEADER_LACKS_NEWS`. Each further error doubles it."""
LEADER_LACKS_NEWS = frozenset(
    {
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Errors of a leader that has not received the metadata of a topic or an election yet, which this broker has. It will
receive them soon. With INCONSISTENT_TOPIC_ID it may be this broker that lacks them: the topic was made anew. Kafka
pauses for ``replica.fetch.backoff.ms`` (1 s), and only warns (AbstractFetcherThread.processFetchRequest)."""


class AppendToCopy(NamedTuple):
    """Append these whole batches, which may be none; then take the leader's high watermark and log start.

    ``problem``: what is wrong with the bytes that follow these batches; empty if nothing is. After the append, the
    partition has failed.
    """

    records: Buffer
    high_watermark: int
    log_start_offset: int
    problem: str = ""


class TruncateCopy(NamedTuple):
    """Remove the records from this offset on: the leader's log differs there."""

    offset: int


class ListOffsets(NamedTuple):
    """Ask the leader for its first and last offset, and call :meth:`FollowedPartition.out_of_range` with them: the
    fetch offset is out of range."""


class TruncateFully(NamedTuple):
    """Empty the copy and start it again at this offset: the leader no longer has the records that follow the copy."""

    offset: int


class Pause(NamedTuple):
    """Fetch again after ``delay_ms``."""

    delay_ms: int
    code: ErrorCode


class StopFetching(NamedTuple):
    """Fetch nothing until the metadata names the leader's epoch, which is later than the one known here."""

    code: ErrorCode


class Fail(NamedTuple):
    """The answer can't be used: call :meth:`FollowedPartition.failed`, and log the cause."""

    cause: str


Step = AppendToCopy | TruncateCopy | ListOffsets | TruncateFully | Pause | StopFetching | Fail
EndOfEpoch = Callable[[int], tuple[int, int] | None]
"""Leader epoch -> the latest epoch of the copy that is not later, and its end offset. None if the given epoch is later
than all of the copy, as in OffsetForLeaderEpoch."""


class FetchPosition(NamedTuple):
    """The offset and epoch with which a partition was requested. If they are not those of the copy any more, the answer
    is out of date."""

    offset: int
    leader_epoch: int


class FollowedPartition:
    """The follower's half of one partition in one leader epoch."""

    def __init__(
        self, topic_id: bytes, index: int, leader_epoch: int, retry_ms: int, max_bytes: int = MAX_BYTES
    ) -> None:
        """``retry_ms``: ``replica.fetch.backoff.ms``. ``max_bytes``: ``replica.fetch.max.bytes``; an answer may have
        more if its first batch does."""
        self.topic_id = topic_id
        self.index = index
        self.leader_epoch = leader_epoch
        self.not_before_ms = 0
        """When it may be fetched again, in ms of a monotonic clock."""
        self.is_stopped = False
        self.is_in_sync = False
        """Whether the copy has reached the leader's high watermark (``PartitionFetchState.isReplicaInSync``)."""
        self.failures = 0
        """The number of failures in a row."""
        self._retry_ms = retry_ms
        self._max_bytes = max_bytes
        self._news_retry_ms = NEWS_RETRY_MS

    @property
    def has_failed(self) -> bool:
        """Whether it is not fetched because of an error, for good or until the pause is over (FailedPartitions)."""
        return self.is_stopped or self.failures > 0

    def is_due(self, now_ms: int) -> bool:
        """Whether to fetch it now."""
        return not self.is_stopped and now_ms >= self.not_before_ms

    def request(self, end_offset: int, last_epoch: int, log_start_offset: int) -> FetchRequest.FetchPartition:
        """This partition's part of a Fetch request. The arguments describe the copy; ``last_epoch`` is that of its last
        record, -1 if it has none."""
        return FetchRequest.FetchPartition(
            self.index,
            current_leader_epoch=self.leader_epoch,
            fetch_offset=end_offset,
            last_fetched_epoch=last_epoch,
            log_start_offset=log_start_offset,
            partition_max_bytes=self._max_bytes,
        )

    def process_partition_data(
        self, data: FetchResponse.PartitionData, fetched_at: FetchPosition, end_offset: int, end_of_epoch: EndOfEpoch
    ) -> Step | None:
        """What to do with an answer; None if it is out of date. ``end_offset``: of the copy."""
        if fetched_at != FetchPosition(end_offset, self.leader_epoch) or self.is_stopped:
            return None
        if data.error_code:
            return self._handle_error(data.error_code)
        diverging = data.diverging_epoch
        if diverging.epoch >= 0:
            if diverging.end_offset < 0:
                return Fail(f"its epoch {diverging.epoch}, which diverges, ends at offset {diverging.end_offset}")
            return TruncateCopy(_truncation_offset(diverging.epoch, diverging.end_offset, end_offset, end_of_epoch))
        if not NO_EPOCH <= data.log_start_offset <= max(data.high_watermark, 0) or data.high_watermark < NO_EPOCH:
            return Fail(f"its high watermark is {data.high_watermark}, its log start offset {data.log_start_offset}")
        self._news_retry_ms = NEWS_RETRY_MS
        records, problem = _of_this_epoch(data.records or b"", self.leader_epoch)
        return AppendToCopy(records, data.high_watermark, data.log_start_offset, problem)

    def out_of_range(self, end_offset: int, earliest: int, latest: int) -> Step:
        """What to do after OFFSET_OUT_OF_RANGE: truncate if the leader's log ends before the copy, start again if it
        begins after the copy. Otherwise the leader contradicts itself, and the partition has failed.

        ``earliest``, ``latest``: the leader's log start and end (``AbstractFetcherThread.fetchOffsetAndTruncate``).
        """
        if not 0 <= earliest <= latest:
            return Fail(f"its log begins at offset {earliest} and ends at {latest}")
        if latest < end_offset:
            return TruncateCopy(latest)
        if earliest > end_offset:
            return TruncateFully(earliest)
        return Fail(f"it answers OFFSET_OUT_OF_RANGE, and its log goes from offset {earliest} to {latest}")

    def pause(self, now_ms: int, delay_ms: int) -> None:
        """Fetches nothing for ``delay_ms``."""
        self.not_before_ms = now_ms + delay_ms

    def failed(self, now_ms: int) -> int:
        """Notes a failure. Returns the pause before the next try in ms: ``replica.fetch.backoff.ms`` after the first
        one, twice as long after each further one, up to :data:`FAILURE_PAUSE_MAX_MS`."""
        longest_ms = max(self._retry_ms, FAILURE_PAUSE_MAX_MS)
        delay_ms = min(self._retry_ms << min(self.failures, 32), longest_ms)
        self.failures += 1
        self.pause(now_ms, delay_ms)
        return delay_ms

    def succeeded(self) -> None:
        """Notes that an answer was used: the next failure is the first of its row."""
        self.failures = 0

    def _handle_error(self, number: int) -> Step:
        code = error_of(number)
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            return ListOffsets()
        if code is ErrorCode.FENCED_LEADER_EPOCH:
            self.is_stopped = True
            return StopFetching(code)
        if code not in LEADER_LACKS_NEWS:
            return Fail(f"it answers {error_name(number)}")
        delay_ms = min(self._news_retry_ms, self._retry_ms)
        self._news_retry_ms = 2 * delay_ms
        return Pause(delay_ms, code)


def _truncation_offset(epoch: int, leaders_end: int, end_offset: int, end_of_epoch: EndOfEpoch) -> int:
    """The highest offset up to which the copy and the leader's log can be equal
    (``AbstractFetcherThread.getOffsetTruncationState``)."""
    own = end_of_epoch(epoch)
    if own is None:
        return min(leaders_end, end_offset)
    own_epoch, own_end = own
    return min(own_end, end_offset) if own_epoch != epoch else min(own_end, leaders_end, end_offset)


def _of_this_epoch(records: Buffer, leader_epoch: int) -> tuple[Buffer, str]:
    """The whole batches before the first one of a later leader epoch than was requested, and what is wrong with the
    bytes that follow them; an empty text if nothing is. A last batch that is incomplete is in order, because a leader
    sends as many bytes as were requested; but the first one is always sent whole."""
    end, limit = 0, len(records)
    while end < limit:
        try:
            size = batch_size(records, end)
        except KafkaError as error:
            return records[:end], str(error)
        if size is None or size > limit - end:
            return records[:end], "" if end else f"its {limit} bytes of records contain no complete batch"
        if records[end + MAGIC_POSITION] == MAGIC:
            epoch = leader_epoch_at(records, end)
            if epoch > leader_epoch:
                return records[:end], "" if end else f"its records have leader epoch {epoch}, later than {leader_epoch}"
            header = BatchHeader._make(HEADER.unpack_from(records, end))
            if header.last_offset_delta < 0 or header.next_offset > MAX_OFFSET:
                last = f"{header.base_offset} + {header.last_offset_delta}"
                return records[:end], f"the last offset of the batch at byte {end} is {last}"
        end += size
    return records, ""
