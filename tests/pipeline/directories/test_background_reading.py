"""Reading beside a broker: the pace, and the page cache, of which only what was there before is left."""

import os
import subprocess
from pathlib import Path

import pytest

from odradek.pipeline.directories.background_reading import READING, BackgroundReading
from odradek.pipeline.directories.file_access import open_ranges
from support.debian import program_or_skip

SIZE = 8 << 20
CHUNK = 1 << 20


class _Time:
    """A clock that only sleeping moves."""

    now_s = 50.0

    def clock_s(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now_s += seconds


def test_the_pace_is_kept_on_average() -> None:
    time = _Time()
    reading = BackgroundReading(1000.0, time.clock_s, time.sleep)
    for size in (10, 500, 0, 3000, 1490):
        reading.wait(size)
    assert time.now_s - 50.0 == pytest.approx(5.0)
    time.now_s += 60
    reading.wait(1000)
    assert time.now_s - 50.0 == pytest.approx(65.0 + 0.9), "a long pause allows a burst of a tenth of a second only"


def cached_bytes(path: Path) -> int:
    """The bytes of a file in the page cache, by util-linux."""
    program_or_skip("fincore", "util-linux")
    command = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def drop(path: Path, position: int, size: int) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, position, size, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def test_the_page_cache_has_afterwards_what_it_had_before(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    data = os.urandom(SIZE)
    path.write_bytes(data)
    drop(path, SIZE // 2, SIZE // 2)
    assert cached_bytes(path) == SIZE // 2, "the temporary directory must be on a disk"
    time = _Time()
    token = READING.set(BackgroundReading(SIZE, time.clock_s, time.sleep))
    try:
        with open_ranges(path) as file:
            assert b"".join(file.read(place, CHUNK) for place in range(0, SIZE, CHUNK)) == data
            assert file.read(SIZE - 10, CHUNK) == data[-10:]
    finally:
        READING.reset(token)
    assert cached_bytes(path) == SIZE // 2
    assert time.now_s > 50.5
    with open_ranges(path) as file:
        assert file.read(SIZE // 2, SIZE // 2) == data[SIZE // 2 :]
    assert cached_bytes(path) == SIZE, "a usual reading fills it"
