"""Describes share groups and streams groups: values that a task sends to the driver.

Pure. Times are ms since 1970. Each `place` is that of the latest record about the thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey

from .places import RecordPlace


class ShareStateFacts(NamedTuple):
    """The state of a share partition, as the share coordinator would load it."""

    key: SharePartitionKey
    state_partition: int
    """The partition of ``__share_group_state`` that has it."""
    place: RecordPlace
    written_ms: int
    """The time of the last record."""
    is_known: bool = False
    """False if all records are later than the moment of the audit: a coordinator deletes the earlier ones."""
    state_epoch: int = -1
    leader_epoch: int = -1
    start_offset: int = -1
    """-1 if no member has fetched from the share partition yet."""
    batches: Sequence[StateBatch] = ()
    """Sorted by offset, without overlaps."""


class ShareTopic(NamedTuple):
    """A topic in a share group's record of its share partitions."""

    name: str
    topic_id: bytes
    partitions: Sequence[int]


@dataclass(frozen=True, slots=True)
class ShareTopics:
    """The share partitions of a share group: those with state, and those whose state is being made or deleted."""

    group: str
    place: RecordPlace
    timestamp: int
    initialized: list[ShareTopic] = field(default_factory=list)
    initializing: list[ShareTopic] = field(default_factory=list)
    deleting: list[ShareTopic] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StoredTopology:
    """The topics that the topology of a streams group names."""

    group: str
    place: RecordPlace
    sources: list[str] = field(default_factory=list)
    internal: list[str] = field(default_factory=list)
    """The repartition and changelog topics, which the group's coordinator creates."""
    copartitioned: list[list[str]] = field(default_factory=list)
    """Lists of topics that need equal numbers of partitions."""
