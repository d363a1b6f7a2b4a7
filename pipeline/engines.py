"""Where the tasks of a job run: one after the other here, or as tasks of a Spark cluster.

Tasks are picklable values, functions are top-level functions of this package, so that executors find them by name. On
Spark the directories must be reachable under the same path on every executor. Source: pyspark's RDD API.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

LOCAL = "local"
SPARK = "spark"
ENGINES = (LOCAL, SPARK)

Task = TypeVar("Task")
Result = TypeVar("Result")


class EngineMissingError(Exception):
    """Spark was asked for and is not installed; the text says how to install it."""


def run_tasks(engine: str, tasks: Sequence[Task], function: Callable[[Task], Result], name: str) -> Iterator[Result]:
    """The result of every task, in order. Raises EngineMissingError."""
    if engine == LOCAL:
        yield from map(function, tasks)
    elif tasks:
        yield from _on_spark(tasks, function, name)


def _on_spark(tasks: Sequence[Task], function: Callable[[Task], Result], name: str) -> list[Result]:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EngineMissingError(
            "--engine spark needs pyspark: pip install 'odradek[spark]' (and Java 17), or --engine local"
        ) from error
    running = SparkSession.getActiveSession()
    builder = SparkSession.builder.appName(name).config("spark.speculation", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = running or builder.getOrCreate()
    try:
        return list(spark.sparkContext.parallelize(list(tasks), len(tasks)).map(function).collect())
    finally:
        if running is None:
            spark.stop()
