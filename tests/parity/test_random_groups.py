"""Random members of classic groups, put to ours and to a real Kafka in step (:mod:`parity.random_members`)."""

import os

import pytest

from parity.random_members import RandomMembers
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("members_topic")]

COMMANDS = 40


def live(both: TwoBrokers, seed: int) -> int:
    """One group's life; how many commands were asked."""
    members = RandomMembers(both, f"random-members-{seed}", seed)
    for _ in range(COMMANDS):
        members.step()
    return members.end()


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Seed after seed until so many requests were put."""
    seed = first_seed
    while requests > 0:
        try:
            requests -= live(both, seed)
        except AssertionError as failure:
            failure.add_note(f"again: MEMBERS_SEED={seed} pytest {os.path.relpath(__file__)} -k given_seed")
            raise
        seed += 1


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("MEMBERS_SEED", "4711")))


@pytest.mark.ci
def test_random_members(both: TwoBrokers) -> None:
    run(both, 0, 1_000)


@pytest.mark.long
def test_random_members_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, int(os.environ.get("MEMBERS_REQUESTS", "200000")))
