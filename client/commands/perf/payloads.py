"""The values of ``odradek perf produce``: random letters, lines of a file, or numbers.

Pure: the caller passes the random generator. Source: ``ProducerPerformance.generateRandomPayload``.
"""

from collections.abc import Callable
from random import Random

Values = Callable[[int, int], list[bytes]]
"""(number of the first record, count) -> the values of the records."""

LETTERS = bytes(65 + byte * 26 // 256 for byte in range(256))
"""A translation table: byte -> capital letter."""


def random_letters(size: int, random: Random) -> Values:
    """Makes values of ``size`` random letters."""

    def values(_first: int, count: int) -> list[bytes]:
        letters = random.randbytes(count * size).translate(LETTERS)
        return [letters[at : at + size] for at in range(0, count * size, size)]

    return values


def one_of(payloads: list[bytes], random: Random) -> Values:
    """Makes values by choosing from ``payloads`` at random."""
    return lambda _first, count: random.choices(payloads, k=count)


def numbers() -> Values:
    """Makes values that are the record's number as text."""
    return lambda first, count: [b"%d" % number for number in range(first, first + count)]
