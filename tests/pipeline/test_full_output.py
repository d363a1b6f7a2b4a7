"""A job whose output disk is full names the output, not its input, and says what it has kept."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.data.log_directories import history_directory
from support.disks.small_disk import SmallDisk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with SmallDisk(tmp_path / "disk", 64 << 10) as disk:
        yield disk


def run(disk: SmallDisk, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [*disk.prefix, sys.executable, "-m", "odradek", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_audit(disk: SmallDisk, tmp_path: Path) -> None:
    directory = history_directory(tmp_path / "data")
    (disk.seen_from_here / "filler").write_bytes(bytes(1))
    disk.shrink()
    output = disk.mount_point / "out"
    result = run(disk, "audit", directory, "--output", output)
    assert result.returncode == 3
    assert f"odradek audit: the output {output} can't be written: errno 28 (ENOSPC)" in result.stderr
    assert "nothing of this run was kept" in result.stderr
    assert str(directory) not in result.stderr
    assert not (disk.seen_from_here / "out").exists()


def test_an_audit_whose_page_does_not_fit(disk: SmallDisk, tmp_path: Path) -> None:
    """The rows fit, the page does not: the summary is printed nevertheless."""
    disk.resize(40 << 10)
    directory = history_directory(tmp_path / "data", 3)
    result = run(disk, "audit", directory, "--output", disk.mount_point / "out")
    assert result.returncode == 3
    assert "1 replica of 1 topic" in result.stdout
    assert "can't be written: errno 28 (ENOSPC)" in result.stderr


def test_an_export(disk: SmallDisk, tmp_path: Path) -> None:
    directory = history_directory(tmp_path / "data", steps=2000)
    output = disk.mount_point / "out"
    result = run(disk, "export", directory, "--output", output)
    assert result.returncode == 3
    assert f"the output {output} can't be written: errno 28 (ENOSPC)" in result.stderr
    assert "but no _SUCCESS" in result.stderr
    assert str(directory) not in result.stderr
    assert not (disk.seen_from_here / "out" / "_SUCCESS").exists()


def test_an_import(disk: SmallDisk, tmp_path: Path) -> None:
    """Both passes: the input is spilled to the target's disk, then the partitions are written there."""
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(f'{{"value": "{number:0100d}"}}\n' for number in range(400)))
    target = disk.mount_point / "data"
    for size in (40 << 10, 100 << 10):
        disk.resize(size)
        result = run(disk, "import", rows, "--topic", "t", "--partitions", "1", "--into", target)
        assert result.returncode == 1
        assert f"the output {target} can't be written: errno 28 (ENOSPC)" in result.stderr
        assert "nothing was imported" in result.stderr
        assert [path.name for path in (disk.seen_from_here / "data").iterdir() if path.is_dir()] == []
