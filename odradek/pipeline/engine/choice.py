"""Chooses the engine for `--engine auto`: this machine until there is too much to read for it, then Spark.

Pure but for the given look at the system. Spark on the same machine is slower than local processes: it
gains where a cluster has more cores and disks.
"""

from collections.abc import Callable
from typing import NamedTuple

from .engines import LOCAL, SPARK

AUTO = "auto"
MOST_BYTES_A_CORE = 64 << 30
"""What one core reads in some minutes: up to this, more machines gain little."""


class EngineChoice(NamedTuple):
    """The engine, and a sentence that says why it was chosen."""

    engine: str
    reason: str


def choose_engine(work: int, cores: int, missing: Callable[[], str]) -> EngineChoice:
    """Chooses for `work` bytes on a machine with `cores`. `missing`: what Spark lacks here; "" if it can start."""
    most = MOST_BYTES_A_CORE * cores
    sizes = f"{work / (1 << 30):.1f} GiB to read, {most >> 30} GiB are the limit for {cores} cores"
    if work <= most:
        return EngineChoice(LOCAL, f"--engine auto chose local: {sizes}")
    lack = missing()
    if lack:
        return EngineChoice(LOCAL, f"--engine auto chose local although there are {sizes}: {lack}")
    return EngineChoice(SPARK, f"--engine auto chose spark: {sizes}")
