"""Reading ahead on threads: the same items in the same order, errors at their place, and no leftover thread."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from odradek.pipeline.audit.partition_audit import READ_AHEAD_BYTES, audit_partition
from odradek.pipeline.audit.plan import AuditOptions, plan_audit
from odradek.pipeline.audit.tasks import BATCHES, PartitionReport
from odradek.pipeline.decode.read_ahead import AHEAD, read_ahead
from support.data.log_directories import flip_a_byte, history_directory
from support.pipeline.audited_directory import NOW_MS

ITEMS = 3 * AHEAD


def numbers(source: int) -> Iterator[int]:
    """More items than may be ready."""
    yield from range(100_000 * source, 100_000 * source + ITEMS)


def test_everything_comes_in_order() -> None:
    found = [(source, list(items)) for source, items in read_ahead(range(5), numbers)]
    assert found == [(source, list(numbers(source))) for source in range(5)]
    assert list(read_ahead([], numbers)) == []


def test_an_error_comes_where_its_item_would_have_come() -> None:
    def torn(source: int) -> Iterator[int]:
        yield 10 * source
        if source == 1:
            raise OSError("torn")
        yield 10 * source + 1

    with closing(read_ahead(range(3), torn)) as sources:
        everything = (item for _, items in sources for item in items)
        assert [next(everything) for _ in range(3)] == [0, 1, 10]
        with pytest.raises(OSError, match="torn"):
            next(everything)


@pytest.mark.parametrize("taken", [0, 1, AHEAD + 1])
def test_who_takes_no_more_leaves_no_thread_behind(taken: int) -> None:
    before = set(threading.enumerate())
    read: list[int] = []

    def counted(source: int) -> Iterator[int]:
        for item in numbers(source):
            read.append(item)
            yield item

    with closing(read_ahead(range(9), counted)) as sources:
        _, items = next(sources)
        for _ in range(taken):
            next(items)
    assert set(threading.enumerate()) <= before
    assert len(read) <= taken + 2 * (AHEAD + 2), "no more than what may lie ready, of two sources"


def found(directory: Path, read_ahead_bytes: int) -> list[PartitionReport]:
    """The results of an audit of batches."""
    tasks = plan_audit([directory], AuditOptions(now_ms=NOW_MS, level=BATCHES)).tasks
    return [audit_partition(task, read_ahead_bytes) for task in tasks]


@pytest.mark.parametrize("seed", range(8))
def test_an_audit_finds_the_same(tmp_path: Path, seed: int) -> None:
    directory = history_directory(tmp_path, seed, is_clean=True)
    if seed % 2:
        flip_a_byte(directory)
    plain = found(directory, READ_AHEAD_BYTES)
    assert plain
    assert found(directory, 0) == plain
