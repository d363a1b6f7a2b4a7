"""The command `odradek export`: its options, its summary, its exit code."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.command_arguments import add_arguments, argument, parse
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_line import interruptible, path_on_disk, time_ms
from ..directories.log_directories import LogDirectoryError
from ..engine.engines import ENGINES, LOCAL, SPARK
from ..engine.job import EngineError

with lazy_imports:
    import rich.console
    import rich.progress

    from ..reading import options as reading_options
    from . import job

if TYPE_CHECKING:
    from ..reading.options import ReadOptions
    from .job import ExportResult

DONE, DAMAGED, NOT_DONE = 0, 2, 3
"""Exit codes: all records are exported; damaged batches are missing; the export failed."""
FORMATS = ("avro", "json", "protobuf")
CODECS = ("snappy", "zstd", "lz4", "gzip", "none")
ISOLATIONS = ("read_uncommitted", "read_committed")
_FLAGS = {
    "startingOffsets": "--from-offsets",
    "endingOffsets": "--to-offsets",
    "startingTimestamp": "--from-time",
    "endingTimestamp": "--to-time",
    "maxPartitionBytes": "--split-bytes",
    "schemaRegistry": "--schema-registry",
    "valueFormat": "--value-format",
}
"""The data source's options -> the options of this command."""


class ExportArguments(NamedTuple):
    """The arguments of ``odradek export``."""

    directories: list[str] = argument(nargs="+", metavar="DIR", help="log directories (log.dirs), or a partition's")
    output: Path = argument(
        "--output", required=True, metavar="OUT", type=path_on_disk, help="an empty or new directory"
    )
    overwrite: bool = argument(
        "--overwrite", action="store_true", help="remove an earlier export of these topics from OUT"
    )
    topic: list[str] | None = argument(
        "--topic", action="append", help="only this topic; may be repeated (default: all except __...)"
    )
    engine: str | None = argument(
        "--engine",
        choices=ENGINES,
        help="local: processes on this host (default for one DIR); spark: tasks of a cluster (default for several)",
    )
    from_offsets: str | None = argument("--from-offsets", metavar="JSON", help='first offsets: {"topic": {"0": 23}}')
    to_offsets: str | None = argument("--to-offsets", metavar="JSON", help="end offsets, exclusive, in the same format")
    from_time: int | None = argument(
        "--from-time",
        type=time_ms,
        metavar="TIME",
        help="start at the first record at or after this time: ms since 1970, or like 2026-11-21T12:00 (UTC)",
    )
    to_time: int | None = argument(
        "--to-time", type=time_ms, metavar="TIME", help="end before the first record at or after this time"
    )
    isolation: str = argument(
        "--isolation", choices=ISOLATIONS, default=ISOLATIONS[0], help="the same as isolation.level of a consumer"
    )
    include_deleted: bool = argument(
        "--include-deleted",
        action="store_true",
        help="also export records below the log start offset: deleted, but still in the files",
    )
    compression: str = argument(
        "--compression", choices=CODECS, default=CODECS[0], help="compression of the Parquet files (default: snappy)"
    )
    no_headers: bool = argument("--no-headers", action="store_true", help="omit the column headers")
    no_state: bool = argument(
        "--no-state",
        action="store_true",
        help="omit OUT/_state, with which `odradek import` restores log starts and ends, configs, and groups",
    )
    key_format: str | None = argument(
        "--key-format", choices=FORMATS, help="decode keys to JSON with the schemas of --schema-registry"
    )
    value_format: str | None = argument(
        "--value-format", choices=FORMATS, help="decode values to JSON with the schemas of --schema-registry"
    )
    schema_registry: str | None = argument(
        "--schema-registry", metavar="URL", help="a schema registry with Confluent's protocol"
    )
    split_bytes: str = argument(
        "--split-bytes", default="128m", metavar="SIZE", help="bytes of the log for one task (default: 128m)"
    )
    json: bool = argument("--json", action="store_true", help="print one JSON object instead of the summary")


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek export``."""
    options = argparse.ArgumentParser(
        prog="odradek export",
        description="Writes topics of log directories as Parquet, a directory for each topic and day.",
        epilog="Exit code: 0 all records are exported, 2 damaged batches are missing, 3 the export failed.",
    )
    add_arguments(options, ExportArguments)
    return options


@interruptible("export", "the output is incomplete (it has no _SUCCESS); use --overwrite to start again")
def export(arguments: Sequence[str]) -> int:
    """Runs the command. Returns 0: all exported, 2: all except damaged batches, 3: failed."""
    options = parse(parser(), ExportArguments, arguments)
    try:
        return run(options)
    except (EngineError, LogDirectoryError, ValueError, OSError) as error:
        print(f"odradek export: {error}", file=sys.stderr)
    except ImportError as error:
        print(f"odradek export: {error}; install odradek with the extra 'spark' (README.md, Install)", file=sys.stderr)
    return NOT_DONE


def run(options: ExportArguments) -> int:
    """Exports and prints. Raises EngineError, LogDirectoryError, ValueError, OSError, ImportError."""
    order = job.ExportOrder(
        read_options(options),
        options.output,
        options.engine or (SPARK if len(options.directories) > 1 else LOCAL),
        options.compression,
        not options.no_headers,
        options.overwrite,
        not options.no_state,
    )
    console = rich.console.Console(stderr=True)
    try:
        with rich.progress.Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            bar = progress.add_task("exporting", total=None)
            result = job.export(order, lambda done, total: progress.update(bar, completed=done, total=total))
    except (job.OutputError, job.DoubledPartitionError) as error:
        print(f"odradek export: {error}", file=sys.stderr)
        return NOT_DONE
    show(result, options.output, is_json=options.json)
    for text in sorted(result.notes):
        print(f"odradek export: note: {text}", file=sys.stderr)
    for text in result.damage:
        print(f"odradek export: not exported: {text}", file=sys.stderr)
    if result.damage_count > len(result.damage):
        print(f"odradek export: and {result.damage_count - len(result.damage)} more", file=sys.stderr)
    return DAMAGED if result.damage_count else DONE


def read_options(options: ExportArguments) -> "ReadOptions":
    """The options of the data source. Raises ValueError for invalid ones."""
    times = {"startingTimestamp": options.from_time, "endingTimestamp": options.to_time}
    given = {
        "paths": json.dumps(options.directories),
        "subscribe": ",".join(options.topic) if options.topic else None,
        "startingOffsets": options.from_offsets,
        "endingOffsets": options.to_offsets,
        **{name: None if time is None else str(time) for name, time in times.items()},
        "isolation": options.isolation,
        "includeDeleted": "true" if options.include_deleted else None,
        "maxPartitionBytes": options.split_bytes,
        "keyFormat": options.key_format,
        "valueFormat": options.value_format,
        "schemaRegistry": options.schema_registry,
    }
    try:
        return reading_options.parse_options({name: value for name, value in given.items() if value is not None})
    except ValueError as error:
        name, _, problem = str(error).partition(" ")
        raise ValueError(f"{_FLAGS.get(name, name)} {problem}") from None


def show(result: "ExportResult", output: Path, *, is_json: bool) -> None:
    """Prints the summary."""
    rows = sorted(result.rows.items())
    total = sum(result.rows.values())
    if is_json:
        partitions = [{"topic": topic, "partition": partition, "rows": count} for (topic, partition), count in rows]
        document = {"rows": total, "files": result.files, "damaged": result.damage_count, "partitions": partitions}
        document["notes"] = sorted(result.notes)
        print(json.dumps(document))
        return
    for (topic, partition), count in rows:
        print(f"{topic}-{partition}: {count} records")
    print(f"{total} records in {result.files} files of {output}")
