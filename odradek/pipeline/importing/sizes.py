"""How much of its input an import holds and reads at once. Sizes are in bytes."""

from typing import NamedTuple


class ImportSizes(NamedTuple):
    """The sizes of the steps of an import. Tests make them small, so that a few rows are many."""

    part_bytes: int = 32 << 20
    """The size of a part of a file of JSON lines, which one task reads."""
    block_bytes: int = 8 << 20
    """The size of a block of JSON lines that is parsed at once."""
    chunk_rows: int = 1 << 17
    chunk_bytes: int = 64 << 20
    """A chunk of Parquet has at most `chunk_rows` rows and about `chunk_bytes` bytes."""
    group_rows: int = 1 << 16
    group_bytes: int = 64 << 20
    """Spilled rows of one partition are sorted and written in groups of about so many rows, or bytes."""


USUAL_SIZES = ImportSizes()
