"""The command `odradek compact`: its options, its table, its exit code."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from ...storage.errors import CorruptCheckpointError, DirectoryLockedError
from ..engines import ENGINES, LOCAL, EngineMissingError
from ..log_directories import LogDirectoryError
from .job import CompactionOrder, compact_topic
from .partition_job import PartitionOutcome
from .topic_config import ConfigValueError

DONE, REFUSED_PARTITIONS, REFUSED = 0, 1, 3
"""Exit codes: all partitions done; some were left as they were; nothing was begun."""


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek compact``."""
    options = argparse.ArgumentParser(
        prog="odradek compact",
        description="Compacts a topic in a log directory that no broker has open: the latest record of each key stays.",
        epilog="Rules, offsets and files are those of Kafka's own cleaner. For directories of Odradek and of Kafka.",
    )
    options.add_argument("directory", metavar="DIR", type=Path, help="a log directory (log.dirs)")
    options.add_argument("--topic", required=True)
    options.add_argument("--partition", type=int, action="append", default=[], help="only this one; may repeat")
    options.add_argument("--dry-run", action="store_true", help="say what one round would free, change nothing")
    options.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a topic config that the metadata in DIR does not have, such as delete.retention.ms",
    )
    options.add_argument("--now", type=int, metavar="MS", help="the clock, ms since 1970 (default: now)")
    options.add_argument(
        "--max-keys", type=int, default=5_000_000, help="keys held in memory at a time (default: 5000000, about 1 GB)"
    )
    options.add_argument("--engine", choices=ENGINES, default=LOCAL, help="where the partitions are cleaned")
    options.add_argument("--json", action="store_true", help="one JSON object for each partition instead of the table")
    return options


def compact(arguments: Sequence[str]) -> int:
    """Runs the command; 0: done, 1: a partition was left as it was, 3: nothing was begun."""
    options = parser().parse_args(arguments)
    configs = dict(pair.split("=", 1) if "=" in pair else (pair, "") for pair in options.config)
    order = CompactionOrder(
        options.directory,
        options.topic,
        options.now if options.now is not None else time.time_ns() // 1_000_000,
        tuple(options.partition),
        configs,
        max(options.max_keys, 1),
        options.dry_run,
        options.engine,
    )
    outcomes = []
    try:
        for outcome in compact_topic(order):
            outcomes.append(outcome)
            if options.json:
                print(json.dumps(asdict(outcome)), flush=True)
    except (
        DirectoryLockedError,
        LogDirectoryError,
        ConfigValueError,
        CorruptCheckpointError,
        EngineMissingError,
        OSError,
    ) as error:
        print(f"odradek compact: {error}", file=sys.stderr)
        return REFUSED
    if not options.json:
        show(outcomes, is_dry_run=options.dry_run)
    for outcome in outcomes:
        if outcome.refusal is not None:
            print(f"odradek compact: {outcome.topic}-{outcome.partition}: {outcome.refusal}", file=sys.stderr)
    return REFUSED_PARTITIONS if any(outcome.refusal for outcome in outcomes) else DONE


def show(outcomes: Sequence[PartitionOutcome], *, is_dry_run: bool) -> None:
    """Prints the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Would be compacted (first round)" if is_dry_run else "Compacted", title_justify="left")
    for name in ("PARTITION", "CLEANED UP TO", "SEGMENTS", "BYTES", "RECORDS", "ROUNDS", "FREED"):
        table.add_column(name, justify="left" if name == "PARTITION" else "right", no_wrap=True)
    for outcome in outcomes:
        freed = outcome.bytes_before - outcome.bytes_after
        table.add_row(
            f"{outcome.topic}-{outcome.partition}",
            "refused" if outcome.refusal else str(outcome.cleaned_up_to),
            f"{outcome.segments_before} -> {outcome.segments_after}",
            f"{outcome.bytes_before} -> {outcome.bytes_after}",
            f"{outcome.records_before} -> {outcome.records_after}",
            str(outcome.rounds),
            f"{freed / outcome.bytes_before:.0%}" if outcome.bytes_before else "-",
        )
    Console().print(table)
    unkeyed = sum(outcome.records_without_key for outcome in outcomes)
    if unkeyed:
        print(f"{unkeyed} records without a key are not kept by compaction.")
