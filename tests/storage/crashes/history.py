"""The operations of a seeded history of a log directory, and for each the change of the model of what must survive."""

import random
from pathlib import Path
from typing import Any

from odradek.protocol.common.steps import run_to_end
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from odradek.protocol.records.record import Record
from odradek.storage.directory.directory_retention import retain_logs
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.log.log import AppendOrigin, Log
from odradek.storage.log.log_config import LogConfig
from support.disks.simulated_disk import SimulatedDisk
from support.disks.simulated_nodes import START_MS

from .model import PartitionModel, StoredBatch

Key = tuple[str, int]
PLAIN, COMPACTED, SHORT_LIVED = ("plain", 0), ("compacted", 0), ("short-lived", 0)


class History:
    """A log directory with three partitions on a simulated disk, and their models."""

    directory: LogDirectory

    def __init__(self, root: Path, seed: int, disk: type[SimulatedDisk]) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.now_ms = START_MS
        self.disk = disk(root)
        self.configs = self._configs()
        self.models: dict[Key, PartitionModel] = {}
        self.being_created: Key | None = None
        self.being_deleted: Key | None = None
        self.deleted_ids: set[bytes] = set()
        self.epoch = 0
        self.sequences: dict[tuple[Key, int], int] = {}
        self.open_transactions: dict[Key, set[int]] = {}
        self.values = 0

    def _configs(self) -> dict[str, LogConfig]:
        chance = self.chance
        common: dict[str, Any] = {
            "segment_bytes": chance.choice([700, 2500, 9000]),
            "index_interval_bytes": chance.choice([1, 300]),
            "flush_messages": chance.choice([1, 5, 1 << 40, 1 << 40]),
            "file_delete_delay_ms": chance.choice([0, 1000]),
        }
        return {
            "plain": LogConfig(retention_bytes=chance.choice([2000, 9000]), **common),
            "short-lived": LogConfig(**common),
            "compacted": LogConfig(cleanup_policy=frozenset({"compact"}), **common),
        }

    def _pick(self, *, compacted: bool = True) -> tuple[Key, Log, PartitionModel]:
        keys = sorted(key for key in self.directory.logs if compacted or key != COMPACTED)
        key = self.chance.choice(keys)
        return key, self.directory.logs[key], self.models[key]

    def append(self) -> None:
        key, _, _ = self._pick()
        self._append(key, self._batch(key, self.chance.choice([1, 1, 2, 5]), 20))

    def append_large(self) -> None:
        key, _, _ = self._pick()
        limit = self.configs[key[0]].segment_bytes - 200
        self._append(key, self._batch(key, 1, self.chance.randint(limit // 2, limit)))

    def append_idempotent(self) -> None:
        key, _, _ = self._pick()
        self._append_sequence(key, self.chance.choice([100, 101]), is_transactional=False)

    def append_transactional(self) -> None:
        key, _, _ = self._pick(compacted=False)
        producer_id = self.chance.choice([200, 201])
        self._append_sequence(key, producer_id, is_transactional=True)
        self.open_transactions.setdefault(key, set()).add(producer_id)

    def end_transaction(self) -> None:
        candidates = sorted((key, pid) for key, pids in self.open_transactions.items() for pid in pids)
        if candidates:
            key, producer_id = self.chance.choice(candidates)
            kind = self.chance.choice([ControlRecordType.ABORT, ControlRecordType.COMMIT])
            marker = encode_end_transaction_batch(
                EndTransactionMarker(kind, 1), timestamp=self.now_ms, producer_id=producer_id, producer_epoch=0
            )
            self._append(key, marker, origin=AppendOrigin.COORDINATOR)
            self.open_transactions[key].discard(producer_id)

    def _append_sequence(self, key: Key, producer_id: int, *, is_transactional: bool) -> None:
        count = self.chance.choice([1, 2])
        sequence = self.sequences.get((key, producer_id), 0)
        fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
        data = self._batch(key, count, 10, is_transactional=is_transactional, **fields)
        stored = self._append(key, data)
        self.sequences[key, producer_id] = sequence + count
        self.models[key].last_sent[producer_id] = data, stored

    def _batch(self, key: Key, count: int, size: int, **fields: Any) -> bytes:
        records = []
        for index in range(count):
            self.values += 1
            value: bytes | None = b"%d " % self.values + self.chance.randbytes(size)
            if key == COMPACTED and self.chance.random() < 0.1:
                value = None
            time = self.now_ms - self.chance.randrange(3000)
            records.append(Record(index, time, b"key-%d" % self.chance.randrange(6), value, []))
        return encode_batch(records, **fields)

    def _append(self, key: Key, data: bytes, origin: AppendOrigin = AppendOrigin.CLIENT) -> StoredBatch:
        log, model = self.directory.logs[key], self.models[key]
        first = log.log_end_offset
        stamped = first.to_bytes(8, "big") + data[8:12] + self.epoch.to_bytes(4, "big") + data[16:]
        last_delta = int.from_bytes(data[23:27], "big")
        model.pending = StoredBatch(first, first + last_delta + 1, stamped)
        info = log.appender.append_as_leader(data, self.epoch, self.now_ms, origin=origin)
        assert not info.duplicate
        assert info.first_offset == first
        stored, model.pending = model.pending, None
        model.batches.append(stored)
        if (
            log.offsets.flush_policy.asks_for_syncs
            and log.offsets.unflushed_records >= self.configs[key[0]].flush_messages
        ):
            self._sync(log, model)
        return stored

    def _sync(self, log: Log, model: PartitionModel) -> None:
        """Syncs one partition as a group commit does before it answers."""
        flush = log.flusher.prepare_sync()
        flush.sync()
        log.flusher.complete_flush(flush, self.now_ms)
        model.flushed_to = max(model.flushed_to, log.offsets.synced_offset)

    def roll(self) -> None:
        _, log, _ = self._pick()
        log.roll(self.now_ms)

    def retain(self) -> None:
        for model in self.models.values():
            model.start_may_rise = True
        run_to_end(retain_logs(self.directory.logs.values(), lambda: self.now_ms))
        for key, log in self.directory.logs.items():
            model = self.models[key]
            model.start_may_rise = False
            assert log.log_start_offset >= model.log_start_offset
            model.log_start_offset = log.log_start_offset

    def delete_records(self) -> None:
        _, log, model = self._pick(compacted=False)
        offset = self.chance.randint(log.log_start_offset, log.high_watermark)
        model.log_start_offset = offset
        log.offsets.increment_log_start_offset(offset)

    def truncate(self) -> None:
        key, log, model = self._pick(compacted=False)
        starts = [b.first_offset for b in model.batches if b.first_offset >= model.log_start_offset]
        offset = self.chance.choice([*starts[-6:], log.log_end_offset])
        model.pending_truncation = offset
        self.directory.truncate_log(*key, offset)
        model.truncate_to(offset)
        model.pending_truncation = None
        self._resume_producers(key)

    def flush_one(self) -> None:
        _, log, model = self._pick()
        log.flusher.flush()
        model.note_flush(log)

    def flush_all(self) -> None:
        self._flush_logs()
        for key, log in self.directory.logs.items():
            self.models[key].note_flush(log)

    def _flush_logs(self) -> None:
        self.directory.flusher.flush(list(self.directory.logs.values()), self.now_ms)

    def checkpoint(self) -> None:
        self.directory.write_checkpoints()

    def remove_deleted(self) -> None:
        self.now_ms += self.chance.choice([0, 2000])
        self.directory.remove_deleted(self.now_ms)

    def new_epoch(self) -> None:
        self.epoch += 1

    def recreate(self) -> None:
        """Deletes the topic and creates another one of that name."""
        if SHORT_LIVED in self.directory.logs:
            model = self.models[SHORT_LIVED]
            self.being_deleted = SHORT_LIVED
            self.deleted_ids.add(model.topic_id)
            self.directory.delete_log(*SHORT_LIVED, self.now_ms)
            del self.models[SHORT_LIVED]
            self.being_deleted = None
            self._forget_producers(SHORT_LIVED)
        self._create(SHORT_LIVED)

    def _create(self, key: Key) -> None:
        self.being_created = key
        topic_id = self.chance.randbytes(16)
        self.directory.open_log(*key, self.configs[key[0]], self.now_ms, topic_id)
        self.models[key] = PartitionModel(topic_id, is_compacted=key == COMPACTED)
        self.being_created = None

    def _resume_producers(self, key: Key) -> None:
        """Producers continue at the sequences that the log has for them."""
        states = self.directory.logs[key].producer_state.producers
        for producer_id in (100, 101, 200, 201):
            state = states.get(producer_id)
            self.sequences[key, producer_id] = state.last_sequence + 1 if state is not None else 0
        self.open_transactions[key] = {
            producer_id for producer_id, state in states.items() if state.transaction_first_offset is not None
        }

    def _forget_producers(self, key: Key) -> None:
        self.sequences = {known: sequence for known, sequence in self.sequences.items() if known[0] != key}
        self.open_transactions.pop(key, None)
