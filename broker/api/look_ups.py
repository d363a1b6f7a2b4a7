"""Looks several things up that may be with different shards, and answers once, in the order in which they were asked.

Owns: the results that have come so far. Never does: looking up. Invariant: the answer comes exactly once.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

Key = TypeVar("Key")
Result = TypeVar("Result")


def look_up_all(
    keys: Sequence[Key],
    look_up: Callable[[Key, Callable[[Result], None]], None],
    answer: Callable[[list[Result]], None],
) -> None:
    """Calls ``look_up`` with each key and where its result goes, at once or later, and ``answer`` with all of them."""
    if not keys:
        answer([])
        return
    results: dict[int, Result] = {}

    def collect(index: int, result: Result) -> None:
        results[index] = result
        if len(results) == len(keys):
            answer([results[position] for position in range(len(keys))])

    for index, key in enumerate(keys):
        look_up(key, partial(collect, index))
