"""A model of a log as a list of records, and a driver that applies the same random operations to it and to a ``Log``.

``Driver(directory, seed).run(steps)`` compares after every step; a difference raises AssertionError with the step.
"""

import os
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record, iterate_records
from odradek.storage.log.log import FileRegion, Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.read_result import TimestampAndOffset
from odradek.storage.segment.segment import Segment
from support.data.timestamp_searches import max_timestamp, offset_for_timestamp

START_MS = 1_700_000_000_000


@dataclass
class ModelBatch:
    first_offset: int
    end_position: tuple[int, int]  # (base offset of the segment, position of the batch's end in its file)
    epoch: int
    records: list[Record]

    @property
    def next_offset(self) -> int:
        return self.records[-1].offset + 1


@dataclass
class ModelLog:
    batches: list[ModelBatch] = field(default_factory=list)
    log_start_offset: int = 0
    log_end_offset: int = 0

    def records(self) -> list[Record]:
        return [r for batch in self.batches for r in batch.records if r.offset >= self.log_start_offset]

    def truncate_to(self, offset: int) -> None:
        self.batches = [batch for batch in self.batches if batch.next_offset <= offset]
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        for batch in self.batches:
            for record in batch.records:
                if record.timestamp >= timestamp and record.offset >= self.log_start_offset:
                    return TimestampAndOffset(record.timestamp, record.offset, batch.epoch)
        return None

    def max_timestamp(self) -> TimestampAndOffset | None:
        best = max((record.timestamp for record in self.records()), default=-1)
        return None if best < 0 else self.offset_for_timestamp(best)


def data_of(data: bytes | FileRegion) -> bytes:
    if isinstance(data, bytes):
        return data
    raw = os.pread(data.fd, len(data), data.position)
    data.close()
    return raw


def records_of(data: bytes | FileRegion) -> list[Record]:
    raw = data_of(data)
    return [record for position, header in iterate_headers(raw) for record in iterate_records(raw, header, position)]


class Driver:
    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.directory = directory
        self.now_ms = START_MS
        self.epoch = 0
        self.config = LogConfig(
            segment_bytes=self.random.choice([600, 2000, 8000, 200_000]),
            index_interval_bytes=self.random.choice([1, 200, 4096]),
            segment_ms=self.random.choice([5000, 10**9]),
            retention_ms=self.random.choice([-1, 20_000]),
            retention_bytes=self.random.choice([-1, 6000]),
        )
        self.model = ModelLog()
        self.flushed_offset = 0
        self.sequences: dict[int, int] = {}
        self.log = Log.open(directory, self.config, now_ms=self.now_ms)

    def run(self, steps: int) -> None:
        operations = [
            (self.append, 12),
            (self.read, 6),
            (self.find_time, 3),
            (self.roll, 1),
            (self.truncate, 1),
            (self.delete_records, 1),
            (self.retain, 1),
            (self.flush, 1),
            (self.reopen_clean, 1),
            (self.reopen_after_crash, 1),
        ]
        choices = [operation for operation, weight in operations for _ in range(weight)]
        for _ in range(steps):
            self.random.choice(choices)()
            self.check()
        self.log.close()

    def append(self) -> None:
        self.now_ms += self.random.randrange(1000)
        count = self.random.choice([1, 1, 2, 5])
        records = [
            Record(index, self.now_ms - self.random.randrange(3000), b"k", self.random.randbytes(30), [])
            for index in range(count)
        ]
        fields: dict[str, Any] = {}
        if self.random.random() < 0.4:
            producer = self.random.randrange(3)
            sequence = self.sequences.get(producer, 0)
            self.sequences[producer] = sequence + count
            fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence}
        if self.random.random() < 0.05:
            self.epoch += 1
        batch = encode_batch(records, compression=self.random.choice(list(CompressionType)), **fields)
        given = self.random.choice([bytes, bytearray, memoryview])(batch)
        info = self.log.appender.append_as_leader(given, self.epoch, self.now_ms)
        assert not info.duplicate
        assert bytes(given) == batch, "the caller's buffer was changed"
        assert info.first_offset == self.model.log_end_offset
        assert info.last_offset == info.first_offset + count - 1
        if fields and self.random.random() < 0.3:
            again = self.log.appender.append_as_leader(batch, self.epoch, self.now_ms)
            assert again.duplicate
            assert (again.first_offset, again.last_offset) == (info.first_offset, info.last_offset)
        active = self.log.segments.active
        stored = [record._replace(offset=info.first_offset + i) for i, record in enumerate(records)]
        self.model.batches.append(ModelBatch(info.first_offset, (active.base_offset, active.size), self.epoch, stored))
        self.model.log_end_offset += count

    def read(self) -> None:
        offset = self.random.randint(self.model.log_start_offset, self.model.log_end_offset)
        bound = self.random.choice([None, self.random.randint(offset, self.model.log_end_offset)])
        max_bytes = self.random.choice([1, 100, 1000, 10**6])
        got = records_of(self.log.read(offset, max_bytes, upper_bound_offset=bound).data)
        end = self.model.log_end_offset if bound is None else bound
        # A batch that contains the bound is dropped: in practice the bound is always the start of a batch.
        batches = [b for b in self.model.batches if b.next_offset > offset and b.first_offset < end]
        whole = [r for b in batches if b.next_offset <= end for r in b.records]
        assert got == whole[: len(got)]
        if whole:
            assert got, "at least one batch"

    def find_time(self) -> None:
        timestamp = self.now_ms - self.random.randrange(-10, 10_000)
        assert offset_for_timestamp(self.log, timestamp) == self.model.offset_for_timestamp(timestamp)
        found = max_timestamp(self.log)
        expected = self.model.max_timestamp()
        # The maximum may be below the log start offset, in a segment that still exists.
        if expected is not None and found is not None and found.offset >= self.model.log_start_offset:
            assert found == expected

    def roll(self) -> None:
        self.log.roll(self.now_ms)

    def truncate(self) -> None:
        starts = [b.first_offset for b in self.model.batches if b.first_offset >= self.model.log_start_offset]
        offset = self.random.choice([*starts[-4:], self.model.log_end_offset])
        if offset < self.log.high_watermark - 50:
            return
        self.log.removal.truncate_to(offset)
        self.model.truncate_to(offset)
        self.flushed_offset = min(self.flushed_offset, offset)
        self.renew_producers()

    def renew_producers(self) -> None:
        """Sets each producer's next sequence to that of the log. A producer that the log has forgotten may use any sequence."""
        for producer in list(self.sequences):
            entry = self.log.producer_state.producers.get(producer)
            self.sequences[producer] = entry.last_sequence + 1 if entry is not None else 0

    def delete_records(self) -> None:
        offset = self.random.randint(self.model.log_start_offset, self.model.log_end_offset)
        self.log.offsets.increment_log_start_offset(offset)
        self.model.log_start_offset = offset

    def retain(self) -> None:
        before = self.log.log_start_offset
        self.log.delete_old_segments(self.now_ms)
        assert self.log.log_start_offset >= before
        self.model.log_start_offset = self.log.log_start_offset
        base = self.log.segments.first.base_offset
        self.model.batches = [b for b in self.model.batches if b.first_offset >= base]
        self.log.remove_deleted_files(self.now_ms)

    def flush(self) -> None:
        self.log.flusher.flush()
        self.flushed_offset = self.log.log_end_offset
        assert self.log.offsets.recovery_point == self.flushed_offset

    def reopen_clean(self) -> None:
        before = self.facts()
        self.log.close()
        self.log = Log.open(
            self.directory,
            self.config,
            now_ms=self.now_ms,
            recovery_point=self.log.offsets.recovery_point,
            log_start_offset=self.model.log_start_offset,
            clean_shutdown=True,
        )
        self.flushed_offset = self.log.log_end_offset
        if self.log.log_start_offset < self.log.log_end_offset:
            assert self.facts() == before
        else:
            # As in Kafka, a snapshot at the log start offset is removed, and an epoch that begins at the log end is dropped.
            self.renew_producers()

    def facts(self) -> object:
        """The state that a clean stop keeps: offsets, epochs and the last batch of each producer."""
        log = self.log
        producers = {
            key: (e.producer_epoch, e.last_sequence, e.last_offset, e.last_timestamp)
            for key, e in log.producer_state.producers.items()
        }
        return log.log_start_offset, log.log_end_offset, log.leader_epochs.entries, producers

    def reopen_after_crash(self) -> None:
        """Kills the process. A random number of bytes after the recovery point are kept, the last ones incomplete."""
        self.log.abort()
        unflushed = [b for b in self.model.batches if b.next_offset > self.flushed_offset]
        if unflushed:
            victim = self.random.choice(unflushed)
            base, end = victim.end_position
            path = self.directory / f"{base:020d}.log"
            earlier = [b.end_position[1] for b in self.model.batches if b.end_position[0] == base]
            start = max((position for position in earlier if position < end), default=0)
            keep = self.random.randint(start, end)
            with path.open("r+b") as file:
                if self.random.random() < 0.3 and keep < end - 8:  # fewer bytes may already have been zeros
                    file.seek(keep)
                    file.write(b"\0" * (end - keep))  # the file's length was written, its content was not
                else:
                    file.truncate(keep)
                    # A log that ends at the end of a batch looks complete, so nothing may have been written after it.
                    for later in self.directory.glob("*.log"):
                        if keep in (start, end) and int(later.stem) > base:
                            later.unlink()
            self.model.truncate_to(victim.first_offset if keep < end else victim.next_offset)
        self.model.log_start_offset = min(self.model.log_start_offset, self.model.log_end_offset)
        self.log = Log.open(
            self.directory,
            self.config,
            now_ms=self.now_ms,
            recovery_point=self.flushed_offset,
            log_start_offset=self.model.log_start_offset,
            clean_shutdown=False,
        )
        assert self.log.log_end_offset >= self.flushed_offset, "a flushed record was lost"
        assert self.log.offsets.recovery_point == self.log.log_end_offset, "what recovery accepts is synced"
        self.flushed_offset = self.log.log_end_offset
        self.renew_producers()

    def check(self) -> None:
        log, model = self.log, self.model
        assert (log.log_start_offset, log.log_end_offset) == (model.log_start_offset, model.log_end_offset)
        assert log.high_watermark == log.last_stable_offset == log.log_end_offset
        for segment in log.segments:
            check_indexes(segment)


def check_indexes(segment: Segment) -> None:
    """Asserts that every entry points to the batch with its last offset, and has the maximum timestamp up to there."""
    places = dict(segment.file.headers())
    data = segment.indexes.offset.to_bytes()
    for at in range(0, len(data), 8):
        offset = segment.base_offset + int.from_bytes(data[at : at + 4], "big")
        position = int.from_bytes(data[at + 4 : at + 8], "big")
        assert places[position].last_offset == offset
    times = segment.indexes.time.to_bytes()
    for at in range(0, len(times), 12):
        timestamp = int.from_bytes(times[at : at + 8], "big")
        offset = segment.base_offset + int.from_bytes(times[at + 8 : at + 12], "big")
        [header] = [header for header in places.values() if header.last_offset == offset]
        assert header.max_timestamp == timestamp
        assert all(h.max_timestamp <= timestamp for h in places.values() if h.last_offset <= offset)
