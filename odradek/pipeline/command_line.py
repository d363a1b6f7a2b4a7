"""Shared by the command lines of the pipeline: parses paths, times and sizes, handles Ctrl-C.

Ctrl-C gives one line and exit code 130 instead of a traceback. Workers of the local pool get the signal from the
terminal too and end at once (engine/engines.py); a job's own `finally` removes unfinished files. Source: exit codes of
shells, 128 and the signal's number.
"""

import argparse
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path

from odradek.protocol.common.lazy_imports import lazy_imports

from .directories.file_access import URL_MARK

with lazy_imports:
    import threading

INTERRUPTED = 128 + signal.SIGINT
"""Exit code of a command that Ctrl-C interrupted."""

Command = Callable[[Sequence[str]], int]


def interruptible(name: str, left: str) -> Callable[[Command], Command]:
    """Decorates the function of `odradek <name>`: Ctrl-C prints one line. `left`: the state after an interrupt."""

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
    """Gives a function to call before a job's last step. From that call to the end of the block, Ctrl-C is ignored.

    The last step makes the job's results visible; it is short and must be done wholly or not at all.
    """
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


def path_on_disk(text: str) -> Path:
    """A path for writing or locking. Raises ArgumentTypeError for a URL."""
    if URL_MARK in text:
        raise argparse.ArgumentTypeError(
            f"{text} is a URL: this command renames and locks files, which object storage does not support. Use a "
            "directory on a disk or a mounted volume, and copy it"
        )
    return Path(text)


def time_ms(text: str) -> int:
    """Parses a number of ms since 1970, or a time in ISO 8601 (UTC if it has no zone). Returns ms since 1970.

    Raises ArgumentTypeError.
    """
    try:
        if text.lstrip("-").isdigit():
            return int(text)
        time = datetime.fromisoformat(text)
    except ValueError:
        problem = f"'{text}' is neither ms since 1970 nor a time like 2026-11-21T12:00"
        raise argparse.ArgumentTypeError(problem) from None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def share(text: str) -> int:
    """Parses a share in percent, with or without the sign. Returns of how many parts one is the share: 100 for 1%.

    Raises ArgumentTypeError.
    """
    try:
        percent = float(text.strip().removesuffix("%"))
    except ValueError:
        percent = 0.0
    if not 0 < percent <= 100:
        raise argparse.ArgumentTypeError(f"'{text}' must be a share such as 1%, above 0 and up to 100")
    return max(round(100 / percent), 1)


def parse_size(name: str, text: str) -> int:
    """Parses a number of bytes, with or without a unit (128m, 1gb). Raises ValueError."""
    unit = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(text.strip().lower().removesuffix("b")[-1:], 1)
    digits = text.strip().lower().removesuffix("b").rstrip("kmg")
    if not digits.isdigit() or int(digits) == 0:
        raise ValueError(f"{name} must be a number of bytes, like 134217728 or 128m, not {text!r}")
    return int(digits) * unit


def size(text: str) -> int:
    """Parses an argument that is a number of bytes such as 256m. Raises ArgumentTypeError."""
    try:
        return parse_size("it", text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
