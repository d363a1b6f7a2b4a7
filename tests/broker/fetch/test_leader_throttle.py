"""The leader's throttle (KIP-73): a follower out of sync gets no records while the rate is exceeded."""

from pathlib import Path

import pytest

from odradek.broker.fetch.partition_read import FetchingFollower, FetchLimits, PartitionRead
from odradek.broker.fetch.read import read_partitions
from odradek.broker.fetch.session import SessionPartition
from odradek.broker.metadata.image.image import BrokerRegistration, MetadataImage, PartitionImage, ResourceType
from odradek.broker.replicas.isr import InSyncReplicas
from odradek.broker.replicas.leading import Leading
from odradek.broker.replicas.replication_throttle import LEADER_KEYS
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.log.log_config import LogConfig

from ..append_path import NOW, TOPIC, AppendPath
from ..leading_common import leading_common

LEADER, IN_SYNC, BEHIND = 1, 2, 3
RATE_BYTES_S = 100


def registration(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        broker_id, 7, bytes(16), {}, {}, None, fenced=False, in_controlled_shutdown=False, directories=()
    )


class Led:
    """A partition with one batch, a follower in sync and one out of sync, and a clock."""

    def __init__(self, directory: Path, throttled: str) -> None:
        path = AppendPath(directory, LogConfig())
        self.partitions = path.partitions
        self.now_ms = 10_000
        log = path.log(0)
        log.offsets.set_high_watermark(0)
        image = MetadataImage()
        image.configs[ResourceType.TOPIC, TOPIC] = {LEADER_KEYS.replicas: throttled}
        image.configs[ResourceType.BROKER, str(LEADER)] = {LEADER_KEYS.rate: str(RATE_BYTES_S)}
        common = leading_common(LEADER, lambda: self.now_ms, image=image)
        isr = InSyncReplicas(LEADER, 60_000, registration)
        partition = path.partitions.get(TOPIC, 0)
        self.leading = partition.leading = Leading(TOPIC, b"t" * 16, 0, log, isr, partition.notify, common)
        replicas = (LEADER, IN_SYNC, BEHIND)
        self.leading.lead(PartitionImage(replicas, (bytes(16),) * 3, (LEADER, IN_SYNC), LEADER, 0, 0), 1)
        builder = BatchBuilder()
        builder.append(NOW, None, b"value")
        log.appender.append_as_leader(bytes(builder.build()), 0, NOW)

    def fetch(self, follower: int) -> PartitionRead:
        limits = FetchLimits(1 << 20, 0, FetchingFollower(follower, 7), only_leader=True)
        wanted = [SessionPartition(bytes(16), TOPIC, 0, 0, 1 << 20, -1, -1)]
        return run_to_end(read_partitions(self.partitions, wanted, limits)).reads[0]


@pytest.mark.parametrize(("throttled", "is_throttled"), [("0:1", True), ("*", True), ("0:3", False), ("", False)])
async def test_only_a_follower_out_of_sync_is_throttled(tmp_path: Path, throttled: str, is_throttled: bool) -> None:
    led = Led(tmp_path, throttled)
    assert led.fetch(BEHIND).records_bytes > 0, "the rate is not exceeded yet"
    led.leading.copied(10 * RATE_BYTES_S)
    behind, in_sync = led.fetch(BEHIND), led.fetch(IN_SYNC)
    assert (behind.is_throttled, behind.records_bytes == 0) == (is_throttled, is_throttled)
    assert (in_sync.is_throttled, in_sync.records_bytes > 0) == (False, True)


async def test_throttled_follower_goes_on_once_the_rate_has_fallen(tmp_path: Path) -> None:
    """Its fetches still count for the ISR."""
    led = Led(tmp_path, "*")
    led.leading.copied(10 * RATE_BYTES_S)
    led.now_ms += 9_999
    assert led.fetch(BEHIND).is_throttled
    assert led.leading.isr.followers[BEHIND].last_fetch_ms == led.now_ms
    led.now_ms += 1
    assert led.fetch(BEHIND).records_bytes > 0
