"""Reading records on Spark: our data source over the files beside Spark's Kafka source from a live real Kafka.

The real Kafka serves the very directory's bytes: the data set's partition is put into its log directory while it is
stopped. Both sources run in one session of two cores, give the same four columns to a sink that throws them away, and
cut the work into as many tasks. Python workers and the JVM talk through Unix domain sockets, as docs/spark.md advises.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from pipeline_comparison import Comparison, Contestant
from pipeline_data import KEY_SIZE, DataSet, Topic
from support.kafka.java import spark_kafka_jars
from support.kafka.real_kafka import RealKafka

OURS = "data source kafkalog, files"
PEER = "Spark's Kafka source, live Kafka"
TASKS = 8
COLUMNS = ("offset", "timestamp", "key", "value")
SCHEMA = "offset long, timestamp timestamp, key binary, value binary"


@contextmanager
def session() -> Iterator[SparkSession]:
    """Spark on two cores of this machine, with the Kafka source's jars."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", ",".join(map(str, spark_kafka_jars())))
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.python.unix.domain.socket.enabled", "true")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def serve(kafka: RealKafka, topics: list[Topic]) -> None:
    """Makes the topics in a real Kafka and gives it the data set's segments for their only partition."""
    kafka.start()
    for topic in topics:
        made = kafka.run_tool(
            "org.apache.kafka.tools.TopicCommand",
            *("--bootstrap-server", kafka.bootstrap_servers, "--create", "--topic", topic.name),
            *("--partitions", "1", "--replication-factor", "1", "--config", "retention.ms=-1"),
        )
        assert made.returncode == 0, made.stdout
    kafka.stop()
    for topic in topics:
        served = kafka.log_dir / f"{topic.name}-0"
        for path in (topic.directory / f"{topic.name}-0").iterdir():
            if path.suffix in (".log", ".index", ".timeindex"):
                shutil.copy(path, served / path.name)
    kafka.start()


def from_files(spark: SparkSession, topic: Topic) -> DataFrame:
    """Our data source over the topic's log directory, in TASKS splits."""
    size = max(topic.bytes // TASKS, 1)
    reader = spark.read.format("kafkalog").option("maxPartitionBytes", size).schema(SCHEMA)
    return reader.load(str(topic.directory))


def from_kafka(spark: SparkSession, topic: Topic, kafka: RealKafka) -> DataFrame:
    """Spark's own Kafka source over a broker that serves the same files, in at least TASKS splits."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.bootstrap_servers)
    reader = reader.option("subscribe", topic.name).option("minPartitions", TASKS)
    return reader.load().select(*COLUMNS)


def drain(frame: DataFrame) -> None:
    """Reads all rows and throws them away."""
    frame.write.format("noop").mode("overwrite").save()


def reading(spark: SparkSession, topic: Topic, kafka: RealKafka) -> Comparison:
    """The contestants over one topic, both warm."""
    frames = (from_files(spark, topic), from_kafka(spark, topic, kafka))
    counts = [frame.count() for frame in frames]
    assert counts[0] == counts[1] >= topic.records
    for frame in frames:
        drain(frame)
    codec = "lz4" if topic.name == "lz4" else "not compressed"
    return Comparison(
        f"read {topic.value_size + KEY_SIZE} B records on Spark, 2 cores, {codec}",
        topic.bytes,
        topic.records,
        (
            Contestant(OURS, lambda _: drain(from_files(spark, topic))),
            Contestant(PEER, lambda _: drain(from_kafka(spark, topic, kafka))),
        ),
        PEER,
    )


@contextmanager
def comparisons(data: DataSet, scratch: Path) -> Iterator[list[Comparison]]:
    """Our data source beside Spark's Kafka source."""
    topics = list(data.topics.values())
    kafka = RealKafka(scratch / "kafka", {"log.cleaner.enable": "false"}, heap="1g")
    serve(kafka, topics)
    try:
        with session() as spark:
            yield [reading(spark, topic, kafka) for topic in topics]
    finally:
        kafka.kill()
