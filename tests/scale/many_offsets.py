"""Millions of committed offsets in the log directory of a stopped broker, written by our own storage.

They are in ``__consumer_offsets`` as a broker writes them: in batches of a few hundred records, each group in the
partition of its name.
"""

from pathlib import Path

from odradek.broker.coordinator.partitioning import partition_for
from odradek.broker.groups.offsets.store import offset_commit_record
from odradek.protocol.messages.group_records import OffsetCommitValue
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.log import AppendOrigin
from odradek.storage.log.log_config import LogConfig

TOPIC = "committed"
OFFSETS_TOPIC = "__consumer_offsets"
OFFSETS_TOPIC_PARTITIONS = 50
BATCH = 500


def group_name(number: int) -> str:
    """A typical name of a group."""
    return f"service-{number:06d}-consumers"


def offset_of(group: int, partition: int) -> int:
    """The group's committed offset of a partition of the topic."""
    return group * 1_000_003 + partition


def write_offsets(log_dir: Path, groups: int, partitions: int, *, now_ms: int) -> int:
    """Writes commits of ``partitions`` partitions of one topic for each group. Returns the written bytes. The broker
    must be stopped.
    """
    directory = LogDirectory.open(log_dir)
    written = 0
    try:
        directory.find_logs(now_ms)
        logs = [
            directory.open_log(OFFSETS_TOPIC, index, LogConfig(segment_bytes=100 << 20), now_ms)
            for index in range(OFFSETS_TOPIC_PARTITIONS)
        ]
        for group in range(groups):
            name = group_name(group)
            log = logs[partition_for(name, OFFSETS_TOPIC_PARTITIONS)]
            for first in range(0, partitions, BATCH):
                builder = BatchBuilder()
                for partition in range(first, min(first + BATCH, partitions)):
                    value = OffsetCommitValue(offset=offset_of(group, partition), commit_timestamp=now_ms)
                    record = offset_commit_record(name, TOPIC, partition, value)
                    builder.append(now_ms, record.key_bytes(), record.value_bytes())
                batch = builder.build()
                log.appender.append_as_leader(
                    batch, max(0, log.leader_epochs.latest), now_ms, origin=AppendOrigin.COORDINATOR
                )
                written += len(batch)
        directory.flusher.flush(list(directory.logs.values()))
    finally:
        directory.close(directory.previous_broker_epoch)
    return written
