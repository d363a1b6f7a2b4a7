"""A broker of ours whose wall clock can jump: ``python jumping_clock.py FILE serve ...`` runs ``odradek serve ...``.

FILE holds the error of its clock in nanoseconds. Another process writes it, and it takes effect at once. Monotonic
clocks are not changed, as when the clock of a machine is set. The broker's code is not changed either.
"""

import mmap
import struct
import sys
import time
from pathlib import Path

WRONG_BY = struct.Struct("<q")


class JumpingClock:
    """The file of a clock, for the test. The clock is right at first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.jump(0)

    def jump(self, seconds: float) -> None:
        """Sets the clock ``seconds`` ahead of the real time; negative: behind it. 0 sets it right."""
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.write(WRONG_BY.pack(round(seconds * 1_000_000_000)))


def wrong_clock(path: Path) -> None:
    """Replaces the wall clock of this process by one with the error in the file."""
    with path.open("rb") as file:
        wrong_by = mmap.mmap(file.fileno(), WRONG_BY.size, access=mmap.ACCESS_READ)
    true_ns = time.time_ns
    time.time_ns = lambda: true_ns() + WRONG_BY.unpack_from(wrong_by)[0]
    time.time = lambda: time.time_ns() / 1_000_000_000


if __name__ == "__main__":
    wrong_clock(Path(sys.argv[1]))
    del sys.argv[1]
    from odradek.__main__ import main  # imported afterwards, so that all modules use the replaced clock

    sys.exit(main())
