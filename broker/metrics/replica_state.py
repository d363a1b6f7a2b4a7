"""What the metrics show of the partitions that this broker leads over followers.

Pure. Owns: the shape of these numbers. It is apart from :mod:`.replica_metrics`, which a broker without metrics never
imports.
"""

from dataclasses import dataclass
from typing import NamedTuple


class LedPartition(NamedTuple):
    """One partition with several replicas. ``min_isr``: ``min.insync.replicas``, at most ``replicas``."""

    topic: str
    partition: int
    replicas: int
    in_sync: int
    min_isr: int


@dataclass(slots=True)
class IsrChanges:
    """The changes of ISRs that the controllers have accepted since the start."""

    shrinks: int = 0
    expands: int = 0
