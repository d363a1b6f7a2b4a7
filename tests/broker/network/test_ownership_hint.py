"""The hint about a directory that the broker may not write: its owner, the broker's user, and the command to run."""

import os
from pathlib import Path

from odradek.broker.server.commands import ownership_hint


def failure(path: Path) -> Exception:
    error = RuntimeError("the disk refused")
    error.__cause__ = PermissionError(13, "Permission denied", str(path))
    return error


def test_it_names_the_nearest_directory_that_exists(tmp_path: Path) -> None:
    (hint,) = ownership_hint(failure(tmp_path / "data" / "topic-0"))
    assert f"chown -R {os.geteuid()} {tmp_path}`" in hint
    assert f"{tmp_path} belongs to uid {tmp_path.stat().st_uid}" in hint


def test_other_errors_need_none() -> None:
    assert list(ownership_hint(OSError(28, "No space left on device", "/data"))) == []
