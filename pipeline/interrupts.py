"""Ctrl-C in a command of the pipeline: one line and exit code 130 in place of a traceback.

Workers of the local pool get the signal from the terminal too and end at once (engines.py); a job's own `finally`
removes what it had begun. Source: exit codes of shells, 128 and the signal's number.
"""

import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps

INTERRUPTED = 128 + signal.SIGINT
"""Exit code."""

Command = Callable[[Sequence[str]], int]


def interruptible(name: str, left: str) -> Callable[[Command], Command]:
    """For the function of `odradek <name>`; `left` says what an interrupt leaves behind."""

    def wrap(command: Command) -> Command:
        @wraps(command)
        def run(arguments: Sequence[str]) -> int:
            try:
                return command(arguments)
            except KeyboardInterrupt:
                print(f"odradek {name}: interrupted; {left}", file=sys.stderr)
                return INTERRUPTED

        return run

    return wrap


@contextmanager
def no_way_back() -> Iterator[Callable[[], None]]:
    """Gives a function for where a job becomes visible: from its call to the end of the block Ctrl-C is ignored.

    For the short last step that must be done wholly or not at all.
    """
    import threading

    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()

    def begin() -> None:
        if is_main:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    try:
        yield begin
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before if before is not None else signal.SIG_DFL)
