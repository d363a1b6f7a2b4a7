"""A broker in a thread of this process: the real one, with an event loop, a port and files of its own.

Owns: the thread, and the calls into its loop. Never does: touching the broker from another thread. Invariant: when
:meth:`InProcessBroker.start` returns, it serves; when ``stop`` or ``kill`` returns, its port, its lock and its files
are free. All methods may be called from any thread. In a forked child the broker is the parent's: it is not running
there, and the child holds none of its sockets.
"""

import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from ..broker.config.server_config import ServerConfig
from ..broker.dispatch.served import Handler
from ..broker.server.broker_server import BrokerServer
from ..broker.server.commands import loop_factory
from ..broker.server.surroundings import Surroundings
from .broker_thread import BrokerThread, HowToEnd, NewLoop
from .clock import AdvanceableClock
from .config_values import ConfigValue, texts
from .faults.faults import Faults
from .files import FullDisk
from .forked import no_fork, watch
from .inspection import Inspection
from .traffic.recorder import Recorder
from .traffic.recording import MAX_BYTES, Traffic
from .upkeep import apply_retention, compact

HOST = "127.0.0.1"


class InProcessBroker(Inspection):
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
        self._configs = texts(configs or {})
        self._remove: Callable[[], object] = _nothing
        if directory is None:
            directory = tempfile.mkdtemp(prefix="odradek-")
            self._remove = weakref.finalize(self, _remove_tree, directory, os.getpid())
        self.log_dir = Path(directory) / "logs"
        """The log directory (``log.dirs``)."""
        self.faults = Faults()
        """What requests meet instead of their answer: errors, delays, broken connections."""
        self._clock = AdvanceableClock()
        self.recorder = Recorder(self._clock.clock_ms)
        """Its recordings; :meth:`record` makes one."""
        self._disk = FullDisk()
        self._port = 0
        self._turn = threading.RLock()
        self._running: BrokerThread | None = None
        self._alive: BrokerThread | None = None
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
            config = self._config()
            self._alive = running = BrokerThread(self._server(config), self._new_loop)
            try:
                with no_fork():
                    running.begin()
                    self._keep_ports(running.server)
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

    def reset(self, configs: Mapping[str, ConfigValue] | None = None, *, new_port: bool = False) -> None:
        """Makes it a new broker with an empty directory, on its port: no topics, groups, transactions, configs or
        faults, other ids, the system's clock. Connections break, as by :meth:`kill`. Takes some milliseconds, since
        thread and event loop stay.

        ``configs`` replace the earlier ones; None keeps them. ``new_port``: clients of the old broker do not find the
        new one. Raises what :meth:`start` raises.
        """
        with self._turn:
            if configs is not None:
                self._configs = texts(configs)
            self.faults.clear()
            self._disk.is_full = False
            if new_port:
                self._port = 0
            running = self._running
            if running is None:
                self._forget_data()
                self.start()
                return
            running.resume(lambda server: server.broker.connections.abort_all())
            self._running = None
            with no_fork():
                running.exchange(lambda: self._server(self._config()), self._forget_data)
                self._keep_ports(running.server)
            self._running = running

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """Sets its clock forward. What is due then happens: retention, sessions and transactions that time out, offsets
        and producer ids that expire.

        Timestamps that clients set are theirs. Raises ValueError for a time below 0.
        """
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.advance(self._clock, round(span.total_seconds() * 1000))

    def apply_retention(self) -> None:
        """Removes now what retention would remove at its next check (``log.retention.check.interval.ms``)."""
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.upkeep(apply_retention)

    def compact(self, topic: str | None = None) -> None:
        """Compacts a topic now (None: all compacted topics but internal ones), to its end and however little of it is
        dirty. ``min.compaction.lag.ms`` and ``delete.retention.ms`` count as always: :meth:`advance` passes them.

        Raises ValueError for a topic without ``cleanup.policy=compact``, KafkaError for one that does not exist.
        """
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.upkeep(lambda server: compact(server, topic, self._clock.clock_ms()))

    def record(self, max_bytes: int = MAX_BYTES) -> AbstractContextManager[Traffic]:
        """Records what clients send and what they are answered: ``with broker.record() as traffic``.

        The recording outlives a restart of the broker, and can be looked at during the block and after it. It keeps
        at most ``max_bytes``; looking at one that was full raises RecordingFullError.
        """
        return self.recorder.record(max_bytes)

    @property
    def disk_is_full(self) -> bool:
        """Whether its disk is full. Set it, and producers get what a full disk gives them (docs/disk-space.md)."""
        return self._disk.is_full

    @disk_is_full.setter
    def disk_is_full(self, is_full: bool) -> None:
        self._disk.is_full = is_full

    def _keep_ports(self, server: BrokerServer) -> None:
        """Keeps the port that was bound, for the next start. A start that failed early has bound none."""
        self._port = max([self._port, *(one.port for one in server.listeners[:1])])

    def _own_keys(self) -> dict[str, str]:
        """The keys that say where it listens and keeps its data; the configs of a test have precedence."""
        return {"listeners": f"PLAINTEXT://{HOST}:{self._port}", "log.dirs": str(self.log_dir)}

    def _config(self) -> ServerConfig:
        keys = {**self._own_keys(), **self._configs}
        return ServerConfig.load(None, [f"{key}={value}" for key, value in keys.items()])

    def _server(self, config: ServerConfig) -> BrokerServer:
        clock = self._clock
        surroundings = Surroundings(self._disk.files_for, clock.clock_ms, clock.timer_loop, self._intercept)
        return BrokerServer(config, surroundings=surroundings)

    def _intercept(self, api_key: int, handle: Handler) -> Handler:
        """Recordings come first: they have what clients send, and what they are answered with all faults."""
        return self.recorder.intercept(api_key, self.faults.intercept(api_key, handle))

    def _forget_data(self) -> None:
        shutil.rmtree(self.log_dir, ignore_errors=True)
        self._clock.reset()

    def _end(self, how: HowToEnd) -> None:
        with self._turn:
            running, self._running = self._running, None
            if running is not None:
                try:
                    running.close(lambda: how(running.server))
                    with no_fork():
                        pass  # a child that is being forked has closed its copies of the sockets then
                finally:
                    self._alive = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.stop()
        finally:
            self._remove()


def _nothing() -> None:
    """The directory belongs to the caller: it stays."""


def _remove_tree(directory: str, owner: int) -> None:
    """Removes a temporary directory, in the process that made it only: a forked child inherits the finalizer."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
