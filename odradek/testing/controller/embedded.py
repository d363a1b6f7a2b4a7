"""A controller in a thread of this process.

Owns: the thread, the directory of the metadata log, the order of start and stop. Invariant: when
:meth:`EmbeddedController.start` returns, brokers can register. All methods may be called from any thread.
"""

import asyncio
import os
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.features import (
    BOOTSTRAP_METADATA_VERSION,
    GROUP_VERSION,
    LATEST_GROUP_VERSION,
    LATEST_SHARE_VERSION,
    LATEST_STREAMS_VERSION,
    LATEST_TRANSACTION_VERSION,
    METADATA_VERSION,
    SHARE_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
)
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.publisher.published import Subscriber
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.metadata.publisher.snapshot_generator import SnapshotGenerator
from odradek.broker.network.listening import BoundListener, bind
from odradek.broker.server.random_ids import random_uuid
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.common.wall_clock import clock_ms
from odradek.storage.directory.log_directory import LogDirectory

from ..broker.config_values import ConfigValue, config_text, loaded
from ..broker.forked import no_fork, watch
from .active_controller import ActiveController
from .server import ControllerServer

NODE_ID = 3000
HOST = "127.0.0.1"
LISTENERS = "CONTROLLER://{host}:{port},PLAINTEXT://{host}:1"
"""The second listener is never bound. The configuration requires a listener for clients, since it has no role for a
controller without a broker."""
FEATURES: Mapping[str, int] = {
    METADATA_VERSION: BOOTSTRAP_METADATA_VERSION,
    GROUP_VERSION: LATEST_GROUP_VERSION,
    SHARE_VERSION: LATEST_SHARE_VERSION,
    STREAMS_VERSION: LATEST_STREAMS_VERSION,
    TRANSACTION_VERSION: LATEST_TRANSACTION_VERSION,
}
"""The feature levels of a new cluster. Eligible leader replicas (KIP-966) are left out: leaders come from ISRs only."""


class EmbeddedController:
    """The only controller of a cluster of test brokers; it can be stopped and started again on its port and data."""

    def __init__(
        self,
        directory: str | os.PathLike[str],
        configs: Mapping[str, ConfigValue] | None = None,
        *,
        cluster_id: str | None = None,
        features: Mapping[str, int] = FEATURES,
        changed: Subscriber | None = None,
    ) -> None:
        """``configs``: Kafka's keys for controllers, such as ``broker.session.timeout.ms``. ``cluster_id``: the id of a
        new cluster; None takes a random one. ``changed`` is called in the controller's thread when metadata changes."""
        self._changed = changed
        self._last_image = MetadataImage()
        self.log_dir = Path(directory)
        self._configs = {key: config_text(key, value) for key, value in (configs or {}).items()}
        self._cluster_id = cluster_id
        self._features = features
        self._port = 0
        self._running: _ControllerThread | None = None
        watch(self)

    @property
    def node_id(self) -> int:
        """``node.id``."""
        return NODE_ID

    @property
    def port(self) -> int:
        """The port that the controller listens on; the same after a restart. 0 before the first start."""
        return self._port

    @property
    def is_running(self) -> bool:
        """Whether it serves now."""
        return self._running is not None

    def ports(self) -> set[int]:
        """The TCP ports that it listens on now."""
        return set() if self._running is None else {self._port}

    def forget(self) -> None:
        """Marks the controller as not running; called in a forked child, which has no copy of its thread."""
        self._running = None

    @property
    def address(self) -> str:
        """``host:port``, for ``controller.quorum.bootstrap.servers``."""
        assert self._port, "the controller was never started"
        return f"{HOST}:{self._port}"

    @property
    def voters(self) -> str:
        """``id@host:port``, for ``controller.quorum.voters``."""
        return f"{NODE_ID}@{self.address}"

    @property
    def cluster_id(self) -> str:
        """The id of the cluster. The directories of its brokers are formatted with it."""
        return self._active.metadata.cluster_id

    @property
    def image(self) -> MetadataImage:
        """The metadata now, or of the last stop if it does not run, as an immutable image."""
        running = self._running
        return self._last_image if running is None else running.controller.metadata.image

    @property
    def _active(self) -> ActiveController:
        assert self._running is not None, "the controller does not run"
        return self._running.controller

    def start(self) -> None:
        """Starts the controller, with its earlier port and data if it ran before.

        Raises ConfigError, BindError, KafkaError, OSError.
        """
        assert self._running is None, "the controller runs already"
        keys = {
            "node.id": str(NODE_ID),
            "listeners": LISTENERS.format(host=HOST, port=self._port),
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.log_dir),
            **self._configs,
        }
        with no_fork():
            bound = bind(loaded(keys).controller_listeners[0])
            self._port = bound.port
            try:
                config = loaded({**keys, "listeners": LISTENERS.format(host=HOST, port=bound.port)})
                self._running = _ControllerThread(config, bound, self._cluster_id, self._features, self._changed)
            except BaseException:
                bound.close()
                raise

    def stop(self) -> None:
        """Stops the controller; brokers go on without one. Does nothing if it does not run. The data stays."""
        running = self._running
        if running is not None:
            self._last_image = running.controller.metadata.image
            self._running = None
            running.stop()

    def __enter__(self) -> "EmbeddedController":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


class _ControllerThread:
    """A controller on an event loop in a thread of its own."""

    def __init__(
        self,
        config: ServerConfig,
        bound: BoundListener,
        cluster_id: str | None,
        features: Mapping[str, int],
        changed: Subscriber | None,
    ) -> None:
        """Returns when the controller serves; raises the error if it could not start."""
        self._directory = LogDirectory.open(Path(config.log_dirs[0]))
        try:
            metadata = MetadataService.open(
                self._directory,
                config,
                directory_id=random_uuid(),
                now_ms=clock_ms(),
                random_uuid=random_uuid,
                cluster_id=cluster_id,
                features=features,
            )
        except BaseException:
            self._directory.abort()
            raise
        self.controller = ActiveController(metadata, config, random_uuid)
        if changed is not None:
            metadata.subscribe(changed)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="odradek-controller", daemon=True)
        self._server = ControllerServer(self.controller)
        self._thread.start()
        try:
            self._await(self._start(bound, features))
        except BaseException:
            self._end()
            raise

    async def _start(self, bound: BoundListener, features: Mapping[str, int]) -> None:
        self.controller.start(features)
        self._timers = LoopTimers(asyncio.get_running_loop())
        self._snapshots = SnapshotGenerator(self.controller.metadata, self._timers, clock_ms)
        self._snapshots.start()
        await self._server.start(bound.sockets[0])

    def stop(self) -> None:
        """Stops the controller cleanly: closes connections and the metadata log, ends the thread."""
        try:
            self._await(self._stop())
        finally:
            self._end()

    async def _stop(self) -> None:
        self.controller.stop()
        await self._server.stop()
        await self._snapshots.stop()
        self._timers.close()
        self._directory.close()

    def _await(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._directory.abort()
