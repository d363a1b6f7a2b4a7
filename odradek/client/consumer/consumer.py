"""A consumer: reads partitions, alone or as a member of a group of either protocol.

Owns: configuration, ``poll``, the subscription. Fetching is ``fetcher.py``, the refresh of metadata and positions
``upkeep.py``, membership ``classic_member.py`` and ``consumer_member.py``, commits ``offset_commits.py``, positions
``consumer_base.py``. As in Java's consumer, partitions are revoked and assigned only inside ``poll``: after the records
of the last poll were processed, before the next are returned.
Source: ``org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer``.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from odradek.protocol.common.lazy_imports import lazy_imports

from ..cluster.cluster import Cluster, ClusterTimes
from ..cluster.list_offsets import ISOLATION_LEVELS
from ..errors import ClosedError, ConfigurationError, one_of
from ..group.config import ClassicSettings, group_config
from ..group.handover import Handover, RebalanceListener
from ..group.subscription import SubscriptionState, to_commit
from ..types import ConsumerRecord, GroupMetadata, OffsetAndMetadata, TopicPartition
from .consumer_base import ConsumerBase
from .epoch_validation import EpochValidation
from .fetched import FetchedPartition
from .fetcher import FetchConfig, Fetcher, FetchRequestLimits
from .offset_reset import parse_offset_reset
from .positions import FetchCommitted, Positions
from .upkeep import Upkeep

with lazy_imports:
    from ..group import group as group_module

if TYPE_CHECKING:
    from ..group.group import Group
    from ..group.offset_commits import CommitCallback
    from ..security.secured import ConnectionSecurity

__all__ = ["Consumer", "RebalanceListener"]


class Consumer(ConsumerBase):
    """An asyncio consumer. Times in ms, sizes in bytes; every argument has the name and default of Kafka's key."""

    fetched_type: type[FetchedPartition] = FetchedPartition
    """The class that decodes the records of a Fetch response."""

    def __init__(
        self,
        *topics: str,
        bootstrap_servers: str | Sequence[str] = "localhost:9092",
        group_id: str | None = None,
        group_instance_id: str | None = None,
        group_protocol: str = "classic",
        group_remote_assignor: str | None = None,
        client_id: str = "odradek-consumer",
        client_rack: str = "",
        auto_offset_reset: str = "latest",
        enable_auto_commit: bool | None = None,
        auto_commit_interval_ms: int = 5_000,
        isolation_level: str = "read_uncommitted",
        max_poll_records: int = 500,
        max_poll_interval_ms: int = 300_000,
        session_timeout_ms: int | None = None,
        heartbeat_interval_ms: int | None = None,
        fetch_min_bytes: int = 1,
        fetch_max_wait_ms: int = 500,
        fetch_max_bytes: int = 52_428_800,
        max_partition_fetch_bytes: int = 1_048_576,
        partition_assignment_strategy: Sequence[str] | None = None,
        check_crcs: bool = True,
        allow_auto_create_topics: bool = True,
        default_api_timeout_ms: float = 60_000,
        request_timeout_ms: float = 30_000,
        connection_timeout_ms: float = 10_000,
        retry_backoff_ms: float = 100,
        retry_backoff_max_ms: float = 1_000,
        metadata_max_age_ms: float = 300_000,
        receive_buffer_bytes: int = -1,
        security: "ConnectionSecurity | Mapping[str, str] | None" = None,
    ) -> None:
        """``enable_auto_commit`` defaults to True with a ``group_id``, to False without. Raises ConfigurationError."""
        self._group_config = group_config(
            group_id,
            group_protocol=group_protocol,
            group_instance_id=group_instance_id,
            classic=ClassicSettings(session_timeout_ms, heartbeat_interval_ms, partition_assignment_strategy),
            max_poll_interval_ms=max_poll_interval_ms,
            remote_assignor=group_remote_assignor,
            rack_id=client_rack or None,
        )
        limits = FetchRequestLimits(fetch_min_bytes, fetch_max_wait_ms, fetch_max_bytes, max_partition_fetch_bytes)
        isolation = one_of("isolation_level", isolation_level, ISOLATION_LEVELS)
        fetch_config = FetchConfig(limits, isolation, check_crcs, parse_offset_reset(auto_offset_reset), client_rack)
        cluster = Cluster(
            bootstrap_servers,
            client_id=client_id,
            times=ClusterTimes(
                request_timeout_ms, connection_timeout_ms, retry_backoff_ms, retry_backoff_max_ms, metadata_max_age_ms
            ),
            receive_buffer_bytes=receive_buffer_bytes,
            security=security,
        )
        self._auto_commit_interval_ms = self._automatic(enable_auto_commit, auto_commit_interval_ms)
        self._max_poll_records, self._auto_create = max_poll_records, allow_auto_create_topics
        self._set_up(cluster, fetch_config, default_api_timeout_ms, topics)

    def _automatic(self, enabled: bool | None, interval_ms: int) -> int | None:
        if enabled and self._group_config is None:
            raise ConfigurationError("enable_auto_commit needs a group_id")
        return interval_ms if self._group_config is not None and enabled is not False else None

    def _set_up(self, cluster: Cluster, fetch_config: FetchConfig, timeout_ms: float, topics: tuple[str, ...]) -> None:
        """Creates the objects of one consumer: subscription, positions, fetcher, partition handover."""
        subscription = SubscriptionState()
        isolation_level = fetch_config.isolation_level
        positions = Positions(
            cluster,
            subscription,
            offset_reset=fetch_config.offset_reset,
            isolation_level=isolation_level,
            timeout_ms=timeout_ms,
        )
        super().__init__(cluster, subscription, positions, isolation_level=isolation_level, timeout_ms=timeout_ms)
        validation = EpochValidation(cluster, subscription, has_reset=fetch_config.offset_reset.kind != "none")
        self._news = asyncio.Event()
        cluster.on_refusal.append(self._news.set)
        self._fetcher = Fetcher(cluster, subscription, fetch_config, self._news.set, self.fetched_type)
        self._handover = Handover(cluster, subscription, self._commit_before_handover)
        self._group: Group | None = None
        self._upkeep = Upkeep(
            cluster, subscription, positions, validation, self._news.set, creates_topics=self._auto_create
        )
        self._running = False
        if topics:
            self.subscribe(topics)

    # Start and stop

    async def start(self, topics: Iterable[str] = ()) -> None:
        """Connects to the cluster; the first ``poll`` joins the group. Raises NoBrokersAvailableError.

        ``topics``: to ask for with the brokers, which spares :meth:`partitions_for_topic` a request of its own.
        """
        try:
            await self._cluster.start(topics)
        except BaseException:
            await self._cluster.close()
            raise
        if self._group_config is not None:
            self._group = self._upkeep.group = group_module.Group(
                self._cluster,
                self._group_config,
                self._news.set,
                timeout_ms=self._timeout_ms,
                auto_commit_interval_ms=self._auto_commit_interval_ms,
            )
        self._running = True

    async def stop(self) -> None:
        """Commits the positions (with auto commit), leaves the group and closes all connections."""
        self._running = False
        try:
            await self._upkeep.stop()
            await self._fetcher.close()
            if self._group is not None:
                await self._release_partitions(self._group)
                await self._group.commits.idle()
                await self._group.member.leave("the consumer is being closed")
        finally:
            await self._cluster.close()

    async def _release_partitions(self, group: "Group") -> None:
        """Gives up all partitions before the consumer leaves the group."""
        if self._subscription.manual:
            await self._commit_before_handover()
        elif group.member.is_joined:
            await self._handover.revoke(self._handover.owned)
        else:
            await self._handover.lose()

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
        changed = self._subscription.topics != frozenset(names)
        self._subscription.subscribe(names)
        self._cluster.wanted_topics = set(names)
        if listener is not None:
            self._handover.listener = listener
        if self._group is not None and changed:
            self._group.member.subscription_changed()

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads exactly these partitions, without group assignment. Raises ConfigurationError after ``subscribe``."""
        chosen = [TopicPartition(*partition) for partition in partitions]
        self._subscription.assign_manually(chosen)
        self._cluster.wanted_topics = {partition.topic for partition in chosen}

    async def unsubscribe(self) -> None:
        """Ends the subscription or manual assignment; a subscribed consumer leaves its group."""
        if self._group is not None and not self._subscription.manual:
            await self._release_partitions(self._group)
            await self._group.member.leave("the consumer unsubscribed from all topics")
        self._subscription.unsubscribe()
        self._cluster.wanted_topics = set()

    @property
    def has_group(self) -> bool:
        """Whether the consumer has a ``group_id``."""
        return self._group_config is not None

    def subscription(self) -> set[str]:
        """The subscribed topics."""
        return set(self._subscription.topics)

    def assignment(self) -> set[TopicPartition]:
        """The partitions that the consumer reads now."""
        return set(self._subscription.assigned)

    def enforce_rebalance(self) -> None:
        """Makes the next ``poll`` start a rebalance. With ``group_protocol="consumer"``, only logs a warning.

        Raises ConfigurationError without a group.
        """
        self._started_group().member.enforce_rebalance()

    def pause(self, *partitions: TopicPartition) -> None:
        """Stops returning records of these partitions until ``resume``."""
        for partition in partitions:
            self._subscription.state(partition).paused = True

    def resume(self, *partitions: TopicPartition) -> None:
        """Returns records of these partitions again."""
        for partition in partitions:
            self._subscription.resume(TopicPartition(*partition))
        self._news.set()

    # Polling

    async def poll(
        self, timeout_ms: float = 500, max_records: int | None = None
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """The next records by partition; empty if none arrived within ``timeout_ms``.

        Raises KafkaError (authorization, damaged data, a fenced static member), NoOffsetForPartitionError,
        LogTruncationError, NoBrokersAvailableError if no broker is reachable and a position is missing; and any error
        of the rebalance listener. AuthenticationError is final: make a new consumer.
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
            self._cluster.raise_refusal()
            await self._advance()
            records = self._fetcher.collect(limit)
            again_s = self._fetcher.send_fetches()
            if records:
                return records
            now = loop.time()
            if now >= deadline:
                return {}
            try:
                async with asyncio.timeout_at(min(deadline, self._next_turn(now, again_s))):
                    await self._news.wait()
            except TimeoutError:
                continue

    def _next_turn(self, now: float, again_s: float | None) -> float:
        """The loop time (s) at which ``poll`` must check its work again even if no event arrives."""
        turns = [now + 60.0 if again_s is None else now + max(again_s, 0.001)]
        if (check_at := self._upkeep.next_topic_check) is not None:
            turns.append(max(check_at, now + 0.001))
        if self._group is not None and (commit_at := self._group.commits.next_automatic) is not None:
            turns.append(max(commit_at, now + 0.001))
        return min(turns)

    async def _advance(self) -> None:
        """Commits and rebalances if due, and starts the background refresh of metadata and positions if needed."""
        if self._group is not None:
            self._group.member.polled()
            self._group.commits.commit_if_due(self._subscription.consumed)
            if not self._subscription.manual:
                await self._group.member.advance(self._subscription.topics, self._handover)
        self._upkeep.advance()

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Yields one record after the other, without end."""
        return self._records()

    async def _records(self) -> AsyncIterator[ConsumerRecord]:
        while True:
            for records in (await self.poll(max_records=1)).values():
                for record in records:
                    yield record

    # Commits

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None) -> None:
        """Commits the positions, or these offsets (each the next one to read), after all earlier commits.

        Raises ConfigurationError without a group; KafkaError: REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION,
        UNKNOWN_MEMBER_ID and FENCED_INSTANCE_ID mean that other members may own the partitions now.
        """
        group = self._started_group()
        await group.commits.commit(self._subscription.consumed() if offsets is None else to_commit(offsets))

    def commit_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata | int] | None = None,
        callback: "CommitCallback | None" = None,
    ) -> "asyncio.Task[None]":
        """Commits in the background, in the order of the calls, without retries.

        The task and the callback get the result; RetriableCommitError means that a retry may succeed.
        Raises ConfigurationError without a group.
        """
        positions = self._subscription.consumed() if offsets is None else to_commit(offsets)
        return self._started_group().commits.commit_async(positions, callback)

    async def committed(self, *partitions: TopicPartition) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's committed offsets of the partitions (default: all assigned), as far as they have one."""
        chosen = [TopicPartition(*partition) for partition in partitions] or list(self._subscription.assigned)
        return await self._started_group().fetch_committed(chosen)

    def group_metadata(self) -> GroupMetadata:
        """The consumer's group, member id and generation, for a producer's ``send_offsets_to_transaction``."""
        return self._started_group().metadata

    def _fetch_committed(self) -> FetchCommitted | None:
        return None if self._group is None else self._group.fetch_committed

    async def _commit_before_handover(self) -> None:
        if self._group is not None:
            await self._group.commits.commit_before_handover(self._subscription.consumed)

    def _started_group(self) -> "Group":
        if self._group is None:
            raise ConfigurationError("only a started consumer with a group_id has a group and committed offsets")
        return self._group
