"""A broker that notes how long Python's garbage collections block it.

    broker = WatchedBroker(directory)
    ...
    broker.stop()
    broker.longest_ms()

Run as a program, this module is ``odradek serve`` with a watch. With LONG_MS_VARIABLE in the environment, full
collections of at least this time freeze what survives them: 0 makes every one do so.
"""

import gc
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

from support.brokers.our_broker import OurBroker
from support.eventually import eventually

LONG_MS_VARIABLE = "WATCHED_LONG_MS"
OUTPUT_VARIABLE = "WATCHED_OUTPUT"
TESTS = Path(__file__).parent.parent.parent

PROGRAM = f"""
import sys
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS.parent)!r}]
from tests.broker.server.watched_collections import serve
sys.exit(serve())
"""


class WatchedBroker(OurBroker):
    """Our broker. Its collections are available after :meth:`stop`."""

    program = ("-c", PROGRAM)

    def __init__(self, directory: Path, configs: dict[str, str] | None = None, long_ms: float | None = None) -> None:
        """``long_ms``: a lower limit than the broker's own one."""
        self._output = directory / "longest-collection"
        variables = [f"{OUTPUT_VARIABLE}={self._output}"]
        variables += [] if long_ms is None else [f"{LONG_MS_VARIABLE}={long_ms}"]
        super().__init__(directory, configs, command_prefix=("env", *variables))

    def wait_until_warm(self) -> None:
        """Waits until the modules are imported that a start skips. Their 12 MB are not a leak."""
        eventually("the end of the warm-up", lambda: "all modules are imported" in self.log())

    def longest_ms(self) -> float:
        """The longest collection of the stopped broker, in milliseconds of processor time."""
        return float(self._output.read_text())


def cpu_ms() -> float:
    """The processor time of this thread, in milliseconds."""
    return time.thread_time_ns() / 1e6


def serve() -> int:
    """The broker's process."""
    from odradek.broker.server import memory, serve_options

    if LONG_MS_VARIABLE in os.environ:
        memory.FullCollections(cpu_ms, float(os.environ[LONG_MS_VARIABLE])).start()
    longest_ms = began_ms = 0.0

    def watch(phase: str, _: dict[str, Any]) -> None:
        nonlocal longest_ms, began_ms
        now_ms = cpu_ms()
        if phase == "start":
            began_ms = now_ms
        else:
            longest_ms = max(longest_ms, now_ms - began_ms)

    gc.callbacks.append(watch)
    logging.getLogger("odradek.broker.server.warm_up").setLevel(logging.DEBUG)
    code = serve_options.serve(sys.argv[1:])
    Path(os.environ[OUTPUT_VARIABLE]).write_text(str(longest_ms))
    return code
