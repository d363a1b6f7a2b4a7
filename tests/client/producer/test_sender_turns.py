"""A function runs in turns of the event loop: once for all events before a turn, and again when it wants to."""

import asyncio

from odradek.client.producer.sender_turns import SenderTurns


class Work:
    """Counts its turns; each asks for the next delay of a list."""

    def __init__(self, delays: list[float | None]) -> None:
        self.delays = delays
        self.turns = 0
        self.done = asyncio.Event()

    def __call__(self) -> float | None:
        """One turn."""
        self.turns += 1
        if self.turns == len(self.delays):
            self.done.set()
        return self.delays[self.turns - 1] if self.turns <= len(self.delays) else None


def unexpected(failure: BaseException) -> None:
    raise AssertionError(failure)


async def test_many_events_make_one_turn() -> None:
    work = Work([None, None])
    turns = SenderTurns(work, unexpected)
    turns.wake()
    turns.start()
    for _ in range(5):
        turns.wake()
    await asyncio.sleep(0)
    assert work.turns == 1, "the first turn is that of start(), and nothing runs before"
    turns.wake()
    await asyncio.sleep(0)
    assert work.turns == 2
    turns.stop()


async def test_a_turn_comes_after_the_delay_and_an_earlier_delay_replaces_a_later_one() -> None:
    work = Work([60_000, 1, 1, None])
    turns = SenderTurns(work, unexpected)
    turns.start()
    await asyncio.sleep(0)
    turns.wake()
    await work.done.wait()
    assert work.turns == 4, "two turns came by the timer of 1 ms"
    turns.stop()


async def test_no_turn_after_the_stop() -> None:
    work = Work([1])
    turns = SenderTurns(work, unexpected)
    turns.start()
    await work.done.wait()
    turns.wake()
    turns.stop()
    turns.wake()
    for _ in range(3):
        await asyncio.sleep(0)
    assert work.turns == 1


async def test_an_exception_of_a_turn_is_passed_on() -> None:
    failures: list[BaseException] = []
    loop = asyncio.get_running_loop()
    handled: asyncio.Future[BaseException] = loop.create_future()
    loop.set_exception_handler(lambda _loop, context: handled.set_result(context["exception"]))

    def broken() -> float | None:
        raise RuntimeError("broken")

    turns = SenderTurns(broken, failures.append)
    turns.start()
    assert str(await handled) == "broken"
    turns.stop()
    assert failures == [handled.result()]
