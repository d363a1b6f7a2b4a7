"""Records and compressions from a seeded generator, for tests of whatever stores or sends record batches."""

import random

from odradek.protocol.records.compression import CompressionType
from odradek.protocol.records.record import Record


def random_bytes(rng: random.Random, longest: int = 300) -> bytes | None:
    """None, or empty, short or long bytes, which are often repetitive so that they can be compressed."""
    kind = rng.randrange(5)
    if kind == 0:
        return None
    size = rng.choice((0, 1, 63, 64, 65, rng.randrange(longest)))
    return rng.randbytes(size) if kind < 3 else (rng.randbytes(3) * size)[:size]


def random_records(rng: random.Random, *, base_offset: int = 0, gaps: bool = False, count: int = 0) -> list[Record]:
    """Records with rising offsets (consecutive unless `gaps`), unordered timestamps, and headers."""
    records = []
    offset = base_offset
    for _ in range(count or rng.choice((1, 2, 5, 70, 200))):
        timestamp = rng.choice((-1, 0, 1_700_000_000_000, rng.randrange(2**41), rng.randrange(2**62)))
        headers = [
            (rng.choice(("", "h", "trace-id", "ключ", "\U0001f9f5", "x" * 100)), random_bytes(rng, 100))
            for _ in range(rng.choice((0, 0, 1, 3)))
        ]
        records.append(Record(offset, timestamp, random_bytes(rng), random_bytes(rng), headers))
        offset += rng.choice((1, 2, 1000)) if gaps else 1
    return records


def random_compression(rng: random.Random) -> CompressionType:
    """One of the five compression types."""
    return rng.choice(tuple(CompressionType))
