"""Headers that are read in pieces and returned together equal those in the segment's chunks."""

import random
from pathlib import Path

import numpy
import pytest

from odradek.pipeline.decode.batch_table import BatchTable
from odradek.pipeline.decode.checked_headers import CheckedHeaders, checked, read_headers
from odradek.pipeline.decode.damage import Damage, DamageKind
from odradek.pipeline.decode.segment_chunks import read_chunks
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from support.data.random_records import random_compression, random_records


def log_with_markers(rng: random.Random, batches: int) -> bytearray:
    """Random data batches with end-of-transaction markers between them."""
    log = bytearray()
    offset = 0
    for _ in range(batches):
        if rng.random() < 0.3:
            marker = EndTransactionMarker(rng.choice((ControlRecordType.ABORT, ControlRecordType.COMMIT)), 0)
            log += encode_end_transaction_batch(
                marker, timestamp=1_700_000_000_000, producer_id=7, producer_epoch=0, base_offset=offset
            )
            offset += 1
        else:
            records = random_records(rng, base_offset=offset)
            log += encode_batch(records, base_offset=offset, compression=random_compression(rng))
            offset = records[-1].offset + 1
    return log


@pytest.mark.parametrize("seed", range(12))
def test_they_are_those_of_the_chunks(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    log = log_with_markers(rng, 60)
    places = [position for position, _ in iterate_headers(bytes(log))]
    for place in rng.sample(places, 3):
        log[place + 30] ^= 1
    lost = rng.choice(places[5:])
    log[lost + 16] = 9
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    piece_bytes, most_bytes = rng.choice((100, 1000, 1 << 20)), rng.choice((1000, 4000, 1 << 20))
    positions = places[1 :: rng.randrange(1, 5)]
    found = list(read_headers(path, positions, piece_bytes=piece_bytes, most_bytes=most_bytes))
    expected = list(read_chunks(path, batch_positions=positions))
    assert batches_of(found) == batches_of([item if isinstance(item, Damage) else checked(item) for item in expected])
    assert [item for item in found if isinstance(item, Damage)] == [i for i in expected if isinstance(i, Damage)]
    assert any(isinstance(item, Damage) and item.kind is DamageKind.MAGIC for item in found)


Batch = tuple[int, bytes, bool, bytes | None]


def batches_of(items: list[CheckedHeaders | Damage]) -> tuple[list[Batch], list[Damage]]:
    """(position, header, whether its CRC is right, the bytes of a control batch), and the errors."""
    batches: list[Batch] = []
    damage = []
    for item in items:
        if isinstance(item, CheckedHeaders):
            headers = item.headers
            places = (headers.positions + headers.file_position).tolist()
            rows = [headers.table[index].tobytes() for index in range(len(headers))]
            kept = [item.control_batches.get(index) for index in range(len(headers))]
            batches += zip(places, rows, item.matches.tolist(), kept, strict=True)
            assert set(numpy.flatnonzero(headers.is_control).tolist()) == set(item.control_batches)
            damage += item.damage
    return batches, damage


def test_tables_end_in_front_of_damage_and_hold_several_pieces(tmp_path: Path) -> None:
    log = log_with_markers(random.Random(1), 40)
    places = [position for position, _ in iterate_headers(bytes(log))]
    log[places[20] + 16] = 9
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(log)
    found = list(read_headers(path, [places[30]], piece_bytes=1))
    sizes = [len(item.headers) if isinstance(item, CheckedHeaders) else item.position for item in found]
    assert sizes == [20, places[20], 10]
    chunks = list(read_chunks(path, chunk_bytes=1, batch_positions=[places[30]]))
    assert [len(item) for item in chunks if isinstance(item, BatchTable)] == [1] * 30
