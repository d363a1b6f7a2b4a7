"""The command `odradek audit`: its options and its exit code."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.command_arguments import add_arguments, argument, parse
from odradek.protocol.common.lazy_imports import lazy_imports

from ..command_line import interruptible, path_on_disk, share, size, time_ms
from ..directories.file_access import check_reachable, path_of
from ..directories.log_directories import LogDirectoryError
from ..engine.engines import AUTO, ENGINES, LOCAL, SPARK
from ..engine.job import EngineError, writing

with lazy_imports:
    import rich.console

    from ..directories import background_reading
    from . import findings as audit_findings
    from . import job, portions, run_identity, state_file, state_run
    from . import metrics as audit_metrics
    from . import progress as audit_progress
    from .report import runs_table, summary, table_files, write

if TYPE_CHECKING:
    from .findings import Finding
    from .progress import AuditProgress
    from .result import AuditResult
    from .run_identity import RunEnd, RunIdentity
    from .tasks import StateOptions

NOT_DONE = 3
"""Exit code if the audit failed; otherwise 0, 1 (warnings) or 2 (errors)."""

FAIL_ON = ("warning", "error", "never")
TERMINAL_S = 0.2
"""Seconds between two updates of the progress on a terminal."""
WIDTH_OF_A_FILE = 200
"""The width in columns of the summary's tables if the output is not a terminal. A path then stays on one line."""


class _ListFindings(argparse.Action):
    """Prints the catalogue and ends, as --help does."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(audit_findings.catalogue_text(), end="")
        parser.exit()


class AuditArguments(NamedTuple):
    """The arguments of ``odradek audit``."""

    directories: list[str] = argument(nargs="+", metavar="DIR", help="log directories (log.dirs), or their URLs")
    output: Path | None = argument(
        "--output", metavar="OUT", type=path_on_disk, help="a directory for tables and report"
    )
    engine: str | None = argument(
        "--engine",
        choices=(*ENGINES, AUTO),
        help="local: processes on this host (default for one DIR); spark: tasks of a cluster (default for several); "
        "auto: local until it is too large",
    )
    format: list[str] | None = argument(
        "--format",
        action="append",
        choices=("parquet", "jsonl", "html"),
        help="what to write to OUT; may be repeated (default: parquet and html)",
    )
    topic: list[str] | None = argument("--topic", action="append", help="only this topic; may be repeated")
    level: str = argument(
        "--level",
        choices=("batches", "records"),
        default="records",
        help="batches: headers and CRCs, and only records of groups; records (default): all records",
    )
    now: int | None = argument(
        "--now",
        type=time_ms,
        metavar="TIME",
        help="the current time for the checks (default: when each directory was last in use)",
    )
    at: int | None = argument("--at", type=time_ms, metavar="TIME", help="show groups and lag as of this moment")
    fail_on: str = argument(
        "--fail-on", choices=FAIL_ON, default="warning", help="the lowest severity that changes the exit code"
    )
    throttle: int | None = argument(
        "--throttle",
        type=size,
        metavar="SIZE",
        help="beside a broker: maximum bytes read per second, such as 50m, at the lowest priority and without pushing "
        "the broker's data out of the page cache; with --engine local",
    )
    state: str | None = argument(
        "--state",
        metavar="DIR",
        help="keep the sums of closed segments in this folder (or under this URL), and read only what is new",
    )
    scrub: int | None = argument(
        "--scrub",
        type=share,
        metavar="PERCENT",
        help="with --state: read this share of the known segments again, such as 1%%, so that 100 runs read all",
    )
    fail_on_new: bool = argument(
        "--fail-on-new",
        action="store_true",
        help="with --state: only findings that the last audit did not have change the exit code",
    )
    metrics: Path | None = argument(
        "--metrics", metavar="FILE", type=path_on_disk, help="write figures as OpenMetrics to this file"
    )
    runs: str | None = argument(
        "--runs",
        metavar="TABLE",
        help="append a row for each DIR to this Parquet table, a folder or a URL: cluster, broker, run, time, counts",
    )
    runs_format: str | None = argument(
        "--runs-format",
        choices=("parquet", "delta"),
        help="of a new table (default: parquet); delta needs the extra 'delta'",
    )
    ignore: list[str] = argument(
        "--ignore", action="append", default=[], metavar="FINDING", help="do not report this finding; may be repeated"
    )
    list_findings: None = argument(
        "--list-findings", action=_ListFindings, nargs=0, help="print the catalogue of findings, and exit"
    )


def parser() -> argparse.ArgumentParser:
    """The options of ``odradek audit``."""
    options = argparse.ArgumentParser(
        prog="odradek audit",
        description="Checks log directories of Odradek or Kafka: batches, offsets, indexes, checkpoints, groups.",
        epilog="Exit code: 0 nothing wrong, 1 warnings, 2 errors, 3 the audit failed.",
    )
    add_arguments(options, AuditArguments)
    return options


@interruptible("audit", "nothing was written")
def audit(arguments: Sequence[str]) -> int:
    """Runs the command; the exit code follows the worst finding."""
    options = parse(parser(), AuditArguments, arguments)
    try:
        return run(options, arguments)
    except (EngineError, OSError) as error:
        print(f"odradek audit: {error}", file=sys.stderr)
    except ImportError as error:
        print(f"odradek audit: {error}; install odradek with the extra 'spark' (README.md, Install)", file=sys.stderr)
    return NOT_DONE


def run(options: AuditArguments, arguments: Sequence[str]) -> int:
    """Audits, writes the output and prints the summary. `arguments`: for the page.

    Raises EngineError, OSError, ImportError.
    """
    unknown = sorted(set(options.ignore) - set(audit_findings.CHECKS))
    if unknown:
        print(f"odradek audit: --ignore: unknown finding {', '.join(unknown)}", file=sys.stderr)
        return NOT_DONE
    if options.fail_on_new and options.state is None:
        print("odradek audit: --fail-on-new needs --state, which has the last audit", file=sys.stderr)
        return NOT_DONE
    begun_s = monotonic()
    try:
        directories = _directories(options.directories)
        identity = run_identity.begin_identity(directories)

        def end(result: "AuditResult") -> run_identity.RunEnd:
            return run_identity.RunEnd(
                shlex.join(["odradek", "audit", *arguments]), monotonic() - begun_s, _code(options, result)
            )

        result, written = _audit(options, directories, identity, end)
    except LogDirectoryError as error:
        print(f"odradek audit: {error}", file=sys.stderr)
        return NOT_DONE
    _print_result(result, written)
    _record_run(options, result, identity, end(result))
    return _code(options, result)


def _code(options: AuditArguments, result: "AuditResult") -> int:
    """The exit code, with `--fail-on-new` that of new findings."""
    counted = result.findings
    if options.fail_on_new and result.changes is not None:
        counted = result.changes.new
    return exit_code(counted, options.fail_on)


def _record_run(options: AuditArguments, result: "AuditResult", identity: "RunIdentity", end: "RunEnd") -> None:
    """Writes `--metrics` and appends to `--runs`. Raises OutputFaultError, ImportError."""
    if options.metrics is not None:
        with writing(options.metrics, "the audit is done, and the old file is as it was"):
            state_file.replace_file(
                options.metrics,
                audit_metrics.metrics_text(
                    result, audit_metrics.RunFigures(time(), end.seconds, end.exit_code)
                ).encode(),
            )
    if options.runs is not None:
        [table] = _directories([options.runs])
        with writing(table, "the audit is done, and the table has no row of it"):
            row = runs_table.RunRow(options.level, end.seconds, end.exit_code)
            runs_table.append_run(table, result, identity, row, options.runs_format)


def _audit(
    options: AuditArguments,
    directories: Sequence[Path],
    identity: "RunIdentity",
    end: Callable[["AuditResult"], "RunEnd"],
) -> tuple["AuditResult", list[Path]]:
    """Returns the result and the files written. Imports the writers only if there is an output."""
    engine = options.engine or (SPARK if len(directories) > 1 else LOCAL)
    with _pace(options.throttle, engine), _progress() as progress:
        run = partial(
            job.audit_directories,
            directories,
            engine,
            topics=options.topic,
            now_ms=options.now,
            at_ms=options.at,
            level=options.level,
            ignored=options.ignore,
            state=_state(options, directories),
            progress=progress,
        )
        if options.output is None:
            return run(), []
        with (
            writing(options.output, portions.NOTHING_KEPT),
            table_files.tables_of_a_run(options.output, identity) as tables,
        ):
            result = run(tables=tables)
            try:
                formats = options.format or write.DEFAULT_FORMATS
                return result, write.write_report(result, tables, options.output, formats, end=end(result))
            except OSError:
                _print_result(result, [])  # the audit is done: only its files are missing
                raise


def _pace(throttle: int | None, engine: str) -> AbstractContextManager[None]:
    """Reads at the pace of `--throttle` in the block. Raises LogDirectoryError."""
    if throttle is None:
        return nullcontext()
    if engine != LOCAL:
        raise LogDirectoryError("--throttle needs --engine local: an executor of Spark has its own priority")
    return background_reading.reading_in_background(throttle)


def _state(options: AuditArguments, directories: Sequence[Path]) -> "StateOptions | None":
    """The state of `--state`; None without it. Raises LogDirectoryError, OSError."""
    if options.state is None:
        if options.scrub is not None:
            raise LogDirectoryError("--scrub needs --state: without it all segments are read")
        return None
    [root] = _directories([options.state])
    for directory in directories:
        if directory.absolute() in (root.absolute(), *root.absolute().parents):
            raise LogDirectoryError(
                f"--state {root} is in the log directory {directory}: Kafka would not start with it"
            )
    return state_run.begin_run(root, options.scrub or 0)


@contextmanager
def _progress() -> Iterator["AuditProgress"]:
    """Shows the progress on a terminal; without one, prints a line each minute on standard error, without rich."""
    if not sys.stdout.isatty():
        yield audit_progress.AuditProgress(
            lambda line: print(f"odradek audit: {line}", file=sys.stderr, flush=True), monotonic
        )
        return
    with rich.console.Console(markup=False).status("auditing …") as status:
        yield audit_progress.AuditProgress(lambda line: status.update(f"auditing … {line}"), monotonic, TERMINAL_S)


def _print_result(result: "AuditResult", written: Sequence[Path]) -> None:
    """Prints the summary. A brief one that does not go to a terminal is printed without rich.

    The import of rich takes a tenth of the time of a small audit.
    """
    if summary.is_brief(result) and not sys.stdout.isatty():
        summary.print_brief(result, written)
        return
    is_narrow = sys.stdout.isatty() or "COLUMNS" in os.environ
    summary.print_summary(
        result, rich.console.Console(markup=False, width=None if is_narrow else WIDTH_OF_A_FILE), written
    )


def _directories(texts: Sequence[str]) -> list[Path]:
    """The paths of directories and URLs, without duplicates.

    Raises LogDirectoryError for an unsupported URL, OSError for a store that can't be reached.
    """
    found = []
    for text in texts:
        try:
            found.append(path_of(text))
        except ValueError as error:
            raise LogDirectoryError(f"{text}: {error}") from error
        check_reachable(found[-1])
    return list(dict.fromkeys(found))


def exit_code(findings: Sequence["Finding"], fail_on: str) -> int:
    """1 for warnings, 2 for errors; 0 if no finding is as severe as `fail_on`."""
    if fail_on == "never":
        return 0
    worst = max((int(found.check.severity) for found in findings), default=0)
    return worst if worst >= FAIL_ON.index(fail_on) + 1 else 0
