"""Pipes, sockets and devices in a log directory are not opened by the check, dump-log or the broker's file layer."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from odradek.storage.check.partition_check import CheckTask, check_partition
from odradek.storage.dump.log_dump import LogOptions, dump_log
from odradek.storage.files.files import CREATE, Files
from odradek.storage.files.regular_files import NotRegularFileError
from support.data.log_directories import history_directory

ODD: list[Callable[[Path], None]] = [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("/dev/zero")]


@pytest.mark.parametrize("make", ODD)
@pytest.mark.parametrize("suffix", [".log", ".index", ".snapshot"])
def test_the_check_names_it_and_goes_on(tmp_path: Path, make: Callable[[Path], None], suffix: str) -> None:
    partition = history_directory(tmp_path, 3) / "t-0"
    path = sorted(partition.glob(f"*{suffix}"))[0]
    path.unlink()
    make(path)
    checked = check_partition(CheckTask(partition, "t", True, False, True))
    assert str(path) in [problem.file for problem in checked.problems]
    assert any("instead of a file" in problem.what for problem in checked.problems)
    assert checked.files


@pytest.mark.parametrize("make", ODD)
def test_the_file_layer_and_dump_log_refuse_it(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / f"{0:020d}.log"
    make(path)
    with pytest.raises(NotRegularFileError):
        Files().open(path, CREATE)
    with pytest.raises(NotRegularFileError):
        Files().read_file(path)
    with pytest.raises(NotRegularFileError):
        list(dump_log(path, LogOptions()))
