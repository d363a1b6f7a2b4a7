"""A broker on an event loop in a thread of its own, for tests.

Owns: the thread, the loop, and pausing them (:meth:`BrokerThread.pause`). Never does: choosing configs or directories.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from odradek.broker.server.broker_server import BrokerServer

from .clock import AdvanceableClock

NewLoop = Callable[[], asyncio.AbstractEventLoop] | None
HowToEnd = Callable[[BrokerServer], Coroutine[Any, Any, None]]


def _nothing_at_once(_server: BrokerServer) -> None:
    """Does nothing: the default for the function that a resumed loop calls first."""


class BrokerThread:
    """A broker on an event loop in a thread of its own."""

    def __init__(self, server: BrokerServer, new_loop: NewLoop) -> None:
        self.server = server
        self._new_loop = new_loop
        self._gate: threading.Event | None = None
        """Set when the loop may continue; None unless it is paused."""
        self._at_once: Callable[[BrokerServer], None] = _nothing_at_once
        self._starting: asyncio.Task[object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="odradek", daemon=True)

    def begin(self) -> None:
        """Starts the thread, the loop and the broker; returns when the broker has bound its ports, or has failed to."""
        self._thread.start()
        self._looping.wait()
        self._await(self._begin())

    async def _begin(self) -> None:
        self._starting = asyncio.get_running_loop().create_task(self.server.start())
        await asyncio.sleep(0)  # runs start() up to its first await, which comes after the ports are bound

    def finish_start(self) -> None:
        """Returns when the broker serves; raises the error if it could not start."""
        try:
            self._await(self._start())
        except BaseException:
            self._end_loop()
            raise

    async def _start(self) -> None:
        assert self._starting is not None, "begin() comes first"
        await self._starting

    def close(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Awaits ``how``, which ends the broker, then ends the loop and the thread; raises what ``how`` raises."""
        self.resume()
        try:
            self._await(how())
        finally:
            self._end_loop()

    def exchange(
        self,
        new_server: Callable[[], BrokerServer],
        before: Callable[[BrokerServer], None],
        between: Callable[[], None],
    ) -> None:
        """Ends the broker as a crash does, calls ``between``, and starts another one on the same loop. ``before`` gets
        the broker that is about to end."""

        async def exchange() -> None:
            before(self.server)
            await self.server.crash()
            between()
            self.server = new_server()
            await self.server.start()

        try:
            self._await(exchange())
        except BaseException:
            self._end_loop()
            raise

    def advance(self, clock: AdvanceableClock, ms: int) -> None:
        """Sets the clock of the broker forward; returns when the timers that are due by then have been called."""

        async def advance() -> None:
            clock.advance(ms)
            parts = self.server.running.parts
            parts.timers.look_again()
            parts.patient_timers.look_again()
            fired = asyncio.Event()
            parts.timers.schedule(0, fired.set)
            await fired.wait()

        self._await(advance())

    def upkeep(self, work: Callable[[BrokerServer], Coroutine[Any, Any, None]]) -> None:
        """Runs a coroutine with the broker in its loop, to its end; raises what it raises."""
        self._await(work(self.server))

    @property
    def is_paused(self) -> bool:
        """Whether the loop is blocked until :meth:`resume`."""
        return self._gate is not None

    def pause(self) -> None:
        """Blocks the loop inside a callback; returns when it is blocked."""
        if self._gate is not None:
            return
        gate = self._gate = threading.Event()
        is_held = threading.Event()

        def hold() -> None:
            is_held.set()
            gate.wait()
            self._at_once(self.server)

        self.call_soon(hold)
        is_held.wait()

    def resume(self, at_once: "Callable[[BrokerServer], None] | None" = None) -> None:
        """Lets the loop continue; the loop calls ``at_once`` before anything else. Does nothing if it is not paused."""
        gate, self._gate = self._gate, None
        if gate is not None:
            self._at_once = at_once or _nothing_at_once
            gate.set()

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Calls ``callback`` in the loop; may be called from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(callback)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop. Other threads may call only its thread-safe methods."""
        assert self._loop is not None
        return self._loop

    def _await(self, coroutine: Coroutine[Any, Any, object]) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end_loop(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=self._new_loop) as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(self._looping.set)
            self._loop.run_forever()
