"""An event loop in virtual time: when nothing is ready, time jumps to the next timer.

Owns: the order of events, the count of steps, the trace. A step is one external event: bytes that arrive at a socket, a
timer that is due, a completed sync or other work of a thread, a fault. Callbacks that it causes at the same moment are
part of the step. Invariant: two lives of one seed have the same trace.
"""

import asyncio
import heapq
import random
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from typing import Any, NoReturn, Protocol
from zlib import crc32

from cluster.simulator import determinism
from cluster.simulator.processes import Process, current

THREAD_WORK_S = (0.0001, 0.001, 0.004, 0.03)
"""The duration of a sync or other work of a thread."""


class Sockets(Protocol):
    """The interface of the simulated network for the loop."""

    async def connect(self, factory: Callable[[], Any], port: int) -> tuple[Any, Any]: ...

    def accept(self, factory: Callable[[], Any], accepted: Any) -> tuple[Any, Any]: ...

    def listen(self, factory: Callable[[], Any], listening: Any) -> Any: ...

    def add_reader(self, descriptor: int, callback: Callable[[], None]) -> None: ...

    def remove_reader(self, descriptor: int) -> bool: ...


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs all processes of one life."""

    _ready: Any
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.steps = 0
        self.callbacks = 0
        self.trace = 0
        self.sockets: Sockets | None = None
        self.after_step: Callable[[], None] = lambda: None
        self.errors: list[str] = []
        self._chance = chance
        self.set_task_factory(self._new_task)  # type: ignore[arg-type]
        self.set_exception_handler(self._failed)
        determinism.run_later = self.run_later

    def time(self) -> float:
        return determinism.clock.monotonic()

    def note(self, data: bytes) -> None:
        """Adds to the trace."""
        self.trace = crc32(data, self.trace)

    def resume(self, process: Process) -> None:
        """Continues a paused process."""
        process.is_paused = False
        self._ready.extend(process.held)
        process.held.clear()

    def run_later(self, work: Callable[[], None]) -> None:
        """Runs the work of a thread, unless its process is killed before."""
        self.call_later(self._chance.choice(THREAD_WORK_S), work)

    def _new_task(
        self, _: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], context: Context | None = None
    ) -> asyncio.Task[Any]:
        context = context or copy_context()
        task = asyncio.Task(coroutine, loop=self, context=context)
        tasks = context[current].tasks
        tasks[task] = None
        task.add_done_callback(tasks.pop)
        return task

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Notes an uncaught exception: a bug of the broker, the client or the simulation.

        Exceptions that were never retrieved are ignored, because the garbage collector determines when they are
        noticed.
        """
        if "never retrieved" in context.get("message", ""):
            return
        self.errors.append(f"{current.get()}: {context.get('message')}: {context.get('exception')!r}")
        self.default_exception_handler(context)

    # Methods that BaseEventLoop calls ----------------------------------------

    def _run_once(self) -> None:
        if not self._ready:
            self._next_event()
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if handle._cancelled:
                continue
            process = handle._context[current]
            if process.is_dead:
                continue
            if process.is_paused:
                process.held.append(handle)
                continue
            self.callbacks += 1
            handle._run()

    def _next_event(self) -> None:
        """Advances time to the next timer, and makes it ready."""
        while self._scheduled:
            handle = heapq.heappop(self._scheduled)
            handle._scheduled = False  # type: ignore[attr-defined]
            if handle._cancelled or handle._context[current].is_dead:  # type: ignore[attr-defined]
                continue
            self.after_step()
            clock = determinism.clock
            clock.now_s = max(clock.now_s, handle._when - 1_000)  # type: ignore[attr-defined]
            self.steps += 1
            process = handle._context[current]  # type: ignore[attr-defined]
            callback = handle._callback  # type: ignore[attr-defined]
            self.note(f"{clock.now_s!r} {process} {getattr(callback, '__qualname__', '')}".encode())
            self._ready.append(handle)
            return
        raise AssertionError("nothing will ever happen again")

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Does nothing: a cancelled timer is dropped when it is due."""

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        future = self.create_future()

        def work() -> None:
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - as an executor does
                if not future.done():
                    future.set_exception(error)
            else:
                if not future.done():
                    future.set_result(result)

        self.run_later(work)
        return future

    # Sockets -----------------------------------------------------------------

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: str, port: int, **_: Any
    ) -> tuple[Any, Any]:
        assert self.sockets is not None
        return await self.sockets.connect(protocol_factory, port)

    async def connect_accepted_socket(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], sock: Any
    ) -> tuple[Any, Any]:
        assert self.sockets is not None
        return self.sockets.accept(protocol_factory, sock)

    async def create_server(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], host: None = None, port: None = None, *, sock: Any
    ) -> Any:
        assert self.sockets is not None
        return self.sockets.listen(protocol_factory, sock)

    def add_reader(self, fd: Any, callback: Callable[..., Any], *args: Any) -> None:  # type: ignore[override]
        assert self.sockets is not None
        self.sockets.add_reader(fd, partial(callback, *args))

    def remove_reader(self, fd: Any) -> bool:
        assert self.sockets is not None
        return self.sockets.remove_reader(fd)

    async def getaddrinfo(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("the simulation has no names of hosts")


async def pass_time(seconds: float) -> None:
    """Lets virtual time pass."""
    await asyncio.sleep(seconds)
