"""Seeded lives (test runs) of :mod:`.loading_fuzz`: their size, their time, and the line that replays one."""

import random
from abc import ABC, abstractmethod

RECORDS_PER_LIFE = 250
STARTS = 0.25
"""The share of lives that are also started."""
NOW_MS = 1_700_000_000_000


def failure(kind: str, seed: int, life: int, error: Exception) -> str:
    """The failure, and the line that replays it."""
    line = f"(cd tests && python -m faults.loading_fuzz {kind} {seed} {life})"
    return f"{type(error).__name__}: {error}; to replay: {line}"


class SeededLives(ABC):
    """Lives of one seed; each can be replayed alone."""

    NAME: str

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.asked = 0

    def run(self, life: int) -> None:
        """Runs one life. Raises AssertionError with the line that replays it."""
        self.random.seed(f"{self.seed} {life}")
        try:
            self._live()
        except Exception as error:
            raise AssertionError(failure(self.NAME, self.seed, life, error)) from error

    @abstractmethod
    def _live(self) -> None:
        """Runs one life, with randomness from :attr:`random`."""
