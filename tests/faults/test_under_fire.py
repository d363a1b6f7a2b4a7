"""Writers, readers and transfers between accounts, while broker and clients are killed, paused and replaced.

Every process keeps a journal. ``support.fire.checks``, which lists the guarantees for each writer, checks the journals
and the final contents of the topics. ``FIRE_SEED`` sets the schedule of faults.
"""

import os
from pathlib import Path
from random import Random

import pytest

from faults.nemesis import Nemesis
from support.brokers.our_broker import OurBroker
from support.fire.crew import FireCrew
from support.fire.history import ASKER, ASSIGNED_READER, GROUP_READER, IDEMPOTENT, PLAIN, TELLER, TRANSACTIONAL
from support.fire.run import conclude, create_topics, strike_until
from support.kafka.java import java_arguments, java_class, java_or_skip

CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "auto.create.topics.enable": "false",
    "log.segment.bytes": "1048576",
}
WRITERS = ((PLAIN, "plain"), (IDEMPOTENT, "idempotent"), (TRANSACTIONAL, "books-1"), (TRANSACTIONAL, "books-2"))
READERS = ((ASSIGNED_READER, "all"), (GROUP_READER, "member-1"), (GROUP_READER, "member-2"))
PYTHON_TELLERS = ((ASKER, "asker"), (TELLER, "teller-1"), (TELLER, "teller-2"))
JAVA_TELLER = (TELLER, "teller-java")


def under_fire(directory: Path, seed: int, *, faults: int | None, seconds: float) -> list[str]:
    """Runs everything, with a number of faults or as many as fit into a time; returns the schedule."""
    commands = {JAVA_TELLER[1]: [*java_arguments(heap="128m"), java_class("Teller")]}
    chance = Random(seed)
    with OurBroker(directory, CONFIGS) as broker:
        create_topics(broker.bootstrap_servers, 1)
        crew = FireCrew(broker.bootstrap_servers, directory, chance, commands)
        nemesis = Nemesis(broker, crew, chance)
        try:
            for kind, name in (*WRITERS, *READERS, *PYTHON_TELLERS, JAVA_TELLER):
                crew.start(kind, name)
            crew.wait_for_all()
            strike_until(crew.done, nemesis.strike, faults=faults, seconds=seconds)
            outcome = conclude(broker.bootstrap_servers, crew)
        finally:
            crew.kill_all()
        replay = f"FIRE_SEED={seed} python -m pytest tests/faults/test_under_fire.py -k fire"
        assert not outcome.broken, f"{outcome.broken}\nafter {crew.done}\nagain: {replay}"
        outcome.assert_something_happened()
        assert " ERROR " not in broker.log()
    return [f"{len(crew.done)} faults, {outcome}", ", ".join(crew.done)]


def given_seed(default: int) -> int:
    return int(os.environ.get("FIRE_SEED", str(default)))


@pytest.mark.nightly
@pytest.mark.java
@pytest.mark.timeout(1800)
def test_nothing_promised_is_broken_under_fire(tmp_path: Path) -> None:
    """With each fault once."""
    java_or_skip()
    under_fire(tmp_path, given_seed(30_001), faults=7, seconds=0)


@pytest.mark.long
@pytest.mark.java
def test_ten_minutes_under_fire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With an endless schedule of faults."""
    java_or_skip()
    lines = under_fire(tmp_path, given_seed(30_002), faults=None, seconds=600)
    with capsys.disabled():
        print("\n" + "\n".join(lines))
