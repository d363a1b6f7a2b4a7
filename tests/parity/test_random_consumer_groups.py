"""Random members of consumer groups on Odradek and a real Kafka (:mod:`parity.random_consumers`)."""

import itertools
import os

import pytest

from parity.random_consumers import RandomConsumers
from parity.seeds import live_on, replay
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("consumers_topic")]

COMMANDS = 40


def live(both: TwoBrokers, seed: int) -> int:
    """Runs the history of one group, and compares its stored records. Returns the number of requests."""
    group = RandomConsumers(both, f"cg-random-{seed}", seed)
    for _ in range(COMMANDS):
        group.step()
    asked = group.end()
    group.stored()
    return asked


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Runs one seed after the other, several at a time, until ``requests`` requests were sent."""
    live_on(both, live, itertools.count(first_seed), replay("CONSUMERS_SEED", __file__), enough=requests)


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("CONSUMERS_SEED", "4711")))


@pytest.mark.ci
def test_random_consumers(both: TwoBrokers) -> None:
    run(both, 0, 500)


@pytest.mark.long
def test_random_consumers_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, int(os.environ.get("CONSUMERS_REQUESTS", "50000")))
