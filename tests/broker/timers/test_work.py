"""The one place that starts tasks and callbacks: what they raise ends nothing else."""

import asyncio
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from odradek.broker.timers import work
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.slices import SLICES, Slices
from odradek.broker.timers.timer_queue import TIMERS
from odradek.broker.timers.work import KINDS, KindOfWork, Pauses

TESTED = KindOfWork("tested-work", "is started by these tests")


@pytest.fixture(autouse=True)
def no_failures() -> None:
    TESTED.failures = 0


def fails(reached: asyncio.Event) -> None:
    reached.set()
    raise KeyError("a bug")


async def test_callbacks_that_raise_are_named_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    reached = [asyncio.Event() for _ in range(5)]
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    TESTED.soon(fails, reached[0])
    TESTED.later(0.001, partial(fails, reached[1]))
    TESTED.at(loop.time(), fails, reached[2])
    TESTED.when_done(done, lambda _: fails(reached[3]))
    done.set_result(None)
    threading.Thread(target=TESTED.soon_in, args=(loop, fails, reached[4])).start()
    for event in reached:
        await event.wait()
    await asyncio.sleep(0)
    assert TESTED.failures == 5
    assert "tested-work: fails failed: KeyError('a bug')" in caplog.text


async def test_a_turn_that_raises_is_called_once_more() -> None:
    calls: list[int] = []
    is_over = asyncio.Event()

    def step() -> None:
        calls.append(len(calls))
        if len(calls) == 2:
            is_over.set()
        raise KeyError("a bug")

    TESTED.turn(step)
    await is_over.wait()
    for _ in range(3):
        await asyncio.sleep(0)
    assert calls == [0, 1]
    assert TESTED.failures == 2


async def test_a_task_that_raises_is_counted_with_its_subject(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise KeyError("a bug")

    await TESTED.task(fail(), "t-0")
    assert TESTED.failures == 1
    assert "tested-work: t-0 failed: KeyError('a bug')" in caplog.text


async def test_a_task_that_must_go_on_runs_again_until_it_returns() -> None:
    runs: list[int] = []

    async def run() -> None:
        runs.append(len(runs))
        if len(runs) < 4:
            raise KeyError("a bug")

    await TESTED.keep_running(run, Pauses(0.001))
    assert (len(runs), TESTED.failures) == (4, 3)


async def test_a_cancelled_task_is_no_failure() -> None:
    task = TESTED.keep_running(asyncio.Event().wait)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert TESTED.failures == 0


async def test_an_awaited_task_raises_where_it_is_awaited() -> None:
    async def fail() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await TESTED.awaited(fail())
    assert TESTED.failures == 0


async def test_a_function_on_a_thread_is_counted_and_raises_where_it_is_awaited() -> None:
    def fail() -> None:
        raise KeyError("a bug")

    with pytest.raises(KeyError):
        await TESTED.on_thread(fail)
    await asyncio.sleep(0)
    assert TESTED.failures == 1


async def test_a_timer_that_raises_does_not_stop_the_others() -> None:
    before, reached = TIMERS.failures, [asyncio.Event(), asyncio.Event()]
    timers = LoopTimers(asyncio.get_running_loop())
    for event in reached:
        timers.schedule(0, partial(fails, event))
    for event in reached:
        await event.wait()
    is_over = asyncio.Event()
    timers.schedule(0, is_over.set)
    await is_over.wait()
    timers.close()
    assert TIMERS.failures == before + 2


async def test_work_whose_failure_handler_raises_does_not_stop_the_slices() -> None:
    before = SLICES.failures
    slices = Slices(asyncio.get_running_loop().call_soon, work_clock)
    reached, is_over = asyncio.Event(), asyncio.Event()

    def steps() -> Iterator[None]:
        yield
        raise KeyError("a bug")

    def others() -> Iterator[None]:
        yield
        is_over.set()

    slices.start(iter([None, None, None]), lambda error: None)
    slices.start(steps(), lambda error: fails(reached))
    slices.start(others(), lambda error: None)
    await reached.wait()
    await is_over.wait()
    assert SLICES.failures == before + 1


def work_clock() -> float:
    """Each look is a slice later, so that every step is a turn of its own."""
    return asyncio.get_running_loop().time() * 1_000_000


def test_kinds_are_registered_with_what_they_do() -> None:
    assert KINDS["tested-work"] is TESTED
    assert all(kind.what and kind.name == name for name, kind in KINDS.items())


def test_a_module_that_is_imported_anew_registers_its_kinds_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(work._kinds, "imported-twice", KindOfWork("imported-twice", "is registered by these tests"))
    assert KINDS["imported-twice"] is not (again := KindOfWork("imported-twice", "is registered by these tests"))
    assert KINDS["imported-twice"] is again
