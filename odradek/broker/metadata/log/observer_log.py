"""The metadata log of a broker that follows the controllers of a cluster, which write it.

Owns: this broker's copy of the log and of the snapshots. Never does: writing records of its own, deciding what is
committed. Invariants: a copied log equals the leader's byte for byte up to its end; a snapshot that is being received
counts only after its last byte is on disk. Kafka's brokers have the same files, so Kafka and Odradek can take over each
other's directory. Source: KafkaMetadataLog, KafkaRaftClient as an observer; KIP-595, KIP-630.
"""

from collections.abc import Iterator
from functools import cached_property

from odradek.protocol.records.batch import iterate_headers

from ..image.image import MetadataImage
from .format import QUORUM_STATE, QuorumState
from .log_reader import LoadedRecord, LogReader, MetadataLogError, check_snapshot, checked_records, damaged
from .metadata_log import MetadataLog
from .snapshot_files import ReceivedSnapshot, SnapshotId


class ObserverLog(MetadataLog):
    """The metadata log of an observer. Get it with ``ObserverLog.open``."""

    def append_fetched(self, records: bytes, now_ms: int) -> None:
        """Appends the whole batches of a Fetch response without a sync: after a power failure, lost ones are fetched
        again.

        Raises KafkaError for damaged batches, for batches that do not continue the log, and for disk errors.
        """
        end = sum(header.size_in_bytes for _, header in iterate_headers(records))
        if end:
            self._log.appender.append_as_follower(records[:end], now_ms)
            self.bytes_since_snapshot += end

    def truncate_to(self, offset: int) -> None:
        """Removes the records that the leader does not have. Raises KafkaError."""
        self._log.removal.truncate_to(offset)

    def committed(self, offset: int, high_watermark: int) -> Iterator[LoadedRecord]:
        """The records from ``offset`` to the high watermark. Those of an open transaction are returned after its end.

        Raises MetadataLogError.
        """
        yield from self._reader.whole_transactions(offset, min(high_watermark, self.log_end_offset))

    def applied_end(self, end_offset: int) -> int:
        """The end of the records that :meth:`committed` has returned up to ``end_offset``: the start of the open
        transaction, if there is one.
        """
        return self._reader.transaction_offset if self._reader.has_open_transaction else end_offset

    @property
    def read_epoch(self) -> int:
        """The leader epoch of the last batch that :meth:`committed` has read."""
        return max(self._reader.last_epoch, self._last_epoch)

    @cached_property
    def _reader(self) -> LogReader:
        return LogReader(self._read, self._take_control_records)

    def latest_snapshot(self) -> tuple[SnapshotId | None, list[LoadedRecord]]:
        """The latest snapshot on disk that can be read, and its records. Raises MetadataLogError."""
        snapshot_id, records = self._latest_readable()
        if snapshot_id is not None:
            self._last_epoch = snapshot_id.epoch
        return snapshot_id, records

    def receive_snapshot(self, snapshot_id: SnapshotId) -> ReceivedSnapshot:
        """Creates the file of a snapshot that the leader sends. Raises OSError."""
        return self._snapshots.receive(snapshot_id)

    def check_received(self, received: ReceivedSnapshot) -> bytes:
        """Checks a snapshot whose last byte has arrived, makes it durable, and returns it. Any thread may call.

        Raises MetadataLogError for damage, OSError.
        """
        snapshot = received.read()
        check_snapshot(snapshot, self._snapshots.path(received.snapshot_id))
        received.sync()
        return snapshot

    def received_records(self, snapshot_id: SnapshotId, snapshot: bytes) -> Iterator[LoadedRecord]:
        """The records of a snapshot that :meth:`check_received` has returned, decoded one by one.

        Raises MetadataLogError.
        """
        return checked_records(snapshot, self._snapshots.path(snapshot_id))

    def contradiction_in(self, snapshot_id: SnapshotId, problem: object) -> MetadataLogError:
        """The error for a record of a snapshot that contradicts those before it."""
        return damaged(self._snapshots.path(snapshot_id), 0, None, problem)

    def replace_by_snapshot(self, received: ReceivedSnapshot, snapshot: bytes, now_ms: int) -> None:
        """Completes a received snapshot, whose bytes are given. The log continues after it.

        Raises OSError, KafkaError.
        """
        received.complete()
        snapshot_id = received.snapshot_id
        self._snapshots.add(snapshot_id)
        self._take_control_records(snapshot)
        self._last_epoch = snapshot_id.epoch
        if snapshot_id.end_offset > self.log_end_offset or snapshot_id.epoch != self.last_epoch:
            self._log.removal.truncate_fully_and_start_at(snapshot_id.end_offset)
            self._snapshots.delete_before(snapshot_id, now_ms)
        self.bytes_since_snapshot = 0
        self.__dict__.pop("_reader", None)

    def remember_leader(self, leader_id: int, leader_epoch: int) -> None:
        """Stores the leader in ``quorum-state``, as Kafka's observers do. Raises OSError."""
        self._state = QuorumState(leader_id, leader_epoch, data_version=min(self.kraft_version, 1))
        self._files.write_file(self._log.directory / QUORUM_STATE, self._state.to_json())

    def _snapshot_id(self, image: MetadataImage) -> SnapshotId:
        """The id for the image: it covers the records that are committed and applied."""
        return SnapshotId(image.last_offset + 1, image.last_epoch)
