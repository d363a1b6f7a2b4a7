"""Random members of share groups on Odradek and a real Kafka (:mod:`parity.random_sharers`)."""

import itertools
import os

import pytest

from parity.random_sharers import RandomSharers
from parity.seeds import live_on, replay
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java]

STEPS = 60


def live(both: TwoBrokers, seed: int) -> int:
    """Runs the history of one group. Returns the number of requests."""
    group = RandomSharers(both, f"share-{seed}", seed)
    for _ in range(STEPS):
        group.step()
    group.disconnect()
    return group.asked


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Runs one seed after the other, several at a time, until ``requests`` requests were sent."""
    live_on(both, live, itertools.count(first_seed), replay("SHARE_SEED", __file__), enough=requests)


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("SHARE_SEED", "4711")))


@pytest.mark.ci
def test_random_members(both: TwoBrokers) -> None:
    run(both, 0, 1_000)


@pytest.mark.long
def test_random_members_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, int(os.environ.get("SHARE_REQUESTS", "50000")))
