"""Guarantees hold in a cluster under fire: with brokers of ours only, and with ours and Apache Kafka's.

Writers with acks=all, readers, groups and transfers between accounts work on three brokers while ``cluster_nemesis``
kills, pauses and isolates brokers and breaks the lines between them. ``support.fire.checks`` lists the guarantees.
``FIRE_SEED`` sets the order of the faults.
"""

import os
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from cluster.fire.cluster import KAFKA, OURS, FireCluster
from cluster.fire.cluster_nemesis import FAULTS, FAULTS_OF_OURS, FIRST, ClusterNemesis, until_healed
from cluster.fire.replicas import until_equal, writers_of
from support.fire.crew import FireCrew
from support.fire.history import (
    ASKER,
    ASSIGNED_READER,
    GROUP_READER,
    IDEMPOTENT,
    TELLER,
    TRANSACTIONAL,
    UNCOMMITTED_READER,
    WATCHER,
)
from support.fire.run import conclude, create_topics, strike_until
from support.fire.worker_process import AIOKAFKA_MEMBER
from support.kafka.java import java_arguments, java_class, java_or_skip

pytestmark = [pytest.mark.java]

KINDS = {"ours": (OURS, OURS, OURS), "mixed": (OURS, OURS, KAFKA)}
CONTROL = "kafka"
"""The same script on three brokers of Apache Kafka: what breaks there is not a fault of ours."""
BROKERS = {**KINDS, CONTROL: (KAFKA, KAFKA, KAFKA)}
CREW = (
    (IDEMPOTENT, "idempotent"),
    (TRANSACTIONAL, "books-1"),
    (ASSIGNED_READER, "all"),
    (UNCOMMITTED_READER, "uncommitted"),
    (GROUP_READER, "member-1"),
    (GROUP_READER, "member-2"),
    (GROUP_READER, "member-aiokafka"),
    (WATCHER, "watcher"),
    (ASKER, "asker"),
    (TELLER, "teller-1"),
)
MORE = ((IDEMPOTENT, "idempotent-2"), (TRANSACTIONAL, "books-2"), (TELLER, "teller-2"), (TELLER, "teller-java"))
EQUAL_WITHIN_S = 60.0


def assert_one_leader_for_each_epoch(cluster: FireCluster) -> None:
    """Asserts that the metadata log has at most one leader for each leader epoch of a partition."""
    history = cluster.history()
    history.read()
    leaders: dict[tuple[str, int, int], int] = {}
    for topic, place, partition in history.changes:
        if partition.has_leader:
            key = topic, place, partition.leader_epoch
            assert leaders.setdefault(key, partition.leader) == partition.leader, key


class Plan(NamedTuple):
    """The length of a run."""

    crew: tuple[tuple[str, str], ...]
    faults: tuple[str, ...]
    strikes: int | None
    """The number of faults, or None for as many as fit into the time."""
    seconds: float


SHORT = {name: Plan(CREW, faults, len(faults), 0) for name, faults in FIRST.items()}
TEN_MINUTES = Plan((*CREW, *MORE), FAULTS, None, float(os.environ.get("FIRE_SECONDS", "600")))
TEN_MINUTES_OF_KAFKA = TEN_MINUTES._replace(faults=tuple(one for one in FAULTS if one not in FAULTS_OF_OURS))


def burn(cluster: FireCluster, directory: Path, seed: int, plan: Plan) -> str:
    """Runs everything; returns the measurements and the schedule. Raises AssertionError if a guarantee is broken."""
    chance = Random(seed)
    servers = cluster.bootstrap_servers
    create_topics(servers, 3)
    commands = {
        "member-aiokafka": AIOKAFKA_MEMBER,
        "teller-java": [*java_arguments(heap="128m"), java_class("Teller")],
    }
    crew = FireCrew(servers, directory, chance, commands, cluster.network.requests.verdict)
    nemesis = ClusterNemesis(cluster, crew, chance, plan.faults)
    try:
        for kind, role in plan.crew:
            crew.start(kind, role)
        crew.wait_for_all()
        strike_until(crew.done, nemesis.strike, faults=plan.strikes, seconds=plan.seconds)
        began_s = time.monotonic()
        crew.mark("the faults have ended")
        until_healed(cluster)
        crew.mark("all is in sync")
        healed_s = time.monotonic() - began_s
        log_dir = next(iter(cluster.brokers.values())).log_dir
        outcome = conclude(servers, crew, partial(writers_of, log_dir))
    finally:
        crew.kill_all()
    assert not outcome.broken, f"{outcome.broken} after {crew.done}"
    outcome.assert_something_happened()
    until_equal({node_id: broker.log_dir for node_id, broker in cluster.brokers.items()}, EQUAL_WITHIN_S)
    for node_id, broker in cluster.brokers.items():
        nemesis.replicas.note(node_id, broker.log_dir)
    assert not nemesis.replicas.two_appenders
    assert_one_leader_for_each_epoch(cluster)
    given_up = ", ".join(f"{count} x {what}" for what, count in crew.given_up().items()) or "nothing was given up"
    if crew.replaced:
        given_up += f", replaced with all their requests answered: {', '.join(crew.replaced)}"
    return f"{len(crew.done)} faults, {outcome}, in sync after {healed_s:.1f} s, {given_up}\n{', '.join(crew.done)}"


def run(directory: Path, name: str, plan: Plan, default_seed: int) -> str:
    """Starts the cluster and runs :func:`burn`. A failure has the line that repeats the faults."""
    java_or_skip()
    seed = int(os.environ.get("FIRE_SEED", str(default_seed)))
    which = "nothing_promised" if plan.strikes else "ten_minutes"
    replay = f"FIRE_SEED={seed} python -m pytest tests/cluster/test_fire.py -k '{which} and {name}'"
    try:
        with FireCluster(directory, BROKERS[name]) as cluster:
            return burn(cluster, directory, seed, plan)
    except AssertionError as error:
        raise AssertionError(f"{error}\nagain: {replay}") from error


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", KINDS)
def test_nothing_promised_is_broken_under_fire(tmp_path: Path, name: str) -> None:
    """With each fault of a short run once."""
    run(tmp_path, name, SHORT[name], 40_001)


@pytest.mark.long
@pytest.mark.parametrize("name", BROKERS)
def test_ten_minutes_under_fire(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With all faults, repeatedly."""
    figures = run(tmp_path, name, TEN_MINUTES_OF_KAFKA if name == CONTROL else TEN_MINUTES, 40_002)
    with capsys.disabled():
        print(f"\n{figures}")
