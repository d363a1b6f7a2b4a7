"""What one partition of ``__consumer_offsets`` says of groups: values that travel from a task to the whole.

Pure. Times are ms since 1970; `Place` names the record of the latest word on something.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from ...tables.group_messages import GroupKind

COMMITS_KEPT = 10
"""Commits of a group and partition that are kept, the latest ones: Burrow's default of `intervals`."""


class RecordPlace(NamedTuple):
    """Where a record lies: file, position of its batch in bytes, offset."""

    file: str
    position: int
    offset: int


class Commit(NamedTuple):
    """One commit: when the coordinator took it, and the offset."""

    timestamp: int
    offset: int


@dataclass(slots=True)
class CommitHistory:
    """What a group has committed for a partition: the latest commits, oldest first, and what the last one says.

    Without commits only a record later than the moment asked for is there: what was before it, the cleaner has removed.
    """

    group: str
    topic: str
    partition: int
    place: RecordPlace
    commits: list[Commit]
    metadata: str = ""
    leader_epoch: int = -1
    topic_id: bytes | None = None
    expire_timestamp: int = -1


@dataclass(slots=True)
class PendingCommit:
    """An offset committed in a transaction that has no marker."""

    group: str
    topic: str
    partition: int
    place: RecordPlace
    offset: int
    timestamp: int
    producer_id: int


@dataclass(slots=True)
class LatestGroup:
    """A group as its latest record says; a group of a new protocol has as many members as it has records of members."""

    group: str
    kind: GroupKind
    place: RecordPlace
    protocol_type: str = ""
    epoch: int = -1
    members: int = 0
    state_timestamp: int = -1


@dataclass(slots=True)
class GroupGrowth:
    """What a group has in one partition of the offsets topic; bytes are those of keys and values.

    `dirty_*`: behind what the cleaner has done. `busiest_*`: the partition that the group commits most often, how many
    commits of it the log has, and the ms from the first of them to the last.
    """

    group: str
    offsets_partition: int
    commits: int = 0
    tombstones: int = 0
    group_records: int = 0
    bytes: int = 0
    dirty_records: int = 0
    dirty_bytes: int = 0
    dirty_share: float = 0.0
    busiest_topic: str = ""
    busiest_partition: int = -1
    busiest_commits: int = 0
    busiest_ms: int = 0


@dataclass(slots=True)
class GroupFacts:
    """All that one replica of a partition of the offsets topic says of groups."""

    offsets_partition: int
    end_offset: int = 0
    last_timestamp: int = -1
    """The greatest time of a record."""
    offsets: list[CommitHistory] = field(default_factory=list)
    pending: list[PendingCommit] = field(default_factory=list)
    states: list[LatestGroup] = field(default_factory=list)
    orphans: dict[str, RecordPlace] = field(default_factory=dict)
    """Groups of which there are members' records but not their own."""
    growth: list[GroupGrowth] = field(default_factory=list)
