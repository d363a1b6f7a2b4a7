"""A consumer's group as the consumer sees it: its membership, its commits, its committed offsets.

Owns: how these are put together; the protocols are imported on first use, because each consumer needs only one. Commits
go over another connection than the membership, so that a parked JoinGroup holds none up. Source:
``org.apache.kafka.clients.consumer.internals.ConsumerCoordinator``.
"""

from collections.abc import Callable, Mapping, Sequence

from ..cluster.cluster import Cluster
from ..cluster.coordinator import CoordinatorConnection
from ..types import GroupMetadata, Identity, OffsetAndMetadata, TopicPartition
from .committed_offsets import fetch_committed
from .config import GroupConfig
from .membership import Membership
from .offset_commits import OffsetCommits


class Group:
    """The group of one started consumer."""

    def __init__(
        self,
        cluster: Cluster,
        config: GroupConfig,
        changed: Callable[[], None],
        *,
        timeout_ms: float,
        auto_commit_interval_ms: float | None,
    ) -> None:
        """``changed`` is called when ``poll`` has something to do; no interval: no automatic commits."""
        self._cluster = cluster
        self._config = config
        self._timeout_ms = timeout_ms
        self._coordinator = CoordinatorConnection(cluster, config.group_id)
        self.member = _membership(cluster, config, changed)
        self.commits = OffsetCommits(
            cluster,
            self._coordinator,
            config.group_id,
            self.member,
            timeout_ms=timeout_ms,
            interval_ms=auto_commit_interval_ms,
        )

    @property
    def metadata(self) -> GroupMetadata:
        """Who the consumer is in its group now."""
        member_id, generation_id, _ = self.member.identity
        return GroupMetadata(self._config.group_id, generation_id, member_id, self._config.group_instance_id)

    async def fetch_committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The group's committed offsets; partitions without one are left out. Raises KafkaError, ClientError."""
        return await fetch_committed(
            self._cluster,
            self._coordinator,
            self._config.group_id,
            list(partitions),
            identity=self._epoch_identity,
            timeout_ms=self._timeout_ms,
        )

    def _epoch_identity(self) -> Identity:
        """Only members of the consumer protocol say who they are when they fetch offsets."""
        return self.member.identity if self._config.uses_consumer_protocol else Identity()


def _membership(cluster: Cluster, config: GroupConfig, changed: Callable[[], None]) -> Membership:
    coordinator = CoordinatorConnection(cluster, config.group_id, purpose=f"group {config.group_id}")
    if config.uses_consumer_protocol:
        from .consumer_member import ConsumerMember

        return ConsumerMember(cluster, coordinator, config, changed)
    from .classic_member import ClassicMembership

    return ClassicMembership(cluster, coordinator, config, changed)


def to_commit(
    offsets: Mapping[TopicPartition, OffsetAndMetadata | int],
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Offsets as users give them, with or without metadata."""
    return {
        TopicPartition(*partition): OffsetAndMetadata(offset) if isinstance(offset, int) else offset
        for partition, offset in offsets.items()
    }
