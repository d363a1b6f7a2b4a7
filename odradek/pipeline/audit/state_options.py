"""How an audit uses the state of earlier ones, and what it has read: values that the driver and its tasks exchange.

Pure. Source: known_segments.py.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class StateOptions(NamedTuple):
    """The state of an audit. `run`: the number of this run. `scrub_every`: the number of runs in which each known
    segment is read again once; 0 for never. `started_ms`: the time of this run."""

    root: Path
    run: int
    scrub_every: int
    started_ms: int


@dataclass(slots=True)
class ReadingCounts:
    """Bytes of segments that an audit has read, and those whose sums it knew. `notes`: faults of the state's files."""

    bytes_read: int = 0
    bytes_known: int = 0
    notes: tuple[str, ...] = ()
