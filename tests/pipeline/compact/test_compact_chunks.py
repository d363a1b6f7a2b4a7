"""The compiled steps read a log as plain chunks do, and LZ4 frames unpack to the same bytes."""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy
import pytest

from odradek.pipeline.compact.compiled_indexes import CompiledIndexes
from odradek.pipeline.compact.table_chunk import TableChunk
from odradek.pipeline.decode.lz4_sections import bytes_needed, unpack
from odradek.protocol.errors import KafkaError
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.lz4_codec import compress_lz4, lz4_chunks
from odradek.protocol.records.record import Record
from odradek.storage.compaction.batch_chunk import BatchChunk, read_chunks
from odradek.storage.compaction.cleaned_indexes import CleanedIndexes, SegmentOffsetOverflowError
from odradek.storage.compaction.pace import full_speed
from support.data.log_histories import HistoryWriter
from support.disks.unsynced_files import UnsyncedFiles


def chunks(
    path: Path, buffer_bytes: int, chunk_type: type[BatchChunk], *, checks_crcs: bool = True
) -> list[BatchChunk]:
    """The chunks of a whole file."""
    read = partial(read_chunks, UnsyncedFiles(), path, 0, path.stat().st_size, buffer_bytes, full_speed())
    return list(read(chunk_type, checks_crcs=checks_crcs))


def said(chunk: BatchChunk) -> list[object]:
    """All facts of a chunk about its batches."""
    count = len(chunk.headers)
    return [
        chunk.position,
        chunk.first_record,
        chunk.record_count,
        chunk.is_plain,
        list(chunk.starts),
        [chunk.headers[index] for index in range(count)],
        list(chunk.headers[1:]),
        chunk.first_records(),
        [tuple(map(int, facts)) for facts in chunk.indexed(0, count)],
        [(chunk.next_offset(index), chunk.has_producer_id(index)) for index in range(count)],
        [bytes(chunk.batch(index)) for index in range(count)],
    ]


@pytest.mark.parametrize("buffer_bytes", [64, 1000, 1 << 20])
@pytest.mark.parametrize("seed", range(3))
def test_a_table_says_of_batches_what_a_plain_chunk_says(tmp_path: Path, seed: int, buffer_bytes: int) -> None:
    writer = HistoryWriter(random.Random(seed), tmp_path / "t-0")
    writer.write(150)
    writer.close()
    paths = sorted((tmp_path / "t-0").glob("*.log"))
    assert sum(path.stat().st_size for path in paths) > 1000
    for path in paths:
        plain, table = chunks(path, buffer_bytes, BatchChunk), chunks(path, buffer_bytes, TableChunk)
        assert [said(chunk) for chunk in table] == [said(chunk) for chunk in plain]


def three_batches() -> bytearray:
    """Three batches with offsets 0 to 5."""
    batches = [encode_batch([Record(i, 5, b"k", b"v", []), Record(i + 1, 6, None, b"", [])]) for i in (0, 2, 4)]
    return bytearray(b"".join(batches))


def damaged_files(directory: Path) -> Iterator[tuple[Path, int]]:
    """Three batches in a file, each byte damaged in turn: (the file, where)."""
    path = directory / "00000000000000000000.log"
    whole = three_batches()
    for position in range(len(whole)):
        damaged = whole.copy()
        damaged[position] ^= 0x81
        path.write_bytes(damaged)
        yield path, position


def test_every_damaged_byte_is_refused_in_the_same_words(tmp_path: Path) -> None:
    for path, position in damaged_files(tmp_path):
        answers: list[list[object]] = []
        for chunk_type in (BatchChunk, TableChunk):
            try:
                answers.append([said(chunk) for chunk in chunks(path, 1 << 20, chunk_type)])
            except KafkaError as error:
                answers.append([str(error)])
        assert answers[0] == answers[1], f"byte {position}"


def test_a_pass_that_leaves_crcs_to_another_says_of_damage_what_that_one_says(tmp_path: Path) -> None:
    for path, position in damaged_files(tmp_path):
        answers: list[list[object]] = []
        for chunk_type in (BatchChunk, TableChunk):
            for checks_crcs in (True, False):
                try:
                    for chunk in chunks(path, 1 << 20, chunk_type, checks_crcs=checks_crcs):
                        chunk.check_crcs()
                    answers.append([])
                except KafkaError as error:
                    answers.append([str(error)])
        assert all(answer == answers[0] for answer in answers), f"byte {position}"


@pytest.mark.parametrize("seed", range(20))
def test_indexes_are_the_same_from_tables_and_from_tuples(seed: int) -> None:
    chance = random.Random(seed)
    base_offset = chance.choice([0, 5, 1 << 40])
    interval = chance.choice([0, 100, 4096])
    plain, compiled = CleanedIndexes(base_offset, interval), CompiledIndexes(base_offset, interval)
    offset = base_offset
    for _ in range(chance.randrange(30)):
        batches = []
        for _ in range(chance.randrange(1, 60)):
            offset += chance.randrange(1, 20)
            batches.append((offset, chance.choice([-1, 7, 1000 + chance.randrange(5000)]), chance.randrange(61, 400)))
        plain.append(batches)
        compiled.append(numpy.array(batches, dtype=numpy.int64) if chance.random() < 0.5 else batches)
        assert compiled.size == plain.size
    assert compiled.files() == plain.files()


@pytest.mark.parametrize("indexes", [CleanedIndexes, CompiledIndexes])
def test_no_index_holds_an_offset_too_far_from_its_base(indexes: type[CleanedIndexes]) -> None:
    made = indexes(10, 4096)
    made.append([(10 + 0x7FFFFFFF, 5, 100)])
    with pytest.raises(SegmentOffsetOverflowError) as caught:
        made.append([(11, 5, 100), (11 + 0x7FFFFFFF, 5, 100)])
    assert caught.value.offset == 11 + 0x7FFFFFFF
    assert made.size == 100


@pytest.mark.parametrize("cut", [1, 30, 70])
def test_a_cut_file_is_refused_in_the_same_words(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(three_batches()[:-cut])
    messages = []
    for chunk_type in (BatchChunk, TableChunk):
        with pytest.raises(KafkaError) as caught:
            chunks(path, 1 << 20, chunk_type)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("size", [0, 1, 70, 16_000, 65_536, 65_537, 300_000])
@pytest.mark.parametrize("letters", [1, 16, 256])
def test_a_frame_unpacks_to_what_was_packed(size: int, letters: int) -> None:
    content = bytes(random.Random(size).choices(range(letters), k=size))
    frame = compress_lz4(content)
    data = memoryview(b"in front" + frame + b"behind")
    needed = bytes_needed(data, 8, 8 + len(frame))
    assert needed >= size
    out = memoryview(bytearray(needed + 3))
    assert unpack(data, 8, out) == size
    assert out[:size] == content


def test_no_frame_is_read_that_is_not_as_kafka_writes_it() -> None:
    frame = compress_lz4(bytes(range(256)) * 40)
    other_blocks = bytes((*frame[:5], 0x50, *frame[6:]))
    for other in (b"", frame[:10], frame[:-4], b"x" + frame[1:], other_blocks):
        assert bytes_needed(memoryview(other), 0, len(other)) == -1


def test_a_frame_that_may_be_too_large_is_left_to_the_codec() -> None:
    block = b"\x2c\x01\0\0" + bytes(300)  # may hold 64 KiB
    for blocks, is_taken in ((2048, True), (2049, False)):
        frame = memoryview(compress_lz4(b"")[:7] + block * blocks + bytes(4))
        assert (bytes_needed(frame, 0, len(frame)) > 0) is is_taken


def test_a_malformed_block_is_left_to_the_codec() -> None:
    frame = bytearray(compress_lz4(b"abcdefgh" * 40))
    for position in range(11, len(frame) - 4):
        damaged = bytes((*frame[:position], frame[position] ^ 0xFF, *frame[position + 1 :]))
        data = memoryview(damaged)
        needed = bytes_needed(data, 0, len(data))
        assert needed > 0
        out = memoryview(bytearray(needed))
        size = unpack(data, 0, out)
        try:
            expected = b"".join(lz4_chunks(damaged, 1 << 20))
        except KafkaError:
            assert size == -1
        else:
            assert out[:size] == expected
