"""The log of ``__cluster_metadata-0``: a thin shell between storage and the image.

Owns: the partition's log, its snapshots, quorum-state. Never does: interpreting a metadata record beyond its frame,
writing records (:mod:`.voter_log` appends its own, :mod:`.observer_log` those of other controllers). Invariant: a
snapshot is complete and durable before the records that it covers are removed. Source: KafkaMetadataLog,
KafkaRaftClient; KIP-595, KIP-630.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from odradek.protocol.codec import decode
from odradek.protocol.common.holder import holder
from odradek.protocol.messages.snapshots import VotersRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import METADATA_TOPIC, METADATA_TOPIC_ID
from odradek.protocol.records.control import ControlRecordType
from odradek.protocol.records.errors import CorruptRecordError
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.files import Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_flusher import LogFlusher
from odradek.storage.log.read_result import in_memory

from ...config.server_config import ServerConfig
from ..image.image import MetadataImage
from .format import (
    QUORUM_STATE,
    QuorumState,
    bootstrap_checkpoint,
    control_records,
    kraft_version_of,
    last_contained_log_timestamp,
)
from .log_reader import (
    LoadedRecord,
    LogReader,
    MetadataLogError,
    check_batches,
    damaged,
    plain_records,
    refuse_to_lose,
    snapshot_records,
)
from .snapshot import encode_snapshot
from .snapshot_files import SnapshotFiles, SnapshotId, ids_in

logger = logging.getLogger(__name__)

READ_BYTES = 1 << 20
MAX_BATCH_BYTES = 8 << 20
"""``KafkaRaftClient.MAX_BATCH_SIZE_BYTES``."""
RECORDS_A_STEP = 32
"""The number of records encoded in one step: 10 us each."""
SNAPSHOT_HEADER_BYTES = 4096
"""Larger than the first batch of a snapshot: header, kraft.version, voters."""
BOOTSTRAP_FILE = "bootstrap.checkpoint"
"""What a Kafka before 4.4 formats a directory with."""
FIRST_SNAPSHOT = SnapshotId(0, 0)
"""``Snapshots.BOOTSTRAP_SNAPSHOT_ID``: what the directory was formatted with."""


@holder()
class MetadataLogConfig:
    """The ``metadata.*`` keys: the size of segments and the retention of snapshots, in bytes and ms. -1: unlimited."""

    segment_bytes: int
    segment_ms: int
    retention_bytes: int
    retention_ms: int

    @classmethod
    def of(cls, config: ServerConfig) -> "MetadataLogConfig":
        """Reads the keys. ``internal.metadata.log.segment.bytes`` is Kafka's own key for tests."""
        internal: int | None = config["internal.metadata.log.segment.bytes"]
        return cls(
            segment_bytes=config.get_int("metadata.log.segment.bytes") if internal is None else internal,
            segment_ms=config.get_int("metadata.log.segment.ms"),
            retention_bytes=config.get_int("metadata.max.retention.bytes"),
            retention_ms=config.get_int("metadata.max.retention.ms"),
        )


class PendingSnapshot(NamedTuple):
    """A snapshot that is being encoded: its id, its batches, and the part of the log that it covers."""

    snapshot_id: SnapshotId
    batches: Iterator[bytes]
    log_bytes: int


class MetadataLog:
    """The part of the metadata log that voters and observers share: reading, and the snapshots."""

    def __init__(
        self, log: Log, snapshots: SnapshotFiles, files: Files, config: MetadataLogConfig, state: QuorumState
    ) -> None:
        """Use :meth:`open`."""
        self.kraft_version = 0
        """The level of kraft.version; 1 if the directory names its voters."""
        self.has_open_transaction = False
        """Whether the log ends within a metadata transaction, whose records are ignored."""
        self.bytes_since_snapshot = 0
        """The bytes of the log after the latest snapshot, which a start would read."""
        self._log = log
        self._snapshots = snapshots
        self._files = files
        self._config = config
        self._state = state
        self._voters: bytes | None = None
        self._last_epoch = 0

    @classmethod
    def open(
        cls,
        directory: LogDirectory,
        node_id: int,
        voter_endpoint: tuple[str, str, int] | None,
        config: ServerConfig,
        now_ms: int,
        first_records: Sequence[Message] = (),
    ) -> Self:
        """Opens the log. Formats the partition if it does not exist.

        ``voter_endpoint``: listener, host and port of this node as the only voter, None for an observer.
        ``first_records``: those that the first checkpoint of a new log gets, unless the directory was formatted with
        others. Raises MetadataLogError for damage that would lose committed records, KafkaError, OSError, ValueError.
        """
        assert directory.meta is not None, "meta.properties comes first"
        files = directory.files
        keys = MetadataLogConfig.of(config)
        path = directory.path / f"{METADATA_TOPIC}-0"
        log = Log.open(
            path,
            LogConfig(
                max_message_bytes=MAX_BATCH_BYTES,
                segment_bytes=keys.segment_bytes,
                segment_ms=keys.segment_ms,
                retention_ms=-1,
                retention_bytes=-1,
            ),
            now_ms=now_ms,
            files=files,
            # The log was synced before a snapshot was taken, in Kafka, too.
            recovery_point=max((snapshot.end_offset for snapshot in ids_in(path, files)), default=0),
            # As in Kafka: the part after the latest snapshot is always checked. It is small.
            clean_shutdown=False,
            topic_id=METADATA_TOPIC_ID,
            # An observer does not sync what it copies: a power failure may leave whole batches after a hole.
            before_cut=None if voter_endpoint is None else refuse_to_lose(files),
            on_failure=directory.fail,
        )
        directory.logs[METADATA_TOPIC, 0] = log
        snapshots = SnapshotFiles.open(path, files, log.log_start_offset)
        if log.log_start_offset and not snapshots.ids:
            raise MetadataLogError(
                f"{path}: the log begins at offset {log.log_start_offset}, and no snapshot (<end offset>-<epoch>"
                f".checkpoint) has the records before that. Put the snapshot back from a copy of this directory"
            )
        is_new = not log.log_end_offset and not snapshots.ids and not files.exists(path / QUORUM_STATE)
        if voter_endpoint is not None and is_new:
            records = () if files.exists(directory.path / BOOTSTRAP_FILE) else first_records
            checkpoint = bootstrap_checkpoint(node_id, directory.meta.directory_id, voter_endpoint, now_ms, records)
            snapshots.write(FIRST_SNAPSHOT, [checkpoint])
            snapshots.add(FIRST_SNAPSHOT)
        latest = snapshots.latest
        if latest is not None and latest.end_offset > log.log_end_offset:
            # A snapshot may be ahead of the log if the log lost its unsynced end (truncateToLatestSnapshot).
            log.removal.truncate_fully_and_start_at(latest.end_offset)
            snapshots.delete_before(latest, now_ms)
        return cls(log, snapshots, files, keys, _read_state(files, path / QUORUM_STATE))

    @property
    def leader_epoch(self) -> int:
        """The epoch of the current leader, as stored in quorum-state."""
        return self._state.leader_epoch

    def was_written_by(self, node_id: int) -> bool:
        """Whether a node was its own controller here: it is named as a voter, or as the last leader."""
        named = (
            ()
            if self._voters is None
            else [voter.voter_id for voter in decode(VotersRecord, 0, self._voters)[0].voters]
        )
        return self._state.leader_id == node_id or node_id in named

    @property
    def log_start_offset(self) -> int:
        """The first offset in the log."""
        return self._log.log_start_offset

    @property
    def log_end_offset(self) -> int:
        """The offset of the next record."""
        return self._log.log_end_offset

    @property
    def records_since_snapshot(self) -> int:
        """The number of records after the latest snapshot, with NoOps."""
        latest = self._snapshots.latest
        return self.log_end_offset - (self.log_start_offset if latest is None else latest.end_offset)

    @property
    def snapshot_ids(self) -> list[SnapshotId]:
        """The existing snapshots, oldest first."""
        return list(self._snapshots.ids)

    # Reading -----------------------------------------------------------------

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last batch, or of the snapshot before the log's start; 0 without either."""
        latest = self._snapshots.latest
        if self._log.offsets.latest_epoch >= 0:
            return self._log.offsets.latest_epoch
        return 0 if latest is None else latest.epoch

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The highest known epoch up to ``epoch``, and its end offset (``KafkaMetadataLog.endOffsetForEpoch``)."""
        found = self._log.offsets.epoch_end_offset(epoch)
        if found is None:
            return self.last_epoch, self._log.log_end_offset
        earliest = self._snapshots.ids[0] if self._snapshots.ids else None
        if earliest is not None and found == (epoch, earliest.end_offset):
            return earliest.epoch, earliest.end_offset
        return found

    def batches_from(self, offset: int) -> bytes:
        """The batches from the one that holds an offset on; the last one may be cut. Raises KafkaError."""
        return in_memory(self._log.read(offset, READ_BYTES).data)

    def snapshot_part(self, snapshot_id: SnapshotId, position: int, max_bytes: int) -> tuple[bytes, int] | None:
        """Bytes of a snapshot from a position on, and its size; None if it does not exist. Raises OSError."""
        if snapshot_id not in self._snapshots.ids:
            return None
        data = self._snapshots.read(snapshot_id)
        return data[position : position + max_bytes], len(data)

    def load(self) -> Iterator[LoadedRecord]:
        """All metadata records: of the latest readable snapshot, then of the log after it; whole transactions only.

        The records of the first snapshot are left out: the first leader writes them into the log
        (:meth:`bootstrap_records`). A damaged snapshot is set aside if an older one, or the whole log, can replace it.
        Raises MetadataLogError for other damage, and for records that Kafka 4.4.0 does not have.
        """
        offset = self._log.log_start_offset
        snapshot_id, records = self._latest_readable()
        if snapshot_id is not None:
            if snapshot_id != FIRST_SNAPSHOT:
                yield from records
            offset = max(offset, snapshot_id.end_offset)
            self._last_epoch = snapshot_id.epoch
        reader = LogReader(self._read, self._take_control_records)
        yield from reader.whole_transactions(offset)
        self.has_open_transaction = reader.has_open_transaction
        self.bytes_since_snapshot = reader.bytes_read
        self._last_epoch = max(self._last_epoch, reader.last_epoch)

    def _latest_readable(self) -> tuple[SnapshotId | None, list[LoadedRecord]]:
        """The latest complete snapshot and its records. (An older one with the log after it gives the same state.)"""
        problems: list[MetadataLogError] = []
        for snapshot_id in reversed(self.snapshot_ids):
            path = self._snapshots.path(snapshot_id)
            data = self._snapshots.read(snapshot_id)
            try:
                records = snapshot_records(data, path)
            except MetadataLogError as damage:
                logger.error("%s", damage)
                problems.append(damage)
                self._snapshots.discard_damaged(snapshot_id)
                continue
            self._take_control_records(data)
            return snapshot_id, records
        if problems and (self._log.log_start_offset or not self._log.log_end_offset):
            raise problems[0]
        return None, []

    def _read(self, offset: int) -> tuple[bytes, Path, int]:
        """The bytes from the batch that holds an offset on, their file and their position in it (``LogReader``)."""
        segment = self._log.segments.floor(offset) or self._log.segments.first
        try:
            data = self._log.read(offset, READ_BYTES).data
            place = segment.indexes.find(offset) if data else None
        except CorruptRecordError as damage:
            check_batches(self._files.read_file(segment.path), segment.path)
            raise damaged(segment.path, 0, offset, damage.message) from damage
        return in_memory(data), segment.path, place.position if place is not None else 0

    def contradiction(self, offset: int, problem: object) -> MetadataLogError:
        """The error for a record that contradicts those before it; ``offset`` -1: of the latest snapshot."""
        if offset < 0:
            return damaged(self._snapshots.path(self._snapshots.ids[-1]), 0, None, problem)
        segment = self._log.segments.floor(offset) or self._log.segments.first
        place = segment.indexes.find(offset)
        return damaged(segment.path, 0 if place is None else place.position, offset, problem)

    def bootstrap_records(self) -> list[Message]:
        """The records that ``kafka-storage format`` has stored for the first start (features, SCRAM users), if any.

        Kafka 4.4 stores them in the first snapshot, older releases in ``bootstrap.checkpoint``. Raises
        MetadataLogError.
        """
        if FIRST_SNAPSHOT in self._snapshots.ids:
            found = snapshot_records(self._snapshots.read(FIRST_SNAPSHOT), self._snapshots.path(FIRST_SNAPSHOT))
            if found:
                return [record.message for record in found]
        path = self._log.directory.parent / BOOTSTRAP_FILE
        if not self._files.exists(path):
            return []
        return [record.message for record in plain_records(self._files.read_file(path), path)]

    def _take_control_records(self, batches: bytes) -> None:
        for kind, value in control_records(batches):
            if kind is ControlRecordType.KRAFT_VERSION:
                self.kraft_version = kraft_version_of(value)
            elif kind is ControlRecordType.KRAFT_VOTERS:
                self._voters = value

    # Snapshots ---------------------------------------------------------------

    @property
    def flusher(self) -> LogFlusher:
        """Makes the log durable. A snapshot is written after the records that it covers are: a start trusts the log
        up to its latest snapshot, and checks only what follows."""
        return self._log.flusher

    def begin_snapshot(self, image: MetadataImage, now_ms: int) -> PendingSnapshot | None:
        """Starts a snapshot of the image, for the caller to encode and write. None if it exists already."""
        snapshot_id = self._snapshot_id(image)
        if snapshot_id in self._snapshots.ids:
            return None
        batches = encode_snapshot(image, self.kraft_version, self._voters, snapshot_id.epoch, now_ms)
        return PendingSnapshot(snapshot_id, batches, self.bytes_since_snapshot)

    def _snapshot_id(self, image: MetadataImage) -> SnapshotId:
        """The id for the image: it covers everything up to the log's end."""
        return SnapshotId(self.log_end_offset, self.leader_epoch)

    def write_snapshot(self, snapshot_id: SnapshotId, batches: Sequence[bytes]) -> None:
        """Writes its file durably, on any thread. Raises OSError."""
        self._snapshots.write(snapshot_id, batches)

    def complete_snapshot(self, pending: PendingSnapshot) -> None:
        """Registers the written file: the next start reads it instead of the log before it.

        A snapshot of the controllers may have replaced the log while the file was written. Then the file is not
        needed, and the next start removes it.
        """
        if pending.snapshot_id.end_offset >= self._log.log_start_offset:
            self._snapshots.add(pending.snapshot_id)
        self.bytes_since_snapshot = max(0, self.bytes_since_snapshot - pending.log_bytes)

    def clean(self, now_ms: int) -> None:
        """Removes the oldest snapshots, and the segments before the oldest one left.

        As metadata.max.retention.bytes and .ms require; the latest snapshot always stays. Snapshots marked as deleted
        are removed after their delay. Raises KafkaError, OSError; the next call tries again. Source:
        KafkaMetadataLog.maybeClean.
        """
        self._clean_while(lambda oldest: self._retention_size_breach(), now_ms)
        self._clean_while(lambda oldest: self._retention_time_breach(oldest, now_ms), now_ms)
        self._snapshots.remove_deleted(now_ms)
        self._log.remove_deleted_files(now_ms)

    def _clean_while(self, breach: Callable[[SnapshotId], str | None], now_ms: int) -> None:
        while len(self._snapshots.ids) > 1:
            oldest, following = self._snapshots.ids[:2]
            reason = breach(oldest)
            if reason is None:
                return
            logger.info("%s: marked for deletion, %s", self._snapshots.path(oldest), reason)
            if following.end_offset > self._log.log_start_offset:
                self._log.offsets.increment_log_start_offset(following.end_offset)
            self._log.delete_old_segments(now_ms)
            self._snapshots.delete_before(following, now_ms)

    def _retention_size_breach(self) -> str | None:
        size = self._log.segments.size_in_bytes + sum(map(self._snapshots.size, self._snapshots.ids))
        limit = self._config.retention_bytes
        return f"log and snapshots have {size} bytes, more than {limit}" if 0 <= limit < size else None

    def _retention_time_breach(self, oldest: SnapshotId, now_ms: int) -> str | None:
        limit = self._config.retention_ms
        if limit < 0:
            return None
        age = now_ms - last_contained_log_timestamp(self._snapshots.read_start(oldest, SNAPSHOT_HEADER_BYTES))
        return f"its records are {age} ms old, older than {limit}" if age > limit else None


def _read_state(files: Files, path: Path) -> QuorumState:
    if not files.exists(path):
        return QuorumState(leader_id=-1, leader_epoch=0, data_version=0)
    try:
        return QuorumState.parse(files.read_file(path))
    except ValueError as problem:
        raise MetadataLogError(
            f"{path}: {problem}. The file has the leader of the metadata log and its epoch. Nothing was changed. Put "
            f"the file back from a copy of this directory; without one, remove it: the epoch is then that of the "
            f"log's end, and a broker of a cluster learns both from its controllers"
        ) from None
