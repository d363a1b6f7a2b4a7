"""`--engine auto`: which engine is chosen for which work, and the sentence that says why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import AUTO, LOCAL, MOST_BYTES_A_CORE, SPARK, choose_engine
from odradek.pipeline.engine.spark_tasks import missing_for_spark
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from ..engine_tasks import PYTHON_PATH


def test_the_limit_grows_with_the_cores() -> None:
    def there() -> str:
        return ""

    assert choose_engine(2 * MOST_BYTES_A_CORE, 2, there) == (
        LOCAL,
        "--engine auto chose local: 128.0 GiB to read, 128 GiB are the limit for 2 cores",
    )
    assert choose_engine(2 * MOST_BYTES_A_CORE + (1 << 30), 2, there) == (
        SPARK,
        "--engine auto chose spark: 129.0 GiB to read, 128 GiB are the limit for 2 cores",
    )


def test_without_spark_it_stays_local_and_says_what_is_missing() -> None:
    choice = choose_engine(MOST_BYTES_A_CORE + 1, 1, lambda: "there is no Java")
    assert choice.engine == LOCAL
    assert choice.reason.endswith("there is no Java")


def test_what_is_missing_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert missing_for_spark() == "Java was found neither on the PATH nor at JAVA_HOME"
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    assert missing_for_spark() == ""


def test_an_audit_notes_the_choice(tmp_path: Path) -> None:
    root = AuditedDirectory(tmp_path / "logs").root
    result = audit_directories([root], AUTO, now_ms=NOW_MS)
    [note] = result.notes
    assert note.startswith("--engine auto chose local: ")
    assert result == audit_directories([root], LOCAL, now_ms=NOW_MS)


@pytest.mark.ci
def test_java_that_fails_is_not_called_missing(tmp_path: Path) -> None:
    """In its own process, because this one may already have a JVM."""
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0\"' >&2\nexit 1\n")
    java.chmod(0o755)
    code = (
        "from odradek.pipeline.engine.engines import *\n"
        "from odradek.pipeline.engine.job import EngineError, EngineMissingError, Job\n"
        "from tests.pipeline.engine_tasks import double\n"
        "try:\n    list(run_tasks('spark', Job([1], double, 'doubling')))\n"
        "except EngineMissingError as error:\n    print('missing:', error)\n"
        "except EngineError as error:\n    print('failed:', error)\n"
    )
    environment = os.environ | {"JAVA_HOME": str(tmp_path), "PYTHONPATH": PYTHON_PATH}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert "failed: Java is there, but Spark did not start with it" in result.stdout, result.stderr[-2000:]
    assert f'{java} -version says: openjdk version "1.8.0" (exit code 1)' in result.stdout
