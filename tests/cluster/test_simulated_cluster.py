"""Whole brokers of ours in simulated time, network and disks: the nine invariants of a cluster hold. Seeded.

Each life runs in its own process with a fixed hash seed (tests/cluster/simulator/). Three brokers, one controller
and nine clients: idempotent and transactional producers, readers of both isolation levels, a group that commits. Each
broker has two disks, which fill up, fail and are lost. A step is one external event: bytes that arrive, a timer that is
due, a completed sync, a fault.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent.parent
CI_SEEDS = (2, 3)
CI_STEPS, NIGHTLY_STEPS = 4_000, 10_000
DISK_SEEDS = (206, 207)
DISK_STEPS, DISK_STEPS_NIGHTLY = 4_000, 8_000
DISK_FAULTS = "full,broken,lost,kill"
FULL_SEEDS = (301, 302)
FULL_STEPS = 5_000
LONG_SEEDS = range(1_000, 1_050)
LONG_STEPS = 20_000
SHORT_STEPS, SHORT_STEPS_CI = 600, 1_500
BUG_STEPS = 8_000
BUG_LIVES = 8
PLANTED = {"high-watermark-too-early": 1, "acknowledged-too-early": 1, "shown-aborted": 1, "epochs-forgotten": 14}
"""Each bug, and the seed of the first life that looks for it."""
"""The bugs of tests/cluster/simulator/bugs.py that are found within a few thousand steps."""
TIMEOUT_S = 900


def replay_line(arguments: Sequence[object]) -> str:
    line = " ".join(map(str, arguments))
    return f"cd tests && PYTHONHASHSEED=0 PYTHONPATH=. python -m cluster.simulator.run {line} --log"


async def live(*arguments: object) -> dict[str, Any]:
    """Runs one life in its own process; returns its result."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "cluster.simulator.run",
        *map(str, arguments),
        cwd=TESTS,
        env={
            **os.environ,
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": f"{TESTS}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    async with asyncio.timeout(TIMEOUT_S):
        output, errors = await process.communicate()
    assert output, f"{errors.decode()[-4_000:]}\nreplay with: {replay_line(arguments)}"
    result: dict[str, Any] = json.loads(output.splitlines()[-1])
    return result


async def live_well(*arguments: object) -> dict[str, Any]:
    """Runs a life that must have progress and no violations."""
    result = await live(*arguments)
    assert not result["violation"], f"{result['violation']}\nreplay with: {replay_line(arguments)}"
    assert min(result[what] for what in ("acknowledged", "transactions", "commits", "elections", "faults")) > 0, result
    return result


@pytest.mark.parametrize("steps", [SHORT_STEPS, pytest.param(SHORT_STEPS_CI, marks=pytest.mark.ci)])
async def test_same_seed_lives_the_same_life(steps: int) -> None:
    first, second, other = await asyncio.gather(live(7, steps), live(7, steps), live(8, steps))
    assert first == second
    assert first["trace"] != other["trace"]


@pytest.mark.ci
@pytest.mark.parametrize("steps", [CI_STEPS, pytest.param(NIGHTLY_STEPS, marks=pytest.mark.nightly)])
async def test_invariants_hold_whatever_happens(steps: int) -> None:
    results = await asyncio.gather(*(live_well(seed, steps) for seed in CI_SEEDS))
    assert sum(result["steps"] for result in results) >= steps * len(CI_SEEDS)


@pytest.mark.ci
@pytest.mark.parametrize("steps", [DISK_STEPS, pytest.param(DISK_STEPS_NIGHTLY, marks=pytest.mark.nightly)])
async def test_invariants_hold_while_disks_fill_up_fail_and_are_lost(steps: int) -> None:
    await asyncio.gather(*(live_well(seed, steps, "--faults", DISK_FAULTS) for seed in DISK_SEEDS))


@pytest.mark.ci
async def test_full_brokers_lead_nothing_that_others_can_lead() -> None:
    results = await asyncio.gather(*(live_well(seed, FULL_STEPS, "--faults", "full") for seed in FULL_SEEDS))
    assert min(result["handed_over"] for result in results) > 0, results


@pytest.mark.long
@pytest.mark.parametrize("seed", LONG_SEEDS)
async def test_invariants_hold_for_a_million_steps(seed: int) -> None:
    result = await live_well(seed, LONG_STEPS)
    print(result)


@pytest.mark.ci
@pytest.mark.parametrize(("bug", "first_seed"), PLANTED.items())
async def test_planted_bug_is_found(bug: str, first_seed: int) -> None:
    """A few lives are enough. After a change of the broker another one may find the bug."""
    for seed in range(first_seed, first_seed + BUG_LIVES):
        result = await live(seed, BUG_STEPS, "--bug", bug)
        if result["violation"]:
            break
    assert result["violation"].startswith("("), f"no life has found {bug} by an invariant: {result}"
