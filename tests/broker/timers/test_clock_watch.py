"""A jump of the machine's clock is logged once; slow corrections and suspensions are not jumps."""

import logging

import pytest

from odradek.broker.timers.clock_watch import JUMP_MS, ClockWatch


class Clocks:
    """The clocks of a machine, and what the watch logs about them."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        self._caplog = caplog
        self.wall_ms, self.monotonic_ms, self.suspended_ms = 1_800_000_000_000, 5_000, 0
        self._watch = ClockWatch(lambda: self.wall_ms, lambda: self.monotonic_ms)
        self._watch.note_turn(0)

    def after(self, wall_ms: int, monotonic_ms: int, suspended_ms: int = 0) -> list[str]:
        """Lets time pass by each clock; returns the lines of the next look."""
        self.wall_ms += wall_ms
        self.monotonic_ms += monotonic_ms
        self.suspended_ms += suspended_ms
        self._caplog.clear()
        self._watch.note_turn(self.suspended_ms)
        return [record.getMessage() for record in self._caplog.records]


@pytest.fixture
def clocks(caplog: pytest.LogCaptureFixture) -> Clocks:
    return Clocks(caplog)


def test_a_jump_forward_and_one_back_are_logged_once(clocks: Clocks) -> None:
    (line,) = clocks.after(3_600_500, 500)
    assert line.startswith("the clock of this machine has jumped forward by 3600.0 s. ")
    assert "timedatectl" in line
    assert clocks.after(500, 500) == []
    (line,) = clocks.after(500 - JUMP_MS, 500)
    assert line.startswith("the clock of this machine has jumped back by 2.0 s. ")


def test_the_slow_correction_of_a_time_service_is_no_jump(clocks: Clocks) -> None:
    assert [line for _ in range(10_000) for line in clocks.after(501, 500)] == []


def test_the_time_in_which_the_machine_slept_has_passed(clocks: Clocks) -> None:
    assert clocks.after(3_600_500, 500, suspended_ms=3_600_000) == []


def test_a_stall_of_the_broker_moves_both_clocks(clocks: Clocks) -> None:
    assert clocks.after(90_000, 90_000) == []
