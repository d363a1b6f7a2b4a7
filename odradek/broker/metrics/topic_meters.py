"""Counts what is written to topics and what consumers read, by topic. Pure.

Owns: the counts. Never does: I/O. Invariant: only topics that exist get an entry, and :meth:`TopicMeters.keep` drops
those that are deleted. Source: ``BrokerTopicStats``, ``BrokerTopicMetrics``; what is a failure: ``ReplicaManager``.

Produce and Fetch count each partition at the point at which its topic, bytes and records are known: 0.2 us each.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Protocol

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse

NEVER_REACHES_THE_LOG = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
)
"""Errors of a partition that ``KafkaApis`` finds, before ``ReplicaManager`` counts it."""
EXPECTED_IN_PRODUCE = frozenset(
    {
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Errors caused by clients; not counted as failures (``ReplicaManager.appendToLocalLog``)."""
EXPECTED_IN_FETCH = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    }
)
"""Errors caused by clients; not counted as failures (``ReplicaManager.readFromLog``)."""


class RequestedPartition(Protocol):
    """A partition that a consumer wants. ``resolved_name``: its topic's; empty if no topic has the id."""

    resolved_name: str


class Read(Protocol):
    """A partition in the answer to a consumer. ``data``: as the answer has it."""

    @property
    def wanted(self) -> RequestedPartition:
        """What the consumer wants."""

    @property
    def data(self) -> FetchResponse.PartitionData:
        """What it gets."""


class TopicMeter:
    """One topic's traffic."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "failed_share_acknowledgements",
        "failed_share_fetches",
        "fetches",
        "messages_in",
        "produces",
        "share_acknowledgements",
        "share_fetches",
    )

    def __init__(self) -> None:
        self.messages_in = self.bytes_in = self.bytes_out = 0
        self.produces = self.failed_produces = self.fetches = self.failed_fetches = 0
        self.share_fetches = self.failed_share_fetches = 0
        self.share_acknowledgements = self.failed_share_acknowledgements = 0


class TopicMeters:
    """The traffic of all topics."""

    def __init__(self, exists: Callable[[str], bool]) -> None:
        """``exists``: whether there is a topic of that name."""
        self._exists = exists
        self._meters: dict[str, TopicMeter] = {}
        self._gone = TopicMeter()
        """Takes what is counted for topics that were deleted since. It is not shown."""

    def __iter__(self) -> Iterator[tuple[str, TopicMeter]]:
        """The topics and their meters, by name."""
        return iter(sorted(self._meters.items()))

    def keep(self, existing: Container[str]) -> None:
        """Forgets deleted topics."""
        for name in [name for name in self._meters if name not in existing]:
            del self._meters[name]

    def appended(self, name: str, size: int, records: int) -> None:
        """Counts a batch of ``size`` bytes that a producer or a coordinator has written to a partition."""
        meter = self._meters.get(name) or self._of(name)
        meter.produces += 1
        meter.bytes_in += size
        meter.messages_in += records

    def refused(self, name: str, error: int) -> None:
        """Counts a batch that was refused. ``name``: its topic's."""
        if error in NEVER_REACHES_THE_LOG:
            return
        meter = self._of(name)
        meter.produces += 1
        if error not in EXPECTED_IN_PRODUCE:
            meter.failed_produces += 1

    def fetched(self, reads: Iterable[Read]) -> None:
        """Counts partitions in an answer to a consumer."""
        for read in reads:
            data = read.data
            if data.error_code and data.error_code in NEVER_REACHES_THE_LOG:
                continue
            meter = self._meters.get(read.wanted.resolved_name) or self._of(read.wanted.resolved_name)
            meter.fetches += 1
            if data.error_code:
                meter.failed_fetches += data.error_code not in EXPECTED_IN_FETCH
            elif data.records is not None:
                meter.bytes_out += len(data.records)

    def read(self, name: str, size: int) -> None:
        """Counts a partition in an answer to a consumer, with ``size`` bytes of records."""
        meter = self._meters.get(name) or self._of(name)
        meter.fetches += 1
        meter.bytes_out += size

    def share_read(self, name: str, size: int, *, has_failed: bool) -> None:
        """Counts a partition in an answer to a member of a share group, with ``size`` bytes of records."""
        meter = self._of(name)
        meter.share_fetches += 1
        meter.failed_share_fetches += has_failed
        meter.bytes_out += size

    def share_acknowledged(self, name: str, *, has_failed: bool) -> None:
        """Counts the acknowledgements of one partition in a request."""
        meter = self._of(name)
        meter.share_acknowledgements += 1
        meter.failed_share_acknowledgements += has_failed

    def _of(self, name: str) -> TopicMeter:
        """The meter of a topic that may not exist."""
        meter = self._meters.get(name)
        if meter is None:
            if not self._exists(name):
                return self._gone
            meter = self._meters[name] = TopicMeter()
        return meter
