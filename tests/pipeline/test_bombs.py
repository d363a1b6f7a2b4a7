"""A small batch that contains or declares gigabytes costs a job at most 150 MB, and the other batches are read."""

import random
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.engine.engines import LOCAL
from odradek.protocol.records.compression import CompressionType
from support.data.log_histories import HistoryWriter
from support.pipeline.audited_directory import NOW_MS, AuditedDirectory

from .bombs import (
    BOMBS,
    batch_of,
    large_values,
    one_record,
    one_record_and_a_replaced_one,
    record,
    tiny_records,
)
from .peak_memory import JOBS, growth

MOST_GROWTH = 150_000_000
IN_TURN = tuple(job for job in JOBS if job not in ("compact", "import"))
"""In CI each bomb meets one of these jobs; the nightly run has every job with every bomb."""
CASES = [
    pytest.param(job, name, marks=() if job == IN_TURN[number % len(IN_TURN)] else pytest.mark.nightly)
    for number, name in enumerate(BOMBS)
    for job in IN_TURN
]
CODECS = [
    pytest.param(
        codec, id=codec.name.lower(), marks=pytest.mark.ci if codec is CompressionType.GZIP else pytest.mark.long
    )
    for codec in CompressionType
    if codec is not CompressionType.NONE
]
"""One codec runs in CI and each night; with all of them the file takes five minutes (``make test-long-bombs``)."""


def with_bomb(root: Path, bomb: bytes) -> Path:
    """A directory whose active segment ends with the bomb and one batch after it."""
    directory = AuditedDirectory(root)
    end = directory.ends["t", 0]
    after = batch_of(record(0, b"after", b"it"), 1, CompressionType.NONE, base_offset=end + 100_000_000)
    with directory.segment(2).open("ab") as file:
        file.write(bomb)
        file.write(after)
    (root / ".kafka_cleanshutdown").unlink()
    directory.set_times(NOW_MS)
    return root


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
@pytest.mark.parametrize(("job", "name"), CASES)
@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_costs_little(tmp_path: Path, job: str, name: str, codec: CompressionType) -> None:
    first = AuditedDirectory(tmp_path / "first")
    second = with_bomb(tmp_path / "second", BOMBS[name](codec, first.ends["t", 0]))
    assert growth(job, first.root, second) < MOST_GROWTH


def sealed(root: Path, *batches: bytes) -> Path:
    """A directory with a partition t-0 whose sealed segment ends with these batches."""
    writer = HistoryWriter(random.Random(1), root / "t-0")
    for _ in range(2):
        writer.append_records([(b"k", b"v")])
    writer.roll()
    writer.close()
    first, active = sorted((root / "t-0").glob("*.log"))
    with first.open("ab") as file:
        file.write(b"".join(batches))
    for path in (root / "t-0").iterdir():
        if path.name.startswith(active.stem):
            path.rename(path.with_name(path.name.replace(active.stem, f"{100_000_000:020d}")))
    return root


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    "bomb",
    [partial(tiny_records, count=1_500_000), large_values, one_record, one_record_and_a_replaced_one],
    ids=["tiny", "large", "one", "rebuilt"],
)
@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_costs_a_compaction_little(
    tmp_path: Path, bomb: Callable[[CompressionType, int], bytes], codec: CompressionType
) -> None:
    first = sealed(tmp_path / "first")
    second = sealed(tmp_path / "second", bomb(codec, 2))
    assert growth("compact", first, second) < MOST_GROWTH


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("bomb", [large_values, tiny_records])
def test_a_large_batch_that_is_right_is_read(tmp_path: Path, bomb: object, codec: CompressionType) -> None:
    make, count = (large_values, 100) if bomb is large_values else (tiny_records, 4_000_000)
    plain = AuditedDirectory(tmp_path / "first")
    before = audit_directories([plain.root], LOCAL, now_ms=NOW_MS)
    directory = with_bomb(tmp_path / "second", make(codec, plain.ends["t", 0]))
    result = audit_directories([directory], LOCAL, now_ms=NOW_MS)
    names = {finding.name for finding in result.findings}
    assert not names & {"batch-too-large", "records-malformed", "record-offsets-invalid", "batch-max-timestamp-wrong"}
    assert result.partitions[0].records == before.partitions[0].records + count + 1
    assert result.partitions[0].decoded_size > before.partitions[0].decoded_size + 40_000_000
