"""A driver for spark-submit: counts and sums the records of a directory by partition, and reports which processes read
them.

spark-submit count_records.py DIRECTORY RESULT.json
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import count, length, sum

if __name__ == "__main__":
    directory, result = sys.argv[1], Path(sys.argv[2])
    spark = SparkSession.builder.appName("count records").getOrCreate()
    context = spark.sparkContext
    # Each executor imports the package before the time is measured.
    found_in = context.parallelize(range(8), 8).map(lambda _: __import__("odradek.pipeline").pipeline.__path__[0])
    packages = sorted(set(found_in.collect()))
    reader = spark.read.format("kafkalog").option("mode", "FAILFAST").option("minPartitions", "2")
    reader = reader.schema("topic string, partition int, offset long, key binary, value binary")
    summed = reader.load(directory).groupBy("topic", "partition")
    begin = time.monotonic()
    rows = summed.agg(count("*").alias("records"), sum("offset").alias("offsets"), sum(length("value")).alias("bytes"))
    partitions = {f"{row.topic}-{row.partition}": [row.records, row.offsets, row.bytes] for row in rows.collect()}
    seconds = time.monotonic() - begin
    executors = context._jsc.sc().getExecutorMemoryStatus().size() - 1
    result.write_text(
        json.dumps({"partitions": partitions, "seconds": seconds, "executors": executors, "packages": packages})
    )
    spark.stop()
