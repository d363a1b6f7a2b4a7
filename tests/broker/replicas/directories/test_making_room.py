"""Space is freed in bounded steps, a thread removes files, and only the chosen segments are deleted."""

import asyncio
import errno
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from odradek.broker.replicas.directories.disk_space import CHOICES_A_STEP, SegmentSize, oldest_segments
from odradek.broker.replicas.directories.disk_watch import DiskWatch
from odradek.broker.replicas.directories.make_room import WHOLE_LOG, oldest_steps, removal_steps, retention_steps
from odradek.broker.timers.slices import Slices
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.storage.directory.directory_retention import SEGMENTS_A_STEP
from odradek.storage.files.disk_reserve import ReservedFiles
from odradek.storage.files.disk_usage import allocated_bytes
from odradek.storage.files.files import Files
from odradek.storage.log.log_config import LogConfig

from ...append_path import NOW, AppendPath, batch, only, turns
from .gated_removals import GatedRemovals

SEGMENT_BYTES = 40_000
SEGMENTS = 30
KEEPS_ALL = LogConfig(segment_bytes=SEGMENT_BYTES, retention_bytes=-1, retention_ms=-1)


async def filled(directory: Path, config: LogConfig, files: Files | None = None, partitions: int = 1) -> AppendPath:
    """Each partition has SEGMENTS segments of one batch."""
    path = AppendPath(directory, config, partitions=partitions, files=files)
    for index in range(partitions):
        for _ in range(SEGMENTS):
            await path.produce({index: batch(b"v" * (SEGMENT_BYTES - 500))})
        assert len(path.log(index).segments) == SEGMENTS
    return path


def nearly_full(path: AppendPath) -> int:
    """A cap of which a fortieth is free: low, but not full."""
    used = allocated_bytes(Files(), path.directory.path)
    return used + used // 40


def watch(path: AppendPath, cap: int, told: list[int]) -> DiskWatch:
    loop = asyncio.get_running_loop()
    return DiskWatch(
        [path.directory],
        path.timers,
        lambda: NOW,
        Slices(loop.call_soon, lambda: loop.time() * 1000),
        min_free_bytes=0,
        cap_bytes=cap,
        warn_under_cap=lambda going: told.extend(going.values()),
    )


async def test_the_loop_goes_on_while_the_cap_removes_files(tmp_path: Path) -> None:
    files = GatedRemovals()
    path = await filled(tmp_path, KEEPS_ALL, files)
    files.gate.clear()
    told: list[int] = []
    watching = watch(path, nearly_full(path), told)
    watching.start()
    assert await asyncio.to_thread(files.began.wait, 60)
    start = path.log().log_start_offset
    assert 0 < start < SEGMENTS // 2, "the oldest segments are gone, and no more than had to"
    assert told[:1] == [start]
    assert only(await path.produce({0: batch()})).base_offset == SEGMENTS, "the loop goes on while a removal lasts"
    stop = asyncio.ensure_future(watching.stop())
    await turns()
    assert not stop.done(), "a stop waits for the removal that is under way"
    files.gate.set()
    await stop
    assert threading.current_thread().name not in files.threads
    await path.close()


class BrokenDisk(ReservedFiles):
    """A disk that fails when the reserve is checked."""

    @property
    def reserved_bytes(self) -> int:
        raise OSError(errno.EIO, "Input/output error")


async def test_look_at_a_broken_disk_takes_the_directory_offline(tmp_path: Path) -> None:
    """The failure is noticed without a write, and logged once."""
    path = await filled(tmp_path, KEEPS_ALL, BrokenDisk(tmp_path))
    watching = watch(path, -1, [])
    watching._loop = asyncio.get_running_loop()
    await watching._check()
    assert isinstance(path.directory.failure, OSError)
    assert path.directory.failure.errno == errno.EIO
    await watching.stop()
    path.timers.close()
    await path.group_commit.stop()
    path.directory.abort()


def deleted(directory: Path) -> list[Path]:
    return list(directory.glob("*-delete"))


async def test_deleted_files_go_before_records_do(tmp_path: Path) -> None:
    path = await filled(tmp_path, KEEPS_ALL, partitions=2)
    path.directory.delete_log("t", 1, NOW, 1 << 40)
    assert deleted(tmp_path)
    watching = watch(path, nearly_full(path), [])
    watching._loop = asyncio.get_running_loop()
    for _ in range(3):
        await watching._check()
    assert not deleted(tmp_path)
    assert path.log().log_start_offset == 0
    await watching.stop()
    await path.close()


def segments_after_each_step(path: AppendPath, steps: Steps[object]) -> list[int]:
    before = len(path.log().segments)
    seen = [len(path.log().segments) for _ in steps]
    return [before, *seen, len(path.log().segments)]


async def test_a_step_removes_a_few_segments(tmp_path: Path) -> None:
    for name, config in (("cap", KEEPS_ALL), ("age", replace(KEEPS_ALL, retention_bytes=0))):
        path = await filled(tmp_path / name, config)
        chosen = run_to_end(oldest_steps([path.log()], 1 << 40))
        assert chosen == {path.log(): WHOLE_LOG}
        steps = removal_steps(chosen, 1, lambda: NOW) if name == "cap" else None
        seen = segments_after_each_step(path, steps or retention_steps([path.directory], lambda: NOW))
        assert seen[-1] == 1
        assert max(before - after for before, after in pairwise(seen)) <= SEGMENTS_A_STEP
        await path.close()


async def test_what_retention_took_after_the_choice_counts(tmp_path: Path) -> None:
    path = await filled(tmp_path, KEEPS_ALL)
    log = path.log()
    chosen = run_to_end(oldest_steps([log], 3 * SEGMENT_BYTES))
    assert chosen == {log: 4}
    log.offsets.increment_log_start_offset(2)
    log.delete_old_segments(NOW)
    run_to_end(removal_steps(chosen, 1, lambda: NOW))
    assert (log.log_start_offset, len(log.segments)) == (4, SEGMENTS - 4)
    log.offsets.increment_log_start_offset(6)
    run_to_end(removal_steps(chosen, 1, lambda: NOW))
    assert log.log_start_offset == 6
    await path.close()


def test_the_choice_among_many_logs_is_made_in_steps() -> None:
    logs = {name: [SegmentSize(name, 10), SegmentSize(name, 10)] for name in range(5_000)}
    chosen: dict[int, int] = {}

    def choice() -> Steps[None]:
        chosen.update((yield from oldest_segments(logs, 60_000)))

    assert len(list(choice())) >= (5_000 + 6_000) // CHOICES_A_STEP - 1
    assert sum(chosen.values()) == 6_000
