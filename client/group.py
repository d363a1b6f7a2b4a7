"""A consumer's membership in a group under the classic protocol: joining, heartbeats, commits, leaving.

Owns: member id and generation, the heartbeat task, the coordinator's connection. Never does: positions or records (the
consumer's). Invariants: heartbeats only while joined; a commit carries the member id and generation, so that a member
that was thrown out cannot overwrite offsets. Source:
``consumer.internals.AbstractCoordinator`` and ``ConsumerCoordinator``; KIP-394 (member id first), KIP-345 (static
members).
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..protocol.errors import ErrorCode, KafkaError
from ..protocol.messages.groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from .assignors import ASSIGNORS
from .cluster import Cluster
from .committed_offsets import commit_offsets, fetch_committed
from .coordinator import COORDINATOR_MOVED, Coordinator
from .errors import ClientError, ConfigurationError, broker_error
from .group_protocol import PROTOCOL_TYPE, assign, decode_assignment, join_protocols, members_of
from .types import OffsetAndMetadata, TopicPartition

JOIN_GRACE_MS = 5_000
"""JoinGroup waits this much longer than the rebalance may take (``JOIN_GROUP_TIMEOUT_LAPSE``)."""


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """The part of the consumer's configuration that concerns its group; times in ms."""

    group_id: str
    group_instance_id: str | None
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    strategies: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raises ConfigurationError for an assignor that we do not have."""
        unknown = [strategy for strategy in self.strategies if strategy not in ASSIGNORS]
        if unknown or not self.strategies:
            raise ConfigurationError(f"partition_assignment_strategy has {unknown}; it can have {', '.join(ASSIGNORS)}")


class GroupMember:
    """One member of a group."""

    def __init__(self, cluster: Cluster, config: GroupConfig, changed: Callable[[], None]) -> None:
        """``changed`` is called when ``needs_rejoin`` or ``fatal`` changed in the background."""
        self._cluster = cluster
        self._config = config
        self._changed = changed
        self._coordinator = Coordinator(cluster, config.group_id, purpose=f"group {config.group_id}")
        self._heartbeats: asyncio.Task[None] | None = None
        self._last_poll = asyncio.get_running_loop().time()
        self.member_id = ""
        self.generation_id = -1
        self.needs_rejoin = True
        self.lost = False
        """The membership ended without our doing: the partitions may belong to others already."""
        self.fatal: KafkaError | None = None
        self.leader_snapshot: dict[str, int] | None = None
        """On the leader: the partition counts by topic that the current assignment was made with."""

    @property
    def is_joined(self) -> bool:
        """Whether the member has a valid generation."""
        return self.generation_id >= 0

    def polled(self) -> None:
        """The user called poll: the interval of ``max_poll_interval_ms`` begins anew."""
        self._last_poll = asyncio.get_running_loop().time()

    # Joining

    async def join(self, topics: Iterable[str], owned: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Joins, or joins again, until the group is stable; the member's partitions.

        Raises KafkaError for what does not go away: GROUP_AUTHORIZATION_FAILED, INVALID_SESSION_TIMEOUT,
        INCONSISTENT_GROUP_PROTOCOL, FENCED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED.
        """
        await self._stop_heartbeats()
        topics = sorted(topics)
        attempts = 0
        while True:
            try:
                joined = await self._join_group(topics, owned)
                partitions = await self._sync_group(joined)
            except KafkaError as error:
                if not self._can_retry(error):
                    raise
                if error.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    continue
            except ClientError:
                self._coordinator.forget()
            else:
                self.needs_rejoin = self.lost = False
                self._heartbeats = asyncio.create_task(self._heartbeat(), name="group-heartbeat")
                return partitions
            await asyncio.sleep(self._cluster.backoff_s(attempts))
            attempts += 1

    async def _join_group(self, topics: list[str], owned: Sequence[TopicPartition]) -> JoinGroupResponse:
        connection = await self._coordinator.connection()
        config = self._config
        request = JoinGroupRequest(
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            rebalance_timeout_ms=config.max_poll_interval_ms,
            member_id=self.member_id,
            group_instance_id=config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=join_protocols(config.strategies, topics, owned, self.generation_id),
        )
        timeout_ms = config.max_poll_interval_ms + JOIN_GRACE_MS
        response = await connection.call(request, JoinGroupResponse, timeout_ms=timeout_ms)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
        if response.error_code:
            raise broker_error(response.error_code, f"joining group '{config.group_id}'")
        self.member_id = response.member_id
        self.generation_id = response.generation_id
        return response

    async def _sync_group(self, joined: JoinGroupResponse) -> list[TopicPartition]:
        assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = []
        self.leader_snapshot = None
        strategy = joined.protocol_name or ""
        if joined.leader == joined.member_id and not joined.skip_assignment:
            members = members_of(joined)
            topics = {topic for member in members.values() for topic in member.topics}
            self.leader_snapshot = await self.partition_counts(topics)
            assignments = assign(strategy, members, self.leader_snapshot)
        request = SyncGroupRequest(
            group_id=self._config.group_id,
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=strategy,
            assignments=assignments,
        )
        connection = await self._coordinator.connection()
        timeout_ms = self._config.max_poll_interval_ms + JOIN_GRACE_MS
        response = await connection.call(request, SyncGroupResponse, timeout_ms=timeout_ms)
        if response.error_code:
            raise broker_error(response.error_code, f"assignment of group '{self._config.group_id}'")
        return decode_assignment(response.assignment)

    async def partition_counts(self, topics: Iterable[str]) -> dict[str, int]:
        """How many partitions each topic has now; topics that do not exist are left out."""
        topics = list(topics)
        await self._cluster.refresh(topics)
        known = self._cluster.metadata.topics
        return {topic: len(known[topic].partitions) for topic in topics if topic in known and known[topic].partitions}

    def _can_retry(self, error: KafkaError) -> bool:
        """What an error means for the membership; whether joining (again) may help."""
        code = error.error_code
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self._reset(forget_member=code == ErrorCode.UNKNOWN_MEMBER_ID)
        elif code in COORDINATOR_MOVED:
            self._coordinator.forget()
        elif code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED):
            return code.retriable
        return True

    def _reset(self, *, forget_member: bool) -> None:
        self.generation_id = -1
        if forget_member:
            self.member_id = ""
        self.needs_rejoin = True

    # Heartbeats

    async def _heartbeat(self) -> None:
        """Runs while joined; ends when the member has to join again or must not go on."""
        loop = asyncio.get_running_loop()
        interval_s = self._config.heartbeat_interval_ms / 1000
        while not self.needs_rejoin and self.fatal is None:
            await asyncio.sleep(interval_s)
            if loop.time() - self._last_poll > self._config.max_poll_interval_ms / 1000:
                await self._leave("poll was not called within max_poll_interval_ms")
                self.lost = True
                break
            try:
                connection = await self._coordinator.connection()
                request = HeartbeatRequest(
                    group_id=self._config.group_id,
                    generation_id=self.generation_id,
                    member_id=self.member_id,
                    group_instance_id=self._config.group_instance_id,
                )
                response = await connection.call(request, HeartbeatResponse, timeout_ms=self._config.session_timeout_ms)
            except (ClientError, KafkaError):
                self._coordinator.forget()
                continue
            if response.error_code:
                self._heartbeat_refused(broker_error(response.error_code, f"group '{self._config.group_id}'"))
        self._changed()

    def _heartbeat_refused(self, error: KafkaError) -> None:
        code = error.error_code
        if code == ErrorCode.REBALANCE_IN_PROGRESS:
            self.needs_rejoin = True
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self._reset(forget_member=code == ErrorCode.UNKNOWN_MEMBER_ID)
            self.lost = True
        elif code in COORDINATOR_MOVED:
            self._coordinator.forget()
        elif not code.retriable:
            self.fatal = error

    async def _stop_heartbeats(self) -> None:
        if self._heartbeats is not None and self._heartbeats is not asyncio.current_task():
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)
            self._heartbeats = None

    # Offsets

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], timeout_ms: float) -> None:
        """Commits as this member. Raises KafkaError: REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID
        say that the partitions may belong to others now.
        """
        try:
            await commit_offsets(
                self._cluster,
                self._coordinator,
                self._config.group_id,
                offsets,
                generation_id=self.generation_id,
                member_id=self.member_id if self.is_joined else "",
                group_instance_id=self._config.group_instance_id if self.is_joined else None,
                timeout_ms=timeout_ms,
            )
        except KafkaError as error:
            if error.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
                self._reset(forget_member=error.error_code == ErrorCode.UNKNOWN_MEMBER_ID)
                self.lost = True
            raise

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout_ms: float
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's committed offsets; partitions without one are left out."""
        return await fetch_committed(
            self._cluster, self._coordinator, self._config.group_id, list(partitions), timeout_ms=timeout_ms
        )

    # Leaving

    async def leave(self, reason: str) -> None:
        """Ends the membership, so that the others need not wait for the session timeout. Static members stay."""
        await self._stop_heartbeats()
        await self._leave(reason)

    async def _leave(self, reason: str) -> None:
        if self.member_id and self._config.group_instance_id is None:
            member = LeaveGroupRequest.MemberIdentity(member_id=self.member_id, reason=reason)
            request = LeaveGroupRequest(group_id=self._config.group_id)
            try:
                connection = await self._coordinator.connection()
                if connection.version_for(LeaveGroupRequest) >= 3:
                    request.members = [member]
                else:
                    request.member_id = self.member_id
                await connection.call(request, LeaveGroupResponse)
            except (ClientError, KafkaError):
                self._coordinator.forget()  # the coordinator notices by itself after the session timeout
        self._reset(forget_member=True)
