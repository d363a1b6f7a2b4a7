"""Looks up several keys, perhaps in different shards, and answers once, in the order of the request.

Owns: the results so far. Never does: looking up. Invariants: there is exactly one answer; equal keys are looked up once
and share their result, so a repeated key costs almost nothing.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Result = TypeVar("Result")

FEW = 8
"""Up to this many keys are looked up without a pause between two keys."""


def gather_in_order(
    keys: Sequence[Key],
    look_up: Callable[[Key, Callable[[Result], None]], Iterator[object] | None],
    answer: Callable[[list[Result]], None],
) -> Iterator[object] | None:
    """Calls ``look_up`` with each key and a callback for its result. Calls ``answer`` once with all results.

    ``look_up`` may return steps to run. Returns steps for the dispatcher to run, or None if every key was looked up
    inside the call.
    """
    steps = _look_up(keys, look_up, answer)
    if len(keys) > FEW:
        return steps
    return None if next(steps, _DONE) is _DONE else steps


_DONE = object()


def _look_up(
    keys: Sequence[Key],
    look_up: Callable[[Key, Callable[[Result], None]], Iterator[object] | None],
    answer: Callable[[list[Result]], None],
) -> Iterator[object]:
    if not keys:
        answer([])
        return
    distinct = dict.fromkeys(keys)
    results: dict[Key, Result] = {}

    def collect(key: Key, result: Result) -> None:
        results[key] = result
        if len(results) == len(distinct):
            answer([results[each] for each in keys])

    pause = len(keys) > FEW
    for key in distinct:
        steps = look_up(key, partial(collect, key))
        if steps is not None:
            yield from steps
        if pause:
            yield None
