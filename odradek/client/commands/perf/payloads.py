"""The values of ``odradek perf produce``: random letters, lines of a file, or numbers. And its keys: numbers.

Pure: the caller passes the random generator. Source: ``ProducerPerformance.generateRandomPayload``, which makes each
value anew. Here values of random letters come from a pool, so that a record costs no random numbers. The pool is larger
than a batch, in which all values differ: it compresses as little as one of new values. It is not much larger, so that
it stays in the processor's cache, as values do that a program has just made.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

LETTERS = bytes(65 + byte * 26 // 256 for byte in range(256))
"""A translation table: byte -> capital letter."""
POOL_BATCHES = 4
"""The pool has the bytes of this number of batches, and at least this number of values."""
SMALLEST_POOL_BYTES = 128 * 1024
POOL_VALUES = 100_000
"""The maximum for small values, of which a batch of 1 MiB has fewer."""


KeySource = Callable[[int, int], Sequence[bytes]]
"""(number of the first record, count) -> the keys of the records."""


class PayloadSource(NamedTuple):
    """Where the values of records come from."""

    largest: int
    """The size of the largest value, in bytes."""
    take: Callable[[int, int], Sequence[bytes]]
    """(number of the first record, count) -> the values of the records."""
    has_one_size: bool = False
    """Whether all values have the size of the largest."""

    def size_of(self, values: Sequence[bytes]) -> int:
        """The bytes of values from ``take`` together."""
        return self.largest * len(values) if self.has_one_size else sum(map(len, values))


def random_letters(size: int, random: Random, batch_size: int) -> PayloadSource:
    """Makes values of ``size`` random letters."""
    pool_bytes = max(SMALLEST_POOL_BYTES, POOL_BATCHES * batch_size)
    count = max(POOL_BATCHES, min(POOL_VALUES, pool_bytes // size))
    letters = random.randbytes(count * size).translate(LETTERS)
    pool = [letters[at * size : (at + 1) * size] for at in range(count)]

    def values(first: int, most: int) -> Sequence[bytes]:
        begin = first % count
        taken = pool[begin : begin + most]
        while len(taken) < most:
            taken += pool[: most - len(taken)]
        return taken

    return PayloadSource(size, values, has_one_size=True)


def one_of(payloads: list[bytes], random: Random) -> PayloadSource:
    """Makes values by choosing from ``payloads`` at random."""
    return PayloadSource(max(map(len, payloads)), lambda _first, count: random.choices(payloads, k=count))


def numbers(last: int) -> PayloadSource:
    """Makes values that are the record's number as text; ``last`` is the highest."""
    return PayloadSource(
        len(b"%d" % last), lambda first, count: [b"%d" % number for number in range(first, first + count)]
    )


def keys_in_turn(key_range: int) -> KeySource:
    """Makes keys that are the numbers below ``key_range`` as text, one after the other, again and again."""
    return lambda first, count: [b"%d" % (number % key_range) for number in range(first, first + count)]


def random_keys(key_range: int, random: Random) -> KeySource:
    """Makes keys that are random numbers below ``key_range`` as text."""
    return lambda _first, count: [b"%d" % random.randrange(key_range) for _ in range(count)]
