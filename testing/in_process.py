"""A broker in a thread of this process: the real one, with an event loop, a port and files of its own.

Owns: the thread, and the calls into its loop. Never does: touching the broker from another thread. Invariant: when
:meth:`InProcessBroker.start` returns, it serves; when ``stop`` or ``kill`` returns, its port, its lock and its files
are free. All methods may be called from any thread. In a forked child the broker is the parent's: it is not running
there, and the child holds none of its sockets.
"""

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from ..broker.config.server_config import ServerConfig
from ..broker.server.broker_server import BrokerServer
from ..broker.server.commands import loop_factory
from .forked import no_fork, watch

HOST = "127.0.0.1"
TEST_DEFAULTS: Mapping[str, str] = {
    # A group's first members need not wait for others in a test (Kafka's default: 3 s).
    "group.initial.rebalance.delay.ms": "0",
}
"""Where a broker for tests differs from Kafka's defaults, by Kafka's keys."""


ConfigValue = str | int | float | bool
"""The value of a Kafka key: its text, or what Python has for it."""
NewLoop = Callable[[], asyncio.AbstractEventLoop] | None
HowToEnd = Callable[[BrokerServer], Coroutine[Any, Any, None]]


class InProcessBroker:
    """A broker on 127.0.0.1; it can be stopped, killed and started again on the same port and data.

    The data is kept in ``directory``. Without one the broker makes a temporary directory, which is removed when the
    ``with`` block ends, or with the object or the process if it is used without ``with``.

    ``configs`` maps Kafka's keys to values. The environment is not read, so a test depends on nothing but itself.
    Raises TypeError for a value of another type than :data:`ConfigValue`.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        configs: Mapping[str, ConfigValue] | None = None,
        *,
        new_loop: NewLoop = None,
    ) -> None:
        """``new_loop`` makes its event loop; None takes the loop that ``odradek serve`` takes."""
        self._new_loop = new_loop or loop_factory()
        self._configs = {**TEST_DEFAULTS, **{key: config_text(key, value) for key, value in (configs or {}).items()}}
        self._remove: Callable[[], object] = _nothing
        if directory is None:
            directory = tempfile.mkdtemp(prefix="odradek-")
            self._remove = weakref.finalize(self, _remove_tree, directory, os.getpid())
        self.log_dir = Path(directory) / "logs"
        """The log directory (``log.dirs``)."""
        self._port = 0
        self._turn = threading.RLock()
        self._running: _BrokerThread | None = None
        self._alive: _BrokerThread | None = None
        """The broker also while it starts and stops, when it may have sockets."""
        watch(self)

    @property
    def host(self) -> str:
        """The address that it listens on."""
        return HOST

    @property
    def port(self) -> int:
        """The port that it listens on; the same after a restart."""
        assert self._port, "the broker was never started"
        return self._port

    @property
    def bootstrap_servers(self) -> str:
        """``host:port``, as clients want it."""
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether it serves now."""
        return self._running is not None

    def ports(self) -> set[int]:
        """The TCP ports that it listens on now, that of its metrics included; while it restarts, those it will have."""
        alive = self._alive
        return set() if alive is None else {self._port, *alive.server.ports} - {0}

    def forget(self) -> None:
        """Called in a forked child: the thread of the broker is not there, and another one may have held the lock."""
        self._turn = threading.RLock()
        self._running = None

    def start(self) -> None:
        """Starts it, on its old port and data if it ran before; returns when it serves.

        Raises what keeps a broker from starting: ConfigError, BindError, DirectoryLockedError, KafkaError, OSError.
        """
        with self._turn:
            assert self._running is None, "the broker runs already"
            keys = {
                "listeners": f"PLAINTEXT://{HOST}:{self._port}",
                "log.dirs": str(self.log_dir),
                **self._configs,
            }
            config = ServerConfig.load(None, [f"{key}={value}" for key, value in keys.items()])
            self._alive = running = _BrokerThread(config, self._new_loop)
            try:
                with no_fork():
                    running.begin()
                    self._port = max([self._port, *(one.port for one in running.server.listeners[:1])])
                running.finish_start()
            except BaseException:
                self._alive = None
                raise
            self._running = running

    def stop(self) -> None:
        """Stops it cleanly, as SIGTERM does; harmless when it does not run. One that is paused continues first."""
        self._end(lambda server: server.stop())

    def kill(self) -> None:
        """Stops it as a crash does: connections break, nothing is flushed or marked clean. The data stays."""
        with self._turn:
            if self._running is not None:
                self._running.resume(lambda server: server.broker.connections.abort_all())
            self._end(lambda server: server.crash())

    def pause(self) -> None:
        """Stops it as SIGSTOP does: its connections stay open and new ones are accepted by the system, but nothing is
        read, answered or timed until :meth:`resume`. Harmless when it is paused.
        """
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.pause()

    def resume(self) -> None:
        """Lets it continue, as SIGCONT does; harmless when it is not paused."""
        with self._turn:
            if self._running is not None:
                self._running.resume()

    @property
    def is_paused(self) -> bool:
        """Whether :meth:`pause` holds it."""
        running = self._running
        return running is not None and running.is_paused

    def restart(self) -> None:
        """Stops it cleanly and starts it again on its port and data."""
        with self._turn:
            self.stop()
            self.start()

    def _end(self, how: HowToEnd) -> None:
        with self._turn:
            running, self._running = self._running, None
            if running is not None:
                try:
                    running.end(lambda: how(running.server))
                    with no_fork():
                        pass  # a child that is being forked has closed its copies of the sockets then
                finally:
                    self._alive = None

    def __enter__(self) -> "InProcessBroker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self._remove()


def config_text(key: str, value: ConfigValue) -> str:
    """A value as the text that Kafka's configuration has for it. Raises TypeError for any other type."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(f"{key}: a value is a str, int, float or bool, not {type(value).__name__}")


def _nothing_at_once(_server: BrokerServer) -> None:
    """What a loop that continues does first."""


def _nothing() -> None:
    """The directory belongs to the caller: it stays."""


def _remove_tree(directory: str, owner: int) -> None:
    """Removes a temporary directory, in the process that made it only: a forked child inherits the finalizer."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


class _BrokerThread:
    """A broker on an event loop in a thread of its own."""

    def __init__(self, config: ServerConfig, new_loop: NewLoop) -> None:
        self.server = BrokerServer(config)
        self._new_loop = new_loop
        self._gate: threading.Event | None = None
        """Set when the loop may continue; None unless it is paused."""
        self._at_once: Callable[[BrokerServer], None] = _nothing_at_once
        self._starting: asyncio.Task[object] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="odradek", daemon=True)

    def begin(self) -> None:
        """Starts the thread, the loop and the broker; returns when it has bound its ports, or has failed to."""
        self._thread.start()
        self._looping.wait()
        self._await(self._begin())

    async def _begin(self) -> None:
        self._starting = asyncio.get_running_loop().create_task(self.server.start())
        await asyncio.sleep(0)  # its first step, which binds

    def finish_start(self) -> None:
        """Returns when the broker serves; raises what kept it from that."""
        try:
            self._await(self._start())
        except BaseException:
            self._end_loop()
            raise

    async def _start(self) -> None:
        assert self._starting is not None, "begin() comes first"
        await self._starting

    def end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Ends the broker by one of its coroutines, then its loop and thread; raises what went wrong."""
        self.resume()
        try:
            self._await(how())
        finally:
            self._end_loop()

    @property
    def is_paused(self) -> bool:
        """Whether the loop does nothing until :meth:`resume`."""
        return self._gate is not None

    def pause(self) -> None:
        """Holds the loop in one of its callbacks; returns when it is held."""
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
        """Lets the loop continue; ``at_once`` is called before anything else. Harmless unless it is paused."""
        gate, self._gate = self._gate, None
        if gate is not None:
            self._at_once = at_once or _nothing_at_once
            gate.set()

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Calls back in the loop."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(callback)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop; it may only be used through its methods for other threads."""
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
