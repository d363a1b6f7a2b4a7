"""The log of ``__cluster_metadata-0``: a thin shell between storage and the image.

Owns: the partition's log, its first checkpoint, quorum-state, the leader epoch. Never does: interpreting a metadata
record beyond its frame. Invariant: what :meth:`append` returned from is on disk.
Source: KafkaMetadataLog, KafkaRaftClient, RecordsBatchReader; KIP-595, KIP-630.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
)
from ...protocol.messages.structure import Message
from ...protocol.records.batch import check_crc, iterate_headers
from ...protocol.records.builder import BatchBuilder
from ...protocol.records.control import ControlRecordType
from ...protocol.records.record import iterate_records
from ...storage.files import Files
from ...storage.log import Log
from ...storage.log_config import LogConfig
from ...storage.log_directory import LogDirectory
from ...storage.read_result import FileRegion
from .features import record_version
from .format import (
    BOOTSTRAP_CHECKPOINT,
    QUORUM_STATE,
    QuorumState,
    bootstrap_checkpoint,
    control_records,
    kraft_version_of,
    leader_change_batch,
)
from .image import METADATA_TOPIC, METADATA_TOPIC_ID, MetadataImage
from .records import decode_record, encode_record
from .snapshot import encode_snapshot

READ_BYTES = 1 << 20
MAX_BATCH_BYTES = 8 << 20
"""``KafkaRaftClient.MAX_BATCH_SIZE_BYTES``."""
NO_OP = b"\x01\x14\x00\x00"
"""A NoOp record, of which a running Kafka writes two a second."""
_CHECKPOINT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


class LoadedRecord(NamedTuple):
    """A metadata record and where it stands; ``offset`` is -1 for one from a snapshot that has none of its own."""

    offset: int
    epoch: int
    timestamp_ms: int
    message: Message
    version: int


class MetadataLog:
    """The metadata log of a single voter."""

    def __init__(self, log: Log, files: Files, directory: Path, state: QuorumState) -> None:
        self._log = log
        self._files = files
        self._directory = directory
        self._state = state
        self.kraft_version = 0
        """The level of kraft.version; 1 where the directory names its voters."""
        self._voters: bytes | None = None
        self.has_open_transaction = False
        """Whether the log ends within a metadata transaction, whose records were left out."""

    @classmethod
    def open(
        cls, directory: LogDirectory, node_id: int, voter_endpoint: tuple[str, str, int], now_ms: int
    ) -> "MetadataLog":
        """Opens the log; formats the partition where it isn't there yet. Raises KafkaError, OSError, ValueError."""
        assert directory.meta is not None, "meta.properties comes first"
        files = directory.files
        path = directory.path / f"{METADATA_TOPIC}-0"
        is_fresh = not files.exists(path)
        config = LogConfig(max_message_bytes=MAX_BATCH_BYTES, retention_ms=-1, retention_bytes=-1)
        log = directory.open_log(METADATA_TOPIC, 0, config, now_ms, METADATA_TOPIC_ID)
        if is_fresh:
            checkpoint = bootstrap_checkpoint(node_id, directory.meta.directory_id, voter_endpoint, now_ms)
            files.write_file(path / BOOTSTRAP_CHECKPOINT, checkpoint)
            os.chmod(path / BOOTSTRAP_CHECKPOINT, 0o444)
        return cls(log, files, path, _read_state(files, path / QUORUM_STATE))

    @property
    def leader_epoch(self) -> int:
        """The epoch of which this node is the leader."""
        return self._state.leader_epoch

    @property
    def log_start_offset(self) -> int:
        """The first offset that is kept."""
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset that the next record gets."""
        return self._log.log_end_offset

    def load(self) -> Iterator[LoadedRecord]:
        """All metadata records: of the latest snapshot, then of the log behind it; transactions whole or not at all.

        Raises ProtocolError for what is no record of Kafka 4.3.1, CorruptRecordError for a wrong CRC.
        """
        offset = self._log.log_start_offset
        for end_offset, path in self._all_checkpoints()[-1:]:
            snapshot = self._files.read_file(path)
            self._take_control_records(snapshot)
            yield from _snapshot_records(snapshot)
            offset = max(offset, end_offset)
        yield from self._whole_transactions(offset)

    def bootstrap_records(self) -> list[Message]:
        """What ``kafka-storage format`` has put aside for the first start (features, SCRAM users); none elsewhere."""
        path = self._directory.parent / "bootstrap.checkpoint"
        if not self._files.exists(path):
            return []
        return [record.message for record in _snapshot_records(self._files.read_file(path))]

    def _all_checkpoints(self) -> list[tuple[int, Path]]:
        """All snapshots and their end offsets, the latest last."""
        found = [
            (int(match[1]), int(match[2]), self._directory / entry.name)
            for entry in self._files.list(self._directory)
            if (match := _CHECKPOINT.fullmatch(entry.name))
        ]
        return [(end_offset, path) for end_offset, _, path in sorted(found)]

    def _whole_transactions(self, offset: int) -> Iterator[LoadedRecord]:
        pending: list[LoadedRecord] | None = None
        for record in self._log_records(offset):
            message = record.message
            if isinstance(message, BeginTransactionRecord):
                pending = []
            elif isinstance(message, EndTransactionRecord):
                yield from pending or ()
                pending = None
                yield record
            elif isinstance(message, AbortTransactionRecord):
                pending = None
                yield record
            elif pending is not None:
                pending.append(record)
            else:
                yield record
        self.has_open_transaction = pending is not None

    def _log_records(self, offset: int) -> Iterator[LoadedRecord]:
        while offset < self._log.log_end_offset:
            data = _bytes_of(self._log.read(offset, READ_BYTES).data)
            for position, header in iterate_headers(data):
                check_crc(data, position, header)
                first, offset = offset, header.next_offset
                if header.is_control:
                    self._take_control_records(data[position : position + header.size_in_bytes])
                    continue
                for record in iterate_records(data, header, position):
                    if record.offset >= first and record.value != NO_OP:
                        message, version = decode_record(record.value)
                        yield LoadedRecord(
                            record.offset, header.partition_leader_epoch, record.timestamp, message, version
                        )

    def _take_control_records(self, batches: bytes) -> None:
        for kind, value in control_records(batches):
            if kind is ControlRecordType.KRAFT_VERSION:
                self.kraft_version = kraft_version_of(value)
            elif kind is ControlRecordType.KRAFT_VOTERS:
                self._voters = value

    def write_snapshot(self, image: MetadataImage, now_ms: int) -> None:
        """Writes the image of everything up to the log's end, durably. Raises OSError.

        Earlier records stay where they are; the next start need not read them.
        """
        snapshot = encode_snapshot(image, self.kraft_version, self._voters, self.leader_epoch, now_ms)
        path = self._directory / f"{self.log_end_offset:020d}-{self.leader_epoch:010d}.checkpoint"
        self._files.write_file(path, snapshot)
        os.chmod(path, 0o444)
        for _, older in self._all_checkpoints()[:-2]:
            # The first one names the voters to a Kafka that knows no other; the last but one is a way back.
            if older.name != BOOTSTRAP_CHECKPOINT:
                self._files.remove(older)

    def become_leader(self, node_id: int, now_ms: int) -> None:
        """Begins the next epoch: remembered first, so that no epoch is ever used twice, then written to the log."""
        epoch = max(self._state.leader_epoch, self._log.latest_epoch, 0) + 1
        self._state = QuorumState(node_id, epoch, data_version=min(self.kraft_version, 1))
        self._files.write_file(self._directory / QUORUM_STATE, self._state.to_json())
        batch = leader_change_batch(node_id, epoch, self._log.log_end_offset, now_ms)
        self._log.append_as_follower(batch, now_ms)
        self._log.flush()

    def append(self, records: Sequence[Message], metadata_version: int, now_ms: int) -> int:
        """Appends records in one batch (more only where one can't hold them), flushes; the first one's offset.

        Raises KafkaError where the disk refuses.
        """
        first_offset = self._log.log_end_offset
        for batch in self._batches(records, metadata_version, now_ms):
            self._log.append_as_follower(batch, now_ms)
        self._log.flush()
        return first_offset

    def _batches(self, records: Sequence[Message], metadata_version: int, now_ms: int) -> Iterator[bytes]:
        builder = self._builder(self._log.log_end_offset)
        for record in records:
            value = encode_record(record, record_version(record, metadata_version))
            # 64 bytes are more than a record adds to its value.
            if builder.records_count and builder.size_in_bytes + len(value) + 64 > MAX_BATCH_BYTES:
                yield builder.build()
                builder = self._builder(builder.last_offset + 1)
            builder.append(now_ms, None, value)
        yield builder.build()

    def _builder(self, base_offset: int) -> BatchBuilder:
        return BatchBuilder(base_offset=base_offset, partition_leader_epoch=self._state.leader_epoch)


def _read_state(files: Files, path: Path) -> QuorumState:
    if not files.exists(path):
        return QuorumState(leader_id=-1, leader_epoch=0, data_version=0)
    return QuorumState.parse(files.read_file(path))


def _bytes_of(data: bytes | FileRegion) -> bytes:
    if isinstance(data, bytes):
        return data
    try:
        return os.pread(data.fd, len(data), data.position)
    finally:
        data.close()


def _snapshot_records(snapshot: bytes) -> Iterator[LoadedRecord]:
    for position, header in iterate_headers(snapshot):
        check_crc(snapshot, position, header)
        if header.is_control:
            continue
        for record in iterate_records(snapshot, header, position):
            message, version = decode_record(record.value)
            yield LoadedRecord(-1, header.partition_leader_epoch, record.timestamp, message, version)
