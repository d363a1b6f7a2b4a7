"""Under which name a consumer commits: as a member of its group, or from outside.

Plain data. Source: ``org.apache.kafka.clients.consumer.ConsumerGroupMetadata``, KIP-447.
"""

from typing import NamedTuple


class Identity(NamedTuple):
    """The name under which a member commits; without a member id, somebody outside the group."""

    member_id: str = ""
    generation_id: int = -1
    """The generation, or the member epoch in a group of the consumer protocol."""
    group_instance_id: str | None = None


class GroupMetadata(NamedTuple):
    """What a transactional producer needs to commit a consumer's offsets (KIP-447)."""

    group_id: str
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
