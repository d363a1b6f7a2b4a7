"""A coordinator's appends to a partition with fewer in-sync replicas than min.insync.replicas."""

from functools import partial
from pathlib import Path
from typing import cast

import pytest

from odradek.broker.coordinator.partition_log import ACKS_ALL, ACKS_LEADER, PartitionLog
from odradek.broker.metadata.image.image import BrokerRegistration, PartitionImage
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.leading import Leading
from odradek.broker.replicas.partition import Partition
from odradek.broker.replicas.writer_threads import WriterThreads
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig

from ..leading_common import leading_common

LEADER, FOLLOWER, EPOCH = 1, 2, 7


@pytest.fixture
def partition(tmp_path: Path) -> Partition:
    """A partition of two replicas with min.insync.replicas 2, whose follower is not in sync."""
    log = Log.open(tmp_path / "p-0", LogConfig(), now_ms=0)
    log.offsets.set_high_watermark(0)
    led = Partition("p", bytes(16), 0, 0, partial(_same, log), cast(GroupCommit, None), WriterThreads())
    led.leading = Leading(
        "p",
        bytes(16),
        0,
        log,
        InSyncReplicas(LEADER, 100, registration),
        led.notify,
        leading_common(LEADER, lambda: 1_000),
    )
    led.leading.lead(PartitionImage((LEADER, FOLLOWER), (bytes(16),) * 2, (LEADER,), LEADER, 0, 0), min_isr=2)
    return led


def _same(log: Log) -> Log:
    return log


def registration(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, EPOCH, bytes(16), {}, {}, None, fenced=False, in_controlled_shutdown=False, directories=()
    )


def batch() -> bytes:
    builder = BatchBuilder()
    builder.append(0, b"key", b"value")
    return bytes(builder.build())


def test_transactions_are_refused_below_the_minimum_isr_before_the_append(partition: Partition) -> None:
    """``TransactionLog.ENFORCED_REQUIRED_ACKS`` is -1."""
    with pytest.raises(KafkaError) as refusal:
        PartitionLog(partition, ACKS_ALL).append(batch(), 0)
    assert refusal.value.error_code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 0


def test_groups_are_appended_below_the_minimum_isr_and_wait(partition: Partition) -> None:
    """``CoordinatorPartitionWriter`` appends with acks=1, and the high watermark does not advance."""
    log = PartitionLog(partition, ACKS_LEADER)
    outcomes: list[ErrorCode] = []
    assert log.append(batch(), 0) == 0
    log.when_durable(outcomes.append)
    assert not log.is_durable()
    assert outcomes == []


def test_partition_without_followers_has_no_minimum(partition: Partition) -> None:
    partition.resign()
    assert PartitionLog(partition, ACKS_ALL).append(batch(), 0) == 0
