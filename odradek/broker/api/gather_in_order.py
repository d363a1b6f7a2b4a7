"""Looks up several keys, perhaps in different shards, and answers once, in the order of the request.

Owns: the results so far. Never does: looking up. Invariants: there is exactly one answer; equal keys are looked up once
and share their result, so a repeated key costs almost nothing.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

KEYS_A_STEP = 8


def gather_in_order(
    keys: Sequence[Key],
    look_up: Callable[[Key, Callable[[Result], None]], Iterator[object] | None],
    answer: Callable[[list[Result]], None],
) -> Iterator[object]:
    """Calls ``look_up`` with each key and a callback for its result. Calls ``answer`` once with all results.

    ``look_up`` may return steps to run.
    """
    if not keys:
        answer([])
        return
    distinct = dict.fromkeys(keys)
    results: dict[Key, Result] = {}

    def collect(key: Key, result: Result) -> None:
        results[key] = result
        if len(results) == len(distinct):
            answer([results[each] for each in keys])

    for number, key in enumerate(distinct):
        if number and not number % KEYS_A_STEP:
            yield None
        steps = look_up(key, partial(collect, key))
        if steps is not None:
            yield from steps
