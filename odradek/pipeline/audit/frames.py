"""An audit from a notebook: the tables of `odradek audit --output` as DataFrames, without files.

    from odradek.pipeline.audit import audit

    tables = audit(spark, "/var/lib/kafka/data")
    tables.findings.where("severity = 'ERROR'").show()

All rows pass through the driver. Source: docs/audit.md.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..directories.file_access import check_reachable, path_of
from ..engine.engines import AUTO, ENGINES, SPARK
from .findings import CHECKS
from .job import audit_directories
from .report.tables import tables_of
from .run_identity import begin_identity
from .tasks import LEVELS, RECORDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class AuditFrames(NamedTuple):
    """The tables of an audit. Their columns are those of docs/audit.md, The tables."""

    findings: "DataFrame"
    partitions: "DataFrame"
    volume: "DataFrame"
    groups: "DataFrame"
    growth: "DataFrame"
    shares: "DataFrame"


def audit(
    spark: "SparkSession",
    directories: str | Path | Sequence[str | Path],
    *,
    topics: Sequence[str] | None = None,
    now_ms: int | None = None,
    at_ms: int | None = None,
    level: str = RECORDS,
    ignored: Collection[str] = (),
    engine: str = SPARK,
) -> AuditFrames:
    """Audits log directories, or URLs of them, as `odradek audit` does, and returns its tables.

    `spark`: the session of the tasks and of the DataFrames. `now_ms`: the clock of the checks; by default the last use
    of each directory. `at_ms`: shows groups as of this moment. Both are ms since 1970. `level`: records or batches.
    `ignored`: names of findings to leave out. `engine`: spark; local for processes of the driver's host; or auto.

    Raises ValueError for an unknown level, finding, engine or kind of URL, LogDirectoryError for what is not a log
    directory, EngineError for an audit that does not come to its end, OSError for what can't be read.
    """
    _check(level=([level], LEVELS), engine=([engine], (*ENGINES, AUTO)), ignored=(ignored, CHECKS))
    places = [directories] if isinstance(directories, str | Path) else directories
    paths = list(dict.fromkeys(map(path_of, places)))
    for path in paths:
        check_reachable(path)
    run = begin_identity(paths)
    result = audit_directories(paths, engine, topics=topics, now_ms=now_ms, at_ms=at_ms, level=level, ignored=ignored)
    return AuditFrames(**{name: spark.createDataFrame(rows) for name, rows in tables_of(result, run).items()})


def _check(**arguments: tuple[Collection[str], Collection[str]]) -> None:
    """Compares each argument's values with those that it may have. Raises ValueError."""
    for name, (given, known) in arguments.items():
        if unknown := sorted(set(given) - set(known)):
            raise ValueError(f"{name}: {', '.join(unknown)} is not one of {', '.join(known)}")
