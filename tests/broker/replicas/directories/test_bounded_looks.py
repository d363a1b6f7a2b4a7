"""Work that visits all logs of a directory visits a bounded number in each step."""

from itertools import pairwise
from pathlib import Path

import pytest

from odradek.broker.replicas.directories.make_room import LOGS_A_STEP, oldest_steps, size_steps
from odradek.broker.server.background import LOOKS_A_STEP, Background
from odradek.broker.server.surroundings import FixedSettings
from odradek.broker.timers.slices import Slices
from odradek.protocol.common.steps import run_to_end
from odradek.storage.directory.directory_retention import PASSED_A_STEP, retain_logs
from odradek.storage.errors import StorageError
from odradek.storage.log.log_config import LogConfig

from ...append_path import AppendPath, batch

MANY = 2 * PASSED_A_STEP + 10


async def test_retention_passes_over_a_bounded_number_of_compacted_logs(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig(cleanup_policy=frozenset({"compact"})), partitions=MANY)
    assert len(list(retain_logs(path.directory.logs.values(), lambda: 1 << 50))) == 2
    path.log(PASSED_A_STEP).update_config(LogConfig(retention_bytes=0))
    steps = list(retain_logs(path.directory.logs.values(), lambda: 1 << 50))
    assert len(steps) == 3, "a log that it checks ends a step"
    await path.close()


async def test_a_flush_looks_at_a_bounded_number_of_logs_in_one_step(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig(flush_ms=1 << 40), partitions=MANY)
    await path.produce({index: batch() for index in range(MANY)})
    requested: list[object] = []
    path.group_commit.request = lambda log, **_: requested.append(log)  # type: ignore[method-assign]
    callbacks: list[object] = []
    now_ms = 0.0

    def clock_ms() -> float:
        nonlocal now_ms
        now_ms += 10.0  # each step takes a whole slice
        return now_ms

    slices = Slices(callbacks.append, clock_ms)
    work = Background([path.directory], path.timers, lambda: 1 << 50, path.group_commit, slices, FixedSettings())
    work._flush()
    seen = [len(requested)]
    while callbacks:
        callback = callbacks.pop(0)
        assert callable(callback)
        callback()
        seen.append(len(requested))
    assert seen[-1] == MANY
    assert max(after - before for before, after in pairwise(seen)) <= LOOKS_A_STEP
    await path.close()


async def test_sizes_leave_out_logs_that_have_failed(tmp_path: Path) -> None:
    path = AppendPath(tmp_path, LogConfig(), partitions=3 * LOGS_A_STEP)
    await path.produce({0: batch(), 1: batch()})
    logs = [path.log(index) for index in range(3 * LOGS_A_STEP)]
    size = logs[0].segments.size_in_bytes
    assert len(list(size_steps(logs))) == 3
    assert run_to_end(size_steps(logs)) == 2 * size
    logs[1].health.failure = OSError("the disk has gone")
    assert run_to_end(size_steps(logs)) == size
    assert set(run_to_end(oldest_steps(logs, 1 << 40))) == {logs[0]}
    with pytest.raises(StorageError, match="the disk has gone"):
        await path.close()
