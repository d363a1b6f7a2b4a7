"""Leaders and followers on a model (``broker.replicas.isr_world``): no acknowledged record is lost."""

import pytest

from odradek.broker.metadata.image.image import DIRECTORY_LOST, PartitionImage
from odradek.broker.replicas.isr import Committed, InSyncReplicas, Proposal

from .isr_world import BROKERS, DIRECTORIES, LAG_MS, Controller, World

SEEDS = 120
STEPS = 400


@pytest.mark.parametrize("part", range(4))
def test_nothing_acknowledged_is_lost_whatever_happens(part: int) -> None:
    live_all(range(part * SEEDS // 4, (part + 1) * SEEDS // 4))


@pytest.mark.long
@pytest.mark.parametrize("part", range(50))
def test_nothing_acknowledged_is_lost_in_a_million_steps(part: int) -> None:
    live_all(range(1_000 + part * 50, 1_050 + part * 50))


def live_all(seeds: range) -> None:
    for seed in seeds:
        try:
            live(seed)
        except AssertionError as error:
            raise AssertionError(f"replay with: live({seed})") from error


def live(seed: int, steps: int = STEPS) -> World:
    """One run. At its end, without further failures, every partition has a leader and is in sync again."""
    world = World(seed)
    for value in range(steps):
        world.step(value)
        world.check()
    world.loses = False
    for value in range(4_000):
        world.step(-value - 1)
        world.check()
        is_whole = set(world.controller.isr) == set(BROKERS) and not world.controller.fenced
        if value > 200 and is_whole and world.acknowledged:
            break
    assert set(world.controller.isr) == set(BROKERS), "not in sync again"
    assert world.acknowledged, "nothing was acknowledged"
    return world


def leader_with_lagging_follower() -> tuple[InSyncReplicas, Proposal]:
    """Broker 1 leads and has offset 20. The ISR is 1 and 3, just committed by the controllers. Broker 2 is at 12 and
    joins.
    """
    registrations = Controller().registrations()
    core = InSyncReplicas(1, LAG_MS, registrations.get)
    core.lead(PartitionImage(BROKERS, DIRECTORIES, (1, 2, 3), 1, 0, 0), 5, 5, 0)
    for follower in (2, 3):
        core.fetched(follower, 1, 12, 0, 20, 10_000)
    core.followers[3].caught_up_ms = 10_000
    core.time_passed(20, 10_000)
    shrink = core.unsent
    assert shrink is not None
    assert shrink.members == {1, 3}
    return core, shrink


def test_late_answer_does_not_end_the_next_proposal() -> None:
    core, shrink = leader_with_lagging_follower()
    core.lead(PartitionImage(BROKERS, DIRECTORIES, (1, 3), 1, 0, 1), 20, 12, 10_000)
    core.fetched(2, 1, 12, 0, 20, 10_000)
    assert core.pending is not None
    assert core.pending.members == {1, 2, 3}
    core.answered(shrink, Committed(0, 1, (1, 3)), 20, 10_000)
    core.fetched(3, 1, 20, 0, 20, 10_000)
    assert core.high_watermark == 12, "2 may be in the ISR already"


def test_late_metadata_does_not_end_the_next_proposal() -> None:
    core, shrink = leader_with_lagging_follower()
    core.answered(shrink, Committed(0, 1, (1, 3)), 20, 10_000)
    core.fetched(2, 1, 12, 0, 20, 10_000)
    core.lead(PartitionImage(BROKERS, DIRECTORIES, (1, 3), 1, 0, 1), 20, 12, 10_000)
    core.fetched(3, 1, 20, 0, 20, 10_000)
    assert core.high_watermark == 12, "2 may be in the ISR already"


def test_a_replica_in_a_failed_directory_is_not_waited_for() -> None:
    """Kafka's leader waits for it until replica.lag.time.max.ms have passed."""
    registrations = Controller().registrations()
    failed, healthy = b"1" * 16, b"2" * 16
    core = InSyncReplicas(1, LAG_MS, registrations.get)
    directories = (healthy, healthy, failed)
    core.lead(PartitionImage(BROKERS, directories, (1, 2, 3), 1, 0, 0), 20, 20, 0)
    for follower in (2, 3):
        core.fetched(follower, 1, 20, 0, 20, 10_000)
    registrations[3] = registrations[3]._replace(directories=(healthy,))
    core.lead(PartitionImage(BROKERS, directories, (1, 2), 1, 0, 1), 20, 20, 10_000)
    core.fetched(3, 1, 20, 0, 20, 10_001)  # of its last fetch session
    assert core.unsent is None, "it does not join again"
    core.fetched(2, 1, 30, 0, 30, 10_002)
    assert core.high_watermark == 30


def test_a_replica_in_a_lost_directory_is_waited_for() -> None:
    """Its broker has handed over the leadership, because the directory is full, and still follows."""
    registrations = Controller().registrations()
    healthy = b"2" * 16
    registrations[3] = registrations[3]._replace(directories=(healthy,))
    core = InSyncReplicas(1, LAG_MS, registrations.get)
    core.lead(PartitionImage(BROKERS, (healthy, healthy, DIRECTORY_LOST), (1, 2), 1, 0, 0), 20, 20, 0)
    for follower in (2, 3):
        core.fetched(follower, 1, 20, 0, 20, 10_000)
    assert core.unsent is not None
    assert core.unsent.members == {1, 2, 3}
