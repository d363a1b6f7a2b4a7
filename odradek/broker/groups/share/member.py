"""A member of a share group: what it subscribes to, its epoch, and the partitions that it reads.

Pure. Owns: the fields, and the estimate of their bytes. Never does: changing; a changed member is a new tuple, so a
decision whose append fails leaves no trace. Source: ``ShareGroupMember``, ``ShareGroupAssignmentBuilder``; KIP-932.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ..memory import MEMBER_BYTES, names_bytes, text_bytes
from ..modern.assignment import NO_ASSIGNMENT, TopicId

STABLE = 0
"""The state in the records of members. Share groups have no other: a member gives up nothing before it takes over."""
PARTITION_BYTES = 120
"""The estimated bytes of a partition: in the member and in the target assignment."""


class ShareGroupMember(NamedTuple):
    """One member of a share group."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    state: int = STABLE
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Mapping[TopicId, frozenset[int]] = NO_ASSIGNMENT

    def is_reconciled_to(self, assignment_epoch: int) -> bool:
        """Whether it has reached the target assignment of that epoch."""
        return self.state == STABLE and self.member_epoch == assignment_epoch

    def moved_to(self, assignment_epoch: int, assigned: Mapping[TopicId, frozenset[int]]) -> "ShareGroupMember":
        """Returns the member with another assignment. If the epoch is new, the present one becomes the previous one."""
        if assignment_epoch == self.member_epoch:
            return self._replace(assigned=assigned)
        return self._replace(
            state=STABLE,
            member_epoch=assignment_epoch,
            previous_member_epoch=self.member_epoch,
            assigned=assigned,
        )


def member_bytes(member: ShareGroupMember) -> int:
    """The bytes of a member: what it sent, what it reads, and what is kept for each member."""
    texts = (member.member_id, member.rack_id, member.client_id, member.client_host)
    size = MEMBER_BYTES + sum(map(text_bytes, texts)) + names_bytes(member.subscribed_topic_names)
    return size + sum(map(len, member.assigned.values())) * PARTITION_BYTES
