"""Describes the groups in one partition of ``__consumer_offsets``: values that a task sends to the driver.

Pure. Times are ms since 1970. Each `place` is that of the latest record about the group or offset.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...tables.group_messages import GroupKind
from .share_facts import RecordPlace, ShareTopics, StoredTopology

COMMITS_KEPT = 10
"""The number of latest commits that are kept for a group and partition: Burrow's default of `intervals`."""


class Commit(NamedTuple):
    """One commit: the coordinator's time, and the offset."""

    timestamp: int
    offset: int


@dataclass(slots=True)
class CommitHistory:
    """The latest commits of a group for a partition, oldest first, and the fields of the last one.

    `commits` is empty if all are later than the moment of the audit: the cleaner has removed the earlier ones.
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
    """An offset committed in a transaction that has no commit or abort marker yet."""

    group: str
    topic: str
    partition: int
    place: RecordPlace
    offset: int
    timestamp: int
    producer_id: int


@dataclass(slots=True)
class LatestGroup:
    """A group as its latest record describes it.

    A classic group's record lists its members. Newer protocols write a record for each member; these are counted.
    """

    group: str
    kind: GroupKind
    place: RecordPlace
    protocol_type: str = ""
    epoch: int = -1
    members: int = 0
    state_timestamp: int = -1
    timestamp: int = -1
    """The time of the record."""
    behind: list[str] = field(default_factory=list)
    """Members whose own epoch is lower than the group's. Classic groups have none."""


@dataclass(slots=True)
class GroupGrowth:
    """The records of a group in one partition of the offsets topic. Bytes are those of keys and values.

    `dirty_*`: in the uncleaned part. `busiest_*`: the partition that the group commits most often, the number of its
    commits in the log, and the ms from the first of them to the last.
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
    """All facts about groups in one replica of a partition of the offsets topic."""

    offsets_partition: int
    end_offset: int = 0
    last_timestamp: int = -1
    """The maximum timestamp of a record."""
    offsets: list[CommitHistory] = field(default_factory=list)
    pending: list[PendingCommit] = field(default_factory=list)
    states: list[LatestGroup] = field(default_factory=list)
    orphans: dict[str, RecordPlace] = field(default_factory=dict)
    """Groups with records of members but without a record of their own."""
    share_topics: list[ShareTopics] = field(default_factory=list)
    topologies: list[StoredTopology] = field(default_factory=list)
    growth: list[GroupGrowth] = field(default_factory=list)


RETENTION_CONFIG = "offsets.retention.minutes"
DEFAULT_RETENTION_MINUTES = 10_080
MINUTE_MS = 60_000


def retention_ms(broker_configs: Mapping[str, str]) -> int:
    """The retention (ms) of an empty group's offsets: from the dynamic broker configs, else Kafka's default.

    server.properties is not in the log directory, so it is not read.
    """
    return int(broker_configs.get(RETENTION_CONFIG, DEFAULT_RETENTION_MINUTES)) * MINUTE_MS


def expires_at(offset: CommitHistory, state: LatestGroup | None, retention: int) -> int | None:
    """When a committed offset expires, ms since 1970; None while its group has members.

    In Kafka the offsets of a group with members expire too if it no longer subscribes to the topic. The offsets topic
    alone does not have subscriptions. Source: OffsetExpirationConditionImpl, offsetExpirationCondition; KIP-211.
    """
    if state is not None and state.members > 0:
        return None
    commit = offset.commits[-1]
    if offset.expire_timestamp >= 0:
        return offset.expire_timestamp
    has_type = state is not None and state.kind is GroupKind.CLASSIC and bool(state.protocol_type)
    if state is not None and has_type and state.state_timestamp >= 0:
        return state.state_timestamp + retention
    return commit.timestamp + retention
