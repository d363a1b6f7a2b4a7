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


def main(arguments: Sequence[str]) -> int:
    """Runs a job on Spark, with the options of its ``odradek`` command; that command's exit code."""
    if not arguments or arguments[0] not in JOBS:
        print(f"usage: spark-submit [OPTIONS] {__file__} {'|'.join(JOBS)} ARGUMENTS", file=sys.stderr)
        return 2
    module, _, name = JOBS[arguments[0]].partition(":")
    command: Callable[[Sequence[str]], int] = getattr(import_module(module), name)
    return command(["--engine", "spark", *arguments[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
