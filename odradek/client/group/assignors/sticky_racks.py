"""Compares members' racks with the racks of partitions' replicas, for the sticky assignors.

Pure. If members have no racks, or all partitions have replicas in all racks, racks are not used: no partition counts as
a mismatch. Source: ``AbstractStickyAssignor.RackInfo``, KIP-881.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from ...types import TopicPartition
from .subscriptions import MemberSubscription, TopicPartitions, use_racks


class Racks:
    """The racks of the members and of the partitions' replicas."""

    def __init__(
        self, members: Mapping[str, MemberSubscription], topics: TopicPartitions, partitions: Sequence[TopicPartition]
    ) -> None:
        member_racks = {member_id: member.rack_id for member_id, member in members.items() if member.rack_id}
        racks = {partition: topics.racks_of(partition) for partition in partitions} if member_racks else {}
        members_in = Counter(member_racks.values())
        self._members_near = {p: sum(members_in[rack] for rack in found) for p, found in racks.items()}
        used = use_racks(member_racks.values(), racks)
        self.of_member: Mapping[str, str] = member_racks if used else {}
        self._of_partition = racks if used else {}

    @property
    def in_use(self) -> bool:
        """Whether the assignment depends on racks."""
        return bool(self.of_member)

    def mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack in which the partition has no replica."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack not in self._of_partition.get(partition, ())

    def match(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack in which the partition has a replica."""
        rack = self.of_member.get(member_id)
        return rack is not None and rack in self._of_partition.get(partition, ())

    def fewest_members_first(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        """Sorts the partitions by the number of members in a rack with a replica, fewest first."""
        if not self._members_near:
            return partitions
        return sorted(partitions, key=lambda partition: self._members_near.get(partition, 0))

    def next_near(self, partition: TopicPartition, member_ids: Sequence[str], first: int) -> int:
        """The index of the next member in a rack of the partition's replicas, from ``first`` on, cyclic; -1 if none."""
        for step in range(len(member_ids)):
            place = (first + step) % len(member_ids)
            if self.match(member_ids[place], partition):
                return place
        return -1
