"""Fixtures of the tests of the pipeline: one Spark session, because a JVM for each module would take ten seconds, and
one JVM with Kafka's own cleaner.
"""

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from support.pipeline.compaction_rounds import CleanerOracle
from support.pipeline.spark_cluster import FAST_START

from .engine_tasks import PYTHON_PATH


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of two threads in this process, without UI, in UTC."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYTHONPATH"] = PYTHON_PATH
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.speculation", "false")
        .config("spark.driver.extraJavaOptions", FAST_START)
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def s3_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty S3 server. The environment has its address, for every process that opens ``s3://``."""
    from moto.server import ThreadedMotoServer
    from s3fs import S3FileSystem

    server = ThreadedMotoServer("127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "somebody",
        "AWS_SECRET_ACCESS_KEY": "anything",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    yield
    server.stop()
    S3FileSystem.clear_instance_cache()  # otherwise the next test would get a file system that uses this server


@pytest.fixture(scope="session")
def cleaner_oracle() -> Iterator[CleanerOracle]:
    """Kafka's own cleaner, for any number of directories."""
    with CleanerOracle() as oracle:
        yield oracle
