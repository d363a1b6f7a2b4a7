"""The one place that starts the broker's tasks and callbacks, and that catches what they raise.

    CLEANING = KindOfWork("log-cleaner", "cleans compacted logs")   at the top of the module that does it
    CLEANING.keep_running(self._run)                a task that must not end: it is run again, after growing pauses
    CLEANING.task(self._clean(log), "orders-3")     a task that ends
    CLEANING.awaited(self._ask(worker))             a task whose exception the caller gets, because it awaits the task
    CLEANING.on_thread(self._remove, files)         a function on a thread
    CLEANING.awaited_on_thread(round_.sync)         the same, if the caller gets its exception
    CLEANING.in_pool(pool, self._write)             the same on a thread of a pool; nothing awaits it
    CLEANING.own_thread(self._run, "cleaner")       a thread that the broker's stop does not wait for
    CLEANING.soon(self._next), CLEANING.later(2.0, self._retry)     callbacks of the event loop
    CLEANING.when_done(future, self._ended)         callbacks of a future

Shell. Owns: the registry of all kinds of work, and the number of failures of each. Never does: the work. Invariant: an
exception ends the one task or callback that it is raised in. It is counted for its kind and logged with its name.
Counts are those of the process, as those of the processor are. Source: our own; Kafka's ``FaultHandler`` and
``ShutdownableThread`` name and count what fails.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Executor
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")


class Pauses(NamedTuple):
    """The pauses before a task that failed is run again, in seconds: the first one, and the longest after doubling."""

    first_s: float = 1.0
    longest_s: float = 30.0


USUAL_PAUSES = Pauses()

logger = logging.getLogger(__name__)
_kinds: dict[str, "KindOfWork"] = {}
KINDS: Mapping[str, "KindOfWork"] = MappingProxyType(_kinds)
"""All kinds of work of the modules that were imported, by name."""


class KindOfWork:
    """One kind of work."""

    def __init__(self, name: str, what: str) -> None:
        """``name``: for log lines and the metric, unique. ``what``: the work as a verb phrase, for readers.

        A module that is imported anew registers its kinds anew. (pytest forgets what its in-process runs imported.)
        """
        self.name = name
        self.what = what
        self.failures = 0
        _kinds[name] = self

    def failed(self, subject: str, error: BaseException | None = None) -> None:
        """Counts and logs a failure. ``subject``: what has failed, with the cause if ``error`` is None. An ``error`` is
        logged with its traceback."""
        self.failures += 1
        if error is None:
            logger.error("%s: %s", self.name, subject)
        else:
            logger.error("%s: %s failed: %r", self.name, subject, error, exc_info=error)

    def call(self, callback: Callable[..., object], *arguments: Any) -> None:
        """Calls ``callback``. Counts and logs an exception."""
        try:
            callback(*arguments)
        except Exception as error:  # noqa: BLE001 - the one place: an exception ends this callback only
            self.failed(name_of(callback), error)

    def soon(self, callback: Callable[..., object], *arguments: Any) -> asyncio.Handle:
        """Calls back in the next turn of the event loop."""
        return asyncio.get_running_loop().call_soon(self.call, callback, *arguments)

    def turn(self, callback: Callable[..., object], *arguments: Any) -> asyncio.Handle:
        """As :meth:`soon`, for a step that serves many: if it raises, it is called once more, because the others would
        wait for ever for what it left undone. It must have taken what it works on out of its queue by then."""
        return asyncio.get_running_loop().call_soon(self._turn, callback, *arguments)

    def _turn(self, callback: Callable[..., object], *arguments: Any) -> None:
        failures = self.failures
        self.call(callback, *arguments)
        if self.failures != failures:
            self.soon(callback, *arguments)

    def on_thread(self, function: Callable[..., Result], *arguments: Any) -> "asyncio.Future[Result]":
        """Calls a function on a thread. Its exception is counted and logged; the future has it, too."""
        future = self.awaited_on_thread(function, *arguments)

        def ended(done: "asyncio.Future[Result]") -> None:
            error = None if done.cancelled() else done.exception()
            if error is not None:
                self.failed(name_of(function), error)

        future.add_done_callback(ended)
        return future

    def awaited_on_thread(self, function: Callable[..., Result], *arguments: Any) -> "asyncio.Future[Result]":
        """Calls a function on a thread for a caller that takes its exception from the future."""
        return asyncio.get_running_loop().run_in_executor(None, function, *arguments)

    def in_pool(self, pool: Executor, function: Callable[..., object], *arguments: Any) -> None:
        """Calls a function on a thread of a pool."""
        pool.submit(self.call, function, *arguments)

    def own_thread(self, function: Callable[[], object], name: str) -> None:
        """Calls a function on a new thread, which ends with the process at the latest."""
        threading.Thread(target=self.call, args=(function,), name=name, daemon=True).start()

    def soon_in(self, loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: Any) -> None:
        """Calls back in the next turn of an event loop that another thread runs. Raises RuntimeError if the loop was
        closed."""
        loop.call_soon_threadsafe(self.call, callback, *arguments)

    def later(
        self,
        delay_s: float,
        callback: Callable[..., object],
        *arguments: Any,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> asyncio.TimerHandle:
        """Calls back after ``delay_s`` seconds. ``loop``: this thread's event loop; None: the running one."""
        return (loop or asyncio.get_running_loop()).call_later(delay_s, self.call, callback, *arguments)

    def at(
        self,
        when_s: float,
        callback: Callable[..., object],
        *arguments: Any,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> asyncio.TimerHandle:
        """Calls back at a time of the event loop's clock, in seconds. ``loop``: as for :meth:`later`."""
        return (loop or asyncio.get_running_loop()).call_at(when_s, self.call, callback, *arguments)

    def when_done(self, future: "asyncio.Future[Any]", callback: Callable[[Any], object]) -> None:
        """Calls back with the future when it is done."""
        future.add_done_callback(lambda done: self.call(callback, done))

    def when_readable(self, descriptor: int, callback: Callable[..., object], *arguments: Any) -> None:
        """Calls back whenever a file descriptor can be read."""
        asyncio.get_running_loop().add_reader(descriptor, self.call, callback, *arguments)

    def awaited(self, coroutine: Coroutine[Any, Any, Result]) -> "asyncio.Task[Result]":
        """Starts a task that the caller awaits: an exception is raised there."""
        return asyncio.get_running_loop().create_task(coroutine, name=self.name)

    def task(self, coroutine: Coroutine[Any, Any, object], subject: str = "its task") -> "asyncio.Task[None]":
        """Starts a task that ends. An exception is counted and logged. ``subject``: what it is done for."""

        async def run() -> None:
            await self._run(coroutine, subject)

        return self.awaited(run())

    def keep_running(
        self, run: Callable[[], Coroutine[Any, Any, object]], pauses: Pauses = USUAL_PAUSES
    ) -> "asyncio.Task[None]":
        """Starts a task that runs until it is cancelled or ``run`` returns. After an exception and a pause, ``run`` is
        called again.
        """
        return self.awaited(self._keep_running(run, pauses))

    async def _run(self, coroutine: Coroutine[Any, Any, object], subject: str) -> bool:
        """Awaits a task's work. Returns whether it ended without an exception."""
        try:
            await coroutine
        except Exception as error:  # noqa: BLE001 - the one place: an exception ends this task only
            self.failed(subject, error)
            return False
        return True

    async def _keep_running(self, run: Callable[[], Coroutine[Any, Any, object]], pauses: Pauses) -> None:
        loop = asyncio.get_running_loop()
        pause_s = pauses.first_s
        while True:
            begin_s = loop.time()
            if await self._run(run(), name_of(run)):
                return
            if loop.time() - begin_s > pauses.longest_s:
                pause_s = pauses.first_s
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, pauses.longest_s)


def name_of(callback: Callable[..., object]) -> str:
    """The qualified name of a function, also of one in a ``partial``."""
    function = getattr(callback, "func", callback)
    return str(getattr(function, "__qualname__", type(function).__name__))
