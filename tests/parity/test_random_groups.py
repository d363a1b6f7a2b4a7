"""Random members of classic groups on Odradek and a real Kafka, in step (:mod:`parity.random_members`)."""

import itertools
import os

import pytest

from parity.random_members import RandomMembers
from parity.seeds import live_on, replay
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("members_topic")]

COMMANDS = 40


def live(both: TwoBrokers, seed: int) -> int:
    """Runs the history of one group. Returns the number of commands."""
    members = RandomMembers(both, f"{seed}-random-members", seed)
    for _ in range(COMMANDS):
        members.step()
    return members.end()


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Runs one seed after the other, several at a time, until ``requests`` commands have run."""
    live_on(both, live, itertools.count(first_seed), replay("MEMBERS_SEED", __file__), enough=requests)


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("MEMBERS_SEED", "4711")))


@pytest.mark.ci
def test_random_members(both: TwoBrokers) -> None:
    run(both, 0, 1_000)


@pytest.mark.long
def test_random_members_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, int(os.environ.get("MEMBERS_REQUESTS", "200000")))
