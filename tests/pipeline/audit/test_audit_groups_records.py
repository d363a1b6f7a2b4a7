"""The audit's state of the offsets topic equals that of a simple model, for random histories in random chunks."""

import random
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest

from odradek.pipeline.audit.findings import CHECKS
from odradek.pipeline.audit.groups.facts import COMMITS_KEPT
from odradek.pipeline.audit.groups.record_store import RecordStore
from odradek.pipeline.audit.job import audit_directories
from odradek.pipeline.decode.batch_table import BatchTable
from odradek.pipeline.decode.damage import Damage
from odradek.pipeline.decode.records import decode_chunk
from odradek.pipeline.decode.segment_chunks import read_chunks
from odradek.pipeline.engine.engines import LOCAL
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.control import ControlRecordType
from odradek.protocol.records.record import Record, iterate_records
from support.kafka.directory import NOW_MS

from ..groups_directory import OFFSETS_TOPIC, GroupsDirectory

GROUP = "readers"  # all keys in one partition
START_MS = NOW_MS - 1_000_000


class Op(NamedTuple):
    """A record of the history, or a marker (`kind`)."""

    offset: int
    time: int
    partition: int
    committed: int | None
    producer_id: int
    kind: ControlRecordType | None = None


def random_history(directory: GroupsDirectory, rng: random.Random, steps: int) -> list[Op]:
    """Commits, tombstones and transactions of some partitions of one group, in random codecs."""
    ops: list[Op] = []
    offset, time = 0, START_MS
    for step in range(steps):
        time += rng.randrange(0, 2000)
        directory.compression = rng.choice((CompressionType.NONE, CompressionType.LZ4, CompressionType.NONE))
        partition, producer_id = rng.randrange(4), rng.choice((-1, -1, -1, 7, 8))
        if rng.random() < 0.15:
            producer_id = rng.choice((7, 8))
            kind = rng.choice((ControlRecordType.COMMIT, ControlRecordType.ABORT))
            directory.end(GROUP, producer_id, kind, time)
            ops.append(Op(offset, time, -1, None, producer_id, kind))
            offset += 1
        elif rng.random() < 0.1:
            directory.delete(GROUP, time, partition=partition)
            ops.append(Op(offset, time, partition, None, -1))
            offset += 1
        else:
            copies = rng.choice((1, 1, 3, 14))
            directory.commit(GROUP, step, time, partition=partition, producer_id=producer_id, copies=copies)
            ops += [Op(offset + index, time, partition, step, producer_id) for index in range(copies)]
            offset += copies
    return ops


def model(ops: list[Op], at_ms: int) -> tuple[dict[int, list[int]], set[int]]:
    """By partition, the offsets of the last valid records at a moment, and the offsets of pending ones."""
    effective: dict[int, list[int]] = defaultdict(list)
    pending = set()
    for op in ops:
        if op.kind is not None or op.time > at_ms:
            continue
        if op.producer_id < 0:
            effective[op.partition].append(op.offset)
            continue
        markers = (one for one in ops if one.kind is not None and one.producer_id == op.producer_id)
        end = next((one for one in markers if one.offset > op.offset), None)
        if end is None or end.time > at_ms:
            pending.add(op.offset)
        elif end.kind is ControlRecordType.COMMIT:
            effective[op.partition].append(op.offset)
    return {partition: sorted(offsets)[-COMMITS_KEPT:] for partition, offsets in effective.items()}, pending


def read_all(path: Path, store: RecordStore, chunk_bytes: int) -> None:
    for chunk in read_chunks(path, chunk_bytes=chunk_bytes):
        assert isinstance(chunk, BatchTable)
        for item in decode_chunk(chunk, numpy.ones(len(chunk), dtype=numpy.bool_)):
            assert not isinstance(item, Damage)
            store.read(chunk, item)


@pytest.mark.parametrize("seed", range(12))
def test_what_is_kept_is_what_a_plain_model_keeps(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    directory = GroupsDirectory()
    ops = random_history(directory, rng, 120)
    root = directory.write(tmp_path)
    [path] = [path for path in root.glob(f"{OFFSETS_TOPIC}-*/*.log") if path.stat().st_size]
    at_ms = rng.choice((NOW_MS, START_MS + 60_000, START_MS - 1))
    first_dirty = rng.randrange(len(ops))
    store = RecordStore(first_dirty, None if at_ms == NOW_MS else at_ms)
    read_all(path, store, rng.choice((200, 700, 4000, 1 << 20)))
    pending = store.close()
    expected, expected_pending = model(ops, at_ms)
    by_partition = {key[-1]: records for key, records in store.keys.items()}
    for partition, records in by_partition.items():
        kept = [record.offset for record in records.latest(COMMITS_KEPT)]
        assert kept == expected.get(partition, []), f"seed {seed}, partition {partition}"
        mine = [op for op in ops if op.partition == partition]
        counts = records.counts
        assert counts.records == len(mine)
        assert counts.tombstones == sum(op.committed is None for op in mine)
        assert counts.dirty_records == sum(op.offset >= first_dirty for op in mine)
        assert (counts.first_timestamp, counts.last_timestamp) == (mine[0].time, mine[-1].time)
    assert {record.offset for _, _, record in pending} == expected_pending, f"seed {seed}"
    later = {record.offset for record in store.later.values()}
    assert later == {
        min(op.offset for op in ops if op.partition == partition and op.time > at_ms)
        for partition in range(4)
        if any(op.partition == partition and op.time > at_ms for op in ops)
    }


@pytest.mark.parametrize("seed", range(15))
def test_random_bytes_never_end_the_audit_of_groups(tmp_path: Path, seed: int) -> None:
    """Keys and values with bytes changed, cut or made up, in batches whose CRC is right."""
    rng = random.Random(seed)
    whole = GroupsDirectory()
    for step in range(30):
        whole.commit(rng.choice(("a", "b", "δ")), step, topic_id=bytes(range(16)), metadata="m" * step)
        whole.group(rng.choice(("a", "b")), step % 4)
    samples = [
        (record.key, record.value)
        for path in whole.write(tmp_path / "whole").glob(f"{OFFSETS_TOPIC}-*/*.log")
        for record in records_of(path)
    ]
    broken = GroupsDirectory()
    for _ in range(150):
        key, value = (spoilt(rng, data) for data in rng.choice(samples))
        producer_id = rng.choice((-1, -1, 9))
        broken.records(rng.randrange(4), [(key, value)], NOW_MS - rng.randrange(10**9), producer_id)
    result = audit_directories([broken.write(tmp_path / "broken")], LOCAL, at_ms=rng.choice((None, NOW_MS - 10**8)))
    assert {found.name for found in result.findings} <= set(CHECKS)


def records_of(path: Path) -> list[Record]:

    data = path.read_bytes()
    return [record for position, header in iterate_headers(data) for record in iterate_records(data, header, position)]


def spoilt(rng: random.Random, data: bytes | None) -> bytes | None:
    """The data, possibly damaged."""
    if data is None or rng.random() < 0.05:
        return None
    changed = bytearray(data)
    match rng.randrange(4):
        case 0:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        case 1:
            return bytes(changed[: rng.randrange(len(changed) + 1)])
        case 2:
            changed += rng.randbytes(3)
    return bytes(changed)
