"""Classic groups, consumer groups and transactions in one random stream, on Odradek and a real Kafka.

A history has one of each (:mod:`parity.random_members`, :mod:`parity.random_consumers`,
:mod:`parity.random_transactions`). A random draw decides which takes the next step. Requests of one therefore meet
every state of the others, such as members parked in a rebalance and open transactions of both protocol versions.
"""

import itertools
import os
import random

import pytest

from parity.random_consumers import RandomConsumers
from parity.random_members import RandomMembers
from parity.random_transactions import RandomTransactions
from parity.seeds import live_on, replay
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("members_topic", "consumers_topic")]

TURNS = 150


def live(both: TwoBrokers, seed: int) -> int:
    """Runs one history. Returns the number of requests."""
    chance = random.Random(seed)
    lives = (
        RandomMembers(both, f"{seed}-mixed-members", seed),
        RandomConsumers(both, f"mixed-consumers-{seed}", seed),
        RandomTransactions(both, f"mixed-{seed}", seed),
    )
    for _ in range(TURNS):
        chance.choice(lives).step()
    return sum(one.end() for one in lives)


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Runs one seed after the other, several at a time, until ``requests`` requests were sent."""
    live_on(both, live, itertools.count(first_seed), replay("MIXED_SEED", __file__), enough=requests)


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("MIXED_SEED", "4711")))


@pytest.mark.ci
def test_random_mixed(both: TwoBrokers) -> None:
    run(both, 0, 5_000)


@pytest.mark.long
def test_random_mixed_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, int(os.environ.get("MIXED_REQUESTS", "200000")))
