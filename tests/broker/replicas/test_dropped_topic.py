"""A topic that is deleted is freed in the same small steps in which its files are renamed."""

import asyncio
import weakref
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


async def test_each_step_of_a_deletion_frees_one_partition(tmp_path: Path) -> None:
    """All of them in one step, with their logs, held the event loop for 50 ms at 9,999 partitions."""
    directories = LogDirectories.open([tmp_path], lambda _: Files())
    directories.metadata.format("cluster", NODE, DIRECTORY_ID)
    timers = LoopTimers(asyncio.get_running_loop())
    group_commit = GroupCommit(directories.online, timers, lambda: NOW_MS)
    partitions = Partitions()
    hosting = HostedReplicas(directories, partitions, lambda _: LogConfig(), lambda: NOW_MS, group_commit, NODE)
    image = PartitionImage(
        replicas=(NODE,), directories=(DIRECTORY_ID,), isr=(NODE,), leader=NODE, leader_epoch=0, partition_epoch=0
    )
    topic = TopicImage("wide", b"t" * 16, dict.fromkeys(range(COUNT), image))
    run_to_end(hosting.host_topic(topic))
    logs = [weakref.ref(partitions.get("wide", index).log) for index in range(COUNT)]

    alive = [sum(log() is not None for log in logs) for _ in hosting.drop_topic("wide", NOW_MS)]

    assert alive == [8, 8, 7, 6, 5, 4, 3, 2, 1], "one after the other, in their order"
    assert not any(log() for log in logs)
    timers.close()
    await group_commit.stop()
    directories.abort()
