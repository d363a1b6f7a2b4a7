"""Refuses members for which a group has no room, for all kinds of modern groups.

Pure but for log lines. Owns: the errors of a group that is full, and of members without memory. Never does:
changing a group. Source: ``GroupMetadataManager.throwIfConsumerGroupIsFull`` and its like for share and streams groups;
the limits of memory are ours.
"""

import logging
from collections.abc import Collection

from odradek.protocol.errors import ErrorCode, KafkaError

from ..memory import MemberAccount, limit_reached
from .groups import ModernGroups

logger = logging.getLogger(__name__)


def refuse_if_full(kind: str, max_size: int, members: Collection[str], member_id: str) -> None:
    """Raises KafkaError GROUP_MAX_SIZE_REACHED if ``members`` are ``max_size`` or more and the sender is none of them.

    ``kind``: consumer, share or streams.
    """
    if len(members) >= max_size and member_id not in members:
        message = f"The {kind} group has reached its maximum capacity of {max_size} members."
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, message)


def refuse_growth(groups: ModernGroups, group: MemberAccount, client_id: str, growth: int) -> None:
    """Checks that there is memory for ``growth`` further bytes of members of ``group``.

    Raises KafkaError GROUP_MAX_SIZE_REACHED, which is fatal for clients, if the group itself has reached
    ``odradek.group.members.max.bytes``. Raises COORDINATOR_NOT_AVAILABLE, after which clients retry, if all groups
    together have reached ``odradek.groups.members.max.bytes``. A request is never refused if its member needs no more
    memory than before.
    """
    refusal = limit_reached(groups.config, group.member_bytes, groups.memory, growth)
    if refusal is None:
        return
    error, key = refusal
    logger.warning(
        "group %r: refused a request of client id %r that needs %d further bytes: the limit is %s",
        group.group_id,
        client_id,
        growth,
        key,
    )
    raise KafkaError(error, f"The memory for members of the group is used up: the limit is {key}.")
