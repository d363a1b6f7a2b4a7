"""The process that runs one cleaning round: `python -m odradek.storage.compaction.worker VERSION`.

Reads one pickled order from its input and writes one pickled answer to its output. The argument is the version of the
broker. The broker that started it is the other end of both. Never does: outliving the broker, since then two processes
could write the same `.cleaned` files. Why a process: decoding records holds the interpreter's lock. Beside a thread
that decodes, the broker answered a small Produce in 6.4 ms at the median instead of 0.5 (1.0 with a shorter switch
interval and pauses, which double the time of the round); beside this process in 0.4. It costs less than 20 MB and about
0.2 s for each round. Source: Kafka's CleanerThread.
"""

import os
import pickle
import signal
import sys
import threading
import time

from odradek import __version__
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import KafkaError

from ..errors import CorruptIndexError
from ..files.files import Files
from .order import CleaningOrder, CleaningOutcome, carry_out
from .pace import Pace

with lazy_imports:
    import ctypes

NICENESS = 10
PR_SET_PDEATHSIG = 1

OTHER_VERSION = (
    "odradek {installed} was installed while a broker of version {running} runs. "
    "Restart the broker: it cleans no log until then"
)
Answer = tuple[CleaningOutcome | None, str]
"""The outcome and an empty text, or None and the error."""


def main() -> None:
    """Reads an order from standard input, runs it, and writes the answer to standard output.

    The argument is the broker's version. After an upgrade under a running broker, this code has another one.
    """
    _die_with_parent()
    os.nice(NICENESS)
    [version] = sys.argv[1:]
    if version != __version__:
        result: Answer = None, OTHER_VERSION.format(installed=__version__, running=version)
    else:
        order: CleaningOrder = pickle.load(sys.stdin.buffer)
        threading.Thread(target=_exit_at_end_of_input, daemon=True).start()
        result = answer(order)
    pickle.dump(result, sys.stdout.buffer)
    sys.stdout.buffer.flush()
    os._exit(0)  # the thread that waits for the input's end would block a normal exit


def answer(order: CleaningOrder) -> Answer:
    """Runs an order at its own pace."""

    def wait(seconds: float) -> bool:
        if seconds:
            time.sleep(seconds)
        return False

    pace = Pace(order.limits.bytes_per_second, time.monotonic, wait)
    try:
        return carry_out(order, Files(), pace), ""
    except KafkaError as error:
        return None, error.message
    except (CorruptIndexError, OSError) as error:
        return None, str(error)


def _die_with_parent() -> None:
    """On Linux, makes the kernel kill this process when its parent dies."""
    if sys.platform == "linux":
        parent = os.getppid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _exit_at_end_of_input() -> None:
    """On other systems, exits when the parent's end of the pipe closes."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
