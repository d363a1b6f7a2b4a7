"""What the pipeline's bench compares: contestants that do the same work on the same bytes, timed in turn."""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Run = Callable[[Path], float | None]
"""Does the work in a directory of its own, which is new in each round and removed afterwards. Returns the seconds if it
measured them itself, as for a process that is already running; otherwise None."""


def nothing(_: Path) -> None:
    """No preparation."""


@dataclass(frozen=True)
class Contestant:
    """One that does the work. `prepare` is not timed: a copy of what will be changed, for example."""

    name: str
    run: Run
    prepare: Callable[[Path], None] = nothing


@dataclass(frozen=True)
class Comparison:
    """One piece of work: how many bytes and records it goes over, who does it, and whose time is 1."""

    name: str
    bytes: int
    records: int
    contestants: tuple[Contestant, ...]
    peer: str
    """The name of the contestant that the others are compared with."""


def measure(comparison: Comparison, scratch: Path, rounds: int) -> dict[str, list[float]]:
    """Seconds by contestant, one for each round."""
    samples: dict[str, list[float]] = {contestant.name: [] for contestant in comparison.contestants}
    for round_number in range(rounds):
        for index, contestant in enumerate(comparison.contestants):
            place = scratch / f"round-{round_number}-{index}"
            place.mkdir(parents=True)
            contestant.prepare(place)
            begin = time.perf_counter()
            seconds = contestant.run(place)
            samples[contestant.name].append(time.perf_counter() - begin if seconds is None else seconds)
            shutil.rmtree(place)
    return samples
