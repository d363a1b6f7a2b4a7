"""Tasks for tests of the engines. They are top-level functions, because workers find them by name."""

import gc
import os
import signal
from pathlib import Path

from odradek.pipeline.engine.job import Tell
from support.eventually import eventually

TESTS = Path(__file__).parents[1]
PYTHON_PATH = f"{TESTS}{os.pathsep}{TESTS.parent}"
"""For processes that import this module by pytest's name for it, ``tests.pipeline.engine_tasks``."""


def double(number: int) -> int:
    return 2 * number


def process_id(_: object) -> int:
    return os.getpid()


def frozen_objects(_: object) -> int:
    """The number of objects that the garbage collector of this process skips."""
    return gc.get_freeze_count()


def end_at_once() -> None:
    os._exit(7)


def note_process(directory: Path) -> None:
    """Leaves a file with the number of the process."""
    (directory / str(os.getpid())).touch()


def fail_at_three(number: int) -> int:
    if number == 3:
        raise ValueError(f"{number} is not wanted")
    return number


def die_at_three(number: int) -> int:
    if number == 3:
        os._exit(9)
    return number


def die_once_at_three(place: tuple[Path, int]) -> int:
    directory, number = place
    if number == 3 and not (directory / "died").exists():
        (directory / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def tell_and_die_once_at_three(place: tuple[Path, int], tell: Tell) -> int:
    """Tells of 100 bytes, at once."""
    tell(f"t-{place[1]}", 100)
    return die_once_at_three(place)


def meet(place: tuple[Path, int, int]) -> int:
    """Returns its number once all tasks have started. Tasks that run one after another would wait for ever."""
    directory, number, expected = place
    (directory / str(number)).touch()
    eventually(f"{expected} tasks at once", lambda: len(os.listdir(directory)) >= expected)
    return number


def wait_for(paths: tuple[Path, Path | None]) -> str:
    """Reports that it runs, and continues once the other file exists, or at once without one."""
    mine, other = paths
    mine.touch()
    if other is not None:
        eventually(str(other), other.exists)
    return mine.name


def name_of(path: Path) -> str:
    return path.name


def hold(_: object) -> None:
    """Prints on the standard output of the command that it runs, and waits for a signal that ends it."""
    os.write(1, b"held\n")
    signal.pause()
