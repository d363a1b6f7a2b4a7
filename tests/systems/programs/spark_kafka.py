"""Spark's Kafka connector. Arguments: a directory of jars, servers, and a job with its own arguments.

``batch`` writes rows to the topic ``orders`` and prints what it reads there as JSON. ``stream CHECKPOINT`` copies the
committed records of ``orders`` that are there now to ``copies``, from where the checkpoint ends.
"""

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import array, col, concat, lit, struct

RECORDS_A_BATCH = 20
"""So that what is there takes several batches of the stream."""


def session(jars: Path) -> SparkSession:
    """Spark on two threads of this process."""
    return (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, sorted(jars.glob("*.jar")))))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )


def batch(spark: SparkSession, servers: str) -> None:
    """Writes 60 rows with keys and headers, and prints the offsets, keys, values and headers of a part of them."""
    numbers = spark.range(60).withColumn("text", col("id").cast("string"))
    rows = numbers.select(
        concat(lit("key-"), col("text")).alias("key"),
        col("text").alias("value"),
        (col("id") % 3).cast("int").alias("partition"),
        array(struct(lit("from").alias("key"), lit("spark").cast("binary").alias("value"))).alias("headers"),
    )
    rows.write.format("kafka").option("kafka.bootstrap.servers", servers).option("topic", "orders").save()
    whole = orders(spark, servers).load()
    part = orders(spark, servers).option("startingOffsets", json.dumps({"orders": {"0": 5, "1": -2, "2": -2}}))
    part = part.option("endingOffsets", json.dumps({"orders": {"0": 10, "1": -1, "2": 0}}))
    print(json.dumps({"whole": found(whole), "part": found(part.load())}))


def orders(spark: SparkSession, servers: str) -> Any:
    """A reader of the topic, not loaded yet."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", servers)
    return reader.option("subscribe", "orders").option("includeHeaders", "true")


def found(frame: DataFrame) -> list[list[Any]]:
    """The rows by partition and offset."""
    rows = frame.orderBy("partition", "offset").collect()
    return [
        [
            row.partition,
            row.offset,
            row.key.decode(),
            row.value.decode(),
            [(h.key, h.value.decode()) for h in row.headers],
        ]
        for row in rows
    ]


def stream(spark: SparkSession, servers: str, checkpoint: str) -> None:
    """Structured streaming until all that is there now is copied."""
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", RECORDS_A_BATCH)
        .option("kafka.isolation.level", "read_committed")
        .load()
    )
    query = (
        records.select("key", "value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("topic", "copies")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print(json.dumps({"batches": [one["numInputRows"] for one in query.recentProgress]}))


jars_directory, bootstrap_servers, job, *arguments = sys.argv[1:]
if job == "batch":
    batch(session(Path(jars_directory)), bootstrap_servers)
else:
    stream(session(Path(jars_directory)), bootstrap_servers, *arguments)
