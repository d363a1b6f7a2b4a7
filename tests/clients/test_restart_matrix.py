"""Every kind of client of each library goes on over restarts of the only broker: clean, killed, and resets.

docs/operating.md has the table of the first two, docs/testing.md that of resets.
"""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Event, Thread

import pytest

from odradek.testing.broker.in_process import InProcessBroker
from support.brokers.our_broker import OurBroker

from .restart_kinds import KINDS, check, living
from .restart_topics import create_topics

pytestmark = [pytest.mark.nightly, pytest.mark.java]

ACTIONS = 10
RESTARTS = (2, 5, 8)
"""The actions during which the broker restarts."""
MOMENTS = 6
"""The number of restarts at random moments."""
LONGEST_LIFE_S = 3.0
"""The longest time of a broker between two of them."""
SEED = "RESTART_SEED"
FAST = {"group.initial.rebalance.delay.ms": "0"}


def restart(broker: OurBroker) -> None:
    broker.stop()
    broker.start()


def kill(broker: OurBroker) -> None:
    broker.kill()
    broker.start()


@pytest.mark.parametrize("end", [restart, kill], ids=["stop", "kill"])
@pytest.mark.parametrize(("library", "kind"), KINDS)
def test_it_goes_on(library: str, kind: str, end: Callable[[OurBroker], None], tmp_path: Path) -> None:
    with OurBroker(tmp_path, FAST) as broker:
        create_topics(broker.bootstrap_servers)
        with living(KINDS[library, kind], broker.bootstrap_servers) as client:
            for number in range(ACTIONS):
                client.act(number, (lambda: end(broker)) if number in RESTARTS else lambda: None)
        check(broker.bootstrap_servers, library, kind, ACTIONS)


class RandomRestarts:
    """Restarts a broker at random moments, cleanly or with a kill, in a thread during the block."""

    def __init__(self, broker: OurBroker, chance: Random) -> None:
        self._broker = broker
        self._chance = chance
        self._leave = Event()
        self._thread = Thread(target=self._run)
        self.done: list[str] = []
        """What was done, and after how many seconds."""

    def __enter__(self) -> "RandomRestarts":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._leave.set()
        self._thread.join()

    @property
    def is_under_way(self) -> bool:
        """Whether more restarts come."""
        return self._thread.is_alive()

    def _run(self) -> None:
        for _ in range(MOMENTS):
            seconds = self._chance.uniform(0, LONGEST_LIFE_S)
            how = self._chance.choice((restart, kill))
            if self._leave.wait(seconds):
                return
            how(self._broker)
            self.done.append(f"{how.__name__} after {seconds:.3f} s")


@pytest.mark.parametrize(("library", "kind"), KINDS)
def test_it_goes_on_over_restarts_at_random_moments(library: str, kind: str, tmp_path: Path) -> None:
    seed = int(os.environ.get(SEED) or Random().randrange(1 << 30))
    with OurBroker(tmp_path, FAST) as broker:
        create_topics(broker.bootstrap_servers)
        with living(KINDS[library, kind], broker.bootstrap_servers) as client:
            client.act(0, lambda: None)
            with RandomRestarts(broker, Random(seed)) as restarts:
                number = 1
                try:
                    while restarts.is_under_way:
                        client.act(number, lambda: None)
                        number += 1
                    client.act(number, lambda: None)
                except BaseException as error:
                    again = f"{SEED}={seed} python -m pytest tests/clients/test_restart_matrix.py -k"
                    error.add_note(f"action {number}, {restarts.done}; again: {again} 'random and {library}'")
                    raise
        check(broker.bootstrap_servers, library, kind, number + 1)


@pytest.mark.parametrize(
    ("library", "kind"), [key for key in KINDS if "transactions" not in key[1] and "copies" not in key[1]]
)
def test_it_goes_on_over_resets(library: str, kind: str) -> None:
    """Topics and groups are gone; the client's next action is with new ones."""
    with InProcessBroker(configs=FAST) as kafka:
        create_topics(kafka.bootstrap_servers)
        with living(KINDS[library, kind], kafka.bootstrap_servers) as client:
            for number in range(ACTIONS):
                if number in RESTARTS:
                    kafka.reset()
                    create_topics(kafka.bootstrap_servers)
                client.act(number, lambda: None)
