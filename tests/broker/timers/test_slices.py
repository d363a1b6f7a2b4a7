"""Work in slices, in virtual time: the work of one turn of the event loop, the order, the end of work."""

from collections import deque
from collections.abc import Callable, Iterator

import pytest

from odradek.broker.timers.slices import SLICE_MS, SlicedWork, Slices

STEP_MS = 0.3


class VirtualLoop:
    """Callbacks in order, and a clock that only steps move."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.soon: deque[Callable[[], None]] = deque()
        self.slices = Slices(self.soon.append, lambda: self.now_ms)
        self.taken: list[str] = []
        self.failures: list[Exception] = []

    def steps(self, name: str, count: int) -> Iterator[None]:
        for _ in range(count):
            self.now_ms += STEP_MS
            self.taken.append(name)
            yield

    def start(self, name: str, count: int) -> SlicedWork:
        return self.slices.start(self.steps(name, count), self.failures.append)

    def turn(self) -> float:
        """Runs the callbacks that are due now; returns the time that this took."""
        began_ms = self.now_ms
        for _ in range(len(self.soon)):
            self.soon.popleft()()
        return self.now_ms - began_ms

    def run(self) -> float:
        """Runs until nothing is due; returns the longest turn."""
        longest = 0.0
        while self.soon:
            longest = max(longest, self.turn())
        return longest


def test_small_work_is_done_at_once() -> None:
    loop = VirtualLoop()
    assert loop.start("small", 3).is_done
    assert loop.taken == ["small"] * 3
    assert not len(loop.slices)
    loop.turn()
    assert not loop.soon


def test_a_turn_is_bounded_however_many_small_pieces_begin_in_it() -> None:
    loop = VirtualLoop()
    works = [loop.start("small", 1) for _ in range(100)]
    assert loop.now_ms <= SLICE_MS + STEP_MS
    turns = 0
    while loop.soon:
        assert loop.turn() <= 2 * (SLICE_MS + STEP_MS)
        turns += 1
    assert all(work.is_done for work in works)
    assert turns < 50, "several small pieces share a turn"


def test_a_turn_is_bounded_however_much_work_there_is() -> None:
    loop = VirtualLoop()
    works = [loop.start(f"work {number}", 100) for number in range(50)]
    assert loop.now_ms < SLICE_MS + STEP_MS, "only the first began at once"
    assert loop.run() < 2 * (SLICE_MS + STEP_MS)
    assert all(work.is_done for work in works)
    assert len(loop.taken) == 50 * 100
    assert not loop.failures


def test_new_work_goes_before_work_that_has_begun() -> None:
    loop = VirtualLoop()
    for number in range(20):
        loop.start(f"large {number}", 1_000)
    for _ in range(20):
        loop.turn()
    small = loop.start("small", 2)
    assert not small.is_done
    loop.turn()
    assert small.is_done


def test_work_that_has_begun_goes_on_while_new_work_arrives() -> None:
    loop = VirtualLoop()
    large = loop.start("large", 40)
    for _ in range(40):
        loop.start("small", 1)
        loop.turn()
    assert large.is_done


def test_cancelled_work_takes_no_further_step_and_is_closed() -> None:
    loop = VirtualLoop()
    closed = []

    def steps() -> Iterator[None]:
        try:
            yield from loop.steps("large", 100)
        finally:
            closed.append("large")

    work = loop.slices.start(steps(), loop.failures.append)
    taken = len(loop.taken)
    work.cancel()
    work.cancel()
    assert closed == ["large"]
    loop.run()
    assert len(loop.taken) == taken
    assert not loop.failures


def test_a_step_may_cancel_its_own_work() -> None:
    loop = VirtualLoop()
    works: list[SlicedWork] = []

    def steps() -> Iterator[None]:
        yield from loop.steps("mine", 10)
        works[0].cancel()
        yield from loop.steps("mine", 10)

    works.append(loop.slices.start(steps(), loop.failures.append))
    loop.run()
    assert works[0].is_done
    assert len(loop.taken) == 11, "the step that cancels is the last one"
    assert not loop.failures


@pytest.mark.parametrize("before", [0, 10])
def test_work_that_fails_ends_and_the_others_go_on(before: int) -> None:
    loop = VirtualLoop()

    def steps() -> Iterator[None]:
        yield from loop.steps("failing", before)
        raise ZeroDivisionError("of a step")

    failing = loop.slices.start(steps(), loop.failures.append)
    other = loop.start("other", 20)
    loop.run()
    assert failing.is_done
    assert other.is_done
    assert [type(failure) for failure in loop.failures] == [ZeroDivisionError]


def test_failed_background_work_is_logged_by_its_name(caplog: pytest.LogCaptureFixture) -> None:
    loop = VirtualLoop()

    def steps() -> Iterator[None]:
        yield from loop.steps("failing", 10)
        raise ZeroDivisionError("of a step")

    failing = loop.slices.start_background(steps(), "the count")
    assert failing.request == "the count"
    loop.run()
    assert failing.is_done
    [line] = caplog.records
    assert (line.levelname, line.getMessage()) == ("ERROR", "slices: the count failed: ZeroDivisionError('of a step')")
    assert line.exc_info is not None
    assert line.exc_info[0] is ZeroDivisionError


def test_work_that_a_step_begins_waits_for_its_turn() -> None:
    loop = VirtualLoop()
    inner: list[SlicedWork] = []

    def steps() -> Iterator[None]:
        inner.append(loop.start("inner", 1))
        assert not inner[0].is_done
        yield

    loop.slices.start(steps(), loop.failures.append)
    loop.run()
    assert inner[0].is_done
    assert not loop.failures


def test_closed_slices_end_what_has_begun_and_start_nothing() -> None:
    loop = VirtualLoop()
    closed = []

    def steps() -> Iterator[None]:
        try:
            yield from loop.steps("large", 100)
        finally:
            closed.append("large")

    loop.slices.start(steps(), loop.failures.append)
    taken = len(loop.taken)
    loop.slices.close()
    assert closed == ["large"]
    assert loop.start("late", 1).is_done
    loop.run()
    assert len(loop.taken) == taken
    assert not loop.failures
