"""Long work on records as a generator, which whoever runs it may interrupt after each step.

A step is below 1 ms. What the generator yields is not looked at; what it returns is the result.
"""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")
Steps = Generator[None, None, Result]

RECORDS_A_STEP = 512
"""Records that are looked at in one step."""


def run_to_end(steps: Steps[Result]) -> Result:
    """Takes all steps; the result. Raises what they raise."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
