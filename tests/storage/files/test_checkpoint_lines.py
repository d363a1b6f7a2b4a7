"""Checkpoint files are read line by line as Java reads them."""

from pathlib import Path

import pytest

from odradek.storage.errors import CorruptCheckpointError
from odradek.storage.files.checkpoints import read_offset_checkpoint
from odradek.storage.files.files import Files


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_each_end_of_a_line_of_java_is_one(tmp_path: Path, end: str, is_ended: bool) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes((end.join(["0", "1", "orders 0 5"]) + end * is_ended).encode())
    assert read_offset_checkpoint(Files(), path) == {("orders", 0): 5}


def test_a_vertical_tab_is_no_end_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    path.write_bytes(b"0\n1\vorders 0 5\n")
    with pytest.raises(CorruptCheckpointError):
        read_offset_checkpoint(Files(), path)
