"""Snapshots at a broker of a cluster: those of the controllers, and its own."""

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.log.log_reader import MetadataLogError
from odradek.broker.metadata.log.snapshot_files import SnapshotId
from odradek.broker.metadata.publisher.followed import DECODED_RECORDS_A_STEP, FollowedMetadata
from odradek.broker.metadata.publisher.snapshot_generator import SnapshotGenerator
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.codec import encode
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.metadata_records import (
    PartitionRecord,
    TopicRecord,
)
from odradek.protocol.messages.snapshots import SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, encode_control_batch
from support.brokers.metadata_service import NOW_MS, open_service
from support.disks.simulated_disk import SimulatedDisk

from ..many_partitions import snapshot_of_partitions
from .followers import FOLLOWER_ID, append_raw, batches_of, following, replace_by, same

MANY = 20_000


@pytest.mark.parametrize("in_background", [False, True])
def test_records_below_a_snapshot_survive_a_power_failure(tmp_path: Path, in_background: bool) -> None:
    """A start does not check these records, so a hole among them would stay for ever."""
    with open_service(tmp_path / "leader", crash=True) as service:
        for name in "abcdefgh":
            append_raw(service, [TopicRecord(name, name.encode() * 16)])
        end = service.log.log_end_offset
        copied, cluster_id = batches_of(service, 0, end), service.cluster_id
    (tmp_path / "follower").mkdir()
    disk = SimulatedDisk(tmp_path / "follower", NOW_MS)
    with following(tmp_path / "follower", cluster_id, disk) as followed:
        followed.log.append_fetched(copied, NOW_MS)
        run_to_end(followed.apply(end))
        assert followed.log.flusher.is_dirty, "an observer does not sync what it copies"
        if in_background:
            asyncio.run(generate(followed))
        else:
            followed.write_snapshot(NOW_MS)
        assert [one.end_offset for one in followed.log.snapshot_ids] == [end]
    for seed in range(10):
        survivors = disk.survivors(disk.root, random.Random(seed), has_power=False)
        assert b"".join(data for path, data in survivors.files_below(disk.root) if path.suffix == ".log") == copied
    with following(tmp_path / "follower", cluster_id, disk) as followed:
        assert followed.log.log_end_offset == end


async def generate(followed: FollowedMetadata) -> None:
    """Writes the snapshot that is due, in the background."""
    timers = LoopTimers(asyncio.get_running_loop())
    generator = SnapshotGenerator(followed, timers, lambda: NOW_MS)
    generator.start()
    await generator.idle()
    timers.close()


def test_large_snapshot_is_replayed_in_short_steps_and_replaces_all_at_once(tmp_path: Path) -> None:
    """Readers and the log keep the old state until the last record was replayed."""
    snapshot = snapshot_of_partitions(MANY, FOLLOWER_ID, NOW_MS)
    heard: list[MetadataDelta] = []

    def subscriber(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        assert image is followed.image
        heard.append(delta)
        yield

    with open_service(tmp_path / "leader", crash=True) as service:
        old_id = service.log.snapshot_ids[-1]
        old = service.log._snapshots.read(old_id)
        cluster_id = service.cluster_id
    new_id = SnapshotId(50_000, 3)
    with following(tmp_path / "follower", cluster_id) as followed:
        replace_by(followed, old_id, old)
        followed.subscribe(subscriber)
        image, end_offset = followed.image, followed.log.log_end_offset
        received = followed.log.receive_snapshot(new_id)
        received.write(snapshot)
        steps = followed.replace(received, followed.log.check_received(received), NOW_MS)
        before = after = 0
        for _ in steps:
            if followed.image is image:
                before += 1
                assert followed.log.log_end_offset == end_offset
                assert followed.snapshot_reason(NOW_MS + (1 << 40)) is None
            else:
                after += 1
                assert followed.log.log_end_offset == new_id.end_offset == followed.applied_offset + 1
                assert sum(len(topic.partitions) for topic in followed.image.topics_by_id.values()) == MANY
        assert before > MANY // DECODED_RECORDS_A_STEP
        assert after
        assert sum(len(delta.changed_partitions) for delta in heard) == MANY
        image = followed.image
    with following(tmp_path / "follower", cluster_id) as followed:
        assert same(followed.image, image)
        assert followed.applied_offset == image.last_offset


def test_snapshot_with_a_record_that_cannot_be_replayed_leaves_everything_as_it_was(tmp_path: Path) -> None:
    lost = BatchBuilder(base_offset=1, partition_leader_epoch=1)
    lost.append(NOW_MS, None, encode_record(PartitionRecord(0, b"u" * 16, [1], [1], leader=1), 0))
    header = [(ControlRecordType.SNAPSHOT_HEADER, encode(SnapshotHeaderRecord(), 0))]
    footer = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    with following(tmp_path, "c" * 22) as followed:
        received = followed.log.receive_snapshot(SnapshotId(10, 1))
        for part in (
            encode_control_batch(header, timestamp=NOW_MS, base_offset=0, partition_leader_epoch=1),
            lost.build(),
            encode_control_batch(footer, timestamp=NOW_MS, base_offset=2, partition_leader_epoch=1),
        ):
            received.write(part)
        snapshot = followed.log.check_received(received)
        with pytest.raises(MetadataLogError):
            run_to_end(followed.replace(received, snapshot, NOW_MS))
        assert followed.image.topics_by_id == {}
        assert followed.log.snapshot_ids == []
        assert followed.log.log_end_offset == 0
        received.discard()


def test_own_snapshot_that_ends_after_one_of_the_controllers_is_not_counted(tmp_path: Path) -> None:
    with open_service(tmp_path / "leader", crash=True) as service:
        first_id = service.log.snapshot_ids[-1]
        first = service.log._snapshots.read(first_id)
        end = service.log.log_end_offset
        batches = batches_of(service, first_id.end_offset, end)
        cluster_id = service.cluster_id
    later = SnapshotId(end + 100, 9)
    with following(tmp_path / "follower", cluster_id) as followed:
        replace_by(followed, first_id, first)
        followed.log.append_fetched(batches, NOW_MS)
        run_to_end(followed.apply(end))
        pending = followed.begin_snapshot(NOW_MS)
        assert pending is not None
        followed.log.write_snapshot(pending.snapshot_id, list(pending.batches))
        replace_by(followed, later, snapshot_of_partitions(1, FOLLOWER_ID, NOW_MS))
        followed.log.complete_snapshot(pending)
        assert followed.log.snapshot_ids == [later]
        assert followed.log.bytes_since_snapshot == 0
        assert pending.snapshot_id.file_name in {path.name for path in followed.log._log.directory.iterdir()}
    with following(tmp_path / "follower", cluster_id) as followed:
        assert followed.log.snapshot_ids == [later]
        assert pending.snapshot_id.file_name not in {path.name for path in followed.log._log.directory.iterdir()}
