"""The commands `odradek storage snapshot` and `odradek storage restore`: their options and exit codes."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.common.command_arguments import add_arguments, argument, parse
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.storage.files.regular_files import fault_text

from ..command_line import interruptible
from ..directories.file_access import path_of
from .broker_link import SnapshotError
from .take import Progress, take_snapshot

with lazy_imports:
    from . import restore, stores

DONE, NOT_DONE, WITH_DAMAGE = 0, 1, 3
"""Exit codes; 2 is wrong usage."""
LINE_EVERY_S = 60.0
MEGABYTE = 1_000_000


class SnapshotArguments(NamedTuple):
    """The arguments of ``odradek storage snapshot``."""

    directory: Path = argument(
        metavar="DIR", type=Path, help="a log directory of a running broker; all of that broker's are saved"
    )
    to: str = argument(
        "--to",
        required=True,
        metavar="FOLDER",
        help="the folder of all snapshots, on a disk or in object storage (a URL); each gets a name of its own in it",
    )
    keep: int | None = argument(
        "--keep", type=int, metavar="N", help="afterwards, remove all but the latest N snapshots of FOLDER"
    )


class RestoreArguments(NamedTuple):
    """The arguments of ``odradek storage restore``."""

    snapshot: str = argument(metavar="SNAPSHOT", help="a snapshot: FOLDER/NAME, on a disk or in object storage (a URL)")
    directories: list[Path] = argument(
        nargs="+",
        metavar="DIR",
        type=Path,
        help="the new log directories, in the order of the broker's; none may exist",
    )


@interruptible("storage snapshot", "nothing was kept")
def snapshot(arguments: Sequence[str]) -> int:
    """Takes a snapshot. Returns 0: it is complete, 1: there is none, 3: it has partitions that can't be read."""
    parser = argparse.ArgumentParser(
        prog="odradek storage snapshot",
        description="Saves the log directories of a running broker as they are at one instant: records, groups,"
        " transactions, topics, users. Clients go on. Segments that an earlier snapshot in FOLDER has are not copied"
        " again; on the file system of the broker's directories, closed segments are linked.",
        epilog="`odradek storage restore` makes log directories from it; `odradek audit FOLDER/NAME/0` checks it.",
    )
    add_arguments(parser, SnapshotArguments)
    return _ended("snapshot", lambda: _snapshot(parser, parse(parser, SnapshotArguments, arguments)))


def _snapshot(parser: argparse.ArgumentParser, options: SnapshotArguments) -> int:
    if options.keep is not None and options.keep < 1:
        parser.error("--keep: at least 1")
    store = stores.store_at(path_of(options.to))
    try:
        taken = take_snapshot(options.directory, store, lines_of_progress("snapshot", "partitions", time.monotonic))
        removed = [] if options.keep is None else store.keep_only(options.keep)
    finally:
        store.close()
    manifest = taken.manifest
    print(
        f"{taken.path}: {len(manifest.partitions)} partitions, {manifest.size / MEGABYTE:.1f} MB, of which"
        f" {taken.new_bytes / MEGABYTE:.1f} MB were copied; the broker's clients waited {taken.turn_us / 1000:.1f} ms"
    )
    for name in removed:
        print(f"removed {options.to}/{name}")
    for path in taken.unreadable:
        print(f"odradek storage snapshot: {path}: the broker can't read it; saved as it is", file=sys.stderr)
    return WITH_DAMAGE if taken.unreadable else DONE


@interruptible("storage restore", "no directory was made")
def restore_command(arguments: Sequence[str]) -> int:
    """Restores a snapshot. Returns 0: the directories exist, 1: none was made."""
    parser = argparse.ArgumentParser(
        prog="odradek storage restore",
        description="Makes log directories from a snapshot. A broker of Odradek or of Apache Kafka starts on them as"
        " after a crash, with the offsets, groups and transactions of the instant of the snapshot.",
        epilog="Then start the broker with log.dirs=DIR,… and the same node.id. Don't run it beside the one that was"
        " saved.",
    )
    add_arguments(parser, RestoreArguments)
    return _ended("restore", lambda: _restore(parse(parser, RestoreArguments, arguments)))


def _restore(options: RestoreArguments) -> int:
    path = path_of(options.snapshot)
    manifest = restore.read_snapshot(path)
    restore.restore(path, manifest, options.directories, lines_of_progress("restore", "files", time.monotonic))
    print(
        f"{', '.join(map(str, options.directories))}: {len(manifest.partitions)} partitions,"
        f" {manifest.size / MEGABYTE:.1f} MB, of node {manifest.node_id} in cluster {manifest.cluster_id}"
    )
    return DONE


def _ended(name: str, run: Callable[[], int]) -> int:
    """Runs a command; prints an error as one line. Returns the exit code."""
    try:
        return run()
    except SystemExit as end:  # how argparse ends after --help (0) and wrong usage (2)
        return int(end.code or 0)
    except (SnapshotError, ValueError) as error:
        print(f"odradek storage {name}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"odradek storage {name}: {error.filename or ''}: {fault_text(error)}; nothing was kept", file=sys.stderr)
    return NOT_DONE


def lines_of_progress(name: str, things: str, clock_s: Callable[[], float]) -> Progress:
    """A progress that prints one line a minute on standard error: what is done, bytes, and the rate."""
    begun = last = clock_s()

    def report(done: int, total: int, size: int) -> None:
        nonlocal last
        now = clock_s()
        if now - last >= LINE_EVERY_S:
            last = now
            megabytes = size / MEGABYTE
            print(
                f"{name}: {done} of {total} {things}, {megabytes:.0f} MB, {megabytes / (now - begun):.0f} MB/s",
                file=sys.stderr,
                flush=True,
            )

    return report
