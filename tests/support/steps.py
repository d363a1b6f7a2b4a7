"""Runs work in steps to its end, as the dispatcher does in slices."""

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")


def finish(steps: Generator[Any, None, Result]) -> Result:
    """Takes all steps; what the generator returns."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
