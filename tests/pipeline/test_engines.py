"""The same jobs on Spark: equal results, and through spark-submit."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pyspark
import pytest

import pyspark_odradek
from odradek.pipeline.audit.command import audit
from odradek.pipeline.compact.command import compact
from support.log_directories import compactable_directory, flip_a_byte, history_directory, segment_bytes
from support.log_histories import HISTORY_START_MS

HOUR_MS = 3_600_000
CONFIGS = {"cleanup.policy": "compact", "delete.retention.ms": str(HOUR_MS), "internal.segment.bytes": "8000"}
TABLES = ("findings", "partitions", "groups")


def spark_submit(*arguments: str) -> subprocess.CompletedProcess[str]:
    home = Path(pyspark.__file__).parent
    options = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    return subprocess.run(
        [str(home / "bin" / "spark-submit"), *options, pyspark_odradek.__file__, *arguments],
        env=os.environ | {"SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.ci
def test_an_audit_through_spark_submit_equals_the_local_one(tmp_path: Path) -> None:
    first = history_directory(tmp_path / "one", 1, steps=60)
    second = history_directory(tmp_path / "two", 2, steps=60)
    flip_a_byte(second)
    directories = [str(first), str(second)]
    assert audit([*directories, "--engine", "local", "--output", str(tmp_path / "local")]) == 2
    result = spark_submit("audit", *directories, "--output", str(tmp_path / "spark"))
    assert result.returncode == 2, result.stderr[-3000:]
    assert "batch-crc-mismatch" in result.stdout
    for name in TABLES:
        ours = parquet.read_table(tmp_path / "local" / f"{name}.parquet")
        assert parquet.read_table(tmp_path / "spark" / f"{name}.parquet").equals(ours), name


@pytest.mark.ci
def test_a_compaction_through_spark_submit_equals_the_local_one(tmp_path: Path) -> None:
    local = compactable_directory(tmp_path / "local", 1, steps=50, partitions=3)
    shutil.copytree(local, tmp_path / "spark")
    words = [word for key, value in CONFIGS.items() for word in ("--config", f"{key}={value}")]
    now = ["--now", str(HISTORY_START_MS + 11 * HOUR_MS)]
    assert compact([str(local), "--topic", "t", *words, *now]) == 0
    result = spark_submit("compact", str(tmp_path / "spark"), "--topic", "t", *words, *now)
    assert result.returncode == 0, result.stderr[-3000:]
    assert segment_bytes(tmp_path / "spark") == segment_bytes(local)
