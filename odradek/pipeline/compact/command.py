"""The command `odradek compact`: its options, its table, its exit code."""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.command_arguments import add_arguments, argument, parse
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.errors import CorruptCheckpointError, DirectoryLockedError

from ..command_line import interruptible, path_on_disk, size
from ..directories.log_directories import LogDirectoryError
from ..engine.engines import ENGINES, LOCAL
from ..engine.job import EngineError, EngineMissingError

with lazy_imports:
    import rich.console
    import rich.filesize
    import rich.table

    from . import job, partition_job, plan, topic_config

if TYPE_CHECKING:
    from .partition_job import PartitionOutcome
    from .plan import CompactionOrder, CompactionProgress

WIDTH_OF_A_FILE = 160
"""The width in characters of the table if the output is not a terminal, so that nothing is cut off."""
DONE, REFUSED_PARTITIONS, REFUSED = 0, 1, 3
"""Exit codes: all partitions done; some were refused and left unchanged; nothing was started."""


class CompactArguments(NamedTuple):
    """The arguments of ``odradek compact``."""

    directory: Path = argument(metavar="DIR", type=path_on_disk, help="a log directory (log.dirs)")
    topic: list[str] = argument(
        "--topic",
        action="append",
        default=[],
        help="only this topic; may be repeated (default: all whose cleanup.policy in DIR's metadata has compact)",
    )
    partition: list[int] = argument(
        "--partition", type=int, action="append", default=[], help="only this partition; may be repeated"
    )
    dry_run: bool = argument("--dry-run", action="store_true", help="show what a run would free; nothing is changed")
    config: list[str] = argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a topic config that the metadata in DIR does not have, such as delete.retention.ms; may be repeated",
    )
    now: int | None = argument("--now", type=int, metavar="MS", help="the current time, ms since 1970 (default: now)")
    memory: int | None = argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="memory for keys, per partition (default: 256m); with more keys the log is read more than once",
    )
    throttle: int | None = argument(
        "--throttle",
        type=size,
        metavar="SIZE",
        help="maximum bytes read and written per second, such as 50m; cleans one partition at a time",
    )
    engine: str = argument("--engine", choices=ENGINES, default=LOCAL, help="where the partitions are cleaned")
    json: bool = argument(
        "--json", action="store_true", help="print one JSON object for each partition instead of the table"
    )


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek compact``."""
    options = argparse.ArgumentParser(
        prog="odradek compact",
        description="Compacts topics in a log directory that no broker has open: the latest record of each key stays.",
        epilog="Rules, offsets and files are those of Kafka's own cleaner. For directories of Odradek and of Kafka. "
        "Exit code: 0 done, 1 a partition was left unchanged (with the reason), 3 nothing was started.",
    )
    add_arguments(options, CompactArguments)
    return options


@interruptible(
    "compact", "each partition is unchanged or compacted, and the next start or run removes unfinished files"
)
def compact(arguments: Sequence[str]) -> int:
    """Runs the command. Returns 0: done, 1: a partition was left unchanged, 3: nothing was started."""
    options = parse(parser(), CompactArguments, arguments)
    # Imported here: `--help` and wrong usage do not need them.
    outcomes: list[PartitionOutcome] = []
    console = rich.console.Console(stderr=True, markup=False)
    try:
        with console.status("compacting …") as status:  # silent if stderr is not a terminal
            order = _order(options, lambda progress: status.update(in_words(progress)))
            for outcome in job.compact_directory(order):
                outcomes.append(outcome)
                if options.json:
                    print(json.dumps(asdict(outcome)), flush=True)
    except (
        DirectoryLockedError,
        LogDirectoryError,
        topic_config.ConfigValueError,
        CorruptCheckpointError,
        EngineMissingError,
    ) as error:
        print(f"odradek compact: {error}", file=sys.stderr)
        return REFUSED
    except (EngineError, OSError) as error:
        print(f"odradek compact: {error}", file=sys.stderr)
        return REFUSED_PARTITIONS if outcomes else REFUSED
    outcomes.sort(key=lambda outcome: (outcome.topic, outcome.partition))
    if not options.json:
        show(outcomes, is_dry_run=options.dry_run)
    for outcome in outcomes:
        if outcome.refusal is not None:
            print(f"odradek compact: {outcome.topic}-{outcome.partition}: {outcome.refusal}", file=sys.stderr)
    return REFUSED_PARTITIONS if any(outcome.refusal for outcome in outcomes) else DONE


def in_words(progress: "CompactionProgress") -> str:
    """The progress line on a terminal."""
    partitions = f"{progress.partitions_done} of {progress.partitions} partitions"
    done, total = rich.filesize.decimal(progress.bytes_done), rich.filesize.decimal(progress.bytes)
    return f"compacting … {partitions}, {done} of {total}"


def _order(options: CompactArguments, progress: "Callable[[CompactionProgress], None]") -> "CompactionOrder":
    return plan.CompactionOrder(
        options.directory,
        options.now if options.now is not None else clock_ms(),
        tuple(dict.fromkeys(options.topic)),
        tuple(options.partition),
        {key: value for key, _, value in (pair.partition("=") for pair in options.config)},
        options.memory or partition_job.DEFAULT_MAP_BYTES,
        options.throttle or float("inf"),
        options.dry_run,
        options.engine,
        progress,
    )


def show(outcomes: "Sequence[PartitionOutcome]", *, is_dry_run: bool) -> None:
    """Prints a table with a row for each partition, and a total if there are several."""
    if not outcomes:
        print("No topic in this directory has a cleanup.policy with compact.")
        return
    table = rich.table.Table(title="Would be compacted" if is_dry_run else "Compacted", title_justify="left")
    for name in ("PARTITION", "CLEANED UP TO", "SEGMENTS", "BYTES", "RECORDS", "ROUNDS", "FREED"):
        table.add_column(name, justify="left" if name == "PARTITION" else "right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(
            f"{outcome.topic}-{outcome.partition}",
            "refused" if outcome.refusal else str(outcome.cleaned_up_to),
            *_figures([outcome]),
        )
    if len(outcomes) > 1:
        table.add_section()
        table.add_row(f"{len(outcomes)} partitions", "", *_figures(outcomes))
    rich.console.Console(width=None if sys.stdout.isatty() else WIDTH_OF_A_FILE).print(table)
    unkeyed = sum(outcome.records_without_key for outcome in outcomes)
    if unkeyed:
        print(f"{unkeyed} records without a key are removed by compaction.")


def _figures(outcomes: "Iterable[PartitionOutcome]") -> list[str]:
    """Segments, bytes, records, rounds and the part of the bytes that was freed, of one partition or of several."""
    done = list(outcomes)
    before, after = sum(outcome.bytes_before for outcome in done), sum(outcome.bytes_after for outcome in done)
    return [
        f"{sum(outcome.segments_before for outcome in done)} -> {sum(outcome.segments_after for outcome in done)}",
        f"{before} -> {after}",
        f"{sum(outcome.records_before for outcome in done)} -> {sum(outcome.records_after for outcome in done)}",
        str(sum(outcome.rounds for outcome in done)),
        f"{(before - after) / before:.0%}" if before else "-",
    ]
