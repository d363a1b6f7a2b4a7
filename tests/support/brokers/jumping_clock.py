"""A broker of ours whose wall clock can jump: ``python jumping_clock.py FILE serve ...`` runs ``odradek serve ...``.

FILE holds the nanoseconds by which its clock is wrong. Another process writes them, and they count at once. Monotonic
clocks run on, as they do when the clock of a machine is set. The broker itself knows nothing of this.
"""

import mmap
import struct
import sys
import time
from pathlib import Path

WRONG_BY = struct.Struct("<q")


class JumpingClock:
    """The file of a clock, as a test holds it. It is right at first."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.jump(0)

    def jump(self, seconds: float) -> None:
        """Makes the clock wrong by ``seconds`` from now on; negative: it is behind. 0 sets it right."""
        with self.path.open("r+b" if self.path.exists() else "wb") as file:
            file.write(WRONG_BY.pack(round(seconds * 1_000_000_000)))


def wrong_clock(path: Path) -> None:
    """Replaces the wall clock of this process by one that is wrong by what the file says."""
    with path.open("rb") as file:
        wrong_by = mmap.mmap(file.fileno(), WRONG_BY.size, access=mmap.ACCESS_READ)
    true_ns = time.time_ns
    time.time_ns = lambda: true_ns() + WRONG_BY.unpack_from(wrong_by)[0]
    time.time = lambda: time.time_ns() / 1_000_000_000


if __name__ == "__main__":
    wrong_clock(Path(sys.argv[1]))
    del sys.argv[1]
    from odradek.__main__ import main  # after that: what is imported sees the wrong clock only

    sys.exit(main())
