"""A consumer's membership in a group of the consumer protocol (KIP-848): the coordinator assigns, members reconcile.

Owns: member id (created here, never changed), member epoch, the heartbeat task, the target assignment from the
coordinator. Never does: positions or records. Invariant: partitions are revoked inside ``poll``, after the commit and
the listener's callback; only then a heartbeat reports that the member no longer owns them. Source:
``consumer.internals.ConsumerMembershipManager``, ``ConsumerHeartbeatRequestManager``.
"""

import asyncio
import base64
import logging
import uuid
from collections.abc import Callable

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

from ..cluster.cluster import Cluster
from ..cluster.coordinator import COORDINATOR_MOVED, CoordinatorConnection
from ..errors import ClientError, UnsupportedVersionError, broker_error
from ..types import Identity, TopicPartition
from .config import GroupConfig
from .handover import Handover

logger = logging.getLogger(__name__)
JOIN_EPOCH = 0
LEAVE_EPOCH = -1
LEAVE_STATIC_EPOCH = -2
"""The epoch with which a static member leaves. Its partitions stay assigned to it until the session timeout."""
FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
DEFAULT_INTERVAL_MS = 5_000
Partitions = frozenset[tuple[bytes, int]]
"""(topic id, partition number) pairs, as in ConsumerGroupHeartbeat."""


class ConsumerMember:
    """A consumer's membership in a group of the consumer protocol."""

    def __init__(
        self, cluster: Cluster, coordinator: CoordinatorConnection, config: GroupConfig, changed: Callable[[], None]
    ) -> None:
        """``changed`` is called when ``advance`` has work to do."""
        self._cluster = cluster
        self._coordinator = coordinator
        self._config = config
        self._changed = changed
        self._interval_s = DEFAULT_INTERVAL_MS / 1000
        self._heartbeats: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._last_poll = asyncio.get_running_loop().time()
        self._topics: frozenset[str] = frozenset()
        self._owned: Partitions = frozenset()
        """The partitions that the member reports as owned."""
        self._target: Partitions | None = None
        """The target assignment from the coordinator; None before the first one."""
        self._reconciled: Partitions | None = None
        self._sent_topics: frozenset[str] | None = None
        self._sent_owned: Partitions | None = None
        """Topics and owned partitions in the last successful heartbeat. None: the next one must contain all fields."""
        self._lost = False
        self.member_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        self.member_epoch = JOIN_EPOCH
        self.fatal: Exception | None = None

    @property
    def identity(self) -> Identity:
        """Member id and epoch; an empty Identity before the first heartbeat response."""
        if not self.is_joined:
            return Identity()
        return Identity(self.member_id, self.member_epoch, self._config.group_instance_id)

    @property
    def is_joined(self) -> bool:
        """Whether the coordinator has given the member an epoch."""
        return self.member_epoch > JOIN_EPOCH

    def polled(self) -> None:
        """Notes that the user called ``poll``, which restarts the ``max_poll_interval_ms``."""
        self._last_poll = asyncio.get_running_loop().time()

    def subscription_changed(self) -> None:
        """Wakes ``poll``, whose ``advance`` sends the new topics with the next heartbeat."""
        self._changed()

    @property
    def watched_topics(self) -> frozenset[str]:
        """Empty: the coordinator watches the topics itself."""
        return frozenset()

    def metadata_changed(self, _partition_counts: dict[str, int]) -> None:
        """Does nothing: the coordinator watches the topics itself."""

    def enforce_rebalance(self) -> None:
        """Only logs a warning: the coordinator decides when to rebalance."""
        logger.warning("enforce_rebalance() has no effect with group_protocol='consumer'")

    # Inside poll

    async def advance(self, topics: frozenset[str], handover: Handover) -> None:
        """Starts heartbeats (which join the group) and reconciles the owned partitions with the target assignment.

        Raises the error that ended the membership: KafkaError, UnsupportedVersionError.
        """
        if self.fatal is not None:
            raise self.fatal
        if self._lost:
            await handover.lose()
            self._lost = False
            self._owned, self._target, self._reconciled = frozenset(), None, None
        if topics != self._topics:
            self._topics = topics
            self._wake.set()
        if self._heartbeats is None or self._heartbeats.done():
            self._heartbeats = asyncio.create_task(self._run(), name="group-heartbeat")
        target = self._target
        if target is not None and target is not self._reconciled and target != self._reconciled:
            await self._reconcile(target, handover)

    async def _reconcile(self, target: Partitions, handover: Handover) -> None:
        """Revokes and assigns partitions to match ``target``.

        Partitions of topic ids without a known name wait until a metadata refresh brings the name.
        """
        names = self._cluster.metadata.topic_names
        if any(topic_id not in names for topic_id, _ in target):
            try:
                await self._cluster.refresh(self._topics)
            except ClientError as error:
                logger.warning("the topics of an assignment could not be looked up: %s", error)
        known = frozenset(partition for partition in target if partition[0] in names)
        if known == target:
            self._reconciled = target
        else:
            asyncio.get_running_loop().call_later(self._cluster.backoff_s(0), self._changed)
            if known == self._owned:
                return
        assigned = {TopicPartition(names[topic_id], number) for topic_id, number in known}
        await handover.revoke([partition for partition in handover.owned if partition not in assigned])
        if self._lost:
            return
        self._owned = known
        self._wake.set()
        await handover.assign(sorted(assigned))

    # Heartbeats, in the background

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        max_poll_interval_s = self._config.max_poll_interval_ms / 1000
        attempts = 0
        while self.fatal is None and not self._lost:
            if loop.time() >= self._last_poll + max_poll_interval_s:
                logger.warning("poll was not called within max_poll_interval_ms: leaving the group")
                was_joined = self.is_joined
                self._lose()
                await self._send_leave(was_joined=was_joined)
                return
            self._wake.clear()
            answered = await self._beat()
            attempts = 0 if answered else attempts + 1
            next_beat = loop.time() + (self._interval_s if answered else self._cluster.backoff_s(attempts - 1))
            deadline = min(next_beat, self._last_poll + max_poll_interval_s)
            try:
                async with asyncio.timeout_at(deadline):
                    # After a failure wait for the backoff only. _wake would cut it short and resend at once.
                    await (self._wake.wait() if answered else asyncio.Event().wait())
            except TimeoutError:
                continue

    def _lose(self) -> None:
        """Marks the membership as lost; ``advance`` then drops the partitions and joins again."""
        self.member_epoch = JOIN_EPOCH
        self._sent_topics = self._sent_owned = None
        self._lost = True
        self._changed()

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat: all fields when joining or after a failure, otherwise only those that changed."""
        config = self._config
        request = ConsumerGroupHeartbeatRequest(
            group_id=config.group_id,
            member_id=self.member_id,
            member_epoch=self.member_epoch,
            instance_id=config.group_instance_id,
        )
        everything = self.member_epoch == JOIN_EPOCH
        if everything:
            request.rack_id = config.rack_id
        if everything or self._sent_topics is None:
            request.rebalance_timeout_ms = config.max_poll_interval_ms
            request.server_assignor = config.remote_assignor
        if everything or self._sent_topics != self._topics:
            request.subscribed_topic_names = sorted(self._topics)
        if everything or self._sent_owned != self._owned:
            request.topic_partitions = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id, partitions=numbers)
                for topic_id, numbers in _by_topic_id(self._owned).items()
            ]
        return request

    async def _beat(self) -> bool:
        """Sends one heartbeat. Returns False if it should be sent again after a backoff."""
        topics, owned = self._topics, self._owned
        try:
            connection = await self._coordinator.connection()
            response = await connection.call(self._request(), ConsumerGroupHeartbeatResponse)
        except UnsupportedVersionError as error:
            self._fail(
                UnsupportedVersionError(f"{error}; the group protocol of this cluster is group_protocol='classic'")
            )
            return True
        except (ClientError, KafkaError) as error:
            self._sent_topics = self._sent_owned = None
            self._coordinator.forget()
            if isinstance(error, KafkaError) and not error.error_code.retriable:
                self._fail(error)
            return False
        if response.error_code:
            self._sent_topics = self._sent_owned = None
            what = f"group '{self._config.group_id}'"
            return self._refused(broker_error(response.error_code, what, response.error_message))
        self._sent_topics, self._sent_owned = topics, owned
        self.member_epoch = response.member_epoch
        self._interval_s = response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            self._target = frozenset(
                (topic.topic_id, number)
                for topic in response.assignment.topic_partitions
                for number in topic.partitions
            )
            self._changed()
        return True

    def _refused(self, error: KafkaError) -> bool:
        code = error.error_code
        if code in FENCED:
            self._lose()
            return True
        if code in COORDINATOR_MOVED:
            self._coordinator.forget()
        elif code != ErrorCode.TOPIC_AUTHORIZATION_FAILED and not code.retriable:
            self._fail(error)
        return False

    def _fail(self, error: Exception) -> None:
        self.fatal = error
        self._changed()

    # Commits

    def commit_refused(self, sent: Identity, error: KafkaError) -> None:
        """Sends a heartbeat at once if a refused commit shows that the coordinator has fenced this member."""
        if sent == self.identity and error.error_code in FENCED:
            self._wake.set()

    # Leaving

    async def leave(self, reason: str) -> None:
        """Leaves the group; a static member may rejoin within the session timeout."""
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            await asyncio.gather(self._heartbeats, return_exceptions=True)
            self._heartbeats = None
        await self._send_leave(was_joined=self.is_joined)
        self.member_epoch = JOIN_EPOCH
        self._sent_topics = self._sent_owned = None
        self._owned, self._target, self._reconciled = frozenset(), None, None

    async def _send_leave(self, *, was_joined: bool) -> None:
        if not was_joined:
            return
        static = self._config.group_instance_id is not None
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._config.group_id,
            member_id=self.member_id,
            member_epoch=LEAVE_STATIC_EPOCH if static else LEAVE_EPOCH,
            instance_id=self._config.group_instance_id,
        )
        try:
            connection = await self._coordinator.connection()
            await connection.call(request, ConsumerGroupHeartbeatResponse)
        except (ClientError, KafkaError):
            self._coordinator.forget()  # the coordinator removes the member after the session timeout


def _by_topic_id(partitions: Partitions) -> dict[bytes, list[int]]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(partitions):
        topics.setdefault(topic_id, []).append(number)
    return topics
