"""A consumer's membership in a group under the classic protocol: joining, assignments, leaving.

Owns: member id and generation, the task that joins. Heartbeats are ``classic_heartbeats.py``. Never does: positions or
records. Invariants: with eager assignors the member revokes all partitions before a join, with cooperative ones only
those that move (KIP-429). A commit carries member id and generation, so that a removed member cannot overwrite offsets.
Source: ``consumer.internals.AbstractCoordinator`` and ``ConsumerCoordinator``; KIP-394 (member id first), KIP-345
(static members), KIP-800 (reasons).
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import (
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

from ..cluster.cluster import Cluster
from ..cluster.coordinator import COORDINATOR_MOVED, CoordinatorConnection
from ..errors import ClientError, broker_error
from ..types import Identity, TopicPartition
from .classic_heartbeats import ClassicHeartbeats
from .classic_protocol import PROTOCOL_TYPE, assign, decode_assignment, join_protocols, members_of
from .config import GroupConfig
from .handover import Handover

with lazy_imports:
    from .assignors import sticky_owned, subscriptions

if TYPE_CHECKING:
    from .assignors.subscriptions import TopicPartitions

JOIN_GRACE_MS = 5_000
"""Added to the rebalance timeout (max_poll_interval_ms) for JoinGroup and SyncGroup (``JOIN_GROUP_TIMEOUT_LAPSE``)."""
MEMBERSHIP_LOST = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class JoinResult(NamedTuple):
    """The result of a join: the topics in its JoinGroup, the assigned partitions, the assignor."""

    topics: frozenset[str]
    partitions: list[TopicPartition]
    strategy: str


class PreviousAssignment(NamedTuple):
    """The assignment of the generation before."""

    strategy: str
    partitions: list[TopicPartition]
    generation_id: int


class ClassicMembership:
    """A consumer's membership in a classic group."""

    def __init__(
        self, cluster: Cluster, coordinator: CoordinatorConnection, config: GroupConfig, changed: Callable[[], None]
    ) -> None:
        """``changed`` is called when ``advance`` has work to do."""
        self._cluster = cluster
        self._coordinator = coordinator
        self._config = config
        self._changed = changed
        self._heartbeats = ClassicHeartbeats(cluster, coordinator, config, self)
        self._joining: asyncio.Task[JoinResult] | None = None
        self._needs_rejoin = True
        self._reason = ""
        self._previous: PreviousAssignment | None = None
        """The last assignment, which sticky assignors send in their user data."""
        self._shared_out: dict[str, int] | None = None
        """On the leader: topic -> number of partitions at the time of the current assignment. None on others."""
        self.member_id = ""
        self.generation_id = -1
        self.fatal: KafkaError | None = None

    @property
    def identity(self) -> Identity:
        """Member id and generation; an empty Identity if the member has no generation."""
        if not self.is_joined:
            return Identity()
        return Identity(self.member_id, self.generation_id, self._config.group_instance_id)

    @property
    def is_joined(self) -> bool:
        """Whether the member has a valid generation."""
        return self.generation_id >= 0

    def polled(self) -> None:
        """Notes that the user called ``poll``, which restarts the ``max_poll_interval_ms``."""
        self._heartbeats.polled()

    def subscription_changed(self) -> None:
        """Makes the member join again with the new topics."""
        self.rejoin("the subscription changed")

    @property
    def watched_topics(self) -> frozenset[str]:
        """On the leader, the topics of all members; otherwise empty."""
        return frozenset(self._shared_out or ())

    def metadata_changed(self, partition_counts: dict[str, int]) -> None:
        """Called after a metadata refresh. If partition counts changed, the leader joins again, to assign anew."""
        shared_out = self._shared_out
        if shared_out is not None and any(partition_counts[t] != shared_out.get(t, 0) for t in partition_counts):
            self.rejoin("cached metadata has changed")

    def enforce_rebalance(self) -> None:
        """Starts a rebalance at the user's request."""
        self.rejoin("rebalance enforced by user")

    def rejoin(self, reason: str) -> None:
        """Makes the next ``advance`` join again."""
        self._needs_rejoin = True
        self._reason = reason
        self._changed()

    def forget_generation(self, *, forget_member: bool) -> None:
        """Drops the generation that the coordinator ended, and joins again. Others may own the partitions already.

        ``forget_member``: drop the member id too.
        """
        self.generation_id = -1
        if forget_member:
            self.member_id = ""
        self.rejoin("the member lost its generation")

    def fail(self, error: KafkaError) -> None:
        """Stores an error that is not retriable, for ``advance`` to raise."""
        self.fatal = error
        self._changed()

    # Inside poll

    async def advance(self, topics: frozenset[str], handover: Handover) -> None:
        """Processes a finished join (revokes and assigns partitions) and starts a needed one. Raises KafkaError."""
        if self.fatal is not None:
            raise self.fatal
        if self._joining is not None:
            if not self._joining.done():
                return
            task, self._joining = self._joining, None
            await self._complete(task.result(), topics, handover)
        if self._needs_rejoin:
            await self._prepare(topics, handover)
            await self._heartbeats.stop()
            self._needs_rejoin = False
            owned = handover.owned
            self._joining = asyncio.create_task(self._join(topics, owned), name="group-join")
            self._joining.add_done_callback(lambda _: self._changed())

    async def _prepare(self, topics: frozenset[str], handover: Handover) -> None:
        """Before a join: revokes the partitions that the member must not keep, all with an eager assignor."""
        if not self.is_joined:
            await handover.lose()
        elif self._config.is_cooperative:
            await handover.commit()
            await handover.revoke(partition for partition in handover.owned if partition.topic not in topics)
        else:
            await handover.revoke(handover.owned)

    async def _complete(self, joined: JoinResult, topics: frozenset[str], handover: Handover) -> None:
        """After a join: revokes the partitions that move to other members, then assigns the new ones.

        If it revoked some, it joins again, so that the leader can assign them (KIP-429).
        """
        self._previous = PreviousAssignment(joined.strategy, joined.partitions, self.generation_id)
        if joined.topics != topics:
            self.rejoin("the subscription changed while joining")
            return
        assigned = set(joined.partitions)
        revoked = [partition for partition in handover.owned if partition not in assigned]
        if revoked:
            await handover.revoke(revoked)
            self.rejoin(f"{len(revoked)} partitions are free for others now")
        await handover.assign(joined.partitions)

    # Joining, in the background

    async def _join(self, topics: frozenset[str], owned: Sequence[TopicPartition]) -> JoinResult:
        """Sends JoinGroup and SyncGroup, with retries, until the member has an assignment."""
        attempts = 0
        while True:
            try:
                joined = await self._join_group(sorted(topics), owned)
                partitions = await self._sync_group(joined)
            except KafkaError as error:
                if not self._can_retry(error):
                    self._needs_rejoin = True
                    raise
                if error.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                    continue
            except ClientError:
                self._coordinator.forget()
            else:
                self._heartbeats.start()
                return JoinResult(topics, partitions, joined.protocol_name or "")
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
            protocols=join_protocols(
                config.strategies,
                topics,
                owned,
                self.generation_id,
                rack_id=config.rack_id,
                user_data=self._user_data(),
            ),
            reason=self._reason[:255] or None,
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

    def _user_data(self) -> dict[str, bytes]:
        """The user data of the sticky assignors, by assignor."""
        data: dict[str, bytes] = {}
        if not {"sticky", "cooperative-sticky"}.isdisjoint(self._config.strategies):
            strategy, partitions, generation = self._previous or PreviousAssignment("", [], -1)
            if strategy == "sticky":
                data["sticky"] = sticky_owned.encode_previous_assignment(partitions, generation)
            data["cooperative-sticky"] = sticky_owned.encode_generation(
                generation if strategy == "cooperative-sticky" else -1
            )
        return data

    async def _sync_group(self, joined: JoinGroupResponse) -> list[TopicPartition]:
        assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = []
        self._shared_out = None
        strategy = joined.protocol_name or ""
        if joined.leader == joined.member_id:
            members = members_of(joined)
            names = {topic for member in members.values() for topic in member.topics}
            topics = await self._topics_of(names, with_racks=any(member.rack_id for member in members.values()))
            # A static leader that rejoined skips the assignment, but watches the topics for changes (KIP-814).
            self._shared_out = {name: topics.counts.get(name, 0) for name in names}
            if not joined.skip_assignment:
                assignments = assign(strategy, members, topics)
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

    async def _topics_of(self, names: set[str], *, with_racks: bool) -> "TopicPartitions":
        """The current partition counts of the topics, and racks if asked. Leaves out topics that do not exist."""
        await self._cluster.refresh(names)
        known = self._cluster.metadata
        found = {name: known.topics[name].partitions for name in names if name in known.topics}
        racks: dict[TopicPartition, frozenset[str]] = {}
        if with_racks:
            for name, partitions in found.items():
                for number, partition in partitions.items():
                    brokers = (known.brokers.get(node) for node in partition.replicas)
                    racks[TopicPartition(name, number)] = frozenset(b.rack for b in brokers if b is not None and b.rack)
        return subscriptions.TopicPartitions(
            {name: len(partitions) for name, partitions in found.items() if partitions}, racks
        )

    def _can_retry(self, error: KafkaError) -> bool:
        """Applies an error of a join to the membership's state. Returns False if a retry is useless."""
        code = error.error_code
        if code in MEMBERSHIP_LOST:
            self.generation_id = -1
            if code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
        elif code in COORDINATOR_MOVED:
            self._coordinator.forget()
        elif code not in (ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.MEMBER_ID_REQUIRED):
            return code.retriable
        return True

    # Commits

    def commit_refused(self, sent: Identity, error: KafkaError) -> None:
        """Makes the member join again after a refused commit, unless it got a newer identity than ``sent`` since."""
        code = error.error_code
        if code == ErrorCode.REBALANCE_IN_PROGRESS and self._joining is None:
            self.rejoin("offset commit failed since the group is rebalancing")
        elif code in MEMBERSHIP_LOST and sent.member_id and sent == self.identity:
            self.forget_generation(forget_member=code == ErrorCode.UNKNOWN_MEMBER_ID)
        elif code == ErrorCode.FENCED_INSTANCE_ID and sent == self.identity:
            self.fail(error)

    # Leaving

    async def leave(self, reason: str) -> None:
        """Ends the membership. Static members stay: they may come back within the session timeout (KIP-345)."""
        if self._joining is not None:
            self._joining.cancel()
            await asyncio.gather(self._joining, return_exceptions=True)
            self._joining = None
        await self._heartbeats.stop()
        await self.send_leave(reason)

    async def send_leave(self, reason: str) -> None:
        """Resets the member's state and sends LeaveGroup; a static member sends none. Errors are ignored."""
        member_id = self.member_id
        self.forget_generation(forget_member=True)
        if member_id and self._config.group_instance_id is None:
            member = LeaveGroupRequest.MemberIdentity(member_id=member_id, reason=reason)
            request = LeaveGroupRequest(group_id=self._config.group_id)
            try:
                connection = await self._coordinator.connection()
                if connection.version_for(LeaveGroupRequest) >= 3:
                    request.members = [member]
                else:
                    request.member_id = member_id
                await connection.call(request, LeaveGroupResponse)
            except (ClientError, KafkaError):
                self._coordinator.forget()  # the coordinator removes the member after the session timeout
