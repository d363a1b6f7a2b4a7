"""Random members of streams groups on Odradek and a real Kafka (:mod:`parity.random_streams`)."""

import itertools
import os

import pytest

from parity.random_streams import RandomStreams
from parity.seeds import live_on, replay
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("streams_topics")]

COMMANDS = 60


def live(both: TwoBrokers, seed: int) -> int:
    """Runs the history of one group, and compares its stored records. Returns the number of requests."""
    group = RandomStreams(both, f"streams-{seed}", seed)
    for _ in range(COMMANDS):
        group.step()
    asked = group.end()
    group.stored()
    return asked


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Runs one seed after the other, several at a time, until ``requests`` requests were sent."""
    live_on(both, live, itertools.count(first_seed), replay("STREAMS_SEED", __file__), enough=requests)


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("STREAMS_SEED", "4711")))


@pytest.mark.ci
def test_random_members(both: TwoBrokers) -> None:
    run(both, 0, 1_000)


@pytest.mark.long
def test_random_members_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, int(os.environ.get("STREAMS_REQUESTS", "50000")))
