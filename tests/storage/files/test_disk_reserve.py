"""The disk reserve of a log directory, on a file system of 1 MiB that is full."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.disks.small_disk import SmallDisk

MIB = 1 << 20

PRELUDE = """
import errno, os, sys
from pathlib import Path
from odradek.storage.files.disk_reserve import RESERVE_FILE, ReservedFiles
from odradek.storage.files.files import CREATE, Files
root = Path(sys.argv[1])
told = []
files = ReservedFiles(root, lambda: told.append(1))
files.is_starting = False
def fill():
    with (root / "filler").open("ab", buffering=0) as filler:
        try:
            while filler.write(bytes(4096)): pass
        except OSError as error:
            assert error.errno == errno.ENOSPC
def fails(operation):
    try:
        operation()
    except OSError as error:
        assert error.errno == errno.ENOSPC, error
        return True
    return False
def partition(name):
    files.make_directory(root / name)
    return files.open(root / name / "00000000000000000000.log", CREATE)
BATCH = bytes(64 << 10)
"""

CASES = {
    "commits and metadata take from the reserve, clients do not": """
assert files.fill(512 << 10) == 512 << 10
client, commits, metadata = partition("t-0"), partition("__consumer_offsets-3"), partition("__cluster_metadata-0")
fill()
assert fails(lambda: files.write_all(client, [BATCH], 0)) and told
assert files.reserved_bytes == 512 << 10, "a client's record took from the reserve"
files.write_all(commits, [BATCH], 0)
files.write_all(metadata, [BATCH], 0)
files.write_file(root / "t-0" / "leader-epoch-checkpoint", BATCH)
assert 0 < files.reserved_bytes < 512 << 10
assert files.read_file(root / "__consumer_offsets-3" / "00000000000000000000.log") == BATCH
""",
    "what the cleaner writes has no part in it, of internal topics either": """
files.fill(512 << 10)
files.make_directory(root / "__consumer_offsets-3")
cleaned = files.open(root / "__consumer_offsets-3" / "00000000000000000000.log.cleaned", CREATE)
fill()
assert fails(lambda: files.write_all(cleaned, [BATCH], 0))
assert files.reserved_bytes == 512 << 10
""",
    "it ends, and then the error is what it is": """
files.fill(128 << 10)
commits = partition("__consumer_offsets-3")
fill()
position = 0
while not fails(lambda: files.write_all(commits, [BATCH], position)):
    position += len(BATCH)
assert position >= 128 << 10 and files.reserved_bytes == 0
""",
    "it is filled again when there is room, as far as there is": """
files.fill(512 << 10)
commits = partition("__consumer_offsets-3")
fill()
files.write_all(commits, [BATCH], 0)
fill()
assert files.fill(512 << 10) < 512 << 10
os.truncate(root / "filler", 0)
assert files.fill(512 << 10) == 512 << 10
assert (root / RESERVE_FILE).stat().st_blocks * 512 == 512 << 10, "no real blocks"
assert files.fill(256 << 10) == 512 << 10
assert files.fill(100 << 20) < 1 << 20
""",
    "a start without a reserve removes what was deleted already": """
partition("t-0"); partition("t-1.0123-delete")
(root / "t-0" / "00000000000000000000.log.deleted").write_bytes(BATCH)
(root / "t-1.0123-delete" / "00000000000000000000.log").write_bytes(BATCH)
fill()
files.is_starting = True
files.write_file(root / "meta.properties", BATCH)
assert not (root / "t-0" / "00000000000000000000.log.deleted").exists()
assert (root / "t-1.0123-delete").exists(), "the directory itself is for the start to remove"
""",
}


@pytest.mark.parametrize("case", CASES)
def test_the_reserve(case: str, tmp_path: Path) -> None:
    with SmallDisk(tmp_path / "disk", MIB) as disk:
        command = [*disk.prefix, sys.executable, "-c", PRELUDE + CASES[case], str(disk.mount_point)]
        run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 0, run.stderr
