"""What every kind of modern group needs of its coordinator: parts, own settings, the refusal of members.

Pure but for log lines. Never does: changing a group. Source: ``GroupMetadataManager`` (its fields,
throwIfConsumerGroupIsFull), ``GroupConfigManager``, ``GroupConfig.evaluate``; the limits of memory are ours.
"""

import logging
from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from odradek.protocol.errors import ErrorCode, KafkaError

from ...config.definition import group_keys
from ...config.stored import served_value
from ...metrics.counts import GroupCounts
from ..config import GroupCoordinatorConfig
from ..memory import GroupMemory, MemberAccount, limit_reached
from .topics import GroupTopics


class ModernGroups(Protocol):
    """The base of the protocols of each kind. The groups of all kinds (``GroupRegistry``) are one."""

    @property
    def config(self) -> GroupCoordinatorConfig:
        """The limits and times of the coordinator."""

    @property
    def topics(self) -> GroupTopics:
        """The topics that groups read."""

    @property
    def memory(self) -> GroupMemory:
        """Counts the bytes of all members."""

    @property
    def counts(self) -> GroupCounts:
        """Metrics."""

    @property
    def group_configs(self) -> Callable[[str], Mapping[str, str]]:
        """Returns the configs of a group by its id."""


def own_or_default(configs: Mapping[str, str], key: str, default: int, bounds: tuple[int, int] | None = None) -> int:
    """Returns the value of a numeric key: the group's own, limited to the coordinator's present ``bounds`` (lowest,
    highest); ``default`` if it has none, or an invalid one. The default is the coordinator's and is not limited."""
    text = configs.get(key)
    own = None if text is None else served_value(group_keys()[key], text)
    if not isinstance(own, int):
        return default
    return own if bounds is None else min(max(own, bounds[0]), bounds[1])


def own_list(configs: Mapping[str, str], key: str) -> tuple[str, ...] | None:
    """Returns the value of a key of lists in a group's configs; None if it has none, or an invalid one."""
    text = configs.get(key)
    value = None if text is None else served_value(group_keys()[key], text)
    return value if isinstance(value, tuple) else None


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
