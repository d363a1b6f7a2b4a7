"""The contents of the log directories of a dead broker, as the survey hands them to the plan.

Pure. Owns: nothing. Never does: I/O, deciding. Source: the names and files of Kafka's log directories, 2.8 to 4.x.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FoundIdentity:
    """The content of meta.properties. ``version`` is 0 for a ZooKeeper cluster. Missing values are None."""

    version: int
    cluster_id: str | None
    node_id: int | None
    directory_id: bytes | None


@dataclass(frozen=True, slots=True)
class FoundPartition:
    """The directory of one partition. ``leader_epoch``: the highest in its log, or -1. ``keys``: some of the group ids
    or transactional ids in its records (only for ``__consumer_offsets`` and ``__transaction_state``).
    """

    path: str
    topic: str
    index: int
    topic_id: bytes | None = None
    leader_epoch: int = -1
    has_gaps: bool = False
    """Whether offsets are missing among its first batches, as after compaction."""
    keys: frozenset[str] = frozenset()
    log_end_offset: int = 0
    """The offset after the last batch that was found."""


@dataclass(frozen=True, slots=True)
class FoundDirectory:
    """One log directory."""

    path: str
    identity: FoundIdentity | None
    has_metadata: bool
    partitions: tuple[FoundPartition, ...] = ()
    cleaned: frozenset[str] = frozenset()
    """Topics that the log cleaner has cleaned in this directory (in cleaner-offset-checkpoint)."""
    strays: tuple[FoundPartition, ...] = ()
    """Partitions whose directory a Kafka broker renamed to ``…-stray``, because its metadata did not have them."""
    left_alone: tuple[str, ...] = field(default=())
    """Names of directories that hold incomplete copies of partitions (``…-future``); they are not adopted."""
