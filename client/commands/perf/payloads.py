"""The values of ``odradek perf produce``: random letters, lines of a file, or numbers.

Pure: chance comes in as a generator. Source: ``ProducerPerformance.generateRandomPayload``.
"""

from collections.abc import Callable
from random import Random

Values = Callable[[int, int], list[bytes]]
"""(number of the first record, count) -> the values of the records."""

LETTERS = bytes(65 + byte * 26 // 256 for byte in range(256))
"""A byte -> a capital letter."""


def random_letters(size: int, random: Random) -> Values:
    """Values of ``size`` bytes."""

    def values(_first: int, count: int) -> list[bytes]:
        letters = random.randbytes(count * size).translate(LETTERS)
        return [letters[at : at + size] for at in range(0, count * size, size)]

    return values


def one_of(payloads: list[bytes], random: Random) -> Values:
    """Values chosen at random."""
    return lambda _first, count: random.choices(payloads, k=count)


def numbers() -> Values:
    """The record's number as text."""
    return lambda first, count: [b"%d" % number for number in range(first, first + count)]
