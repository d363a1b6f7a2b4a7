"""The partitions that members owned before a sticky assignment: the encoding of their claims, conflicts between them.

Pure. Invariant: if two members claim a partition, the one with the newer generation owns it; with equal generations
neither does. Source: ``AbstractStickyAssignor.allSubscriptionsEqual``, ``StickyAssignor`` (user data:
``previous_assignment`` and ``generation``), ``CooperativeStickyAssignor`` (``generation`` only), KIP-54, KIP-341,
KIP-792.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.protocol.java.hash import in_hash_map_order

from ...types import TopicPartition, partitions_by_topic
from .subscriptions import NO_GENERATION, Assignment, MemberSubscription, TopicPartitions


class OwnedPartitions(NamedTuple):
    """The partitions that one member claims. ``generation`` is None if it sent none."""

    partitions: list[TopicPartition]
    generation: int | None


def encode_previous_assignment(partitions: Iterable[TopicPartition], generation: int) -> bytes:
    """Encodes the user data of ``sticky``, version 1: the member's last assignment and its generation."""
    topics = partitions_by_topic(partitions)
    data = [struct.pack(">i", len(topics))]
    for topic, numbers in topics.items():
        name = topic.encode()
        data.append(struct.pack(f">h{len(name)}si{len(numbers)}i", len(name), name, len(numbers), *numbers))
    return b"".join([*data, struct.pack(">i", generation)])


def decode_previous_assignment(data: bytes | None) -> OwnedPartitions:
    """Decodes the user data of ``sticky``, version 1 or 0. Malformed data count as no owned partitions."""
    if not data:
        return OwnedPartitions([], None)
    partitions: list[TopicPartition] = []
    try:
        (topics,) = struct.unpack_from(">i", data)
        position = 4
        for _ in range(topics):
            (length,) = struct.unpack_from(">h", data, position)
            name, count = struct.unpack_from(f">{length}si", data, position + 2)
            position += 2 + length + 4
            numbers = struct.unpack_from(f">{count}i", data, position)
            position += 4 * count
            partitions += [TopicPartition(name.decode(), number) for number in numbers]
    except (struct.error, UnicodeDecodeError):
        return OwnedPartitions([], NO_GENERATION)
    generation = struct.unpack_from(">i", data, position)[0] if len(data) >= position + 4 else None
    return OwnedPartitions(partitions, generation)


def encode_generation(generation: int) -> bytes:
    """Encodes the user data of ``cooperative-sticky``: the generation of the member's last assignment."""
    return struct.pack(">i", generation)


def owned_by_user_data(member: MemberSubscription) -> OwnedPartitions:
    """The claims of a member with ``sticky``. They are in the user data only: it owns nothing when it joins."""
    return decode_previous_assignment(member.user_data)


def owned_by_subscription(member: MemberSubscription) -> OwnedPartitions:
    """The claims of a member with ``cooperative-sticky``: the owned partitions in its subscription.

    Subscriptions before version 2 have no generation; it is in the user data.
    """
    if member.generation_id >= 0:
        return OwnedPartitions(member.owned_partitions, member.generation_id)
    generation: int | None = None
    if member.user_data is not None:
        generation = struct.unpack_from(">i", member.user_data)[0] if len(member.user_data) >= 4 else NO_GENERATION
    return OwnedPartitions(member.owned_partitions, generation)


class Claims:
    """The claims of all members, with conflicts resolved."""

    def __init__(
        self, members: Mapping[str, MemberSubscription], topics: TopicPartitions, owned: Mapping[str, OwnedPartitions]
    ) -> None:
        """Goes through the members in the order of Java's HashMap, because the result may depend on it."""
        self.order = in_hash_map_order(members)
        self.kept: Assignment = {member_id: [] for member_id in self.order}
        """The partitions that each member owned without conflict. Partitions that no longer exist are left out."""
        self.disputed: set[TopicPartition] = set()
        """Partitions claimed by two members with equal generations."""
        owner_of: dict[TopicPartition, str] = {}
        for member_id in self.order:
            generation = _or_none(owned[member_id].generation)
            for partition in owned[member_id].partitions:
                if not 0 <= partition.partition < topics.counts.get(partition.topic, 0):
                    continue
                other = owner_of.get(partition)
                if other is None:
                    self.kept[member_id].append(partition)
                    owner_of[partition] = member_id
                    continue
                # As in Kafka, the other claim's generation is that of the subscription, not of the user data.
                others_generation = max(members[other].generation_id, NO_GENERATION)
                if generation < others_generation:
                    continue
                if partition in self.kept[other]:
                    self.kept[other].remove(partition)
                if generation == others_generation:
                    self.disputed.add(partition)
                else:
                    self.kept[member_id].append(partition)
                owner_of[partition] = member_id

    @staticmethod
    def earlier_owners(owned: Mapping[str, OwnedPartitions], order: Iterable[str]) -> dict[TopicPartition, str]:
        """The owner of each partition in the newest generation that is older than the members' highest one."""
        last = max((_or_none(ownership.generation) for ownership in owned.values()), default=NO_GENERATION)
        found: dict[TopicPartition, tuple[str, int]] = {}
        for member_id in order:
            generation = _or_none(owned[member_id].generation)
            if generation >= last:
                continue
            for partition in owned[member_id].partitions:
                if partition not in found or generation > found[partition][1]:
                    found[partition] = (member_id, generation)
        return {partition: member_id for partition, (member_id, _) in found.items()}


def _or_none(generation: int | None) -> int:
    return NO_GENERATION if generation is None else generation
