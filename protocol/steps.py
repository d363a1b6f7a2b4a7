"""Long work as a generator: the caller may do other work after each step.

A step takes less than 1 ms. What the generator yields is ignored; what it returns is the result. Pure.
"""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
Steps = Generator[None, None, Result]
"""Work as its steps, with a result at the end."""


def run_to_end(steps: Generator[object, None, Result]) -> Result:
    """Takes all steps at once and returns the result. Raises what they raise."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
