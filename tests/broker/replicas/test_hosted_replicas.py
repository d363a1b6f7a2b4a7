"""Hosted replicas: their number, and the removal of a deleted topic."""

import asyncio
import errno
import os
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from odradek.broker.metadata.image.image import PartitionImage, TopicImage
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.hosted_replicas import HOSTING, HostedReplicas, not_again
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.errors import StorageError
from odradek.storage.files.files import EXISTING, Files
from odradek.storage.log.log_config import LogConfig

NOW_MS = 1_700_000_000_000
NODE = 1
COUNT = 8
DIRECTORY_ID = bytes(15) + b"\x07"


def led_by(node_id: int, leader_epoch: int = 0) -> PartitionImage:
    """A partition with one replica, on this node."""
    return PartitionImage(
        replicas=(node_id,),
        directories=(DIRECTORY_ID,),
        isr=(node_id,),
        leader=node_id,
        leader_epoch=leader_epoch,
        partition_epoch=leader_epoch,
    )


@asynccontextmanager
async def hosting_in(
    directory: Path, files: Files | None = None, host_again: Callable[[bytes, int], None] = not_again
) -> AsyncIterator[tuple[Partitions, HostedReplicas]]:
    """The partitions and the replica host of a broker with this log directory."""
    directories = LogDirectories.open([directory], lambda _: files or Files())
    directories.metadata.format("cluster", NODE, DIRECTORY_ID)
    timers = LoopTimers(asyncio.get_running_loop())
    group_commit = GroupCommit(directories.online, timers, lambda: NOW_MS)
    partitions = Partitions()
    yield (
        partitions,
        HostedReplicas(
            directories, partitions, lambda _: LogConfig(), lambda: NOW_MS, group_commit, NODE, host_again=host_again
        ),
    )
    timers.close()
    await group_commit.stop()
    directories.abort()


async def test_replicas_of_other_brokers_do_not_count(tmp_path: Path) -> None:
    """PartitionCount counts only this broker's replicas, although it answers requests for other partitions, too."""
    async with hosting_in(tmp_path) as (partitions, hosting):
        run_to_end(hosting.host_topic(TopicImage("t", b"t" * 16, {0: led_by(NODE), 1: led_by(NODE + 1)})))
        assert len(partitions) == 2
        assert partitions.counts() == (1, 1, 0)
        run_to_end(hosting.host_topic(TopicImage("t", b"t" * 16, {0: led_by(NODE + 1, 1), 1: led_by(NODE + 1)})))
        assert partitions.counts() == (0, 0, 0)


async def test_each_step_of_a_deletion_frees_one_partition(tmp_path: Path) -> None:
    """Freeing 9,999 partitions with their logs in one step used to block the event loop for 50 ms."""
    async with hosting_in(tmp_path) as (partitions, hosting):
        await _delete_in_steps(partitions, hosting)


async def _delete_in_steps(partitions: Partitions, hosting: HostedReplicas) -> None:
    topic = TopicImage("wide", b"t" * 16, dict.fromkeys(range(COUNT), led_by(NODE)))
    run_to_end(hosting.host_topic(topic))
    logs = [weakref.ref(partitions.get("wide", index).log) for index in range(COUNT)]

    alive = [sum(log() is not None for log in logs) for _ in hosting.drop_topic("wide", NOW_MS)]

    assert alive == [8, 8, 7, 6, 5, 4, 3, 2, 1], "one after the other, in their order"
    assert not any(log() for log in logs)


class NoDescriptors(Files):
    """Refuses every open while ``is_exhausted``, as a system that has reached its limit of open files."""

    is_exhausted = False

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self._take()
        return super().open(path, flags)

    def sync_directory(self, path: Path) -> None:
        self._take()
        super().sync_directory(path)

    def _take(self) -> None:
        if self.is_exhausted:
            raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))


def record(offset: int, leader_epoch: int) -> bytes:
    builder = BatchBuilder(partition_leader_epoch=leader_epoch)
    builder.append(NOW_MS, None, b"value")
    builder.move_to(offset)
    return bytes(builder.build())


async def test_a_follower_that_leads_during_an_unfinished_truncation_goes_on_when_there_are_descriptors(
    tmp_path: Path,
) -> None:
    """Without one (ENFILE) the partition can't begin its epoch. It is hosted again, and appends in the new epoch."""
    files = NoDescriptors()
    again: list[tuple[bytes, int]] = []
    host_again = lambda topic_id, index: again.append((topic_id, index))  # noqa: E731
    async with hosting_in(tmp_path, files, host_again) as (partitions, hosting):
        topic = TopicImage("t", b"t" * 16, {0: led_by(NODE, 1)})
        run_to_end(hosting.host_topic(topic))
        log = partitions.get("t", 0).log
        for offset in range(4):
            log.appender.append_as_follower(record(offset, 1), NOW_MS)
        pending = log.removal.begin_truncation(2)
        assert pending is not None
        files.is_exhausted = True
        elected = TopicImage("t", b"t" * 16, {0: led_by(NODE, 7)})
        for _ in range(2):
            with pytest.raises(StorageError, match="limit of open files"):
                run_to_end(hosting.host_topic(elected))
        assert again == [(b"t" * 16, 0)] * 2
        files.is_exhausted = False
        run_to_end(hosting.host_topic(elected))
        led = partitions.get("t", 0).log
        assert led.offsets.latest_epoch == 7
        assert (led.health.failure, led.log_end_offset) == (None, 2)


async def test_a_partition_whose_hosting_fails_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with hosting_in(tmp_path) as (partitions, hosting):
        take = hosting.logs.take_directory
        failures = HOSTING.failures

        def fails_for_one(topic: TopicImage, index: int, assigned: bytes) -> None:
            if index == 1:
                raise ZeroDivisionError("a bug")
            take(topic, index, assigned)

        monkeypatch.setattr(hosting.logs, "take_directory", fails_for_one)
        run_to_end(hosting.host_topic(TopicImage("t", b"t" * 16, dict.fromkeys(range(3), led_by(NODE)))))
        assert HOSTING.failures == failures + 1
        assert partitions.get("t", 0).log.log_end_offset == partitions.get("t", 2).log.log_end_offset == 0


async def test_a_partition_without_a_leader_epoch_is_not_served(tmp_path: Path) -> None:
    """The metadata log may have -1; no log can begin that epoch."""
    async with hosting_in(tmp_path) as (partitions, hosting):
        failures = HOSTING.failures
        run_to_end(hosting.host_topic(TopicImage("t", b"t" * 16, {0: led_by(NODE, -1), 1: led_by(NODE)})))
        assert HOSTING.failures == failures + 1
        with pytest.raises(KafkaError, match="LEADER_NOT_AVAILABLE"):
            partitions.get("t", 0).log  # noqa: B018
        assert partitions.get("t", 1).log.log_end_offset == 0
        run_to_end(hosting.host_topic(TopicImage("t", b"t" * 16, {0: led_by(NODE, 3)})))
        assert partitions.get("t", 0).log.offsets.latest_epoch == 3
