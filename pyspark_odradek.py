"""Where Spark finds the data source ``kafkalog``: it imports every top-level module named ``pyspark_*`` and takes its
``DefaultSource``.

    spark.read.format("kafkalog").load("/var/lib/kafka/data")

Where Spark can't look (the package came by ``--py-files``), ``register(spark)`` does the same. As a program it runs the
jobs on the cluster that spark-submit names:

    spark-submit --master spark://host:7077 pyspark_odradek.py audit DIR... --output OUT
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from odradek.pipeline.engine.job import EngineError
from odradek.pipeline.engine.spark_tasks import spark_context
from odradek.pipeline.spark.source import KafkaLogDataSource as DefaultSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["JOBS", "DefaultSource", "main", "register"]


def register(spark: "SparkSession") -> None:
    """Makes ``spark.read.format("kafkalog")`` known in a session."""
    spark.dataSource.register(DefaultSource)


JOBS = {
    "audit": "odradek.pipeline.audit.command:audit",
    "compact": "odradek.pipeline.compact.command:compact",
    "export": "odradek.pipeline.export.command:export",
}
"""The jobs that run on Spark, as the ``odradek`` commands of the same names."""

NOT_DONE = 3
"""The exit code of these commands where nothing was done."""


def main(arguments: Sequence[str]) -> int:
    """Runs a job on Spark, with the options of its ``odradek`` command; that command's exit code.

    All of its parts run in one Spark context: one of its own for each would start the executors anew. None is started
    for ``--help`` and for options that are wrong: these end here, by SystemExit.
    """
    if not arguments or arguments[0] not in JOBS:
        print(f"usage: spark-submit [OPTIONS] {__file__} {'|'.join(JOBS)} ARGUMENTS", file=sys.stderr)
        return 2
    module, _, name = JOBS[arguments[0]].partition(":")
    job = import_module(module)
    command: Callable[[Sequence[str]], int] = getattr(job, name)
    options = ["--engine", "spark", *arguments[1:]]
    job.parser().parse_args(options)
    try:
        with spark_context(f"odradek {arguments[0]}"):
            return command(options)
    except EngineError as error:
        print(f"odradek {arguments[0]}: {error}", file=sys.stderr)
        return NOT_DONE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
