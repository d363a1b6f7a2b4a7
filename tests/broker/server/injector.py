"""Raises an exception in the work of brokers that run in this process.

    injector = Injector(monkeypatch)
    ...                                 a load runs; injector.seen has the places that its work passed through
    injector.arm(places)                each of them raises when work passes through it again

All work of the broker passes through :class:`.KindOfWork`, so its methods are the places to raise.
"""

import contextlib
import functools
import threading
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from odradek.broker.coordinator.shard import CoordinatorShard
from odradek.broker.timers.slices import SLICES, SlicedWork
from odradek.broker.timers.timer_queue import TIMERS
from odradek.broker.timers.work import KindOfWork, Pauses, name_of
from odradek.protocol.errors import ErrorCode

TIMES = 2
"""How often an armed place raises."""
SHORT_PAUSES = Pauses(0.01, 0.05)


class Place(NamedTuple):
    """A kind of work, and the function that does it."""

    kind: str
    function: str


class InjectedError(Exception):
    """An armed place raises it."""


class Injector:
    """Notes every place that work passes through. An armed place raises.

    A callback raises after it has done its work, a function on a thread in its place, and a step of sliced work after
    the first step. A task raises where it awaits, or at its end if it does not wait. A task that must go on is run
    again after a short pause. The timer of a coordinator raises in place of its event, which is then repeated.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.seen: dict[Place, None] = {}
        """The places in the order in which they were first passed."""
        self.raised: Counter[Place] = Counter()
        self._armed: dict[Place, int] = {}
        self._armed_kinds: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._patch(patch)

    def arm(self, places: Iterable[Place] = (), kinds: Iterable[str] = (), times: int = TIMES) -> None:
        """Lets these places raise the next times, and the places of these ``kinds`` that never did; no others."""
        with self._lock:
            self._armed = dict.fromkeys(places, times)
            self._armed_kinds = frozenset(kinds)

    def kinds(self) -> set[str]:
        """The kinds of work in which an exception was raised."""
        return {place.kind for place, count in self.raised.items() if count}

    def _passes(self, place: Place) -> None:
        with self._lock:
            if place.kind in self._armed_kinds and not self.raised[place]:
                self._armed[place] = TIMES
            self.seen.setdefault(place)

    def _raises(self, place: Place) -> bool:
        """Whether a place raises now."""
        with self._lock:
            left = self._armed.get(place)
            if left is None:
                return False
            if left > 1:
                self._armed[place] = left - 1
            else:
                del self._armed[place]
            self.raised[place] += 1
            return True

    def _patch(self, patch: pytest.MonkeyPatch) -> None:
        call, run, awaited, keep_running = KindOfWork.call, KindOfWork._run, KindOfWork.awaited, KindOfWork.keep_running
        on_thread, advance, fire = KindOfWork.awaited_on_thread, SlicedWork.advance, CoordinatorShard._fire

        def calls(kind: KindOfWork, callback: Callable[..., object], *arguments: Any) -> None:
            self._passes(place := Place(kind.name, name_of(callback)))
            call(kind, self._then_raising(callback) if self._raises(place) else callback, *arguments)

        async def runs(kind: KindOfWork, coroutine: Coroutine[Any, Any, object], subject: str) -> bool:
            return await run(kind, self._interrupted(kind, coroutine), subject)

        def keeps_running(kind: KindOfWork, run: Callable[[], Coroutine[Any, Any, object]]) -> Any:
            return keep_running(kind, run, SHORT_PAUSES)

        def awaits(kind: KindOfWork, coroutine: Coroutine[Any, Any, Any]) -> Any:
            if _name(coroutine).startswith(KindOfWork.__name__):  # `runs` has the work in it
                return awaited(kind, coroutine)
            task = awaited(kind, self._interrupted(kind, coroutine))
            task.add_done_callback(lambda _: coroutine.close())  # it may have been cancelled before its first step
            return task

        def threads(kind: KindOfWork, function: Callable[..., Any], *arguments: Any) -> Any:
            self._passes(place := Place(kind.name, name_of(function)))
            return on_thread(kind, _failing(function) if self._raises(place) else function, *arguments)

        def advances(sliced: SlicedWork, *arguments: Any) -> None:
            self._passes(place := Place(SLICES.name, _name(sliced._steps)))
            if sliced._steps is not None and self._raises(place):
                sliced._steps = _raising_steps(sliced._steps)
            advance(sliced, *arguments)

        def fires(shard: CoordinatorShard[Any, Any], event: Any) -> ErrorCode:
            self._passes(place := Place(TIMERS.name, type(event).__name__))
            if self._raises(place):
                raise InjectedError
            return fire(shard, event)

        patch.setattr(CoordinatorShard, "_fire", fires)
        patch.setattr(KindOfWork, "call", calls)
        patch.setattr(KindOfWork, "_run", runs)
        patch.setattr(KindOfWork, "keep_running", keeps_running)
        patch.setattr(KindOfWork, "awaited", awaits)
        patch.setattr(KindOfWork, "awaited_on_thread", threads)
        patch.setattr(SlicedWork, "advance", advances)

    def _then_raising(self, callback: Callable[..., object]) -> Callable[..., object]:
        def raising(*arguments: Any) -> None:
            callback(*arguments)
            raise InjectedError

        return functools.wraps(_plain(callback))(raising)

    async def _interrupted(self, kind: KindOfWork, coroutine: Coroutine[Any, Any, Any]) -> Any:
        self._passes(place := Place(kind.name, _name(coroutine)))
        result = await _steps(coroutine, lambda: self._raises(place))
        if self._raises(place):
            raise InjectedError
        return result


@types.coroutine
def _steps(coroutine: Coroutine[Any, Any, Any], raises: Callable[[], bool]) -> Generator[Any, Any, Any]:
    """Runs a coroutine. Throws an exception into it where it awaits, if ``raises`` returns True."""
    step: Callable[[], Any] = functools.partial(coroutine.send, None)
    while True:
        try:
            awaited = step()
        except StopIteration as end:
            return end.value
        try:
            value = yield awaited
            step = functools.partial(coroutine.send, value)
            if _may_throw(coroutine) and raises():
                step = functools.partial(coroutine.throw, InjectedError())
        except BaseException as error:  # noqa: BLE001 - a cancellation or a failure: it belongs to the coroutine
            step = functools.partial(coroutine.throw, error)


def _may_throw(coroutine: object) -> bool:
    """Whether a coroutine awaits a future. Code of the event loop itself, which it awaits otherwise, has no exceptions
    but those of the system and of its protocols."""
    while isinstance(coroutine, types.CoroutineType):
        coroutine = coroutine.cr_await
    return type(coroutine).__name__ == "FutureIter"


def _raising_steps(steps: Iterator[object]) -> Iterator[object]:
    """The first step, then an exception at the place of the next one."""
    throw = getattr(steps, "throw", None)
    with contextlib.closing(steps) if throw else contextlib.nullcontext():  # type: ignore[type-var]
        with contextlib.suppress(StopIteration):
            yield next(steps)
        if throw is not None:
            throw(InjectedError())
        raise InjectedError


def _name(steps: object) -> str:
    """The name of the function that made a coroutine or a generator."""
    return getattr(steps, "__qualname__", type(steps).__name__)


def _failing(function: Callable[..., object]) -> Callable[..., object]:
    """A function of the same name that raises."""

    def fail(*arguments: object) -> None:
        raise InjectedError

    return functools.wraps(_plain(function))(fail)


def _plain(callback: Callable[..., object]) -> Callable[..., object]:
    """The function of a ``partial``, for its name."""
    return getattr(callback, "func", callback)
