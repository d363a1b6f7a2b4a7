"""Ctrl-C in a command of the pipeline: one line, exit code 130, and no incomplete output under its final name."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.pipeline.audit.command import audit
from odradek.pipeline.command_line import INTERRUPTED, no_way_back
from odradek.pipeline.compact.command import compact
from odradek.pipeline.engine.engines import SMALL_BYTES, available_cores
from odradek.pipeline.importing import job
from odradek.pipeline.importing.command import import_topics
from support.data.log_directories import compactable_directory, segment_bytes
from support.data.log_histories import HistoryWriter

from .engine_tasks import PYTHON_PATH
from .imported_rows import row, write_parquet

PROGRAM = """
import sys
from importlib import import_module
from tests.pipeline.engine_tasks import hold
if __name__ == "__main__":
    job, function, command, *words = sys.argv[1:]
    setattr(import_module(job), function, hold)
    module, _, name = command.partition(":")
    sys.exit(getattr(import_module(module), name)(words))
"""


def two_partitions(root: Path) -> Path:
    for partition in range(2):
        writer = HistoryWriter(random.Random(partition), root / f"t-{partition}")
        writer.write(20)
        writer.close()
    (root / "meta.properties").write_text("version=1\n")
    return root


def interrupted(tmp_path: Path, job_module: str, function: str, command: str, *words: object) -> tuple[int, str]:
    """Exit code and stderr of a command that got Ctrl-C together with its workers, in the middle of their tasks."""
    (tmp_path / "program.py").write_text(PROGRAM)
    environment = os.environ | {"PYTHONPATH": PYTHON_PATH}
    arguments = [sys.executable, tmp_path / "program.py", job_module, function, command, *words]
    with subprocess.Popen(
        list(map(str, arguments)),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        held = [process.stdout.readline() for _ in range(2)]
        assert held == ["held\n"] * 2, process.communicate()[1]
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate()[1]
    return process.returncode, said


@pytest.mark.skipif(available_cores() < 2, reason="one core: no pool is used")
def test_an_export_with_workers_ends_with_one_line_and_no_temporary_files(tmp_path: Path) -> None:
    directory = two_partitions(tmp_path / "logs")
    for log in directory.glob("*/*.log"):
        os.truncate(log, SMALL_BYTES)  # a smaller export needs no pool
    output = tmp_path / "out"
    code, said = interrupted(
        tmp_path,
        "odradek.pipeline.export.job",
        "export_split",
        "odradek.pipeline.export.command:export",
        directory,
        "--output",
        output,
    )
    assert (code, said) == (
        INTERRUPTED,
        "odradek export: interrupted; the output is incomplete (it has no _SUCCESS); use --overwrite to start again\n",
    )
    assert list(output.iterdir()) == []


@pytest.mark.skipif(available_cores() < 2, reason="one core: no pool is used")
def test_an_import_with_workers_leaves_no_partition(tmp_path: Path) -> None:
    for number in range(2):
        write_parquet(tmp_path / "in" / f"{number}.parquet", [row(number)])
    code, said = interrupted(
        tmp_path,
        "odradek.pipeline.importing.job",
        "spill",
        "odradek.pipeline.importing.command:import_topics",
        tmp_path / "in",
        "--into",
        tmp_path / "logs",
    )
    assert (code, said) == (
        INTERRUPTED,
        "odradek import: interrupted; nothing was imported, and unfinished files are removed\n",
    )
    assert [path.name for path in (tmp_path / "logs").iterdir() if path.is_dir()] == []


def interrupt(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_an_audit_leaves_no_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("odradek.pipeline.audit.portions.audit_partition", interrupt)
    output = tmp_path / "out"
    assert audit([str(two_partitions(tmp_path / "logs")), "--output", str(output)]) == INTERRUPTED
    assert capsys.readouterr().err == "odradek audit: interrupted; nothing was written\n"
    assert not output.exists()


def test_a_compaction_leaves_the_log_as_it_was_and_the_directory_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = compactable_directory(tmp_path / "logs", 1)
    before = segment_bytes(directory)
    words = [str(directory), "--topic", "t", "--config", "cleanup.policy=compact"]
    with monkeypatch.context() as patched:
        patched.setattr("odradek.pipeline.compact.job.compact_partition", interrupt)
        assert compact(words) == INTERRUPTED
    assert capsys.readouterr().err.startswith("odradek compact: interrupted; each partition is unchanged or compacted")
    assert segment_bytes(directory) == before
    assert compact(words) == 0, "the lock is free"
    assert segment_bytes(directory) != before


def test_an_import_that_names_its_partitions_is_not_interrupted(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not from the first rename until the topics are in the metadata. Before and after that it can be interrupted."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    source = write_parquet(tmp_path / "rows.parquet", [row(offset) for offset in range(10)])
    write = job._write_checkpoints

    def interrupt_here(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(job, "_write_checkpoints", interrupt_here)
    assert import_topics([str(source), "--into", str(tmp_path / "logs")]) == 0
    assert (tmp_path / "logs" / "orders-0").is_dir()
    assert "orders: 1 partitions, 10 records" in capsys.readouterr().out
    with pytest.raises(KeyboardInterrupt), no_way_back():
        signal.raise_signal(signal.SIGINT)
