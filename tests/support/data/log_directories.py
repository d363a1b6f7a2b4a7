"""Small log directories with a topic `t`, intact or damaged, for tests of jobs that read or rewrite them."""

import random
from pathlib import Path

from odradek.protocol.records.batch import iterate_headers
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.files import Files
from support.data.log_histories import HistoryWriter


def history_directory(root: Path, seed: int = 1, *, steps: int = 250, is_clean: bool = True) -> Path:
    """One partition with a random history, as after a clean stop or a kill of the broker."""
    writer = HistoryWriter(random.Random(seed), root / "t-0", keys=50)
    writer.write(steps)
    ends = {("t", 0): writer.log.log_end_offset}
    writer.close()
    (root / "meta.properties").write_text("version=1\n")
    if is_clean:
        (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        write_offset_checkpoint(Files(), root / name, ends)
    return root


def compactable_directory(
    root: Path, seed: int, *, steps: int = 80, partitions: int = 1, with_null_keys: bool = True
) -> Path:
    """A log directory with topic `t`, its last segment empty, closed cleanly."""
    rng = random.Random(seed)
    ends = {}
    for partition in range(partitions):
        writer = HistoryWriter(rng, root / f"t-{partition}", keys=12, with_null_keys=with_null_keys)
        writer.write(steps)
        writer.roll()
        ends["t", partition] = writer.log.log_end_offset
        writer.close()
    (root / "meta.properties").write_text("version=1\n")
    write_offset_checkpoint(Files(), root / "replication-offset-checkpoint", ends)
    return root


def segment_bytes(directory: Path) -> dict[str, bytes]:
    """The bytes of every file that a compaction writes, by path."""
    kept = (".log", ".index", ".timeindex", ".txnindex", "cleaner-offset-checkpoint", ".cleaned", ".swap", ".deleted")
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.name.endswith(kept)
    }


def largest(directory: Path, suffix: str) -> Path:
    """The largest file of a kind in partition 0."""
    return max((directory / "t-0").glob(f"*{suffix}"), key=lambda path: path.stat().st_size)


def flip_a_byte(directory: Path) -> tuple[Path, int]:
    """Damages a batch in the middle of the log; returns its file and position."""
    path = largest(directory, ".log")
    data = bytearray(path.read_bytes())
    position, _ = list(iterate_headers(data))[2]
    data[position + 40] ^= 4
    path.write_bytes(data)
    return path, position
