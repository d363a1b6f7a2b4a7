"""Fetches records: one request in flight to each broker, responses kept until ``poll`` takes their records.

Owns: the Fetch requests in flight and the records fetched but not taken. Never does: group membership, offset resets
(it only marks the partition in the subscription). Invariant: records are returned only while their partition is
assigned and its position is the one they were fetched for; a seek discards them. No fetch sessions: each request names
its partitions (session id 0, epoch -1). Source: ``consumer.internals.Fetcher``, ``FetchCollector``.
"""

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable
from itertools import count
from typing import Any, NamedTuple

from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse

from ..cluster.cluster import Cluster
from ..cluster.metadata import ZERO_TOPIC_ID
from ..errors import ClientError, NoOffsetForPartitionError, broker_error
from ..group.subscription import PartitionState, SubscriptionState
from ..types import ConsumerRecord, TopicPartition
from .fetched import FetchedPartition
from .offset_reset import OffsetReset

TOPIC_IDS_SINCE = 13
FETCH_PURPOSE = "fetch"
LOOK_FOR_LEADER = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)


class FetchRequestLimits(NamedTuple):
    """The limits of each Fetch request. Sizes are in bytes; the names are Kafka's keys without ``fetch``."""

    min_bytes: int
    max_wait_ms: int
    max_bytes: int
    max_partition_bytes: int


class FetchConfig(NamedTuple):
    """The consumer's settings for fetching."""

    limits: FetchRequestLimits
    isolation_level: int
    check_crcs: bool
    offset_reset: OffsetReset
    rack_id: str = ""


class Fetcher:
    """Fetches the assigned partitions that have a position and no fetched records left to take."""

    def __init__(
        self,
        cluster: Cluster,
        subscription: SubscriptionState,
        config: FetchConfig,
        arrived: Callable[[], None],
        fetched_type: type[FetchedPartition] = FetchedPartition,
    ) -> None:
        """``arrived`` is called after each response or error. ``fetched_type`` decodes the records."""
        self._fetched_type = fetched_type
        self._cluster = cluster
        self._subscription = subscription
        self._config = config
        self._arrived = arrived
        self._in_flight: dict[int, asyncio.Task[None]] = {}
        """The running tasks: fetches by broker id, and metadata refreshes for missing leaders by negative numbers."""
        self._search_keys = count(-1, -1)
        self._fetching: set[TopicPartition] = set()
        self._behind: dict[int, dict[TopicPartition, None]] = {}
        """The partitions that wait for the end of the fetch in flight to their broker."""
        self._fetched: deque[FetchedPartition] = deque()
        self._with_records: set[TopicPartition] = set()
        """The partitions of ``_fetched``."""
        self._error: Exception | None = None

    async def close(self) -> None:
        """Cancels the fetches in flight."""
        tasks = list(self._in_flight.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # Sending

    def send_fetches(self) -> float | None:
        """Sends a Fetch to each broker that has none in flight.

        Returns the seconds until a partition in backoff can be fetched again; None if no partition is in backoff.
        """
        now = asyncio.get_running_loop().time()
        subscription, metadata = self._subscription, self._cluster.metadata
        subscription.metadata_is(metadata.generation)
        looked_at, subscription.to_fetch = subscription.to_fetch, {}
        by_broker: dict[int, list[TopicPartition]] = defaultdict(list)
        again: float | None = None
        for partition in looked_at:
            state = subscription.assigned.get(partition)
            if state is None or state.position is None or state.paused:
                continue
            if partition in self._with_records or partition in self._fetching:
                continue
            if state.not_before > now:
                again = min(again or state.not_before, state.not_before)
                subscription.to_fetch[partition] = None
                continue
            leader = metadata.leader(*partition)
            if leader is None:
                self._spawn(next(self._search_keys), [partition], self._find_leader(partition))
            elif not state.needs_validation(leader):
                by_broker[state.read_replica(leader.leader, metadata.brokers, now)].append(partition)
        for broker_id, partitions in by_broker.items():
            if broker_id in self._in_flight:
                self._behind.setdefault(broker_id, {}).update(dict.fromkeys(partitions))
            else:
                self._spawn(broker_id, partitions, self._fetch(broker_id, partitions))
        return None if again is None else again - now

    def _spawn(self, key: int, partitions: list[TopicPartition], work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._in_flight[key] = task
        self._fetching.update(partitions)

        def done(_: "asyncio.Task[None]") -> None:
            del self._in_flight[key]
            self._fetching.difference_update(partitions)
            self._subscription.to_fetch.update(self._behind.pop(key, {}))
            self._subscription.to_fetch.update(dict.fromkeys(partitions))
            if not task.cancelled() and (failure := task.exception()) is not None:
                self._error = self._error or failure if isinstance(failure, Exception) else self._error
            self._arrived()

        task.add_done_callback(done)

    async def _find_leader(self, partition: TopicPartition) -> None:
        try:
            await self._cluster.refresh([partition.topic])
        except (ClientError, KafkaError):
            await asyncio.sleep(self._cluster.backoff_s(0))
            return
        if self._cluster.metadata.leader(*partition) is None:
            await asyncio.sleep(self._cluster.backoff_s(0))

    async def _fetch(self, broker_id: int, partitions: list[TopicPartition]) -> None:
        try:
            connection = await self._cluster.connection(broker_id, FETCH_PURPOSE)
            positions = {p: s.position for p in partitions if (s := self._subscription.assigned.get(p)) is not None}
            offsets = {p: position for p, position in positions.items() if position is not None}
            if not offsets:
                return
            request, names = self._request(offsets)
            max_version = None if all(topic_id != ZERO_TOPIC_ID for topic_id in names) else TOPIC_IDS_SINCE - 1
            response = await connection.call(request, FetchResponse, max_version=max_version)
        except (ClientError, KafkaError):
            self._return_to_leaders(partitions)
            await asyncio.sleep(self._cluster.backoff_s(0))
            await self._refresh(partitions)
            return
        if response.error_code:
            # A top-level error concerns fetch sessions or topic ids. The next request, made from newer state, cures it.
            await asyncio.sleep(self._cluster.backoff_s(0))
            return
        look_for_leader = []
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                partition = TopicPartition(name, data.partition_index)
                if partition in offsets and self._store_answer(partition, offsets[partition], data):
                    look_for_leader.append(partition)
        if look_for_leader:
            await self._refresh(look_for_leader)

    def _return_to_leaders(self, partitions: Iterable[TopicPartition]) -> None:
        """Makes the next fetches go to the leaders, which may name a preferred read replica again."""
        for partition in partitions:
            state = self._subscription.assigned.get(partition)
            if state is not None:
                state.preferred_read_replica = None

    async def _refresh(self, partitions: list[TopicPartition]) -> None:
        try:
            await self._cluster.refresh({partition.topic for partition in partitions})
        except (ClientError, KafkaError):
            await asyncio.sleep(self._cluster.backoff_s(1))

    def _request(self, offsets: dict[TopicPartition, int]) -> tuple[FetchRequest, dict[bytes, str]]:
        """The request, and topic id -> topic name for the topics in it."""
        config = self._config
        topics: dict[str, list[FetchRequest.FetchPartition]] = defaultdict(list)
        for partition, offset in offsets.items():
            leader = self._cluster.metadata.leader(*partition)
            topics[partition.topic].append(
                FetchRequest.FetchPartition(
                    partition=partition.partition,
                    current_leader_epoch=leader.leader_epoch if leader is not None else -1,
                    fetch_offset=offset,
                    partition_max_bytes=config.limits.max_partition_bytes,
                )
            )
        known = self._cluster.metadata.topics
        ids = {name: known[name].topic_id if name in known else ZERO_TOPIC_ID for name in topics}
        request = FetchRequest(
            max_wait_ms=config.limits.max_wait_ms,
            min_bytes=config.limits.min_bytes,
            max_bytes=config.limits.max_bytes,
            isolation_level=config.isolation_level,
            rack_id=config.rack_id,
            session_id=0,
            session_epoch=-1,
            topics=[
                FetchRequest.FetchTopic(topic=name, topic_id=ids[name], partitions=parts)
                for name, parts in topics.items()
            ],
        )
        return request, {topic_id: name for name, topic_id in ids.items()}

    # Answers

    def _store_answer(self, partition: TopicPartition, offset: int, data: FetchResponse.PartitionData) -> bool:
        """Stores one partition's answer; returns True if the partition's leader must be looked up."""
        state = self._subscription.assigned.get(partition)
        if state is None or state.position != offset:
            return False
        if data.error_code:
            return self._refused(partition, state, offset, data)
        if data.preferred_read_replica >= 0:
            state.preferred_read_replica = data.preferred_read_replica
            state.preferred_until = asyncio.get_running_loop().time() + self._cluster.metadata_max_age_s
        state.high_watermark = data.high_watermark
        state.last_stable_offset = data.last_stable_offset
        state.log_start_offset = data.log_start_offset
        if data.records is not None and len(data.records):
            aborted = [
                (transaction.producer_id, transaction.first_offset) for transaction in data.aborted_transactions or ()
            ]
            fetched = self._fetched_type(
                partition,
                offset,
                data.records,
                aborted_transactions=aborted if self._config.isolation_level else None,
                check_crcs=self._config.check_crcs,
            )
            if fetched.is_drained:
                state.position = fetched.next_offset  # the response has only control records or aborted records
            else:
                self._fetched.append(fetched)
                self._with_records.add(partition)
        return False

    def _refused(
        self, partition: TopicPartition, state: PartitionState, offset: int, data: FetchResponse.PartitionData
    ) -> bool:
        error = broker_error(data.error_code, f"fetching {partition} at offset {offset}")
        was_a_follower, state.preferred_read_replica = state.preferred_read_replica is not None, None
        if error.error_code == ErrorCode.OFFSET_OUT_OF_RANGE and was_a_follower:
            return False  # a follower's log may end before the leader's; the next fetch goes to the leader
        if error.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            timestamp = self._config.offset_reset.timestamp(clock_ms())
            if timestamp is None:
                self._error = NoOffsetForPartitionError(
                    f"offset {offset} of {partition} is not in the log, and auto_offset_reset is none; seek() elsewhere"
                )
            else:
                self._subscription.reset(partition, timestamp)
            return False
        if error.error_code in LOOK_FOR_LEADER or error.error_code.retriable:
            state.not_before = asyncio.get_running_loop().time() + self._cluster.backoff_s(0)
            return True
        self._error = error
        return False

    def collect(self, max_records: int) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Takes up to ``max_records`` fetched records and moves the positions behind them.

        Raises the errors of fetches and of decoding: KafkaError, NoOffsetForPartitionError, ProtocolError.
        """
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        collected: dict[TopicPartition, list[ConsumerRecord]] = {}
        paused: list[FetchedPartition] = []
        left = max_records
        while self._fetched and left > 0:
            fetched = self._fetched[0]
            state = self._subscription.assigned.get(fetched.partition)
            if state is None or state.position != fetched.expected_position:
                self._drop_first()
                continue
            if state.paused:
                paused.append(self._fetched.popleft())
                continue
            try:
                records = fetched.take(left)
            except KafkaError as error:
                self._drop_first()
                if not collected:
                    raise
                self._error = error
                break
            state.position = fetched.next_offset
            if records:
                state.leader_epoch = records[-1].leader_epoch
                collected.setdefault(fetched.partition, []).extend(records)
                left -= fetched.count(records)
            if fetched.is_drained:
                self._drop_first()
        self._fetched.extend(paused)
        return collected

    def _drop_first(self) -> None:
        """Removes the first fetched records: their partition may be fetched again."""
        partition = self._fetched.popleft().partition
        self._with_records.discard(partition)
        self._subscription.to_fetch[partition] = None
