"""Several connections produce small and large batches to one partition, together with all other operations on its log.

``Interleaving(directory, seed).run(steps)`` compares the answers with the model of ``data/log_model.py``, and the log
with both, whenever no append is open. A thread writes large batches and waits at a gate, so that other requests,
retention, deletes, flushes, rolls, new configs and new leader epochs happen in between.
"""

import asyncio
import errno
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.offsets import DeleteRecordsRequest
from odradek.protocol.messages.produce import ProduceResponse
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record
from odradek.storage.files.files import Buffer, Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.data.log_model import ModelBatch, ModelLog, check_indexes, records_of

from ..append_path import NOW, TOPIC, AppendPath, only, turns

LARGE_BYTES = 400
"""Batches of this size count as large, so that segments roll between them."""


class WriteGate(Files):
    """Writes of the writer threads wait while the gate is shut; ``full`` makes writes to log files fail half-way."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.full = False
        self.large_writes = 0

    def write(self, descriptor: int, parts: Sequence[Buffer], position: int) -> int:
        if threading.current_thread().name.startswith("writer"):
            self.large_writes += 1
            assert self.gate.wait(60), "the test has left the gate shut"
        if self.full:
            half = b"".join(bytes(part) for part in parts)[: sum(map(len, parts)) // 2]
            if half:
                super().write(descriptor, [half], position)
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(descriptor, parts, position)


@dataclass
class Sent:
    """A batch in flight. ``repeats``: the offset at which it was acknowledged before."""

    records: list[Record]
    acks: int
    epoch: int
    future: "asyncio.Future[ProduceResponse | None]"
    sequence: tuple[int, int] | None
    repeats: int | None = None


class Interleaving:
    """One partition and its producers."""

    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.files = WriteGate()
        self.config = LogConfig(
            segment_bytes=self.random.choice([4_500, 9_000, 200_000]),
            index_interval_bytes=self.random.choice([1, 200, 4096]),
            retention_bytes=self.random.choice([-1, 8_000]),
            flush_messages=self.random.choice([5, 1 << 40, 1 << 40]),
            acks_all_fsync=self.random.random() < 0.3,
            file_delete_delay_ms=0,
        )
        self.path = AppendPath(directory, self.config, files=self.files, large_bytes=LARGE_BYTES)
        self.directory = directory
        self.model = ModelLog()
        self.under_way: list[Sent] = []
        self.sequences: dict[int, int] = {}
        self.last_batches: dict[int, tuple[bytes, list[Record], int]] = {}
        self.value = 0

    @property
    def log(self) -> Log:
        return self.path.log()

    async def run(self, steps: int) -> None:
        operations = [
            (self.produce, 14),
            (self.let_through, 5),
            (self.hold_up, 3),
            (self.settle_down, 4),
            (self.delete_records, 1),
            (self.retain, 1),
            (self.flush, 1),
            (self.roll, 1),
            (self.reconfigure, 1),
            (self.lead_anew, 1),
            (self.fill_the_disk, 1),
        ]
        choices = [operation for operation, weight in operations for _ in range(weight)]
        for _ in range(steps):
            await self.random.choice(choices)()
        await self.settle_down()
        assert self.files.large_writes > steps // 20, "hardly a batch was large"
        await self.die()

    async def produce(self) -> None:
        if len(self.under_way) == 6:
            return
        count = self.random.choice([1, 1, 3])
        size = self.random.choice([10, 30, LARGE_BYTES, 3 * LARGE_BYTES])
        records = []
        for index in range(count):
            self.value += 1
            value = b"%d:" % self.value + self.random.randbytes(size)
            records.append(Record(index, NOW + self.value, b"k", value, []))
        fields: dict[str, Any] = {}
        sequence = None
        busy = {sent.sequence[0] for sent in self.under_way if sent.sequence is not None}
        producer = self.random.randrange(4)
        repeats = None
        batch = b""
        if producer not in busy and self.random.random() < 0.5:
            if producer in self.last_batches and self.random.random() < 0.2:
                batch, records, repeats = self.last_batches[producer]
                sequence = (producer, -1)
            else:
                sequence = (producer, self.sequences.get(producer, 0))
                fields = {"producer_id": producer, "producer_epoch": 0, "base_sequence": sequence[1]}
        acks = self.random.choice([-1, -1, 1])
        batch = batch or encode_batch(records, compression=self.random.choice(list(CompressionType)), **fields)
        epoch = self.path.partition().leader_epoch
        future = self.path.produce({0: batch}, acks=acks, owned=self.random.random() < 0.5)
        self.under_way.append(Sent(records, acks, epoch, future, sequence, repeats))
        if sequence is not None and repeats is None:
            self.last_batches[producer] = (batch, records, -1)
        self.take_answers()

    def take_answers(self) -> None:
        """Compares the received answers with the model, which sorts them, because they arrive in any order."""
        for sent in [sent for sent in self.under_way if sent.future.done()]:
            self.under_way.remove(sent)
            answer = only(sent.future.result())
            if answer.error_code != ErrorCode.NONE:
                assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, answer
                assert answer.base_offset == -1
                if sent.sequence is not None and sent.repeats is None:
                    self.last_batches.pop(sent.sequence[0])
                continue
            if sent.repeats is not None:
                assert answer.base_offset == sent.repeats
                continue
            if sent.sequence is not None:
                producer, sequence = sent.sequence
                self.sequences[producer] = sequence + len(sent.records)
                batch, records, _ = self.last_batches[producer]
                self.last_batches[producer] = (batch, records, answer.base_offset)
            first = answer.base_offset
            stored = [record._replace(offset=first + index) for index, record in enumerate(sent.records)]
            self.model.batches.append(ModelBatch(first, (0, 0), sent.epoch, stored))

    async def hold_up(self) -> None:
        self.files.gate.clear()

    async def let_through(self) -> None:
        self.files.gate.set()
        await turns(3)
        self.take_answers()

    async def settle_down(self) -> None:
        """Waits for all operations in progress, and compares."""
        self.files.gate.set()
        await asyncio.gather(*(sent.future for sent in self.under_way))
        self.take_answers()
        assert self.path.partition().appends is None, "nothing is under way, and nothing waits"
        self.compare(self.log)

    def compare(self, log: Log) -> None:
        model = self.model
        model.batches.sort(key=lambda batch: batch.first_offset)
        ends = [0, *(batch.next_offset for batch in model.batches)]
        assert [batch.first_offset for batch in model.batches] == ends[:-1], "offsets without a gap"
        model.log_end_offset = ends[-1]
        assert log.log_end_offset == model.log_end_offset
        expected = {record.offset: record for record in model.records()}
        offset = log.log_start_offset
        found = {}
        while offset < log.log_end_offset:
            for record in records_of(log.read(offset, 1 << 20).data):
                found[record.offset] = record
                offset = record.offset + 1
        start = log.log_start_offset
        assert {o: r for o, r in found.items() if o >= start} == {o: r for o, r in expected.items() if o >= start}
        for batch in model.batches:
            if batch.first_offset >= start:
                assert log.offsets.epoch_of(batch.first_offset) == batch.epoch
        for segment in log.segments:
            check_indexes(segment)

    # Other operations on the log. They may have to wait for a write, so the gate must be open.

    async def delete_records(self) -> None:
        log = self.log
        target = self.random.randint(log.log_start_offset, log.high_watermark)
        topic = DeleteRecordsRequest.DeleteRecordsTopic(TOPIC, [DeleteRecordsRequest.DeleteRecordsPartition(0, target)])
        answer = await self.path.send(ApiKey.DELETE_RECORDS, 2, DeleteRecordsRequest([topic], 1000))
        partition = answer.topics[0].partitions[0]
        assert (partition.error_code, partition.low_watermark) == (ErrorCode.NONE, log.log_start_offset)
        self.model.log_start_offset = log.log_start_offset

    async def retain(self) -> None:
        self.files.gate.set()
        self.log.delete_old_segments(NOW)
        self.log.remove_deleted_files(NOW)
        self.model.log_start_offset = self.log.log_start_offset

    async def flush(self) -> None:
        end = self.log.log_end_offset
        self.log.flusher.flush()
        assert self.log.offsets.recovery_point == end

    async def roll(self) -> None:
        self.files.gate.set()
        if not self.files.full:
            self.log.roll(NOW)

    async def reconfigure(self) -> None:
        self.config = replace(self.config, segment_bytes=self.random.choice([4_500, 9_000, 200_000]))
        self.log.update_config(self.config)

    async def lead_anew(self) -> None:
        self.files.gate.set()
        before = self.path.partition().leader_epoch
        # An append in progress keeps the epoch in which it began. Appends that wait for it get the new one.
        await self.settle_down()
        self.path.partition().lead(before + 1)

    async def fill_the_disk(self) -> None:
        """Makes all writes fail for a while, after half of their bytes."""
        await self.settle_down()
        self.files.gate.clear()
        self.files.full = True
        before = self.log.log_end_offset
        for _ in range(3):
            await self.produce()
        try:
            self.files.gate.set()
            await asyncio.gather(*(sent.future for sent in self.under_way))
        finally:
            self.files.full = False
        self.take_answers()
        assert self.log.log_end_offset == before
        await self.settle_down()

    async def die(self) -> None:
        """Kills the process. Every acknowledged batch must survive."""
        starts = {(TOPIC, 0): self.log.log_start_offset}
        producers = {key: entry.last_sequence for key, entry in self.log.producer_state.producers.items()}
        await self.path.lose_power()
        log = Log.open(
            self.directory / f"{TOPIC}-0", self.config, now_ms=NOW, recovery_point=0, log_start_offset=starts[TOPIC, 0]
        )
        try:
            self.compare(log)
            found = {key: entry.last_sequence for key, entry in log.producer_state.producers.items()}
            assert found.items() <= producers.items()
        finally:
            log.abort()
