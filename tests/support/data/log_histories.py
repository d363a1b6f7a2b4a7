"""Partition directories with seeded histories: plain, idempotent and transactional producers, every codec, tombstones.

Written through the project's own log, so that segments, indexes, snapshots and epochs are those of a broker.
"""

import random
from pathlib import Path

from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.files.descriptors import DescriptorCache
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.disks.unsynced_files import UnsyncedFiles

HISTORY_START_MS = 1_780_000_000_000


class HistoryWriter:
    """Appends a random history to one partition; `end_ms` is the time of its last record."""

    def __init__(
        self,
        rng: random.Random,
        directory: Path,
        *,
        codecs: tuple[CompressionType, ...] = tuple(CompressionType),
        keys: int = 20,
        with_null_keys: bool = True,
        is_rolling: bool = True,
        config: LogConfig | None = None,
    ) -> None:
        self.rng = rng
        self.codecs = codecs
        self.keys = keys
        self.with_null_keys = with_null_keys
        self.is_rolling = is_rolling
        self.now_ms = HISTORY_START_MS
        self.leader_epoch = 0
        self.sequences: dict[int, int] = {}
        descriptors = DescriptorCache(UnsyncedFiles())
        self.log = Log.open(directory, config or LogConfig(), now_ms=self.now_ms, descriptors=descriptors)

    @property
    def end_ms(self) -> int:
        """The time of the last record."""
        return self.now_ms

    def write(self, steps: int) -> None:
        """Appends batches and markers, and rolls segments. `close` ends open transactions."""
        open_transactions: set[int] = set()
        for _ in range(steps):
            self.now_ms += self.rng.randrange(2000)
            kind = self.rng.randrange(10)
            if kind == 0 and self.is_rolling and self.log.log_end_offset > 0:
                self.log.roll(self.now_ms)
            elif kind <= 4:
                self._append(-1, is_transactional=False)
            elif kind == 5:
                self._append(self.rng.choice((100, 101)), is_transactional=False)
            elif kind <= 7:
                producer_id = self.rng.choice((200, 201, 202))
                open_transactions.add(producer_id)
                self._append(producer_id, is_transactional=True)
            elif open_transactions:
                self._end(producer_id := self.rng.choice(sorted(open_transactions)))
                open_transactions.discard(producer_id)
        for producer_id in sorted(open_transactions):
            self._end(producer_id)

    def roll(self) -> None:
        """Starts a new segment, so that the written records are in an inactive one."""
        self.log.roll(self.now_ms)

    def close(self) -> None:
        """Closes the log as a clean stop does."""
        self.log.close()

    def append_records(self, records: list[tuple[bytes | None, bytes | None]]) -> None:
        """One plain batch of (key, value)."""
        batch = encode_batch([Record(i, self.now_ms, key, value, []) for i, (key, value) in enumerate(records)])
        self.log.appender.append_as_leader(batch, self.leader_epoch, self.now_ms, origin=AppendOrigin.COORDINATOR)

    def _records(self) -> list[Record]:
        rng = self.rng
        records = []
        for offset in range(rng.choice((1, 1, 3, 12))):
            key: bytes | None = b"key-%d" % rng.randrange(self.keys)
            if self.with_null_keys and rng.random() < 0.05:
                key = None
            value = None if rng.random() < 0.2 else rng.randbytes(rng.choice((0, 5, 400)))
            headers = [("h", rng.choice((None, b"x")))] if rng.random() < 0.2 else []
            records.append(Record(offset, self.now_ms + rng.randrange(-5, 5), key, value, headers))
        return records

    def _append(self, producer_id: int, *, is_transactional: bool) -> None:
        records = self._records()
        sequence = self.sequences.get(producer_id, 0)
        batch = encode_batch(
            records,
            compression=self.rng.choice(self.codecs),
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence if producer_id >= 0 else -1,
            is_transactional=is_transactional,
        )
        self.sequences[producer_id] = sequence + len(records)
        self.log.appender.append_as_leader(batch, self.leader_epoch, self.now_ms, origin=AppendOrigin.COORDINATOR)

    def _end(self, producer_id: int) -> None:
        kind = self.rng.choice((ControlRecordType.ABORT, ControlRecordType.COMMIT))
        marker = encode_end_transaction_batch(
            EndTransactionMarker(kind, 1), timestamp=self.now_ms, producer_id=producer_id, producer_epoch=0
        )
        self.log.appender.append_as_leader(marker, self.leader_epoch, self.now_ms, origin=AppendOrigin.COORDINATOR)
