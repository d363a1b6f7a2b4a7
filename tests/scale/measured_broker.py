"""Our broker in a process that measures the longest turn of its event loop, in processor time (Linux).

    with MeasuredBroker(directory, configs) as broker:
        broker.measure()
        ...
        broker.longest_turn_ms()

A timer of the loop runs every millisecond and compares the processor time of the thread with that of its last run, so a
figure is the longest turn and up to a millisecond of others. Other processes of the machine do not change it.
"""

import asyncio
import mmap
import struct
import sys
import time
from pathlib import Path

from support.brokers.our_broker import OurBroker

TESTS = Path(__file__).parent.parent
FILE = "longest-turn"
VALUE = struct.Struct("<q")
PERIOD_S = 0.001


class MeasuredBroker(OurBroker):
    """``odradek serve`` with a measurement of its turns."""

    program = ("-c", f"import sys; sys.path.insert(0, {str(TESTS)!r}); from {__name__} import main; main()")

    def measure(self) -> None:
        """Begins a new measurement."""
        self._write(0)

    def longest_turn_ms(self) -> float:
        """The processor time of the longest turn since the last :meth:`measure`."""
        return float(VALUE.unpack(self._path.read_bytes())[0]) / 1e6

    @property
    def _path(self) -> Path:
        return self.directory / FILE

    def _write(self, value: int) -> None:
        with self._path.open("r+b") as file:
            file.write(VALUE.pack(value))


def watch(loop: asyncio.AbstractEventLoop, path: Path) -> None:
    """Measures the turns of ``loop`` from now on; writes the longest one into a file."""
    path.write_bytes(VALUE.pack(0))
    with path.open("r+b") as file:
        shared = mmap.mmap(file.fileno(), VALUE.size)
    last_ns = time.thread_time_ns()

    def run() -> None:
        nonlocal last_ns
        now_ns = time.thread_time_ns()
        if now_ns - last_ns > VALUE.unpack(shared[:])[0]:
            shared[:] = VALUE.pack(now_ns - last_ns)
        last_ns = time.thread_time_ns()
        loop.call_later(PERIOD_S, run)

    loop.call_soon(run)


def main() -> None:
    """Serves as ``odradek serve``, with the same arguments, in a loop that is measured."""
    import uvloop

    from odradek.__main__ import main as odradek

    path = Path(sys.argv[sys.argv.index("--ready-file") + 1]).parent / FILE

    class MeasuredLoop(uvloop.Loop):
        def __init__(self) -> None:
            super().__init__()
            watch(self, path)

    uvloop.Loop = MeasuredLoop  # type: ignore[misc]
    sys.argv[1:1] = ["serve"]
    sys.exit(odradek())
