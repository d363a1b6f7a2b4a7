"""The interface of a consumer's membership in a group, for both group protocols.

It is implemented by ``classic_member.py`` and ``consumer_member.py`` (KIP-848). Source:
``org.apache.kafka.clients.consumer.internals.ConsumerCoordinator`` and ``ConsumerMembershipManager``.
"""

from typing import Protocol

from odradek.protocol.errors import KafkaError

from ..types import Identity
from .handover import Handover


class Membership(Protocol):
    """One consumer in its group. Partitions are revoked and assigned only inside ``advance``, which ``poll`` calls."""

    @property
    def identity(self) -> Identity:
        """The member id and generation (or epoch) that commits send now."""

    @property
    def is_joined(self) -> bool:
        """Whether the member believes that it is in the group: it has a generation or epoch."""

    def polled(self) -> None:
        """Notes that the user called ``poll``, which restarts the ``max_poll_interval_ms``."""

    def subscription_changed(self) -> None:
        """Called after the subscribed topics changed."""

    @property
    def watched_topics(self) -> frozenset[str]:
        """Topics whose metadata the member needs. On a classic group's leader: the topics of all members."""

    def metadata_changed(self, partition_counts: dict[str, int]) -> None:
        """Called after a metadata refresh, with the partition counts of the subscribed and the watched topics."""

    def enforce_rebalance(self) -> None:
        """Starts a rebalance at the user's request, if the protocol allows it."""

    async def advance(self, topics: frozenset[str], handover: Handover) -> None:
        """Revokes and assigns partitions, and starts to join if needed. Does not wait for the coordinator.

        Raises KafkaError for errors that are not retriable: authorization, a fenced static member, a full group.
        """

    def commit_refused(self, sent: Identity, error: KafkaError) -> None:
        """Called after a commit under the identity ``sent`` was refused. The member may have to join again."""

    async def leave(self, reason: str) -> None:
        """Leaves the group, so that its partitions are reassigned without waiting for the session timeout."""
