"""A follower serves consumers: up to its high watermark, in its leader epoch, from version 11 on (KIP-392)."""

import asyncio
import threading
from pathlib import Path

import pytest

from odradek.broker.fetch.partition_read import FetchingFollower, FetchLimits
from odradek.broker.fetch.read import FetchRead, read_partitions
from odradek.broker.fetch.session import SessionPartition
from odradek.broker.fetch.wait import FetchWait
from odradek.broker.replicas.replication.copy import Copy
from odradek.broker.replicas.replication.follower import AppendToCopy, FollowedPartition, TruncateCopy
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchResponse
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.files.files import Files
from odradek.storage.log.log_config import LogConfig

from ..append_path import NOW, TOPIC, AppendPath, GatedFiles, turns

EPOCH = 3
NOTHING = AppendToCopy(b"", 0, 0)


class Followed:
    """A replica of ``t-0`` that follows in leader epoch 3. Use inside a running event loop."""

    def __init__(self, directory: Path, files: Files | None = None) -> None:
        path = AppendPath(directory, LogConfig(), files=files)
        self.partitions = path.partitions
        self.timers = path.timers
        self.partition = path.partitions.get(TOPIC, 0)
        self.log = path.log(0)
        self.partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.log.offsets.set_high_watermark(0)
        self.partition.leader_epoch = EPOCH
        self.partition.copy = self.log
        followed = FollowedPartition(b"t" * 16, 0, EPOCH, 100)
        self.copy = Copy(TOPIC, followed, self.log, path.group_commit, self.partition.notify)

    def append(self, count: int, high_watermark: int) -> int:
        """Appends one batch and applies the leader's high watermark; returns the size of the batch."""
        builder = BatchBuilder(partition_leader_epoch=EPOCH)
        builder.move_to(self.log.log_end_offset)
        for _ in range(count):
            builder.append(NOW, None, b"value")
        records = bytes(builder.build())
        self.copy.append(AppendToCopy(records, high_watermark, 0), NOW)
        return len(records)

    def fetch(
        self, offset: int, *, epoch: int = -1, only_leader: bool = False, follower: FetchingFollower | None = None
    ) -> FetchRead:
        limits = FetchLimits(1 << 20, 0, follower, only_leader=only_leader)
        wanted = [SessionPartition(bytes(16), TOPIC, 0, offset, 1 << 20, epoch, -1)]
        return run_to_end(read_partitions(self.partitions, wanted, limits))

    def answer(self, offset: int, *, epoch: int = -1) -> FetchResponse.PartitionData:
        return self.fetch(offset, epoch=epoch).reads[0].data


@pytest.fixture
async def followed(tmp_path: Path) -> Followed:
    return Followed(tmp_path)


async def test_consumers_read_up_to_the_followers_high_watermark(followed: Followed) -> None:
    size = followed.append(2, 2)
    followed.append(3, 2)
    data = followed.answer(0)
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (ErrorCode.NONE, 2, 2)
    assert len(data.records or b"") == size
    between, beyond = followed.answer(4), followed.answer(6)
    assert (between.error_code, between.records) == (ErrorCode.NONE, b""), "Kafka answers nothing here, and no error"
    assert beyond.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


async def test_epoch_of_the_consumer_is_compared(followed: Followed) -> None:
    followed.append(2, 2)
    codes = [followed.answer(0, epoch=epoch).error_code for epoch in (-1, 2, 3, 4)]
    assert codes == [
        ErrorCode.NONE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]


async def test_old_clients_and_followers_are_sent_to_the_leader(followed: Followed) -> None:
    followed.append(2, 2)
    old = followed.fetch(0, only_leader=True)
    broker = followed.fetch(0, only_leader=True, follower=FetchingFollower(7, 1))
    codes = [read.reads[0].data.error_code for read in (old, broker)]
    assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2


async def test_fetch_that_waits_ends_when_the_high_watermark_moves(followed: Followed) -> None:
    """The records arrive first, and do not end the fetch: consumers do not see them yet."""
    done = asyncio.Event()
    FetchWait([followed.partition], 1, 600_000, followed.timers.schedule, done.set)
    followed.append(2, 0)
    assert not done.is_set()
    followed.copy.append(AppendToCopy(b"", 2, 0), NOW)
    assert done.is_set()


async def test_bytes_that_become_visible_are_counted(followed: Followed) -> None:
    seen: list[int] = []
    followed.partition.wait(seen.append)
    first, second = followed.append(2, 0), followed.append(1, 2)
    followed.copy.append(AppendToCopy(b"", 3, 0), NOW)
    assert seen == [first, second]


async def test_truncation_and_another_leader_end_waits(followed: Followed) -> None:
    seen: list[int] = []
    followed.append(4, 2)
    followed.partition.wait(seen.append)
    await followed.copy.truncate(TruncateCopy(2))
    assert seen == [0]
    followed.partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert seen == [0, 0]
    assert followed.answer(0).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, "its copy is not served any more"


async def test_event_loop_goes_on_while_a_truncation_waits_for_the_disk(tmp_path: Path) -> None:
    """Consumers read the remaining records. The next records are appended after the truncation."""
    files = GatedFiles()
    followed = Followed(tmp_path, files)
    followed.append(2, 2)
    followed.append(3, 2)
    files.sync_threads.clear()
    files.gate.clear()
    truncating = asyncio.ensure_future(followed.copy.truncate(TruncateCopy(2)))
    await turns()
    assert (truncating.done(), followed.log.log_end_offset) == (False, 2)
    assert followed.answer(0).error_code == ErrorCode.NONE
    files.gate.set()
    await truncating
    assert files.sync_threads
    assert threading.current_thread().name not in files.sync_threads
    followed.append(1, 3)
    assert followed.log.high_watermark == 3
