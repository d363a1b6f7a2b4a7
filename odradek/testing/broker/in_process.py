"""A real broker in a thread of this process, with its own event loop, port and files.

Owns: the thread, and the calls into its loop. Never does: touching the broker from another thread. Invariant: when
:meth:`InProcessBroker.start` returns, the broker serves; when ``stop`` or ``kill`` returns, its port, its directory
lock and its files are free. All methods may be called from any thread. In a forked child the broker is not running, and
the child holds none of its sockets.
"""

import contextlib
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.served import Handler
from odradek.broker.server.broker_server import BrokerServer
from odradek.broker.server.commands import loop_factory
from odradek.broker.server.surroundings import FixedSettings, Surroundings
from odradek.broker.timers.work import KindOfWork

from ..faults.faults import Faults
from ..inspection import Inspection
from ..traffic.recorder import Recorder
from ..traffic.recording import MAX_BYTES, Traffic
from .broker_thread import BrokerThread, HowToEnd, NewLoop
from .clock import AdvanceableClock
from .config_values import ConfigValue, loaded, texts
from .files import FullDisk
from .forked import no_fork, watch
from .former_groups import FormerGroups
from .upkeep import apply_retention, compact

HOST = "127.0.0.1"
REMOVAL = KindOfWork("removal", "removes the data of a broker that was reset")


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
        """``new_loop`` makes the event loop; None takes the same kind of loop as ``odradek serve``."""
        self._new_loop = new_loop or loop_factory()
        if isinstance(directory, Mapping):
            raise TypeError("the first argument is the directory: write configs={...}")
        self._configs = texts(configs or {})
        self._loaded: tuple[dict[str, str], ServerConfig] | None = None
        """The keys of the last start, and their configuration."""
        self._remove: Callable[[], object] = _nothing
        if directory is None:
            directory = tempfile.mkdtemp(prefix="odradek-")
            self._remove = weakref.finalize(self, _remove_tree, directory, os.getpid())
        self.log_dir = Path(directory) / "logs"
        """The log directory (``log.dirs``)."""
        self.faults = Faults()
        """Injects faults into the requests of clients: errors, delays, broken connections."""
        self._former_groups = FormerGroups()
        self._clock = AdvanceableClock()
        self.recorder = Recorder(self._clock.clock_ms)
        """Records requests and answers; use :meth:`record`."""
        self._disk = FullDisk()
        self._settings = FixedSettings()
        self._port = 0
        self._turn = threading.RLock()
        self._running: BrokerThread | None = None
        self._alive: BrokerThread | None = None
        """Like ``_running``, but also set while the broker starts and stops, when it may have sockets."""
        watch(self)

    @property
    def host(self) -> str:
        """The address that the broker listens on."""
        return HOST

    @property
    def port(self) -> int:
        """The port that the broker listens on; the same after a restart."""
        assert self._port, "the broker was never started"
        return self._port

    @property
    def bootstrap_servers(self) -> str:
        """``host:port``, for the setting ``bootstrap.servers`` of clients."""
        return f"{self.host}:{self.port}"

    @property
    def is_running(self) -> bool:
        """Whether the broker serves now. True also while it is paused."""
        return self._running is not None

    def ports(self) -> set[int]:
        """The TCP ports that the broker has or will bind in the start that is going on, with that of its metrics."""
        alive = self._alive
        return set() if alive is None else {self._port, *alive.server.ports} - {0}

    def forget(self) -> None:
        """Marks the broker as not running; called in a forked child, which has no copy of the broker's thread.

        The lock is made anew, because a thread that held it may not exist in the child.
        """
        self._turn = threading.RLock()
        self._running = None

    def start(self) -> None:
        """Starts the broker, with its earlier port and data if it ran before; returns when it serves.

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
        """Stops the broker cleanly, as SIGTERM does. Resumes a paused broker first. Does nothing if it does not run."""
        self._end(lambda server: server.stop())

    def kill(self) -> None:
        """Ends the broker as a crash does: connections break, nothing is flushed or marked clean. The data stays."""
        with self._turn:
            if self._running is not None:
                self._running.resume(lambda server: server.broker.connections.abort_all())
            self._end(lambda server: server.crash())

    def pause(self) -> None:
        """Freezes the broker until :meth:`resume`, as SIGSTOP does. Does nothing if it is paused.

        Connections stay open and the system accepts new ones, but no request is read or answered and no timer fires.
        """
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.pause()

    def resume(self) -> None:
        """Lets a paused broker continue, as SIGCONT does. Does nothing if it is not paused."""
        with self._turn:
            if self._running is not None:
                self._running.resume()

    @property
    def is_paused(self) -> bool:
        """Whether the broker is paused by :meth:`pause`."""
        running = self._running
        return running is not None and running.is_paused

    def restart(self) -> None:
        """Stops the broker cleanly and starts it again with the same port and data."""
        with self._turn:
            self.stop()
            self.start()

    def reset(self, configs: Mapping[str, ConfigValue] | None = None, *, new_port: bool = False) -> None:
        """Replaces the broker by a new, empty one on the same port; starts it if it does not run.

        The new broker has no topics, groups, transactions, dynamic configs or faults; its ids are new, and its clock is
        the system's. Connections break, as in :meth:`kill`. This takes a few milliseconds, because the thread and the
        event loop are kept.

        ``configs`` replace the earlier ones; None keeps them. ``new_port`` takes another port, so that clients of the
        old broker do not reach the new one. Raises what :meth:`start` raises; a ConfigError leaves the broker as it is.
        """
        with self._turn:
            if configs is not None:
                self._exchange_configs(texts(configs))
            self.faults.clear()
            self._disk.is_full = False
            if new_port:
                self._port = 0
            running = self._running
            if running is None:
                self._forget_data(_remove_all)
                self.start()
                return
            running.resume(lambda server: server.broker.connections.abort_all())
            self._running = None
            with no_fork():
                running.exchange(lambda: self._server(self._config()), self._remember_groups, self._forget_data_soon)
                self._keep_ports(running.server)
            self._running = running

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0, milliseconds: float = 0
    ) -> None:
        """Sets the broker's clock forward, and runs what is then due: retention, session and transaction timeouts, the
        expiration of committed offsets and producer ids.

        Record timestamps that clients set are not moved. Raises ValueError for a negative time.
        """
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.advance(self._clock, round(span.total_seconds() * 1000))

    def apply_retention(self) -> None:
        """Deletes now what the next retention check (``log.retention.check.interval.ms``) would delete."""
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.upkeep(apply_retention)

    def compact(self, topic: str | None = None) -> None:
        """Compacts a topic now; None: all compacted topics except internal ones.

        Compacts up to the end of the log, with any dirty ratio. ``min.compaction.lag.ms`` and ``delete.retention.ms``
        still apply: use :meth:`advance` to let that time pass.

        Raises ValueError for a topic without ``cleanup.policy=compact``, KafkaError for one that does not exist.
        """
        with self._turn:
            assert self._running is not None, "the broker does not run"
            self._running.upkeep(lambda server: compact(server, topic, self._clock.clock_ms()))

    def record(self, max_bytes: int = MAX_BYTES) -> AbstractContextManager[Traffic]:
        """Records the requests of clients and their answers: ``with broker.record() as traffic``.

        The recording goes on after a restart of the broker. It can be read during the block and after it. It keeps at
        most ``max_bytes`` bytes; reading one that has exceeded them raises RecordingFullError.
        """
        return self.recorder.record(max_bytes)

    @property
    def disk_is_full(self) -> bool:
        """Whether the broker's disk appears full. Set it to True to test this case (docs/operating.md#a-full-disk)."""
        return self._disk.is_full

    @disk_is_full.setter
    def disk_is_full(self, is_full: bool) -> None:
        self._disk.is_full = is_full

    def _exchange_configs(self, configs: dict[str, str]) -> None:
        """Takes other configs for the next start; raises ConfigError and keeps the earlier ones if they are invalid."""
        earlier, self._configs = self._configs, configs
        try:
            self._config()
        except ConfigError:
            self._configs = earlier
            raise

    def _keep_ports(self, server: BrokerServer) -> None:
        """Keeps the port that was bound, for the next start; without a bound port, the earlier one stays."""
        self._port = max([self._port, *(listener.port for listener in server.listeners[:1])])

    def _own_keys(self) -> dict[str, str]:
        """The configs of the listener and the log directory; the configs of the test take precedence."""
        return {"listeners": f"PLAINTEXT://{HOST}:{self._port}", "log.dirs": str(self.log_dir)}

    def _config(self) -> ServerConfig:
        """The configuration. While the keys stay the same, a reset need not read them again."""
        keys = {**self._own_keys(), **self._configs}
        if self._loaded is None or self._loaded[0] != keys:
            self._loaded = keys, loaded(keys)
        return self._loaded[1]

    def _server(self, config: ServerConfig) -> BrokerServer:
        clock = self._clock
        surroundings = Surroundings(
            self._disk.files_for,
            clock.clock_ms,
            clock.timer_loop,
            self._intercept,
            self._is_intercepting,
            self._settings,
        )
        return BrokerServer(config, surroundings=surroundings)

    def _intercept(self, api_key: int, handle: Handler) -> Handler:
        """Wraps a handler with faults, then with the recorder: recordings have the answers that faults have changed."""
        served = self._former_groups.intercept(api_key, handle)
        return self.recorder.intercept(api_key, self.faults.intercept(api_key, served))

    def _is_intercepting(self) -> bool:
        """Whether a fault or a recording needs the messages of requests."""
        return self.faults.are_set or self.recorder.is_recording

    def _remember_groups(self, server: BrokerServer) -> None:
        self._former_groups.remember(server.broker.group_coordinator)

    def _forget_data_soon(self) -> None:
        """Moves the data aside; a thread of the loop's pool removes it. A disk may take 30 ms for that, and the next
        broker need not wait."""
        self._forget_data(partial(REMOVAL.on_thread, _remove_all))

    def _forget_data(self, remove: Callable[[Path], object]) -> None:
        """Moves the data aside, and calls ``remove`` with its new place."""
        with contextlib.suppress(FileNotFoundError):
            remove(self.log_dir.rename(self.log_dir.with_name(f"removed-{os.urandom(8).hex()}")))
        self._clock.reset()

    def _end(self, how: HowToEnd) -> None:
        with self._turn:
            running, self._running = self._running, None
            if running is not None:
                try:
                    running.close(lambda: how(running.server))
                    with no_fork():
                        pass  # waits until a child that is being forked has closed its copies of the sockets
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
    """Does nothing: a directory given by the caller is not removed."""


def _remove_all(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)


def _remove_tree(directory: str, owner: int) -> None:
    """Removes a temporary directory, only in the process that made it: a forked child inherits the finalizer."""
    if os.getpid() == owner:
        shutil.rmtree(directory, ignore_errors=True)
