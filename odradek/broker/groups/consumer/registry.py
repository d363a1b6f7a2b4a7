"""The groups of one partition of ``__consumer_offsets``, of every kind.

Owns: the groups by id, and what consumer groups need besides: topics, configs, work that is under way. Never does:
deciding. Pure. It knows all kinds because an id belongs to one of them, and a group may change its kind. Source:
``GroupMetadataManager``, its fields.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from odradek.protocol.common.steps import Steps
from odradek.protocol.messages.group_records import GroupMetadataValue

from ...metrics.counts import GroupCounts
from ..classic.group import ClassicGroup
from ..config import GroupCoordinatorConfig
from ..memory import GroupMemory
from ..modern.topics import GroupTopics
from ..records import CoordinatorRecord, RecordsInSteps

if TYPE_CHECKING:  # a start without consumer groups does not load what serves them
    from ..share.group import ShareAssignmentComputation, ShareGroup
    from ..streams.group import StreamsAssignmentComputation, StreamsGroup
    from .group import ConsumerGroup


class AssignmentComputation:
    """A target assignment that was requested at ``asked_ms`` (wall clock, ms). ``group`` and ``steps`` are None until
    the computation begins."""

    __slots__ = ("asked_ms", "group", "steps")

    def __init__(self, asked_ms: int) -> None:
        self.asked_ms = asked_ms
        self.group: ConsumerGroup | None = None
        self.steps: Steps[list[CoordinatorRecord]] | None = None


INLINE_SIZE = 2_000
"""Up to this number of subscriptions plus partitions, a heartbeat computes the target assignment itself. That takes 5
ms at most."""


class GroupRegistry:
    """Groups by id: an id is in one of ``classic``, ``consumer``, ``share`` and ``streams``."""

    __slots__ = (
        "assigning",
        "classic",
        "config",
        "consumer",
        "counts",
        "delayed",
        "group_configs",
        "inline_size",
        "memory",
        "new_uuid",
        "resolving",
        "share",
        "sharing",
        "stored",
        "streaming",
        "streams",
        "topics",
    )

    def __init__(
        self,
        config: GroupCoordinatorConfig,
        new_uuid: Callable[[], str],
        memory: GroupMemory,
        topics: GroupTopics,
        group_configs: Callable[[str], Mapping[str, str]],
        counts: GroupCounts,
    ) -> None:
        """``new_uuid`` returns the text of a fresh UUID, for each new member id. ``topics``: the topics that groups
        subscribe to. ``group_configs`` returns the configs of a group by its id.

        ``memory`` counts the bytes of the members. It and ``counts`` are shared with the other partitions.
        """
        self.config = config
        self.new_uuid = new_uuid
        self.memory = memory
        self.topics = topics
        self.group_configs = group_configs
        self.counts = counts
        self.inline_size = INLINE_SIZE
        """The largest group whose target assignment a heartbeat computes (:func:`.large_assignments.is_large`)."""
        self.classic: dict[str, ClassicGroup] = {}
        self.consumer: dict[str, ConsumerGroup] = {}
        self.resolving: dict[str, RecordsInSteps | None] = {}
        """The groups whose regular expressions are being resolved; None before the first step."""
        self.assigning: dict[str, AssignmentComputation] = {}
        """The target assignments of large consumer groups that are being computed."""
        self.stored: dict[str, GroupMetadataValue] = {}
        """The last record of each classic group."""
        self.share: dict[str, ShareGroup] = {}
        self.sharing: dict[str, ShareAssignmentComputation] = {}
        """The target assignments of large share groups that are being computed."""
        self.streams: dict[str, StreamsGroup] = {}
        self.streaming: dict[str, StreamsAssignmentComputation] = {}
        """The target assignments of large streams groups that are being computed."""
        self.delayed: dict[str, int] = {}
        """The new streams groups that wait for more members, and until when: wall clock, ms."""

    def is_known(self, group_id: str) -> bool:
        """Whether a group of any kind has the id."""
        return (
            group_id in self.classic or group_id in self.consumer or group_id in self.share or group_id in self.streams
        )

    def is_taken(self, group_id: str) -> bool:
        """Whether the id belongs to a group that is not a share group, so that no share group may have it."""
        return group_id in self.stored or (self.is_known(group_id) and group_id not in self.share)

    def is_stored_otherwise(self, group_id: str) -> bool:
        """Whether a group that is not a streams group has records of its own under the id: not only offsets."""
        return group_id in self.stored or group_id in self.consumer or group_id in self.share
