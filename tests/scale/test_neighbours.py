"""Other clients are served while one client, or the broker itself, causes heavy work (Linux).

The tests check the processor time of the event loop between a request and its answer, which a busy machine changes
little. They also print waits by the clock; docs/developers/benchmarks.md has both. ``make test-long-neighbours`` runs
the rows at full size; NEIGHBOURS_SHARE makes them smaller. ``make test-ci`` runs a fifth of each request, with a
higher bound: while the measuring process waits for a processor, the loop's work for others is counted, too.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from scale.heavy_background import BACKGROUND, LOADED_OFFSETS, SCRAPE, TIMER_CONFIGS, TIMERS, loading
from scale.heavy_background import CONFIGS as BACKGROUND_CONFIGS
from scale.heavy_groups import ROWS as GROUP_ROWS
from support.brokers.heavy_requests import ROWS as REQUEST_ROWS
from support.brokers.heavy_requests import Scale
from support.brokers.neighbour import Neighbour, Seen
from support.brokers.our_broker import START_TIMEOUT_S, OurBroker
from support.eventually import eventually

MB = 10**6
ROWS = {**REQUEST_ROWS, **GROUP_ROWS}
LOOP_MS = 50.0
"""The goal of docs/limits.md: the longest wait of others."""
GROWTH_BYTES = 100 * MB
BYTES_OF_AN_OFFSET = 150
"""The maximum memory of a committed offset (tests/scale/test_group_scale.py)."""
CI_SHARE = 0.2
CI_LOOP_MS = 150.0
CONFIGS = {"group.initial.rebalance.delay.ms": "0", "socket.request.max.bytes": "104857600"}


SHARE = float(os.environ.get("NEIGHBOURS_SHARE", "1.0"))


class WarmBroker(OurBroker):
    """A broker that has already imported the modules of its warm-up, whose 12 MB no row causes."""

    program = ("-m", "odradek", "serve", "--log-level", "debug")

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Starts it and waits until it is warm."""
        super().start(timeout_s)
        eventually("all modules to be imported", lambda: "all modules are imported" in self.log())


def observed(broker: OurBroker, heavy: Callable[[], None]) -> Seen:
    """Runs ``heavy`` together with a neighbour; returns the waits and the memory that the neighbour measured."""
    with Neighbour(broker.port, broker.pid) as neighbour:
        heavy()
    assert "Traceback" not in broker.log(), broker.log()[-3000:]
    return neighbour.seen


def judge(seen: Seen, loop_ms: float = LOOP_MS) -> None:
    """Compares the measurements with the goals."""
    assert seen.refused_heartbeats == 0, seen
    assert seen.longest_cpu_ms <= loop_ms, seen
    assert seen.memory_growth <= GROWTH_BYTES, seen


@pytest.mark.long
@pytest.mark.parametrize("row", ROWS)
def test_others_go_on_beside_a_heavy_request(row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with WarmBroker(tmp_path, CONFIGS) as broker:
        seen = observed(broker, ROWS[row](broker.port, Scale(SHARE)))
    with capsys.disabled():
        print(f"\n{row}: {seen}")
    judge(seen)


@pytest.mark.long
@pytest.mark.parametrize("row", BACKGROUND)
def test_others_go_on_beside_work_of_the_broker(row: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with WarmBroker(tmp_path, TIMER_CONFIGS if row == TIMERS else BACKGROUND_CONFIGS) as broker:
        seen = observed(broker, BACKGROUND[row](broker, Scale(SHARE)))
    with capsys.disabled():
        print(f"\n{row}: {seen}")
    judge(seen)


@pytest.mark.long
def test_others_go_on_beside_the_loading_of_offsets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The offsets stay in memory, so the goal for memory is higher than their size."""
    with WarmBroker(tmp_path, BACKGROUND_CONFIGS) as broker:
        seen = observed(broker, loading(broker, Scale(SHARE)))
    with capsys.disabled():
        print(f"\nloading {Scale(SHARE).of(LOADED_OFFSETS)} committed offsets: {seen}")
    judge(replace(seen, memory_growth=seen.memory_growth - Scale(SHARE).of(LOADED_OFFSETS) * BYTES_OF_AN_OFFSET))


@pytest.mark.ci
@pytest.mark.parametrize("row", ROWS)
def test_others_go_on_beside_a_fifth_of_it(row: str, tmp_path: Path) -> None:
    with OurBroker(tmp_path, CONFIGS) as broker:
        judge(observed(broker, ROWS[row](broker.port, Scale(CI_SHARE))), CI_LOOP_MS)


@pytest.mark.ci
@pytest.mark.parametrize(("row", "configs"), [(SCRAPE, BACKGROUND_CONFIGS), (TIMERS, TIMER_CONFIGS)])
def test_others_go_on_beside_a_fifth_of_the_work_of_the_broker(
    row: str, configs: dict[str, str], tmp_path: Path
) -> None:
    with OurBroker(tmp_path, configs) as broker:
        judge(observed(broker, BACKGROUND[row](broker, Scale(CI_SHARE))), CI_LOOP_MS)
