"""A log directory with a topic that groups read and an offsets topic, written record by record at given times.

    directory = GroupsDirectory()
    directory.commit("readers", 590, at_ms=NOW_MS - 1000)
    directory.write(path)

Topic `t1` has two partitions: 0 has 600 records, one every second up to NOW_MS; 1 has none. The offsets topic has four.
`__share_group_state` has three if anything is written to it. The metadata log knows all.
"""

import random
import shutil
import struct
from dataclasses import dataclass, field
from pathlib import Path

from odradek.broker.coordinator.partitioning import partition_for
from odradek.protocol.codec import encode
from odradek.protocol.internal_records.share_state_records import ShareStateRecord
from odradek.protocol.messages import metadata_records
from odradek.protocol.messages.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.log.log import AppendOrigin
from support.data.log_histories import HistoryWriter
from support.kafka.directory import (
    DIRECTORY_ID,
    NODE_ID,
    NOW_MS,
    TOPIC,
    TOPIC_ID,
    KafkaDirectory,
    Versioned,
    registration,
)

OFFSETS_TOPIC = "__consumer_offsets"
STATE_TOPIC = "__share_group_state"
STATE_TOPIC_ID = bytes.fromhex("303132333435363738393a3b3c3d3e3f")
STATE_PARTITIONS = 3
OFFSETS_TOPIC_ID = bytes.fromhex("202122232425262728292a2b2c2d2e2f")
OFFSETS_PARTITIONS = 4
TOPIC_RESOURCE = 2
RECORDS = 600
FIRST_MS = NOW_MS - (RECORDS - 1) * 1000


def partition_record(topic_id: bytes, index: int) -> Versioned:
    """A partition that broker 0 has."""
    record = metadata_records.PartitionRecord(
        index, topic_id, replicas=[NODE_ID], isr=[NODE_ID], leader=NODE_ID, leader_epoch=0, partition_epoch=0
    )
    record.directories = [DIRECTORY_ID]
    return record, 2


@dataclass(frozen=True, slots=True)
class Written:
    """The place of a record: its partition of the offsets topic and its offset."""

    partition: int
    offset: int


@dataclass(slots=True)
class GroupsDirectory:
    """The records of the offsets topic. `write` writes the directory."""

    topic_id: bytes = TOPIC_ID
    data_epochs: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    """(leader epoch, start offset) of partition 0 of the topic."""
    first_offset: int = 0
    """The log start offset: earlier records do not exist."""
    is_topic_there: bool = True
    compression: CompressionType = CompressionType.NONE
    """The attributes of the next batches."""
    batches: dict[int, list[tuple[int, bytes, int]]] = field(default_factory=dict)
    """Partition of the offsets topic -> its (time, batch, records)."""
    states: dict[int, list[tuple[int, bytes, int]]] = field(default_factory=dict)
    """The same of `__share_group_state`."""

    def commit(
        self,
        group: str,
        offset: int,
        at_ms: int = NOW_MS,
        *,
        topic: str = TOPIC,
        partition: int = 0,
        leader_epoch: int = -1,
        topic_id: bytes | None = None,
        metadata: str = "",
        producer_id: int = -1,
        copies: int = 1,
    ) -> Written:
        """Writes a commit, in a transaction if `producer_id` is given; `copies` of it in one batch.

        Returns the place of the first.
        """
        key = struct.pack(">h", 1) + encode(OffsetCommitKey(group, topic, partition), 0)
        value = OffsetCommitValue(offset, leader_epoch, metadata, at_ms, topic_id=topic_id or bytes(16))
        version = 4 if topic_id is not None else 3
        data = struct.pack(">h", version) + encode(value, version)
        return self.records(partition_for(group, OFFSETS_PARTITIONS), [(key, data)] * copies, at_ms, producer_id)

    def delete(self, group: str, at_ms: int = NOW_MS, *, topic: str = TOPIC, partition: int = 0) -> Written:
        """The tombstone of a commit."""
        key = struct.pack(">h", 1) + encode(OffsetCommitKey(group, topic, partition), 0)
        return self.records(partition_for(group, OFFSETS_PARTITIONS), [(key, None)], at_ms)

    def group(self, group: str, members: int, at_ms: int = NOW_MS, *, partition: int | None = None) -> Written:
        """Writes a classic group of consumers, by default to its own partition."""
        found = [GroupMetadataValue.MemberMetadata(f"m{index}", client_id="c") for index in range(members)]
        value = GroupMetadataValue("consumer", 4, "range", None, at_ms, found)
        key = struct.pack(">h", 2) + encode(GroupMetadataKey(group), 0)
        data = struct.pack(">h", 3) + encode(value, 3)
        home = partition_for(group, OFFSETS_PARTITIONS) if partition is None else partition
        return self.records(home, [(key, data)], at_ms)

    def records(
        self, partition: int, pairs: list[tuple[bytes | None, bytes | None]], at_ms: int = NOW_MS, producer_id: int = -1
    ) -> Written:
        """A batch of any keys and values in the offsets topic."""
        return self._append(self.batches.setdefault(partition, []), partition, pairs, at_ms, producer_id)

    def share_state(self, record: ShareStateRecord, at_ms: int = NOW_MS, *, partition: int | None = None) -> Written:
        """A record of the state of a share partition, by default in its own partition."""
        home = partition_for(record.key.coordinator_key, STATE_PARTITIONS) if partition is None else partition
        return self.state_records(home, [(record.key_bytes(), record.value_bytes())], at_ms)

    def state_records(
        self, partition: int, pairs: list[tuple[bytes | None, bytes | None]], at_ms: int = NOW_MS
    ) -> Written:
        """A batch of any keys and values in `__share_group_state`."""
        return self._append(self.states.setdefault(partition, []), partition, pairs, at_ms, -1)

    def _append(
        self,
        log: list[tuple[int, bytes, int]],
        partition: int,
        pairs: list[tuple[bytes | None, bytes | None]],
        at_ms: int,
        producer_id: int,
    ) -> Written:
        batch = encode_batch(
            [Record(index, at_ms, key, value, []) for index, (key, value) in enumerate(pairs)],
            compression=self.compression,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sum(n for _, _, n in log) if producer_id >= 0 else -1,
            is_transactional=producer_id >= 0,
        )
        written = Written(partition, sum(count for _, _, count in log))
        log.append((at_ms, batch, len(pairs)))
        return written

    def end(self, group: str, producer_id: int, kind: ControlRecordType, at_ms: int = NOW_MS) -> None:
        """The marker of a transaction in the group's partition."""
        marker = encode_end_transaction_batch(
            EndTransactionMarker(kind, 1), timestamp=at_ms, producer_id=producer_id, producer_epoch=0
        )
        self.batches.setdefault(partition_for(group, OFFSETS_PARTITIONS), []).append((at_ms, marker, 1))

    def write(self, root: Path) -> Path:
        """Makes the directory."""
        topics: list[list[Versioned]] = [
            [(metadata_records.TopicRecord(OFFSETS_TOPIC, OFFSETS_TOPIC_ID), 0)]
            + [partition_record(OFFSETS_TOPIC_ID, index) for index in range(OFFSETS_PARTITIONS)]
        ]
        if self.states:
            homes = [partition_record(STATE_TOPIC_ID, index) for index in range(STATE_PARTITIONS)]
            topics.append([(metadata_records.TopicRecord(STATE_TOPIC, STATE_TOPIC_ID), 0), *homes])
            policy = metadata_records.ConfigRecord(TOPIC_RESOURCE, STATE_TOPIC, "cleanup.policy", "delete")
            topics.append([(policy, 0)])
        if self.is_topic_there:
            records = [partition_record(self.topic_id, index) for index in range(2)]
            topics.append([(metadata_records.TopicRecord(TOPIC, self.topic_id), 0), *records])
        feature: list[Versioned] = [(metadata_records.FeatureLevelRecord("metadata.version", 30), 0)]
        ends = f"0\n1\n{TOPIC} 0 {RECORDS}\n".encode() if self.is_topic_there else b""
        checkpoints = dict.fromkeys(("recovery-point-offset-checkpoint", "replication-offset-checkpoint"), ends)
        KafkaDirectory(metadata=[feature, [registration()], *topics], added=checkpoints).write(root)
        for index in range(2):
            shutil.rmtree(root / f"{TOPIC}-{index}")  # the logs are written below
        if self.is_topic_there:
            self._write_data(root)
        for partition, batches in self.batches.items():
            self._write_log(root / f"{OFFSETS_TOPIC}-{partition}", [(0, time, batch) for time, batch, _ in batches])
        for index in range(STATE_PARTITIONS) if self.states else ():
            batches = self.states.get(index, [])
            self._write_log(root / f"{STATE_TOPIC}-{index}", [(0, time, batch) for time, batch, _ in batches])
        return root

    def _write_data(self, root: Path) -> None:
        batches = []
        for base in range(self.first_offset, RECORDS, 10):
            records = [Record(index, FIRST_MS + (base + index) * 1000, None, b"x" * 50, []) for index in range(10)]
            epoch = max(epoch for epoch, start in self.data_epochs if start <= base)
            batches.append((epoch, FIRST_MS + (base + 9) * 1000, encode_batch(records)))
        self._write_log(root / f"{TOPIC}-0", batches, self.first_offset)
        self._write_log(root / f"{TOPIC}-1", [])

    def _write_log(self, path: Path, batches: list[tuple[int, int, bytes]], first_offset: int = 0) -> None:
        writer = HistoryWriter(random.Random(1), path)
        if first_offset:
            writer.log.removal.truncate_fully_and_start_at(first_offset)
        for epoch, time, batch in batches:
            writer.log.appender.append_as_leader(batch, epoch, time, origin=AppendOrigin.COORDINATOR)
        writer.close()
