"""Describes share groups and streams groups: values that a task sends to the driver.

Pure. Times are ms since 1970. Each `place` is that of the latest record about the thing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.protocol.internal_records.share_batches import StateBatch
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey


class RecordPlace(NamedTuple):
    """The place of a record: file, position of its batch in bytes, offset."""

    file: str
    position: int
    offset: int


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


AVAILABLE, ACKNOWLEDGED, ARCHIVING, ARCHIVED = 0, 2, 3, 4
"""Stored delivery states. A record that a member holds is stored as it was before."""
DONE = (ACKNOWLEDGED, ARCHIVED)


def first_left(state: ShareStateFacts, log_start_offset: int) -> int:
    """The first offset from the log start on that is neither acknowledged nor archived."""
    offset = max(state.start_offset, log_start_offset)
    for batch in state.batches:
        if batch.first_offset > offset:
            break
        if batch.delivery_state in DONE:
            offset = max(offset, batch.last_offset + 1)
        elif batch.last_offset >= offset:
            break
    return offset


def count_in(batches: Iterable[StateBatch], states: tuple[int, ...], first: int = 0, end: int = 1 << 63) -> int:
    """The number of offsets from `first` on, before `end`, in one of the delivery states."""
    return sum(
        max(min(batch.last_offset + 1, end) - max(batch.first_offset, first), 0)
        for batch in batches
        if batch.delivery_state in states
    )
