"""What a run of ``odradek verify`` does: its topic, rate and end, and its own name.

Pure.
"""

from typing import NamedTuple


class VerifyPlan(NamedTuple):
    """One run. It ends after ``duration_s`` seconds or after ``records`` records."""

    run: str
    """Sets the records of this run apart from others in the topic; without spaces."""
    topic: str
    partitions: int | None
    """None: those of the topic, or a default for a new one."""
    replication_factor: int
    rate: float
    """Records a second."""
    duration_s: float | None
    records: int | None
    transactional: bool
    timeout_s: float
    """How long the cluster may stand still at the end, while the records are read."""
