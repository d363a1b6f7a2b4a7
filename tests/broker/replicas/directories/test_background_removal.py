"""Retention runs in slices, and a thread removes files, so that the event loop is not blocked."""

import asyncio
import threading
from itertools import pairwise
from pathlib import Path

from odradek.broker.server.background import Background
from odradek.broker.server.surroundings import FixedSettings
from odradek.broker.timers.slices import Slices
from odradek.protocol.common.steps import run_to_end
from odradek.storage.directory.directory_retention import SEGMENTS_A_STEP
from odradek.storage.files.files import Files
from odradek.storage.log.log_config import LogConfig

from ...append_path import AppendPath, batch, only, turns
from .gated_removals import GatedRemovals

CONFIG = LogConfig(segment_bytes=300, retention_bytes=0, file_delete_delay_ms=0)


class Turns:
    """The turns of an event loop, run one by one. Each step of sliced work takes a whole turn."""

    def __init__(self) -> None:
        self.callbacks: list[object] = []
        self.now = 0.0

    def clock(self) -> float:
        self.now += 10.0
        return self.now

    def slices(self) -> Slices:
        return Slices(self.callbacks.append, self.clock)

    def take(self) -> None:
        callbacks = list(self.callbacks)
        self.callbacks.clear()
        for callback in callbacks:
            assert callable(callback)
            callback()


async def filled(directory: Path, files: Files, segments: int) -> AppendPath:
    path = AppendPath(directory, CONFIG, files=files)
    for _ in range(segments):
        await path.produce({0: batch(b"v" * 200)})
    assert len(path.log().segments) == segments
    return path


def background(path: AppendPath, slices: Slices) -> Background:
    return Background([path.directory], path.timers, lambda: 1 << 50, path.group_commit, slices, FixedSettings())


async def test_a_turn_removes_a_few_segments(tmp_path: Path) -> None:
    files = GatedRemovals()
    path = await filled(tmp_path, files, 40)
    turns_taken = Turns()
    work = background(path, turns_taken.slices())
    files.directory_syncs = 0
    work._retain()
    seen = [len(path.log().segments)]
    while turns_taken.callbacks:
        turns_taken.take()
        seen.append(len(path.log().segments))
    assert seen[-1] == 1
    assert max(before - after for before, after in pairwise(seen)) <= SEGMENTS_A_STEP + 1
    assert files.directory_syncs <= 2, "the newest segment's name is made durable once, not in each step"
    assert path.log().log_start_offset == path.log().log_end_offset
    await path.close()


async def test_files_are_removed_on_a_thread(tmp_path: Path) -> None:
    files = GatedRemovals()
    path = await filled(tmp_path, files, 10)
    loop = asyncio.get_running_loop()
    work = background(path, Slices(loop.call_soon, loop.time))
    path.log().delete_old_segments(1 << 50)
    deleted = list(path.log().directory.glob("*.deleted"))
    assert len(deleted) > 20
    files.gate.clear()
    work._remove_deleted()
    work._remove_deleted()
    assert only(await path.produce({0: batch()})).base_offset == 10, "the loop goes on while a removal lasts"
    assert all(file.exists() for file in deleted)
    stop = asyncio.ensure_future(work.stop())
    await turns()
    assert not stop.done(), "a stop waits for the removal that is under way, and begins no other"
    files.gate.set()
    await stop
    assert sum(file.exists() for file in deleted) == len(deleted) - 1
    assert threading.current_thread().name not in files.threads
    path.directory.remove_deleted(1 << 50)
    assert not any(file.exists() for file in deleted), "what was left is removed the next time"
    await path.close()


async def test_a_turn_collects_what_is_due_of_one_log(tmp_path: Path) -> None:
    path = await filled(tmp_path, GatedRemovals(), 10)
    turns_taken = Turns()
    work = background(path, turns_taken.slices())
    path.log().delete_old_segments(1 << 50)
    deleted = list(path.log().directory.glob("*.deleted"))
    work._remove_deleted()
    assert turns_taken.callbacks, "the first turn has looked at one log, and more may follow"
    assert all(file.exists() for file in deleted)
    while turns_taken.callbacks:
        turns_taken.take()
    removing = work._removing
    assert removing is not None
    await removing
    assert deleted
    assert not any(file.exists() for file in deleted)
    await path.close()


async def test_logs_are_looked_at_only_after_one_has_got_files_to_remove(tmp_path: Path) -> None:
    path = await filled(tmp_path, GatedRemovals(), 10)
    removal, logs = path.directory.removal, path.directory.logs.values()

    def looked() -> int:
        seen: list[object] = []
        run_to_end(removal.collect((seen.append(log) or log for log in logs), 0))  # type: ignore[func-returns-value]
        return len(seen)

    assert looked() == 1
    assert looked() == 0, "there is nothing to remove"
    path.log().delete_old_segments(1 << 50)
    assert looked() == looked() == 1, "as long as files wait"
    path.directory.remove_deleted(1 << 60)
    assert looked() == 0
    await path.close()
