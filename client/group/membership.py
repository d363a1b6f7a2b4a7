"""What a consumer needs of its group, whichever protocol the group speaks: an interface.

The protocols are ``classic_member.py`` and ``consumer_member.py`` (KIP-848). Source:
``org.apache.kafka.clients.consumer.internals.ConsumerCoordinator`` and ``ConsumerMembershipManager``.
"""

from typing import Protocol

from ...protocol.errors import KafkaError
from ..types import Identity
from .handover import Handover


class Membership(Protocol):
    """One consumer in its group. Partitions change hands only inside ``advance``, which ``poll`` calls."""

    @property
    def identity(self) -> Identity:
        """What commits carry now."""

    @property
    def is_joined(self) -> bool:
        """Whether the member is in the group, as far as it knows."""

    def polled(self) -> None:
        """The user called poll: the interval of ``max_poll_interval_ms`` begins anew."""

    def subscription_changed(self) -> None:
        """The subscribed topics have changed."""

    @property
    def watched_topics(self) -> frozenset[str]:
        """Topics that the member has to watch for its group, besides its own."""

    def metadata_changed(self, partition_counts: dict[str, int]) -> None:
        """Partition counts of the member's topics and of those that it watches."""

    def enforce_rebalance(self) -> None:
        """The user requests a rebalance."""

    async def advance(self, topics: frozenset[str], handover: Handover) -> None:
        """Does what is due without waiting for the coordinator: hands partitions over, starts to join.

        Raises KafkaError for what does not go away: authorization, a fenced static member, a full group.
        """

    def commit_refused(self, sent: Identity, error: KafkaError) -> None:
        """A commit sent as ``sent`` was refused: the member may have to join again."""

    async def leave(self, reason: str) -> None:
        """Ends the membership, so that the others need not wait for the session timeout."""
