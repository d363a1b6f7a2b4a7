"""The division of ciphertext into pieces of few records. A failing seed replays with ``-k "[seed]"``."""

from random import Random

import pytest

from odradek.broker.security.tls.engine import PIECE_BYTES, PIECE_RECORDS, RecordPieces

SEEDS = range(20)


def record(size: int) -> bytes:
    return b"\x17\x03\x03" + size.to_bytes(2, "big") + bytes(size)


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_have_few_records_and_lose_no_byte(seed: int) -> None:
    """However the bytes arrive, each record ends in the piece that has its last byte."""
    random = Random(seed)
    sizes = [random.choice([0, 1, 22, 500, 16_406]) for _ in range(300)]
    stream = b"".join(record(size) for size in sizes)
    pieces, ended, position = RecordPieces(), 0, 0
    while position < len(stream):
        arriving = stream[position : position + random.choice([1, 3, 7, 100, 131_072])]
        position += len(arriving)
        start = 0
        while start < len(arriving):
            end = pieces.end_of_piece(memoryview(arriving), start)
            assert start < end <= start + PIECE_BYTES + 5
            assert pieces.records <= PIECE_RECORDS
            ended += pieces.records
            start = end
    assert ended == len(sizes)


def test_large_records_pass_two_at_a_time() -> None:
    stream = record(16_406) * 7
    pieces, start, count = RecordPieces(), 0, 0
    while start < len(stream):
        start = pieces.end_of_piece(stream, start)
        count += 1
    assert count == 4
