"""The lag table: one row for each group and partition.

Pure.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class GroupLag:
    """One group's position in one partition. Times are ms since 1970. -1: there is none, or it is not known."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    """-1 if the offsets topic has no commit up to `at` (`status` NOTFOUND)."""
    log_start_offset: int
    log_end_offset: int
    """The log end offset at the moment `at`; -1 if the audit read no replica of the partition."""
    lag: int
    """The number of offsets from the commit to the log end; 0 for a commit after the log end."""
    lag_ms: int
    """The age (ms) that the first unread record has at the moment `at`."""
    status: str
    """Burrow's status of the partition: OK, WARN, STOP, STALL, REWIND, NOTFOUND."""
    group_status: str
    """Burrow's status of the group: OK, WARN, ERR, NOTFOUND."""
    members: int
    group_type: str
    """classic, consumer, share, streams; simple for a group that has only offsets."""
    metadata: str
    leader_epoch: int
    topic_id: str
    """The topic id in the commit; empty if the commit has none (Kafka before 4.1)."""
    commit_timestamp: int
    expires_at: int
    """When the offset expires; -1 if the group has members."""
    at: int
    """The moment to which all values of the row refer."""
