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
    """-1: the log has nothing as of the moment asked for (`status` NOTFOUND)."""
    log_start_offset: int
    log_end_offset: int
    """As of `at`; -1 where the partition is in no directory that was read."""
    lag: int
    """In records, 0 for a commit beyond the log's end."""
    lag_ms: int
    """How long the first record that is not read yet has waited, up to `at`."""
    status: str
    """Burrow's, of the partition: OK, WARN, STOP, STALL, REWIND, NOTFOUND."""
    group_status: str
    """Burrow's, of the group: OK, WARN, ERR, NOTFOUND."""
    members: int
    group_type: str
    """classic, consumer, share, streams; simple for a group that has only offsets."""
    metadata: str
    leader_epoch: int
    topic_id: str
    """As the commit says; empty before Kafka 4.1."""
    commit_timestamp: int
    expires_at: int
    """When the offset expires; -1 while the group has members."""
    at: int
    """The moment as of which all this holds."""
