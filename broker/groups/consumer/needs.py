"""What consumer groups need of whoever keeps the groups of a partition (:class:`..core.GroupCore`).

Owns: the shape. Never does: anything. It holds the classic groups too, because a group may change its kind.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from ....protocol.messages.group_records import GroupMetadataValue
from ..classic.needs import HasClassicGroups
from ..unserved import UnservedGroup
from .group import ConsumerGroup
from .topics import GroupTopics

if TYPE_CHECKING:
    from .computation import Computation


class HasConsumerGroups(HasClassicGroups, Protocol):
    """Keeps groups: an id is in one of ``groups`` (classic), ``consumer_groups`` and ``unserved_groups``.

    ``stored_groups``: the last record of each classic group. ``topics``: what there is to assign. ``group_configs``:
    what was set for a group by its id. ``resolving_groups``: whose regular expressions are about to be resolved.
    ``assigning``: the computations of large target assignments that are under way, by group id.
    """

    consumer_groups: dict[str, ConsumerGroup]
    unserved_groups: dict[str, UnservedGroup]
    stored_groups: dict[str, GroupMetadataValue]
    topics: GroupTopics
    group_configs: Callable[[str], Mapping[str, str]]
    resolving_groups: set[str]
    assigning: dict[str, "Computation"]
