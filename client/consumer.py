"""A consumer: reads partitions, alone or as a member of a group.

Owns: configuration, poll, automatic commits, the order of things when a group rebalances. Fetching is ``fetcher.py``,
membership ``group.py``, state ``subscription.py``, starting offsets ``positions.py``. As in Java's consumer, partitions
change hands only inside ``poll``: revoked after the last records were processed, assigned before the next are given
out. Source: ``org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer``.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from ..protocol.errors import ErrorCode, KafkaError
from .cluster import Cluster
from .errors import (
    BrokerConnectionError,
    ClientError,
    ClosedError,
    ConfigurationError,
    NoOffsetForPartitionError,
    one_of,
)
from .fetcher import FetchConfig, Fetcher
from .group import GroupConfig, GroupMember
from .list_offsets import EARLIEST_TIMESTAMP, ISOLATION_LEVELS, LATEST_TIMESTAMP, list_offsets
from .positions import Positions
from .subscription import RESET_TIMESTAMPS, Subscription
from .types import ConsumerRecord, OffsetAndMetadata, OffsetAndTimestamp, TopicPartition

logger = logging.getLogger(__name__)
MISSING_TOPICS_CHECK_S = 1.0


class RebalanceListener:
    """Told when partitions change hands, inside ``poll``. Override what is of interest."""

    async def on_partitions_revoked(self, partitions: Collection[TopicPartition]) -> None:
        """The partitions are about to be given up; commits still count."""

    async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
        """The partitions are the consumer's; positions are looked up after this."""

    async def on_partitions_lost(self, partitions: Collection[TopicPartition]) -> None:
        """The partitions may belong to others already; commits would fail."""
        await self.on_partitions_revoked(partitions)


class Consumer:
    """An asyncio consumer. Times in ms, sizes in bytes; every argument has the name and default of Kafka's key."""

    def __init__(
        self,
        *topics: str,
        bootstrap_servers: str | Sequence[str] = "localhost:9092",
        group_id: str | None = None,
        group_instance_id: str | None = None,
        client_id: str = "odradek-consumer",
        auto_offset_reset: str = "latest",
        enable_auto_commit: bool | None = None,
        auto_commit_interval_ms: int = 5_000,
        isolation_level: str = "read_uncommitted",
        max_poll_records: int = 500,
        max_poll_interval_ms: int = 300_000,
        session_timeout_ms: int = 45_000,
        heartbeat_interval_ms: int = 3_000,
        fetch_min_bytes: int = 1,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 52_428_800,
        max_partition_fetch_bytes: int = 1_048_576,
        partition_assignment_strategy: Sequence[str] = ("range",),
        check_crcs: bool = True,
        allow_auto_create_topics: bool = True,
        default_api_timeout_ms: float = 60_000,
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        retry_backoff_ms: float = 100,
        retry_backoff_max_ms: float = 1_000,
        metadata_max_age_ms: float = 300_000,
    ) -> None:
        """``enable_auto_commit`` defaults to on with a group and off without. Raises ConfigurationError."""
        if enable_auto_commit and group_id is None:
            raise ConfigurationError("enable_auto_commit needs a group_id")
        self._auto_commit = group_id is not None if enable_auto_commit is None else enable_auto_commit
        self._auto_commit_interval_s = auto_commit_interval_ms / 1000
        self._max_poll_records = max_poll_records
        self._isolation_level = one_of("isolation_level", isolation_level, ISOLATION_LEVELS)
        self._auto_create = allow_auto_create_topics
        self._timeout_ms = default_api_timeout_ms
        self._cluster = Cluster(
            bootstrap_servers,
            client_id=client_id,
            request_timeout_ms=request_timeout_ms,
            connection_timeout_ms=connection_timeout_ms,
            retry_backoff_ms=retry_backoff_ms,
            retry_backoff_max_ms=retry_backoff_max_ms,
            metadata_max_age_ms=metadata_max_age_ms,
        )
        fetch_config = FetchConfig(
            min_bytes=fetch_min_bytes,
            max_wait_ms=fetch_max_wait_ms,
            max_bytes=fetch_max_bytes,
            max_partition_bytes=max_partition_fetch_bytes,
            isolation_level=self._isolation_level,
            check_crcs=check_crcs,
            reset_timestamp=one_of("auto_offset_reset", auto_offset_reset, RESET_TIMESTAMPS),
        )
        self._group_config: GroupConfig | None = None
        if group_id is not None:
            self._group_config = GroupConfig(
                group_id=group_id,
                group_instance_id=group_instance_id,
                session_timeout_ms=session_timeout_ms,
                heartbeat_interval_ms=heartbeat_interval_ms,
                max_poll_interval_ms=max_poll_interval_ms,
                strategies=tuple(partition_assignment_strategy),
            )
        self._set_up(fetch_config)
        if topics:
            self.subscribe(topics)

    def _set_up(self, fetch_config: FetchConfig) -> None:
        """The parts that hold state, empty."""
        self._subscription = Subscription()
        self._listener = RebalanceListener()
        self._news = asyncio.Event()
        self._fetcher = Fetcher(self._cluster, self._subscription, fetch_config, self._news.set)
        self._positions = Positions(
            self._cluster,
            self._subscription,
            reset_timestamp=fetch_config.reset_timestamp,
            isolation_level=fetch_config.isolation_level,
            timeout_ms=self._timeout_ms,
        )
        self._member: GroupMember | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._commits: set[asyncio.Task[None]] = set()
        self._next_auto_commit = 0.0
        self._next_topic_check = 0.0
        self._running = False

    # Start and stop

    async def start(self) -> None:
        """Reaches the cluster; the group is joined by the first ``poll``. Raises NoBrokersAvailableError."""
        try:
            await self._cluster.start()
        except BaseException:
            await self._cluster.close()
            raise
        if self._group_config is not None:
            self._member = GroupMember(self._cluster, self._group_config, self._news.set)
        self._next_auto_commit = asyncio.get_running_loop().time() + self._auto_commit_interval_s
        self._running = True

    async def stop(self) -> None:
        """Commits the positions (with auto commit), leaves the group and closes all connections."""
        self._running = False
        try:
            if self._preparing is not None:
                self._preparing.cancel()
                await asyncio.gather(self._preparing, return_exceptions=True)
            await self._fetcher.close()
            await asyncio.gather(*self._commits, return_exceptions=True)
            if self._member is not None:
                if self._member.is_joined and not self._member.lost:
                    await self._give_up(lost=False)
                await self._member.leave("the consumer is being closed")
        finally:
            await self._cluster.close()

    async def __aenter__(self) -> Self:
        """Starts."""
        await self.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops."""
        await self.stop()

    # What to read

    def subscribe(self, topics: Iterable[str], listener: RebalanceListener | None = None) -> None:
        """Reads the topics as a member of the group; replaces an earlier subscription. Raises ConfigurationError."""
        names = [topics] if isinstance(topics, str) else list(topics)
        if self._group_config is None:
            raise ConfigurationError("subscribe() needs a group_id; without a group, assign() partitions")
        self._subscription.subscribe(names)
        self._cluster.wanted_topics = set(names)
        if listener is not None:
            self._listener = listener
        if self._member is not None:
            self._member.needs_rejoin = True

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads exactly these partitions; no group shares them. Raises ConfigurationError after ``subscribe``."""
        chosen = [TopicPartition(*partition) for partition in partitions]
        self._subscription.assign_manually(chosen)
        self._cluster.wanted_topics = {partition.topic for partition in chosen}

    async def unsubscribe(self) -> None:
        """Gives up all topics and partitions; leaves the group."""
        if self._member is not None and self._member.is_joined:
            await self._give_up(lost=False)
            await self._member.leave("the consumer unsubscribed")
        self._subscription.unsubscribe()
        self._cluster.wanted_topics = set()

    @property
    def has_group(self) -> bool:
        """Whether it was made with a group_id."""
        return self._group_config is not None

    def subscription(self) -> set[str]:
        """The subscribed topics."""
        return set(self._subscription.topics)

    def assignment(self) -> set[TopicPartition]:
        """The partitions that the consumer reads now."""
        return set(self._subscription.assigned)

    # Polling

    async def poll(
        self, timeout_ms: float = 500, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition; empty when none came within ``timeout_ms``.

        Raises KafkaError (authorization, damaged data, a fenced static member), NoOffsetForPartitionError,
        NoBrokersAvailableError when no broker could be reached while positions were needed.
        """
        if not self._running:
            raise ClosedError("the consumer is not running; use 'async with' or call start()")
        if not self._subscription.topics and not self._subscription.manual:
            raise ConfigurationError("poll() without topics or partitions: subscribe() or assign() first")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_ms / 1000
        limit = self._max_poll_records if max_records is None else max_records
        while True:
            self._news.clear()
            if self._member is not None:
                self._member.polled()
                self._commit_automatically()
            if self._must_prepare() and not await self._prepare(deadline):
                return {}
            records = self._fetcher.collect(limit)
            again_s = self._fetcher.send_fetches()
            if records:
                return records
            wait_s = deadline - loop.time()
            if wait_s <= 0:
                return {}
            try:
                async with asyncio.timeout(wait_s if again_s is None else min(wait_s, max(again_s, 0.001))):
                    await self._news.wait()
            except TimeoutError:
                continue

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """One record after the other, for ever."""
        return self._records()

    async def _records(self) -> AsyncIterator[ConsumerRecord]:
        while True:
            for records in (await self.poll(max_records=1)).values():
                for record in records:
                    yield record

    def _must_prepare(self) -> bool:
        """Whether poll has something to do before it can give out records."""
        if self._preparing is not None or self._cluster.is_stale or self._subscription.without_position():
            return True
        member = self._member
        if member is None or self._subscription.manual:
            return False
        if member.fatal is not None:
            raise member.fatal
        return member.needs_rejoin or (self._topics_missing() and self._loop_time() >= self._next_topic_check)

    def _topics_missing(self) -> bool:
        known = self._cluster.metadata.topics
        return any(name not in known or not known[name].partitions for name in self._subscription.topics)

    @staticmethod
    def _loop_time() -> float:
        return asyncio.get_running_loop().time()

    async def _prepare(self, deadline: float) -> bool:
        """Runs the preparation, or goes on with it, until the deadline; whether it is done. It outlives the call."""
        if self._preparing is None:
            self._preparing = asyncio.ensure_future(self._prepare_all())
        await asyncio.wait({self._preparing}, timeout=max(0.0, deadline - self._loop_time()))
        if not self._preparing.done():
            return False
        task, self._preparing = self._preparing, None
        task.result()
        return True

    async def _prepare_all(self) -> None:
        """Metadata, then the group, then positions."""
        await self._refresh_metadata()
        member = self._member
        if member is not None and not self._subscription.manual and member.needs_rejoin:
            await self._join(member)
        await self._positions.find(self._member)

    async def _refresh_metadata(self) -> None:
        if not self._cluster.is_stale and not self._topics_missing():
            return
        self._next_topic_check = self._loop_time() + MISSING_TOPICS_CHECK_S
        try:
            await self._cluster.refresh(self._subscription.topics, auto_create=self._auto_create)
        except BrokerConnectionError:
            if self._cluster.metadata.brokers:
                await asyncio.sleep(self._cluster.backoff_s(0))
                return
            raise
        member = self._member
        if member is not None and member.leader_snapshot is not None:
            counts = {n: len(t.partitions) for n, t in self._cluster.metadata.topics.items() if t.partitions}
            if any(counts.get(topic, 0) != member.leader_snapshot.get(topic, 0) for topic in self._subscription.topics):
                member.needs_rejoin = True  # topics were made or grew: the leader has partitions to share out

    async def _join(self, member: GroupMember) -> None:
        owned = sorted(self._subscription.assigned)
        await self._give_up(lost=member.lost)
        topics = self._subscription.topics
        partitions = await member.join(topics, owned)
        if topics != self._subscription.topics:
            member.needs_rejoin = True
            return
        self._cluster.wanted_topics.update(partition.topic for partition in partitions)
        self._subscription.assign(partitions)
        await self._listener.on_partitions_assigned(partitions)

    async def _give_up(self, *, lost: bool) -> None:
        """Before partitions change hands: commit what was consumed, tell the listener, forget them."""
        partitions = list(self._subscription.assigned)
        if not partitions or self._subscription.manual:
            return
        if lost:
            await self._listener.on_partitions_lost(partitions)
        else:
            if self._auto_commit:
                await self._try_commit()
            await self._listener.on_partitions_revoked(partitions)
        self._subscription.assign(())

    # Positions

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """The next poll reads the partition from ``offset``. Raises ConfigurationError when it is not assigned."""
        if offset < 0:
            raise ConfigurationError(f"offset {offset} is negative; seek_to_beginning() and seek_to_end() are calls")
        self._subscription.seek(TopicPartition(*partition), offset)

    async def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        """The next poll reads from the log start offset; without arguments of all assigned partitions."""
        await self._seek(partitions, EARLIEST_TIMESTAMP)

    async def seek_to_end(self, *partitions: TopicPartition) -> None:
        """The next poll reads from the end (with read_committed the last stable offset)."""
        await self._seek(partitions, LATEST_TIMESTAMP)

    async def _seek(self, partitions: Sequence[TopicPartition], timestamp: int) -> None:
        for partition in partitions or list(self._subscription.assigned):
            self._subscription.reset(TopicPartition(*partition), timestamp)
        await self._positions.reset()

    def positions(self) -> dict[TopicPartition, int]:
        """The positions of the assigned partitions that have one."""
        return {partition: offset.offset for partition, offset in self._subscription.consumed().items()}

    async def position(self, partition: TopicPartition) -> int:
        """The offset of the next record. Raises ConfigurationError when the partition is not assigned."""
        state = self._subscription.state(TopicPartition(*partition))
        if state.position is None:
            await self._positions.find(self._member)
        if state.position is None:
            raise NoOffsetForPartitionError(f"{partition} has no position yet")
        return state.position

    def pause(self, *partitions: TopicPartition) -> None:
        """No records of these partitions until ``resume``."""
        for partition in partitions:
            self._subscription.state(partition).paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Records of these partitions again."""
        for partition in partitions:
            self._subscription.state(partition).paused = False
        self._news.set()

    def paused(self) -> set[TopicPartition]:
        """The paused partitions."""
        return {partition for partition, state in self._subscription.assigned.items() if state.paused}

    # Commits

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None) -> None:
        """Commits the positions, or the offsets given (each the next one to read).

        Raises ConfigurationError without a group; KafkaError: REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION and
        UNKNOWN_MEMBER_ID mean that the partitions may belong to others now.
        """
        if offsets is None:
            wanted = self._subscription.consumed()
        else:
            wanted = {
                TopicPartition(*p): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
                for p, offset in offsets.items()
            }
        if wanted:
            await self._group_member().commit(wanted, self._timeout_ms)

    async def committed(self, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's committed offsets, without arguments of the assigned partitions; missing ones are left out."""
        wanted = [TopicPartition(*partition) for partition in partitions] or list(self._subscription.assigned)
        return await self._group_member().committed(wanted, self._timeout_ms)

    def _group_member(self) -> GroupMember:
        if self._member is None:
            raise ConfigurationError("committed offsets belong to a group; give a group_id and start the consumer")
        return self._member

    def _commit_automatically(self) -> None:
        """Every ``auto_commit_interval_ms``, by poll: what earlier polls gave out is processed by now."""
        now = self._loop_time()
        if not self._auto_commit or now < self._next_auto_commit:
            return
        self._next_auto_commit = now + self._auto_commit_interval_s
        if not self._commits and self._subscription.consumed():
            task = asyncio.ensure_future(self._try_commit())
            self._commits.add(task)
            task.add_done_callback(self._commits.discard)

    async def _try_commit(self) -> None:
        member = self._member
        consumed = self._subscription.consumed()
        if member is None or not consumed:
            return
        try:
            await member.commit(consumed, self._auto_commit_interval_s * 1000)
        except (KafkaError, ClientError) as error:
            logger.warning("automatic commit failed, records may be read again: %s", error)

    # Offsets of the log, metadata

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The log start offset of each partition. Raises KafkaError."""
        return await self._offsets(dict.fromkeys(partitions, EARLIEST_TIMESTAMP))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The high watermark of each partition (with read_committed the last stable offset). Raises KafkaError."""
        return await self._offsets(dict.fromkeys(partitions, LATEST_TIMESTAMP))

    async def _offsets(self, timestamps: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = await list_offsets(
            self._cluster, timestamps, isolation_level=self._isolation_level, timeout_ms=self._timeout_ms
        )
        return {partition: offset.offset for partition, offset in found.items()}

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each timestamp (ms); None where no record is that late. Raises KafkaError."""
        found = await list_offsets(
            self._cluster, timestamps, isolation_level=self._isolation_level, timeout_ms=self._timeout_ms
        )
        return {partition: offset if offset.offset >= 0 else None for partition, offset in found.items()}

    async def partitions_for_topic(self, topic: str) -> list[int]:
        """The partitions of a topic; none when it does not exist."""
        try:
            return list((await self._cluster.topic(topic, timeout_ms=0)).partitions)
        except KafkaError as error:
            if error.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return []
            raise

    async def topics(self) -> set[str]:
        """The names of all topics, internal ones too."""
        return {topic.name for topic in await self._cluster.list_topics()}

    def lag(self, partition: TopicPartition) -> int | None:
        """Records between the position and the end as the last fetch saw it; None before the first one."""
        state = self._subscription.state(TopicPartition(*partition))
        end = state.last_stable_offset if self._isolation_level else state.high_watermark
        return None if end < 0 or state.position is None else max(0, end - state.position)
