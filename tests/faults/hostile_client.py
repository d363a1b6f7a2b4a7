"""A client that repeatedly sends all heavy requests, in its own process.

    python -m faults.hostile_client PORT SEED SHARE

Prints a line after each round over all rows of :mod:`support.brokers.heavy_requests`. The seed decides their order.
Random frames are sent between them. Ends when its standard input ends.
"""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from faults.hostile_frames import hostile_frame
from support.brokers.heavy_requests import ROWS, Heavy, Prepared, Scale

TESTS = Path(__file__).parent.parent
FRAMES_BETWEEN_ROWS = 50


class HostileClient:
    """The process of the client, for the test."""

    def __init__(self, port: int, seed: int, share: float) -> None:
        self._command = [sys.executable, "-m", "faults.hostile_client", str(port), str(seed), str(share)]
        self._process: subprocess.Popen[str] | None = None
        self.rounds = 0
        self.ended = threading.Event()
        """Set at the end of the process's output."""

    def __enter__(self) -> Self:
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        )
        threading.Thread(target=self._count, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _count(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            self.rounds += 1
        self.ended.set()


def one_round(port: int, chance: random.Random, seed: int, prepared: list[Prepared]) -> None:
    """Sends all heavy requests once, in a random order, with random frames in between."""
    frames = Heavy(port, patience_s=0.05)
    for heavy in chance.sample(prepared, len(prepared)):
        heavy()
        for _ in range(FRAMES_BETWEEN_ROWS):
            frame = hostile_frame(seed, chance.randrange(1 << 30))
            # Without an authorizer every client may delete the offsets topic, which necessarily harms the others.
            if b"__consumer_offsets" not in frame:
                frames.send(frame)
    frames.close()


def main() -> None:
    """The process of the client."""
    port, seed, share = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    chance = random.Random(seed)
    prepared = [row(port, Scale(share)) for row in ROWS.values()]
    while True:
        one_round(port, chance, seed, prepared)
        print("round", flush=True)


if __name__ == "__main__":
    main()
