"""A metadata.version below that of existing records: no snapshot loses them, and a stop is still clean.

Kafka's SnapshotGenerator logs the UnwritableMetadataException and continues without that snapshot; so do we.
"""

import asyncio
from pathlib import Path

import pytest

from odradek.broker.metadata.publisher.published import MAX_RECORDS_AFTER_STOP
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.metadata.publisher.snapshot_generator import SnapshotGenerator
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.messages.metadata_records import ConfigRecord, FeatureLevelRecord, TopicRecord
from odradek.protocol.messages.metadata_records import PartitionRecord as Partition
from support.brokers.metadata_images import NODE_ID
from support.brokers.metadata_service import NOW_MS, open_service

DIRECTORY = b"directory id 123"


def lower(service: MetadataService, level: int) -> None:
    """Commits a topic whose replica has a directory, many records, and then the lower level."""
    topic_id = b"a topic's own id"
    replica = Partition(0, topic_id, [NODE_ID], [NODE_ID], leader=NODE_ID, directories=[DIRECTORY])
    service.commit([TopicRecord("t", topic_id), replica], NOW_MS)
    service.commit([ConfigRecord(2, "t", "k", str(n)) for n in range(MAX_RECORDS_AFTER_STOP + 1)], NOW_MS)
    lowered = [FeatureLevelRecord("eligible.leader.replicas.version", 0), FeatureLevelRecord("metadata.version", level)]
    service.commit(lowered, NOW_MS)


@pytest.mark.parametrize("level", [7, 16, 22])
def test_a_stop_writes_no_snapshot_that_loses_something(
    level: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with open_service(tmp_path) as service:
        lower(service, level)
        kept = list(service.log.snapshot_ids)
        topic = service.image.topics_by_name["t"]
    if level < 17:
        assert service.log.snapshot_ids == kept
        assert f"metadata.version {level} can't represent" in caplog.text
    else:
        assert len(service.log.snapshot_ids) == len(kept) + 1
    with open_service(tmp_path, crash=True) as service:
        again = service.image.topics_by_name["t"]
        assert again.topic_id == topic.topic_id
        assert again.partitions[0].directories == (DIRECTORY,)


def test_a_running_broker_names_it_and_goes_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run(service: MetadataService) -> None:
        timers = LoopTimers(asyncio.get_running_loop())
        generator = SnapshotGenerator(service, timers, lambda: NOW_MS)
        lower(service, 16)
        generator.start()
        await generator.idle()
        await generator.stop()
        timers.close()

    with open_service(tmp_path, "metadata.log.max.record.bytes.between.snapshots=1", crash=True) as service:
        kept = list(service.log.snapshot_ids)
        asyncio.run(run(service))
        assert service.log.snapshot_ids == kept
    assert "could not write metadata snapshot" in caplog.text
    assert "metadata.version 16 can't represent" in caplog.text
