"""``odradek storage check``: verifies every file of log directories (a running broker's too) and changes nothing."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek.protocol.common.command_options import arguments, flag, option, repeated, takes
from odradek.protocol.common.lazy_imports import lazy_imports

with lazy_imports:
    import concurrent.futures

    from .. import errors as storage_errors
    from ..directory import directory_lock
    from . import directory_check, findings, partition_check

if TYPE_CHECKING:
    from .findings import CheckedAmounts, Problem
    from .partition_check import CheckTask

EXIT_DAMAGE = 1
SMALL_BYTES = 32 << 20
"""Fewer bytes than this are checked without starting other processes, which would cost more time than it saves."""


@dataclass(frozen=True, kw_only=True)
class CheckOptions:
    """The arguments of ``odradek storage check``."""

    directories: tuple[Path, ...] = arguments(required=True, metavar="DIR...", type=click.Path(path_type=Path))
    topics: tuple[str, ...] = repeated("--topic", help="Only this topic; may be repeated.")
    deep: bool = flag("--deep", help="Also decode the records of all batches (slower).")
    jobs: int = option(
        "--jobs",
        type=click.IntRange(min=1),
        default=os.cpu_count() or 1,
        help="Number of processes.  [default: one per core]",
    )
    as_json: bool = flag("--json", help="Print one JSON document per line.")


@click.command(
    help="Verify every file of log directories: batches (length, CRC-32C, offsets, leader epochs), indexes against the"
    " log, producer snapshots, checkpoints, partition.metadata, meta.properties and the metadata log. Nothing is"
    " changed and no lock is taken, so a broker may be running. The exit code is 1 if a file is damaged.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(CheckOptions)
def command(options: CheckOptions) -> int:
    """Checks the directories. Returns the exit code."""
    tasks: list[CheckTask] = []
    problems: list[Problem] = []
    for directory in options.directories:
        if not directory.is_dir():
            raise click.UsageError(f"{directory} is not a directory; name the directories of log.dirs")
        if directory_lock.lock_holder(directory) is not None and not options.as_json:
            click.echo(f"{directory}: a broker is running here; files that it is writing are reported as IN FLUX")
        problems += directory_check.check_root(directory)
        found = directory_check.partition_tasks(directory, is_deep=options.deep)
        tasks += [task for task in found if not options.topics or task.topic in options.topics]
    print_problem = _print_json if options.as_json else _print_text
    for problem in problems:
        print_problem(problem)
    files = size = set_aside = 0
    errors = sum(problem.severity is findings.CheckSeverity.ERROR for problem in problems)
    progress = _ProgressLine(len(tasks))
    for checked in _checked(tasks, options.jobs):
        progress.clear()
        for problem in checked.problems:
            print_problem(problem)
            errors += problem.severity is findings.CheckSeverity.ERROR
        files, size, set_aside = files + checked.files, size + checked.size, set_aside + checked.set_aside
        progress.one_more(size)
    progress.clear()
    if not options.as_json:
        outcome = (
            f"{errors} damaged: `odradek storage repair --dry-run` shows what a start would do" if errors else "sound"
        )
        kept = f"; {set_aside} files keep what recovery took out of logs" if set_aside else ""
        click.echo(f"{len(tasks)} partitions, {files} files, {size} bytes: {outcome}{kept}")
    else:
        totals = {"partitions": len(tasks), "files": files, "bytes": size, "errors": errors, "setAside": set_aside}
        click.echo(json.dumps(totals))
    return EXIT_DAMAGE if errors else 0


def _checked(tasks: "list[CheckTask]", jobs: int) -> "Iterator[CheckedAmounts]":
    """The result of each partition, as soon as it is known."""
    sizes = sum(entry.stat().st_size for task in tasks[:jobs] for entry in os.scandir(task.directory))
    if jobs == 1 or len(tasks) < 2 or sizes < SMALL_BYTES:
        yield from map(partition_check.check_partition, tasks)
        return
    with concurrent.futures.ProcessPoolExecutor(min(jobs, len(tasks))) as pool:
        for done in concurrent.futures.as_completed(
            [pool.submit(partition_check.check_partition, task) for task in tasks]
        ):
            yield done.result()


class _ProgressLine:
    """The line on standard error that shows the progress, if that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._is_shown = sys.stderr.isatty()

    def one_more(self, size: int) -> None:
        """Counts a partition as done."""
        self._done += 1
        if self._is_shown:
            sys.stderr.write(f"\r{self._done} of {self._total} partitions, {size >> 20} MiB\x1b[K")
            sys.stderr.flush()

    def clear(self) -> None:
        """Removes the line."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")


def _print_text(problem: "Problem") -> None:
    click.echo(problem.to_text())


def _print_json(problem: "Problem") -> None:
    click.echo(json.dumps(problem.to_document()))


def check(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek storage check``, returns the exit code."""
    return run(command, "odradek storage check", arguments)


def run(chosen: click.Command, name: str, arguments: Iterable[str]) -> int:
    """Runs a click command. Returns 2 for wrong usage, 130 for an interrupt, 1 for an I/O error."""
    try:
        result = chosen.main(args=list(arguments), prog_name=name, standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        error.show()
        return 2
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (
        OSError,
        storage_errors.StorageError,
        storage_errors.CorruptCheckpointError,
        storage_errors.DirectoryLockedError,
        click.ClickException,
    ) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        click.echo(f"{name}: {text}", err=True)
        return 1
    return result if isinstance(result, int) else 0


Command = Callable[[list[str]], int]
