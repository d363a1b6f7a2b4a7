"""A command starts Spark once, without a session, in a JVM that starts quickly. A context that a user runs stays."""

import os
import subprocess
import sys

import pytest

from ..engine_tasks import PYTHON_PATH

pytestmark = pytest.mark.ci

BEGIN = """
import os, sys
from pyspark import SparkContext
from pyspark.sql import SparkSession
from odradek.pipeline.engine.engines import run_tasks, started
from odradek.pipeline.engine.job import Job, TaskError
from tests.pipeline.engine_tasks import double, fail_at_three, frozen_objects
"""


def run(code: str, **environment: str) -> dict[str, str]:
    """The lines `name: value` that a program prints. It has its own process, because this one may have a JVM."""
    given = {key: value for key, value in os.environ.items() if key != "SPARK_SUBMIT_OPTS"}
    given |= {"PYTHONPATH": PYTHON_PATH, "SPARK_LOCAL_IP": "127.0.0.1"} | environment
    command = [sys.executable, "-c", BEGIN + code]
    result = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]
    assert "cancel job group" not in result.stderr
    return dict(line.split(": ", 1) for line in result.stdout.splitlines())


def test_the_jobs_of_a_command_share_a_context_without_a_session() -> None:
    said = run(
        """
with started("spark", "odradek audit") as context:
    print("results:", [*run_tasks("spark", Job(range(6), double, "doubling"))])
    try:
        list(run_tasks("spark", Job(range(6), fail_at_three, "failing", place="t-{}".format)))
    except TaskError as error:
        print("error:", error)
    print("same:", SparkContext._active_spark_context is context and not context._jsc.sc().isStopped())
    print("session:", SparkSession.getActiveSession())
    print("jvm:", *context._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
    print("speculation:", context.getConf().get("spark.speculation"))
print("left:", SparkContext._active_spark_context, os.environ.get("SPARK_SUBMIT_OPTS"))
""",
        PYSPARK_SUBMIT_ARGS="--conf spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4 pyspark-shell",
    )
    assert said["results"] == str([2 * number for number in range(6)])
    assert said["error"] == "t-3: ValueError: 3 is not wanted"
    assert (said["same"], said["session"], said["speculation"]) == ("True", "None", "false")
    levels = [word for word in said["jvm"].split() if "TieredStopAtLevel" in word]
    assert levels == ["-XX:TieredStopAtLevel=1", "-XX:TieredStopAtLevel=4"], "the user's option is last, and wins"
    assert said["left"] == "None None"


def test_a_context_that_a_user_runs_is_used_and_stays() -> None:
    said = run(
        """
context = SparkContext("local[1]", "mine")
frozen = [*run_tasks("spark", Job(range(3), frozen_objects, "counting"))]
print("frozen:", frozen[0] == 0 < frozen[1] == frozen[2])
print("stays:", SparkContext._active_spark_context is context and not context._jsc.sc().isStopped())
print("jvm:", *context._jvm.java.lang.management.ManagementFactory.getRuntimeMXBean().getInputArguments())
print("options:", os.environ.get("SPARK_SUBMIT_OPTS"))
""",
        SPARK_SUBMIT_OPTS="-Dmine=1",
    )
    assert (said["frozen"], said["stays"], said["options"]) == ("True", "True", "-Dmine=1")
    assert "TieredStopAtLevel" not in said["jvm"]
