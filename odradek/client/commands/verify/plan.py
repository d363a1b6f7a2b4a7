"""The parameters of a run of ``odradek verify``.

Pure.
"""

from typing import NamedTuple


class VerifyPlan(NamedTuple):
    """One run. It ends after ``duration_s`` seconds or after ``records`` records."""

    run: str
    """The name of the run, in the value of each of its records. It has no spaces."""
    topic: str
    partitions: int | None
    """None: any number for an existing topic, the default for a new one."""
    replication_factor: int
    rate: float
    """Records per second."""
    duration_s: float | None
    records: int | None
    transactional: bool
    timeout_s: float
    """The seconds without progress after which the final reading gives up."""
