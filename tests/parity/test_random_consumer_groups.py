"""Random members of consumer groups, put to ours and to a real Kafka (:mod:`parity.random_consumers`)."""

import os

import pytest

from parity.random_consumers import RandomConsumers
from parity.two_brokers import TwoBrokers

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("consumers_topic")]

COMMANDS = 40


def live(both: TwoBrokers, seed: int, *, looks_at_records: bool) -> int:
    """One group's life; how many questions were asked."""
    group = RandomConsumers(both, f"cg-random-{seed}", seed)
    for _ in range(COMMANDS):
        group.step()
    asked = group.end()
    if looks_at_records:
        group.stored()
    return asked


def run(both: TwoBrokers, first_seed: int, requests: int) -> None:
    """Seed after seed until so many requests were put; what every tenth stored is looked at."""
    seed = first_seed
    while requests > 0:
        try:
            requests -= live(both, seed, looks_at_records=seed % 10 == 0)
        except AssertionError as failure:
            failure.add_note(f"again: CONSUMERS_SEED={seed} pytest {os.path.relpath(__file__)} -k given_seed")
            raise
        seed += 1


def test_given_seed(both: TwoBrokers) -> None:
    live(both, int(os.environ.get("CONSUMERS_SEED", "4711")), looks_at_records=True)


@pytest.mark.ci
def test_random_consumers(both: TwoBrokers) -> None:
    run(both, 0, 500)


@pytest.mark.long
def test_random_consumers_at_length(both: TwoBrokers) -> None:
    run(both, 1_000_000, 50_000)
