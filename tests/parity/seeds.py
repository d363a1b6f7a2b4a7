"""Runs random histories, one for each seed, several at a time. A failure prints the line that replays its seed.

A history ("life") mostly waits for the two brokers. Several therefore run at a time on threads, each with its own
connections and groups. Within a history, requests are sent one after the other and depend only on the seed.
"""

import contextlib
import logging
import math
import os
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from parity.two_brokers import TwoBrokers

AT_ONCE = int(os.environ.get("PARITY_AT_ONCE", "8"))
"""The number of histories that run at a time. 1 shows whether a failure depends on the requests of other histories."""

FAILURES_AT_MOST = 10
LOGGER = logging.getLogger(__name__)

Life = Callable[[TwoBrokers, int], int]
"""Runs the history of a seed. Returns its size, such as the number of requests."""


def replay(variable: str, file: str) -> str:
    """The command that replays a seed, with {seed} for the seed. `variable` passes it to test_given_seed of `file`."""
    return f"{variable}={{seed}} pytest {os.path.relpath(file)} -k given_seed"


def live_on(both: TwoBrokers, life: Life, seeds: Iterable[int], again: str, *, enough: float = math.inf) -> None:
    """Runs seeds until none is left, the histories' sizes add up to `enough`, or too many histories have failed.

    `again`: the command that replays a seed, with {seed} for the seed. During a recording, the histories run one after
    the other.
    """
    if both.recording is not None:
        for one in seeds:
            life(both, one)
        return
    left = iter(seeds)
    lived = 0
    failures: list[BaseException] = []
    with contextlib.ExitStack() as lines, ThreadPoolExecutor(AT_ONCE) as threads:
        idle = [lines.enter_context(both.beside()) for _ in range(AT_ONCE)]
        under_way: dict[Future[int], tuple[int, TwoBrokers]] = {}
        while True:
            while idle and lived < enough and len(failures) < FAILURES_AT_MOST:
                if (seed := next(left, None)) is None:
                    break
                mine = idle.pop()
                under_way[threads.submit(life, mine, seed)] = seed, mine
            if not under_way:
                break
            for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                seed, mine = under_way.pop(done)
                idle.append(mine)
                failure = done.exception()
                if failure is None:
                    lived += done.result()
                else:
                    failure.add_note("again: " + again.format(seed=seed))
                    failures.append(failure)
                LOGGER.info("seed %d: %s; %d so far", seed, failure or "the same", lived)
    if failures:
        raise BaseExceptionGroup("lives that differ", failures)
