"""Where Spark finds the data source ``kafkalog``: it imports every top-level module named ``pyspark_*`` and takes its
``DefaultSource``.

    spark.read.format("kafkalog").load("/var/lib/kafka/data")

Where Spark can't look (the package came by ``--py-files``), ``register(spark)`` does the same.
"""

from typing import TYPE_CHECKING

from odradek.pipeline.spark.source import KafkaLogDataSource as DefaultSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["DefaultSource", "register"]


def register(spark: "SparkSession") -> None:
    """Makes ``spark.read.format("kafkalog")`` known in a session."""
    spark.dataSource.register(DefaultSource)
