"""A partition's log, written step by step for tests of the cleaner, in the terms of Kafka's LogCleanerTest.

    log = CompactionLog(tmp_path / "t-0")
    log.send(1, 2)                       one batch with keys 1 and 2
    log.send(1, transaction=7)           a batch of producer 7's transaction
    log.abort(7)
    log.roll()
    log.close()

Batches are appended as by a follower, so that they may have any offset, epoch, sequence and timestamp.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.protocol.records.batch import BatchHeader, iterate_headers
from odradek.protocol.records.builder import encode_batch, encode_empty_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record, decode_records
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.legacy_messages import messages
from support.disks.unsynced_files import UnsyncedFiles

START_MS = 1_780_000_000_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), delete_retention_ms=HOUR_MS)

Key = int | bytes | None
Value = bytes | None


class Batches(NamedTuple):
    """The contents of a partition; numeric keys are text."""

    keys: list[int | bytes]
    """The key of every data record, in order."""
    offsets: list[int]
    """The offset of every record and marker."""
    last_offsets: list[int]
    """The last offset of every batch."""
    segments: list[int]
    """The base offset of every segment."""


class CompactionLog:
    """One partition's log, which can be closed and opened again. `now_ms`: the time of the next records."""

    def __init__(self, directory: Path, config: LogConfig = COMPACTED) -> None:
        self.directory = directory
        self.config = config
        self.now_ms = START_MS
        self.leader_epoch = 0
        self._sequences: dict[tuple[int, int], int] = {}
        self._log: Log | None = None

    @property
    def log(self) -> Log:
        """The log, opened if it is closed."""
        if self._log is None:
            self._log = Log.open(
                self.directory,
                self.config,
                now_ms=self.now_ms,
                clean_shutdown=True,
                descriptors=DescriptorCache(UnsyncedFiles()),
            )
        return self._log

    @property
    def end(self) -> int:
        """The next offset: the log end offset, or the base offset of a new segment after it."""
        return max(self.log.log_end_offset, self.log.segments.active.base_offset)

    def close(self) -> None:
        """Closes the log as a clean stop does; `send` opens it again."""
        self.log.close()
        self._log = None

    def send(
        self,
        *keys: Key,
        value: Value = b"value",
        producer: int = -1,
        transaction: int = -1,
        epoch: int = 0,
        sequence: int | None = None,
        **more: object,
    ) -> None:
        """One batch with a record for each key; by an idempotent `producer`, or in its `transaction`."""
        records = [(_bytes_of(key), value) for key in keys]
        producer_id = max(producer, transaction)
        self.append(records, producer_id, epoch, sequence, is_transactional=transaction >= 0, **more)  # type: ignore[arg-type]

    def append(
        self,
        records: Sequence[tuple[bytes | None, Value]],
        producer_id: int = -1,
        epoch: int = 0,
        sequence: int | None = None,
        *,
        is_transactional: bool = False,
        codec: CompressionType = CompressionType.NONE,
        at: int | None = None,
        times: Sequence[int] | None = None,
        has_append_time: bool = False,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        """One batch of (key, value), at offset `at` or the log's end, with the times given or now."""
        base_offset = self.end if at is None else at
        stamps = times or [self.now_ms] * len(records)
        batch = encode_batch(
            [
                Record(base_offset + index, stamps[index], key, value, list(headers))
                for index, (key, value) in enumerate(records)
            ],
            compression=codec,
            base_offset=base_offset,
            partition_leader_epoch=self.leader_epoch,
            producer_id=producer_id,
            producer_epoch=epoch if producer_id >= 0 else -1,
            base_sequence=self._next_sequence(producer_id, epoch, sequence, len(records)),
            is_transactional=is_transactional,
            log_append_time_ms=self.now_ms if has_append_time else None,
        )
        self.log.appender.append_as_follower(batch, self.now_ms)

    def append_legacy(
        self,
        magic: int,
        records: Sequence[tuple[bytes | None, Value]],
        *,
        codec: CompressionType = CompressionType.NONE,
        times: Sequence[int] | None = None,
        has_append_time: bool = False,
    ) -> None:
        """Messages of format `magic` (0 or 1) with these (key, value); with a codec, one wrapper of them."""
        stamps = times or [self.now_ms] * len(records)
        written = [Record(self.end + i, stamps[i], key, value, []) for i, (key, value) in enumerate(records)]
        append_time = self.now_ms if has_append_time and magic else None
        self.log.appender.append_as_follower(messages(magic, written, codec, append_time), self.now_ms)

    def send_legacy(self, magic: int, *keys: Key, value: Value = b"value", **more: object) -> None:
        """As `append_legacy`, a record for each key."""
        self.append_legacy(magic, [(_bytes_of(key), value) for key in keys], **more)  # type: ignore[arg-type]

    def _next_sequence(self, producer_id: int, epoch: int, given: int | None, count: int) -> int:
        if producer_id < 0:
            return -1
        sequence = self._sequences.get((producer_id, epoch), 0) if given is None else given
        self._sequences[producer_id, epoch] = (sequence + count) & 0x7FFFFFFF
        return sequence

    def commit(self, producer_id: int, epoch: int = 0) -> None:
        """The marker that ends the producer's transaction."""
        self._end(ControlRecordType.COMMIT, producer_id, epoch)

    def abort(self, producer_id: int, epoch: int = 0) -> None:
        """The marker that aborts the producer's transaction."""
        self._end(ControlRecordType.ABORT, producer_id, epoch)

    def _end(self, kind: ControlRecordType, producer_id: int, epoch: int) -> None:
        marker = encode_end_transaction_batch(
            EndTransactionMarker(kind, 0),
            timestamp=self.now_ms,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_offset=self.end,
            partition_leader_epoch=self.leader_epoch,
        )
        self.log.appender.append_as_follower(marker, self.now_ms)

    def empty_batch(self, producer_id: int, *, epoch: int = 0, offsets: int = 1, is_control: bool = False) -> None:
        """A batch whose records an earlier cleaning (of another replica) has removed."""
        base_offset = self.end
        batch = encode_empty_batch(
            base_offset=base_offset,
            last_offset=base_offset + offsets - 1,
            max_timestamp=self.now_ms,
            partition_leader_epoch=self.leader_epoch,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=-1 if is_control else self._next_sequence(producer_id, epoch, None, offsets),
            is_log_append_time=False,
            is_transactional=is_control,
            is_control=is_control,
        )
        self.log.appender.append_as_follower(batch, self.now_ms)

    def roll(self, at: int | None = None) -> None:
        """Starts a new segment at offset `at`, or at the log's end."""
        if at is None:
            self.log.roll(self.now_ms)
        else:  # as for a batch that does not fit
            self.log.roll(self.now_ms, at)


def _bytes_of(key: Key) -> bytes | None:
    return b"%d" % key if isinstance(key, int) else key


def read_headers(directory: Path) -> list[tuple[str, int, BatchHeader, bytes]]:
    """(file, position, header, the file's bytes) of every batch of a partition."""
    found = []
    for path in sorted(directory.glob("*.log")):
        data = path.read_bytes()
        found += [(path.name, position, header, data) for position, header in iterate_headers(data)]
    return found


def read_batches(directory: Path) -> Batches:
    """The batches of a partition."""
    batches = Batches([], [], [], sorted(int(path.stem) for path in directory.glob("*.log")))
    for _, position, header, data in read_headers(directory):
        batches.last_offsets.append(header.last_offset)
        for record in decode_records(data, header, position):
            batches.offsets.append(record.offset)
            if not header.is_control and record.key is not None:
                batches.keys.append(int(record.key) if record.key.isdigit() else record.key)
    return batches
