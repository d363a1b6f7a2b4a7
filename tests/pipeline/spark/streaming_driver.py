"""A streaming query in a process of its own, to be killed: ``python streaming_driver.py LOGS OUT SINK``.

SINK: `parquet`, Spark's file sink; `delta`, delta-rs in foreachBatch, with the number of the batch as Delta's
transaction.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import deltalake
from pyspark.sql import DataFrame, SparkSession

from pyspark_odradek import register

QUERY = "orders"


def to_delta(table: str) -> Callable[[DataFrame, int], None]:
    """Appends a batch of the query once, however often it is run."""

    def append(rows: DataFrame, batch: int) -> None:
        if Path(table).exists():
            known = deltalake.DeltaTable(table).transaction_version(QUERY)
            if known is not None and known >= batch:
                return
        mark = deltalake.CommitProperties(app_transactions=[deltalake.Transaction(QUERY, batch)])
        deltalake.write_deltalake(table, rows.toArrow(), mode="append", commit_properties=mark)

    return append


def main(logs: str, out: str, sink: str) -> None:
    """Runs the query until it has read everything."""
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    register(spark)
    options = {"startingOffsets": "earliest", "maxOffsetsPerTrigger": "10"}
    rows = spark.readStream.format("kafkalog").options(**options).load(logs).select("partition", "offset", "value")
    writer = rows.writeStream.option("checkpointLocation", f"{out}/checkpoint").trigger(availableNow=True)
    if sink == "delta":
        query = writer.foreachBatch(to_delta(f"{out}/table")).start()
    else:
        query = writer.format("parquet").start(f"{out}/table")
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
