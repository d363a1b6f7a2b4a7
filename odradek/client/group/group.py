"""A consumer's access to its group: its membership, its commits, the group's committed offsets.

Owns: creating these objects. The module of a group protocol is imported on first use, because a consumer needs only
one. Commits and membership have separate connections, so that a waiting JoinGroup does not delay commits. Source:
``org.apache.kafka.clients.consumer.internals.ConsumerCoordinator``.
"""

from collections.abc import Callable, Sequence

from odradek.protocol.common.lazy_imports import lazy_imports

from ..cluster.cluster import Cluster
from ..cluster.coordinator import CoordinatorConnection
from ..types import GroupMetadata, Identity, OffsetAndMetadata, TopicPartition
from .committed_offsets import fetch_committed
from .config import GroupConfig
from .membership import Membership
from .offset_commits import OffsetCommits

with lazy_imports:
    from . import classic_member, consumer_member


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
        """``changed`` is called when ``poll`` has work to do. ``auto_commit_interval_ms`` None: no auto commit."""
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
        """The consumer's group id, member id and generation (or epoch) now."""
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
        """The identity for OffsetFetch, which only members of the consumer protocol send."""
        return self.member.identity if self._config.uses_consumer_protocol else Identity()


def _membership(cluster: Cluster, config: GroupConfig, changed: Callable[[], None]) -> Membership:
    coordinator = CoordinatorConnection(cluster, config.group_id, purpose=f"group {config.group_id}")
    if config.uses_consumer_protocol:
        return consumer_member.ConsumerMember(cluster, coordinator, config, changed)
    return classic_member.ClassicMembership(cluster, coordinator, config, changed)
