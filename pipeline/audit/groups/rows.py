"""The lag table: one row for each group and partition.

Pure.
"""

from dataclasses import dataclass


@dataclass(slots=True)
class GroupLag:
    """One group's position in one partition. Times are ms since 1970; -1 for none or not known."""

    group: str
    topic: str
    partition: int
    committed_offset: int
    """-1: the log has no commit as of the given moment (`status` NOTFOUND)."""
    log_start_offset: int
    log_end_offset: int
    """As of `at`; -1 if the audit read no replica of the partition."""
    lag: int
    """In records; 0 for a commit after the log's end."""
    lag_ms: int
    """The age at `at` of the first unread record."""
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
    """The topic id in the commit; empty before Kafka 4.1."""
    commit_timestamp: int
    expires_at: int
    """When the offset expires; -1 if the group has members."""
    at: int
    """The moment of all values in the row."""
