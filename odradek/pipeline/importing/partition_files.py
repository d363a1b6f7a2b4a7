"""Writes the directory of one partition durably: segments with indexes, leader-epoch-checkpoint, partition.metadata.

Owns: when to roll a segment (by bytes and by offsets, as a broker does). Never does: choose the name of the directory.
Uses the broker's Segment class, so that indexes are the same as a broker's. Source: Kafka's UnifiedLog.maybeRoll,
LogSegment.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from odradek.protocol.records.batch import read_header
from odradek.storage.files.checkpoints import write_epoch_checkpoint
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.files.file_names import LEADER_EPOCH_CHECKPOINT
from odradek.storage.files.files import READ_ONLY, Files
from odradek.storage.files.meta_properties import write_partition_metadata
from odradek.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from odradek.storage.segment.segment import Segment

WRITE_BYTES = 4 << 20
"""The bytes of batches that are written at once."""
INDEX_INTERVAL_BYTES = 4096
"""Kafka's default of index.interval.bytes."""


@dataclass(slots=True)
class WrittenPartition:
    """Describes a written partition. `log_end_offset`: the offset after the last record."""

    topic: str
    partition: int
    log_start_offset: int = 0
    log_end_offset: int = 0
    records: int = 0
    size: int = 0
    """Bytes of the log files."""
    deleted: int = 0
    """Rows below the log start offset, which were left out."""
    aborted: int = 0
    """Rows of aborted transactions, which were left out."""
    undecided: int = 0
    """Rows of transactions that were open, which were left out."""


class PartitionFiles:
    """Writes batches with rising offsets into a new directory. Methods raise OSError."""

    def __init__(
        self, directory: Path, facts: WrittenPartition, segment_bytes: int, log_start_offset: int | None = None
    ) -> None:
        """`facts` is updated with each batch. A segment has at most `segment_bytes`, unless one batch is larger.

        `log_start_offset`: default is the offset of the first batch.
        """
        self._files = Files()
        self._files.make_directory(directory)
        self._directory = directory
        self._descriptors = DescriptorCache(self._files)
        self._segment_bytes = segment_bytes
        self._facts = facts
        self._segment: Segment | None = None
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        if log_start_offset is not None:
            facts.log_start_offset = facts.log_end_offset = log_start_offset
            self._begin(log_start_offset)

    def append(self, batches: Iterable[bytes]) -> None:
        """Appends batches with rising offsets. The last WRITE_BYTES may wait in memory until ``close``."""
        facts = self._facts
        for batch in batches:
            header = read_header(batch)
            segment = self._segment
            if segment is None:
                facts.log_start_offset = header.base_offset
                segment = self._begin(header.base_offset)
            elif (
                segment.size + self._waiting_bytes + len(batch) > self._segment_bytes
                or header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
            ):
                self._end()
                self._begin(header.base_offset)
            self._waiting.append(batch)
            self._waiting_bytes += len(batch)
            if self._waiting_bytes >= WRITE_BYTES:
                self._write()
            facts.log_end_offset = header.next_offset
            facts.records += header.records_count
            facts.size += len(batch)

    def close(self, topic_id: bytes, leader_epochs: Sequence[tuple[int, int]]) -> None:
        """Completes the directory and makes it durable. A partition without batches gets an empty segment.

        `leader_epochs`: (epoch, its first offset) in order.
        """
        if self._segment is None:
            self._begin(0)
        facts = self._facts
        self._end()
        path = self._directory / LEADER_EPOCH_CHECKPOINT
        epochs = leader_epochs if facts.log_end_offset > facts.log_start_offset else []
        write_epoch_checkpoint(self._files, path, epochs, sync=True)
        write_partition_metadata(self._files, self._directory, topic_id)
        self._files.sync_directory(self._directory)

    def _begin(self, base_offset: int) -> Segment:
        self._segment = Segment.create(
            self._directory,
            base_offset,
            self._descriptors,
            index_interval_bytes=INDEX_INTERVAL_BYTES,
            jitter_ms=0,
            created_ms=0,
        )
        return self._segment

    def _write(self) -> None:
        segment = self._segment
        assert segment is not None
        if self._waiting:
            position = segment.write([b"".join(self._waiting)], self._waiting_bytes)
            for batch in self._waiting:
                header = read_header(batch)
                segment.indexes.note_appended(
                    header.base_offset, header.last_offset, header.max_timestamp, position, len(batch)
                )
                position += len(batch)
        self._waiting, self._waiting_bytes = [], 0

    def _end(self) -> None:
        self._write()
        segment = self._segment
        assert segment is not None
        self._files.sync(segment.file.hold_open().fd)
        for path in segment.indexes.become_inactive():
            descriptor = self._files.open(path, READ_ONLY)
            try:
                self._files.sync(descriptor)
            finally:
                self._files.close(descriptor)
        segment.file.forget()
