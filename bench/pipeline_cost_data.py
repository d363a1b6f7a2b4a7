"""Log directories of any size and number of partitions within seconds, for the cost of jobs over them.

One partition is written through the project's own log: records of 1 KiB in batches of 16 KiB, nine tenths in a closed
segment, the rest in the active one. The other partitions are hard links to its files, so that a directory of 10 GB
takes as little of the disk as one partition. The metadata log has all topics, of 50 partitions each.
"""

import os
import random
import shutil
from pathlib import Path

from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.metadata_records import PartitionRecord, TopicRecord
from odradek.protocol.records.builder import BatchBuilder, encode_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.checkpoints import write_offset_checkpoint
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.files import Files
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties, write_partition_metadata
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.disks.unsynced_files import UnsyncedFiles

START_MS = 1_790_000_000_000
RECORDS_OF_A_BATCH = 15
VALUE_BYTES = 1012
KINDS = 256
"""The number of different batches."""
PARTITIONS_OF_A_TOPIC = 50
METADATA_RECORDS = 1000
"""Records in a batch of the metadata log."""
CLUSTER, NODE_ID = "AAAAAAAAAAAAAAAAAAAAAA", 1
DIRECTORY_ID = bytes(range(32, 48))


def write_directory(root: Path, size: int, partitions: int) -> int:
    """Writes a log directory with about `size` bytes of segments, as after a clean stop. Returns its bytes."""
    template = root.parent / f"{root.name}-template" / "t-0"
    end = _write_log(template, size // partitions)
    files = [path for path in template.iterdir() if path.name != "partition.metadata"]
    ends = {}
    for number in range(partitions):
        topic, partition = divmod(number, PARTITIONS_OF_A_TOPIC)
        path = root / f"topic-{topic}-{partition}"
        path.mkdir(parents=True)
        for file in files:
            os.link(file, path / file.name)
        write_partition_metadata(UnsyncedFiles(), path, _topic_id(topic))
        ends[f"topic-{topic}", partition] = end
    for name in ("replication-offset-checkpoint", "recovery-point-offset-checkpoint"):
        write_offset_checkpoint(Files(), root / name, ends)
    write_meta_properties(Files(), root, MetaProperties(CLUSTER, NODE_ID, DIRECTORY_ID))
    _write_metadata(root / "__cluster_metadata-0", partitions)
    (root / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":1}')
    written = sum(path.stat().st_size for path in files if path.suffix == ".log") * partitions
    shutil.rmtree(template.parent)
    return written


def _write_log(directory: Path, size: int) -> int:
    """Writes the log of one partition. Returns its end offset."""
    chance = random.Random(1)
    batches = [_batch(chance) for _ in range(KINDS)]
    log = Log.open(
        directory, LogConfig(), now_ms=START_MS, descriptors=DescriptorCache(UnsyncedFiles()), clean_shutdown=True
    )
    count = max(size // len(batches[0]), 2)
    for number in range(count):
        if number == max(count * 9 // 10, 1):
            log.roll(START_MS)
        log.appender.append_as_leader(batches[number % KINDS], 0, START_MS, origin=AppendOrigin.COORDINATOR)
    end = log.log_end_offset
    log.close()
    return end


def _batch(chance: random.Random) -> bytes:
    records = [
        Record(index, START_MS, b"key-%08d" % chance.randrange(10**8), chance.randbytes(VALUE_BYTES), [])
        for index in range(RECORDS_OF_A_BATCH)
    ]
    return encode_batch(records)


def _topic_id(topic: int) -> bytes:
    return b"\1" + topic.to_bytes(15, "big")


def _write_metadata(directory: Path, partitions: int) -> None:
    messages: list[TopicRecord | PartitionRecord] = []
    for number in range(partitions):
        topic, partition = divmod(number, PARTITIONS_OF_A_TOPIC)
        if not partition:
            messages.append(TopicRecord(f"topic-{topic}", _topic_id(topic)))
        record = PartitionRecord(partition, _topic_id(topic), replicas=[NODE_ID], isr=[NODE_ID])
        record.directories = [DIRECTORY_ID]
        messages.append(record)
    directory.mkdir()
    with (directory / f"{0:020d}.log").open("wb") as file:
        for first in range(0, len(messages), METADATA_RECORDS):
            builder = BatchBuilder(base_offset=first)
            for message in messages[first : first + METADATA_RECORDS]:
                builder.append(START_MS, None, encode_record(message, 1 if isinstance(message, PartitionRecord) else 0))
            file.write(builder.build())
