"""The time that connections share in a turn of the event loop, with a clock that the test sets."""

import asyncio

import pytest

from odradek.broker.network.turns import SharedTurns

TURN_S = 0.002
STEP_S = TURN_S / 8


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Waiting:
    """A connection that has a number of pieces of work."""

    def __init__(self, turns: SharedTurns, clock: Clock, pieces: int, order: list["Waiting"]) -> None:
        self.left = pieces
        self._turns, self._clock, self._order = turns, clock, order

    def continue_turn(self) -> None:
        began_s = self._turns.begin()
        while True:
            self._clock.now_s += STEP_S
            self.left -= 1
            self._order.append(self)
            if not self.left or not self._turns.may_go_on():
                break
        self._turns.end(began_s)
        if self.left:
            self._turns.put(self)


async def test_connections_take_turns_piece_by_piece() -> None:
    clock = Clock()
    turns = SharedTurns(TURN_S, clock)
    order: list[Waiting] = []
    first, second, third = (Waiting(turns, clock, pieces, order) for pieces in (3, 1, 2))
    for one in (first, second, third):
        turns.put(one)
    while turns:
        before_s = clock.now_s
        await asyncio.sleep(0)
        assert clock.now_s - before_s <= TURN_S + STEP_S
    assert order == [first, second, third, first, third, first]


def may_begin(turns: SharedTurns) -> bool:
    """Whether a connection may begin to work now."""
    return turns.has_time


async def test_a_turn_ends_and_those_that_wait_leave_time_to_those_that_receive() -> None:
    clock = Clock()
    turns = SharedTurns(TURN_S, clock)
    order: list[Waiting] = []
    for _ in range(100):
        turns.put(Waiting(turns, clock, 2, order))
    await asyncio.sleep(0)
    assert 0 < len(order) < 10
    assert may_begin(turns)
    began_s = turns.begin()
    clock.now_s += TURN_S
    turns.end(began_s)
    assert not may_begin(turns)
    await asyncio.sleep(0)
    assert may_begin(turns)


async def test_those_with_little_to_do_come_first_and_the_others_get_their_part() -> None:
    clock = Clock()
    turns = SharedTurns(TURN_S, clock)
    order: list[Waiting] = []
    heavy, light = (Waiting(turns, clock, pieces, order) for pieces in (1, 1))
    turns.put(heavy)
    turns.put(light, is_light=True)
    await asyncio.sleep(0)
    assert order == [light, heavy]
    order.clear()
    heavy.left = 1
    many = [Waiting(turns, clock, 1, order) for _ in range(100)]
    for one in many:
        turns.put(one, is_light=True)
    turns.put(heavy)
    await asyncio.sleep(0)
    assert heavy in order
    assert len(order) < 10


async def test_an_error_of_one_connection_stops_no_other() -> None:
    clock = Clock()
    turns = SharedTurns(TURN_S, clock)
    order: list[Waiting] = []

    class Failing:
        def continue_turn(self) -> None:
            raise ValueError("a bug")

    turns.put(Failing())
    turns.put(Waiting(turns, clock, 1, order))
    with pytest.raises(ValueError, match="a bug"):
        turns.run_some()
    await asyncio.sleep(0)
    assert len(order) == 1
