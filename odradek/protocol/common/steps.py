"""Long work as a generator, so that the caller (an event loop) can do other work between the steps. Pure.

Each step takes less than 1 ms. The yielded values are ignored; the return value is the result.
"""

from collections.abc import Generator, Iterator
from typing import TypeVar

Result = TypeVar("Result")
Steps = Generator[None, None, Result]
"""A generator that does work in steps, and returns the result."""


def run_to_end(steps: Generator[object, None, Result]) -> Result:
    """Takes all steps at once and returns the result. Raises what they raise."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def begun(steps: Iterator[object]) -> Iterator[object] | None:
    """Runs work to its first pause. Returns the rest, or None if there was no pause. Raises what the work raises."""
    for _ in steps:
        return steps
    return None
