"""Hosted replicas: their number, and the removal of a deleted topic."""

import asyncio
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from odradek.broker.metadata.image import PartitionImage, TopicImage
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.hosted_replicas import HostedReplicas
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.steps import run_to_end
from odradek.storage.directory.log_directories import LogDirectories
from odradek.storage.files.files import Files
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
async def hosting_in(directory: Path) -> AsyncIterator[tuple[Partitions, HostedReplicas]]:
    """The partitions and the replica host of a broker with this log directory."""
    directories = LogDirectories.open([directory], lambda _: Files())
    directories.metadata.format("cluster", NODE, DIRECTORY_ID)
    timers = LoopTimers(asyncio.get_running_loop())
    group_commit = GroupCommit(directories.online, timers, lambda: NOW_MS)
    partitions = Partitions()
    yield (
        partitions,
        HostedReplicas(directories, partitions, lambda _: LogConfig(), lambda: NOW_MS, group_commit, NODE),
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
