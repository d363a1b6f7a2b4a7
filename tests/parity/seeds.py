"""Random lives, seed after seed; a failure says the line that replays its seed."""

import os
from collections.abc import Callable


def live_on(live: Callable[[int], int], first_seed: int, requests: int, *, variable: str, file: str) -> None:
    """Until so many requests were put. `live` takes a seed, `variable` sets it for `file`'s test_given_seed."""
    seed = first_seed
    while requests > 0:
        try:
            requests -= live(seed)
        except AssertionError as failure:
            failure.add_note(f"again: {variable}={seed} pytest {os.path.relpath(file)} -k given_seed")
            raise
        seed += 1
