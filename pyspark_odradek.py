"""Where Spark finds the data source ``kafkalog``: it imports every top-level module named ``pyspark_*`` and takes its
``DefaultSource``.

    spark.read.format("kafkalog").load("/var/lib/kafka/data")

Where Spark can't look (the package came by ``--py-files``), ``register(spark)`` does the same. As a program it runs the
jobs on the cluster that spark-submit names:

    spark-submit --master spark://host:7077 pyspark_odradek.py audit DIR... --output OUT
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from odradek.pipeline.spark.source import KafkaLogDataSource as DefaultSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DefaultSource", "main", "register"]


def register(spark: "SparkSession") -> None:
    """Makes ``spark.read.format("kafkalog")`` known in a session."""
    spark.dataSource.register(DefaultSource)


def main(arguments: Sequence[str]) -> int:
    """Runs ``audit`` or ``compact`` on Spark, with the options of the ``odradek`` commands; their exit code."""
    from odradek.pipeline.audit.command import audit
    from odradek.pipeline.compact.command import compact

    jobs = {"audit": audit, "compact": compact}
    if not arguments or arguments[0] not in jobs:
        print(f"usage: spark-submit [OPTIONS] {__file__} {'|'.join(jobs)} ARGUMENTS", file=sys.stderr)
        return 2
    return jobs[arguments[0]](["--engine", "spark", *arguments[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
