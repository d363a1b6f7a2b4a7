"""The command `odradek audit`: its options and its exit code."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..engines import ENGINES, LOCAL, SPARK, EngineMissingError

NOT_DONE = 3
"""Exit code where the audit could not be made; else 0, 1 (warnings) or 2 (errors)."""


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek audit``."""
    options = argparse.ArgumentParser(
        prog="odradek audit",
        description="Checks log directories of Odradek or Kafka: batches, offsets, indexes, checkpoints, groups.",
        epilog="Exit code: 0 nothing wrong, 1 warnings, 2 errors, 3 the audit could not be made.",
    )
    options.add_argument("directories", nargs="+", metavar="DIR", type=Path, help="log directories (log.dirs)")
    options.add_argument("--output", required=True, metavar="OUT", type=Path, help="a directory for tables and report")
    options.add_argument(
        "--engine",
        choices=ENGINES,
        help="local: this process; spark: a task for each partition (default for many DIRs)",
    )
    options.add_argument("--topic", action="append", help="only this topic; may repeat")
    return options


def audit(arguments: Sequence[str]) -> int:
    """Runs the command; the exit code follows the worst finding."""
    options = parser().parse_args(arguments)
    try:
        return run(options)
    except (EngineMissingError, OSError) as error:
        print(f"odradek audit: {error}", file=sys.stderr)
    except ImportError as error:
        print(f"odradek audit: {error}; pip install 'odradek[spark]'", file=sys.stderr)
    return NOT_DONE


def run(options: argparse.Namespace) -> int:
    """Audits, writes, prints."""
    from rich.console import Console

    from ..log_directories import LogDirectoryError
    from .job import audit_directories
    from .report import print_summary, worst_severity, write_markdown, write_tables

    engine = options.engine or (SPARK if len(options.directories) > 1 else LOCAL)
    console = Console(markup=False)
    try:
        with console.status("auditing …") as status:
            result = audit_directories(
                options.directories,
                engine,
                topics=options.topic,
                progress=lambda done, total: status.update(f"auditing … {done} of {total} partitions"),
            )
    except LogDirectoryError as error:
        print(f"odradek audit: {error}", file=sys.stderr)
        return NOT_DONE
    write_tables(result, options.output)
    write_markdown(result, options.output)
    print_summary(result, console)
    print(f"tables and report in {options.output}")
    return int(worst_severity(result.findings))
