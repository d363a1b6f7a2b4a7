"""Measures how much more memory a job needs for one directory than for another.

``python -m tests.pipeline.peak_memory JOB FIRST SECOND``

Runs the job on FIRST, so that everything is imported and compiled, then on SECOND. Prints the growth of the process's
peak memory in bytes. Linux only (VmHWM).
"""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.compact.partition_job import CompactionTask, compact_partition
from odradek.pipeline.engine.engines import LOCAL
from odradek.pipeline.export.command import export
from odradek.pipeline.importing.input_rows import ImportSizes
from odradek.pipeline.importing.job import ImportOrder, import_rows
from odradek.pipeline.reading.options import Mode, Pruning, parse_options
from odradek.pipeline.reading.split_reader import Reading, read_split
from odradek.pipeline.reading.splits import plan_records
from odradek.storage.dump.command import dump_log
from odradek.storage.log.log_config import LogConfig
from support.brokers.peak_memory import peak_resident_bytes

from .engine_tasks import PYTHON_PATH

SMALL_STEPS = ImportSizes(chunk_bytes=4 << 20, group_bytes=4 << 20)


def audit_job(directory: Path) -> None:
    """Runs an audit of all records."""
    audit_directories([directory], LOCAL, now_ms=1 << 41)


def export_job(directory: Path) -> None:
    """Runs an export to Parquet."""
    with tempfile.TemporaryDirectory() as output, contextlib.redirect_stdout(io.StringIO()):
        export([str(directory), "--output", f"{output}/out"])


def data_source_job(directory: Path) -> None:
    """Runs the tasks of a batch read of the data source."""
    names = ("topic", "partition", "offset", "timestamp", "key", "value", "_corrupt_record")
    reading = Reading(names, Mode.PERMISSIVE)
    for portion in plan_records(parse_options({"path": str(directory)}), Pruning()).tasks:
        for split in portion:
            for _ in read_split(split, reading):
                pass


def dump_job(directory: Path) -> None:
    """Runs dump-log with every record, and discards the output."""
    for path in sorted(directory.glob("t-0/*.log")):
        with open("/dev/null", "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            dump_log(["--deep-iteration", "--files", str(path)])


def compact_job(directory: Path) -> None:
    """Runs a compaction of t-0 with the compiled steps."""
    config = LogConfig(cleanup_policy=frozenset({"compact"}))
    task = CompactionTask("t", 0, directory / "t-0", config, 1 << 41, 0, 0, None, 1 << 24, float("inf"), False)
    outcome = compact_partition(task)
    assert outcome.refusal is None, outcome
    assert outcome.records_after < outcome.records_before


def import_job(file: Path) -> None:
    """Runs an import in this process, with small steps."""
    with tempfile.TemporaryDirectory() as output:
        import_rows(ImportOrder([file], Path(output) / "logs", max_workers=1, sizes=SMALL_STEPS))


JOBS: dict[str, Callable[[Path], None]] = {
    "audit": audit_job,
    "export": export_job,
    "kafkalog": data_source_job,
    "dump-log": dump_job,
    "compact": compact_job,
    "import": import_job,
}


def growth(job: str, first: Path, second: Path) -> int:
    """Runs this module in its own process. Returns the number that it prints."""
    # By its full name: `pipeline` is the package under test if the tests of Spark have set PYTHONPATH in this process.
    command = [sys.executable, "-m", "tests.pipeline.peak_memory", job, str(first), str(second)]
    environment = os.environ | {"PYTHONPATH": PYTHON_PATH}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parents[2], env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout.split()[-1])


if __name__ == "__main__":
    work = JOBS[sys.argv[1]]
    work(Path(sys.argv[2]))
    before = peak_resident_bytes(os.getpid())
    work(Path(sys.argv[3]))
    print(peak_resident_bytes(os.getpid()) - before)
