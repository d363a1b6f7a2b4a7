"""Many offsets are removed in steps: the size of a step, requests in between, deletion of a topic."""

import pytest

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.core import GroupCore
from odradek.broker.groups.effects import ExpirationDue, GroupEffects
from odradek.broker.groups.offsets.expiration import STEP_US, TOMBSTONE_US
from odradek.broker.groups.offsets.store import TOMBSTONES_A_STEP, offset_commit_record
from odradek.protocol.messages.group_records import OffsetCommitValue

RETENTION_MS = 1_000
INTERVAL_MS = 600_000
CONFIG = GroupCoordinatorConfig(offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=INTERVAL_MS)


def commit(core: GroupCore, group: str, topic: str, partition: int, at_ms: int) -> None:
    """Commits as a client that is not a member."""
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=at_ms)
    core.replay(offset_commit_record(group, topic, partition, value), 0, -1, at_ms)


def full_core(groups: int, partitions: int) -> GroupCore:
    """A core with offsets committed at 0 ms."""
    core = GroupCore(CONFIG, lambda: "uuid")
    for number in range(groups):
        for partition in range(partitions):
            commit(core, f"g{number}", "t", partition, 0)
    return core


def step(core: GroupCore, now_ms: int) -> GroupEffects:
    """Handles one timer event, and replays its records as the shell does."""
    effects = core.effects(now_ms)
    core.handle_timer(ExpirationDue(), effects)
    for record in effects.records:
        core.replay(record, 0, -1, now_ms)
    return effects


def delay_ms(effects: GroupEffects) -> int:
    """The delay until the next event, in milliseconds."""
    [timer] = effects.timers
    return timer.delay_ms  # type: ignore[union-attr]


@pytest.mark.parametrize(("groups", "partitions"), [(1, 2_000), (100, 20), (2_000, 1)])
def test_all_old_offsets_and_their_groups_go_in_many_small_steps(groups: int, partitions: int) -> None:
    core = full_core(groups, partitions)
    steps = 1
    effects = step(core, 2 * RETENTION_MS)
    while delay_ms(effects) == 0:
        assert len(effects.records) <= 2 * STEP_US / TOMBSTONE_US + 2
        effects = step(core, 2 * RETENTION_MS)
        steps += 1
    assert delay_ms(effects) == INTERVAL_MS
    assert steps > groups * partitions * TOMBSTONE_US / STEP_US / 2
    assert core.offsets.snapshot()["committed"] == {}
    assert core.groups.classic == {}


def test_offsets_that_stay_are_looked_at_in_steps_too() -> None:
    core = full_core(5_000, 1)
    effects, steps = step(core, 0), 1
    while delay_ms(effects) == 0:
        effects, steps = step(core, 0), steps + 1
    assert steps > 5
    assert len(core.groups.classic) == 5_000


def test_a_group_that_commits_in_between_stays() -> None:
    core = full_core(1, 500)
    effects = step(core, 2 * RETENTION_MS)
    assert delay_ms(effects) == 0
    commit(core, "g0", "other", 3, 2 * RETENTION_MS)
    commit(core, "g0", "t", 499, 2 * RETENTION_MS)
    while delay_ms(effects) == 0:
        effects = step(core, 2 * RETENTION_MS)
    assert "g0" in core.groups.classic
    assert core.offsets.snapshot()["committed"].keys() == {("g0", "other", 3), ("g0", "t", 499)}  # type: ignore[attr-defined]


def test_offsets_of_a_deleted_topic_go_in_small_batches() -> None:
    core = full_core(3, 1_000)
    commit(core, "g1", "kept", 0, 0)
    batches = 0
    for tombstones in core.offsets.tombstones_of_topics({"t", "unknown"}):
        batches += 1
        assert len(tombstones) <= TOMBSTONES_A_STEP
        for record in tombstones:
            core.replay(record, 0, -1, 0)
    assert batches >= 3 * 1_000 / TOMBSTONES_A_STEP
    assert core.offsets.snapshot()["committed"].keys() == {("g1", "kept", 0)}  # type: ignore[attr-defined]
