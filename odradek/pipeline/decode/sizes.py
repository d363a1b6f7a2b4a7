"""How many decompressed bytes the decoder handles at once. Pure."""

from typing import NamedTuple


class DecodeSizes(NamedTuple):
    """Sizes in bytes, after decompression. Tests make them small, so that a few records are many."""

    group: int = 4 << 20
    """A group of batches, unless one batch has more. Larger groups would leave the cache."""
    large_batch: int = 4 << 20
    """A batch with more bytes than this is decoded in parts (large_batches.py)."""
    piece: int = 1 << 20
    """What is walked at once of a large batch."""
    most_record: int = 32 << 20
    """The maximum of one record of a large batch. Kafka's default of max.message.bytes is 1 MiB for a whole batch."""


USUAL_SIZES = DecodeSizes()
