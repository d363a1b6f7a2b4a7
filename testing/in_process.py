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


class InProcessBroker:
    """A broker on 127.0.0.1; it can be stopped, killed and started again on the same port and data.

    The data is kept in ``directory``. Without one the broker makes a temporary directory, which is removed when the
    ``with`` block ends, or with the object or the process if it is used without ``with``.

    ``configs`` maps Kafka's keys to values. The environment is not read, so a test depends on nothing but itself.
    Raises TypeError for a value of another type than :data:`ConfigValue`.
    """

    def __init__(
        self, directory: str | os.PathLike[str] | None = None, configs: Mapping[str, ConfigValue] | None = None
    ) -> None:
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
            self._alive = running = _BrokerThread(config)
            try:
                with no_fork():
                    running.start()
                    self._port = running.server.listeners[0].port
            except BaseException:
                self._alive = None
                raise
            self._running = running

    def stop(self) -> None:
        """Stops it cleanly, as SIGTERM does; harmless when it does not run. The data stays."""
        self._end(lambda server: server.stop())

    def kill(self) -> None:
        """Stops it as a crash does: connections break, nothing is flushed or marked clean. The data stays."""
        self._end(lambda server: server.crash())

    def restart(self) -> None:
        """Stops it cleanly and starts it again on its port and data."""
        with self._turn:
            self.stop()
            self.start()

    def _end(self, how: Callable[[BrokerServer], Coroutine[Any, Any, None]]) -> None:
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


def _nothing() -> None:
    """The directory belongs to the caller: it stays."""


def _remove_tree(directory: str, owner: int) -> None:
    """Removes a temporary directory, in the process that made it only: a forked child inherits the finalizer."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)


class _BrokerThread:
    """A broker on an event loop in a thread of its own."""

    def __init__(self, config: ServerConfig) -> None:
        self.server = BrokerServer(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looping = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="odradek", daemon=True)

    def start(self) -> None:
        """Returns when the broker serves; raises what kept it from that."""
        self._thread.start()
        self._looping.wait()
        try:
            self._await(self.server.start())
        except BaseException:
            self._end_loop()
            raise

    def end(self, how: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Ends the broker by one of its coroutines, then its loop and thread; raises what went wrong."""
        try:
            self._await(how())
        finally:
            self._end_loop()

    def _await(self, coroutine: Coroutine[Any, Any, object]) -> None:
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end_loop(self) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(self._looping.set)
            self._loop.run_forever()
