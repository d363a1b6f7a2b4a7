"""The bytes that members and regular expressions of consumer groups take.

Owns: the estimates. Never does: I/O, comparing with a limit (see :func:`.membership.refuse_without_memory`). Pure.
Source: ours; Kafka bounds the number of members only (``group.consumer.max.size``).
"""

from ..memory import MEMBER_BYTES, names_bytes, protocol_bytes, text_bytes
from .member import ConsumerGroupMember, PartitionEpochs

PARTITION_BYTES = 240
"""The bytes of an owned partition: its epoch in the member and in the group, and its entry in the target assignment.
Measured: 123 to 232 bytes, depending on how full the dictionaries are."""


def member_bytes(member: ConsumerGroupMember) -> int:
    """The bytes of a member: what it sent, what it owns, and what is kept for each member."""
    texts = (
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.client_host,
        member.subscribed_topic_regex,
        member.server_assignor,
    )
    size = MEMBER_BYTES + sum(map(text_bytes, texts)) + names_bytes(member.subscribed_topic_names)
    size += (_count(member.assigned) + _count(member.pending_revocation)) * PARTITION_BYTES
    if member.classic is not None:
        size += protocol_bytes(member.classic.protocols)
    return size


def _count(partitions: PartitionEpochs) -> int:
    return sum(map(len, partitions.values())) if partitions else 0
