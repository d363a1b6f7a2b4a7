"""ListOffsets at a leader that was just elected: no offset is named below one that an earlier leader has named.

Its high watermark may be older than that of the leader before it, until the followers have fetched (KIP-207).
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration, PartitionImage
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.leading import Leading
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.offsets import ListOffsetsRequest
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log_config import LogConfig

from ..append_path import NOW, TOPIC, AppendPath
from ..leading_common import leading_common

LEADER, FOLLOWER, BROKER_EPOCH = 1, 2, 7
LATEST, EARLIEST = -1, -2
CONSUMER, TOOL = -1, -2
FENCED, UNKNOWN = ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH
MOVED = ErrorCode.NOT_LEADER_OR_FOLLOWER
END, HIGH_WATERMARK = 3, 1


def registration(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, BROKER_EPOCH, bytes(16), {}, {}, None, fenced=False, in_controlled_shutdown=False, directories=()
    )


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[AppendPath]:
    """A partition with three records, of which its last leader had said that one is in all replicas."""
    path = AppendPath(tmp_path, LogConfig())
    partition = path.partition()
    for number in range(END):
        await path.produce({0: encode_batch([Record(0, NOW + number, None, b"v", [])])}, acks=1)
    partition.log.offsets.set_high_watermark(HIGH_WATERMARK)
    isr = InSyncReplicas(LEADER, 30_000, registration)
    partition.leading = Leading(
        TOPIC, b"t" * 16, 0, partition.log, isr, partition.notify, leading_common(LEADER, lambda: 0)
    )
    replicas = LEADER, FOLLOWER
    partition.leading.lead(PartitionImage(replicas, (bytes(16),) * 2, replicas, LEADER, 0, 0), 1)
    yield path
    await path.close()


async def asked(
    path: AppendPath, timestamp: int, version: int = 7, replica: int = CONSUMER, epoch: int = -1
) -> tuple[int, int]:
    """The error code and the offset for a time."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(0, epoch, timestamp)
    request = ListOffsetsRequest(replica, 0, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, [wanted])])
    [topic] = (await path.send(ApiKey.LIST_OFFSETS, version, request)).topics
    return topic.partitions[0].error_code, topic.partitions[0].offset


async def test_the_end_is_named_once_the_followers_have_what_the_leader_began_with(path: AppendPath) -> None:
    leading = path.partition().leading
    assert leading is not None
    unknown = ErrorCode.OFFSET_NOT_AVAILABLE, -1
    assert await asked(path, LATEST) == unknown
    assert await asked(path, LATEST, version=4) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
    leading.fetched(FOLLOWER, BROKER_EPOCH, END - 1, 0)
    assert await asked(path, LATEST) == unknown
    leading.fetched(FOLLOWER, BROKER_EPOCH, END, 0)
    assert await asked(path, LATEST) == (ErrorCode.NONE, END)


async def test_a_time_after_the_high_watermark_has_no_offset_yet(path: AppendPath) -> None:
    """Records below it are found, and followers may know all of the log."""
    assert await asked(path, EARLIEST) == (ErrorCode.NONE, 0)
    assert await asked(path, NOW) == (ErrorCode.NONE, 0)
    assert await asked(path, NOW + HIGH_WATERMARK) == (ErrorCode.OFFSET_NOT_AVAILABLE, -1)
    assert await asked(path, NOW + END) == (ErrorCode.NONE, -1), "no record is that late"
    assert await asked(path, LATEST, replica=FOLLOWER) == (ErrorCode.NONE, END)


async def test_a_tool_may_ask_a_follower_and_nobody_else(path: AppendPath) -> None:
    """Consumers, and brokers that follow, ask the leader."""
    partition = path.partition()
    log = partition.log
    partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    partition.copy = log
    assert await asked(path, LATEST, replica=TOOL) == (ErrorCode.NONE, END)
    for replica in (CONSUMER, FOLLOWER):
        assert await asked(path, LATEST, replica=replica) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)


async def test_a_partition_that_is_not_here_has_no_leader_epoch_to_compare(path: AppendPath) -> None:
    """The client has to look for the leader, however old or new its metadata is."""
    partition = path.partition()
    partition.refuse(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    for is_replica, codes in ((True, (FENCED, UNKNOWN)), (False, (MOVED, MOVED))):
        partition.is_replica = is_replica
        partition.leader_epoch = 1
        assert [(await asked(path, EARLIEST, epoch=epoch))[0] for epoch in (0, 2)] == list(codes)
