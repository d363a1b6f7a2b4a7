"""A broker's membership in a cluster, from start to stop: follows the metadata log, and sends heartbeats.

    membership = ClusterMembership(metadata, config, registrant, ...)
    membership.start()
    await membership.joined()          registered, and the image holds the registration
    membership.ready_to_unfence()      partitions are served
    await membership.unfenced()
    await membership.leave()           controlled shutdown

Shell. Owns: both tasks. Never does: deciding what is sent. Source: BrokerServer.startup and shutdown.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Sequence

from ...config.server_config import ServerConfig
from ...network.node_client import PLAINTEXT, NodeSecurity
from ...timers.loop_timers import monotonic_ms
from ...timers.work import KindOfWork
from ..image.features import DIRECTORY_ASSIGNMENT_SUPPORTED, METADATA_VERSION
from ..image.image import BrokerState, MetadataDelta, MetadataImage
from ..publisher.controller_link import BrokerReports
from ..publisher.followed import FollowedMetadata
from .channel import ControllerChannel
from .heartbeats import Heartbeats
from .known_controllers import KnownControllers
from .lifecycle import Lifecycle, Registrant
from .metadata_fetcher import METADATA, MetadataFetcher

logger = logging.getLogger(__name__)

HEARTBEATS = KindOfWork("broker-heartbeats", "registers this broker and sends its heartbeats")

SHUTDOWN_TIMEOUT_MS = 5 * 60_000
"""The time that ``BrokerServer.shutdown`` waits for a controlled shutdown."""


class NotJoinedError(Exception):
    """This broker can't be a member of this cluster as it is configured; the text says why and what to do."""


class LeftError(Exception):
    """The broker was told to stop while it waited."""


class ClusterMembership(BrokerReports):
    """The membership of one broker in its cluster."""

    def __init__(
        self,
        metadata: FollowedMetadata,
        config: ServerConfig,
        registrant: Registrant,
        *,
        clock_ms: Callable[[], int],
        ended: Callable[[str], None],
        security: NodeSecurity = PLAINTEXT,
    ) -> None:
        """``clock_ms``: wall clock, milliseconds since the epoch. ``ended`` gets the reason if the broker can't go on
        after it has joined. ``security``: of the connections to the controllers."""
        self.controllers = KnownControllers.of(config, security)
        self.lifecycle = Lifecycle(
            registrant,
            heartbeat_interval_ms=config.get_int("broker.heartbeat.interval.ms"),
            shutdown_timeout_ms=SHUTDOWN_TIMEOUT_MS,
            directory_failure_timeout_ms=config.get_int("log.dir.failure.timeout.ms"),
        )
        self._metadata = metadata
        self._session_s = config.get_int("broker.session.timeout.ms") / 1000
        self._problem: str | None = None
        self._is_stopping = False
        self._ended = ended
        self._has_joined = False
        self._changed = asyncio.Event()
        self._fetcher = MetadataFetcher(
            metadata,
            self.controllers,
            applied=self._applied,
            fail=self._fail,
            led_anew=self._controller_found,
            clock_ms=clock_ms,
        )
        self._heartbeats = Heartbeats(
            self.lifecycle,
            ControllerChannel(self.controllers, f"broker-{registrant.node_id}-heartbeat"),
            is_following=self._is_following,
            changed=self._notify,
            fail=self._fail,
        )
        self._tasks: list[asyncio.Task[None]] = []
        metadata.subscribe(self._check_registration)
        self._node_id = registrant.node_id

    @property
    def broker_epoch(self) -> int:
        """The epoch of the registration, -1 before it."""
        return self.lifecycle.broker_epoch

    def start(self) -> None:
        """Begins to follow the metadata log and to register."""
        following = METADATA.awaited(self._fetcher.run())
        METADATA.when_done(following, self.task_ended)
        self._tasks = [following, HEARTBEATS.keep_running(self._heartbeats.run)]

    async def joined(self) -> None:
        """Returns when the image holds this start's registration and all that was committed before. Raises
        NotJoinedError, LeftError."""
        await self._until(lambda: self._fetcher.caught_up.is_set() and self._is_registered())
        self._has_joined = True

    def ready_to_unfence(self) -> None:
        """Lets the heartbeats ask to be unfenced, because the partitions of this broker are served."""
        self.lifecycle.ready_to_unfence()
        self._heartbeats.wake()

    async def unfenced(self) -> None:
        """Returns when the controllers have unfenced this broker and its image shows it. Raises as :meth:`joined`."""
        await self._until(lambda: self.lifecycle.state is BrokerState.RUNNING and self._is_unfenced())

    async def reached(self, event: asyncio.Event) -> None:
        """Returns when ``event`` is set. Raises as :meth:`joined`."""
        setting = METADATA.awaited(event.wait())
        METADATA.when_done(setting, lambda _: self._notify())
        try:
            await self._until(event.is_set)
        finally:
            setting.cancel()

    def stop_waiting(self) -> None:
        """Ends :meth:`joined`, :meth:`unfenced`, :meth:`reached` and :meth:`leave` with LeftError."""
        self._is_stopping = True
        self._notify()

    async def leave(self) -> None:
        """Asks the controllers to move what this broker leads, and waits for it: :data:`SHUTDOWN_TIMEOUT_MS` at most.

        Raises NotJoinedError if the controllers have not granted it, LeftError after :meth:`stop_waiting`.
        """
        self._is_stopping = False
        self.lifecycle.begin_shutdown(monotonic_ms())
        self._heartbeats.wake()
        await self._until(lambda: self.lifecycle.state is BrokerState.SHUTTING_DOWN)
        if not self.lifecycle.is_shutdown_granted:
            raise NotJoinedError("the controllers have not granted the controlled shutdown")

    async def close(self) -> None:
        """Cancels both tasks and waits for their end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def abort(self) -> None:
        """As :meth:`close`, without waiting: for a start that failed."""
        for task in self._tasks:
            task.cancel()

    # BrokerReports

    def directory_failed(self, directory_id: bytes, now_ms: int) -> None:
        """Reports that a log directory is offline, with every heartbeat from now on."""
        self.lifecycle.directory_failed(directory_id, monotonic_ms())
        self._heartbeats.wake()

    def cordon(self, directory_ids: Sequence[bytes], now_ms: int) -> None:
        """Reports the directories that take no new partitions, with every heartbeat from now on."""
        self.lifecycle.cordon(directory_ids)
        self._heartbeats.wake()

    # Events of the tasks

    def _controller_found(self) -> None:
        self.lifecycle.controller_found()
        self._heartbeats.wake()

    def _applied(self, offset: int) -> None:
        self.lifecycle.applied(offset)
        self._heartbeats.wake()
        self._notify()

    def _check_registration(self, image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        """A subscriber of the metadata. Source: BrokerRegistrationTracker."""
        if delta.changed_features or self._node_id in delta.changed_brokers:
            own = image.brokers.get(self._node_id)
            level = image.features.get(METADATA_VERSION, 0)
            if own is not None and not own.directories and level >= DIRECTORY_ASSIGNMENT_SUPPORTED:
                logger.info("registering again: metadata.version %d records the log directories of brokers", level)
                self.lifecycle.register_again()
                self._heartbeats.wake()
        yield

    def _fail(self, reason: str) -> None:
        self._problem = reason
        self._notify()
        if self._has_joined:
            self._ended(reason)

    def task_ended(self, task: "asyncio.Task[None]") -> None:
        """Called when the task that follows the metadata log has ended. If it failed, the broker can't go on: it alone
        may end the broker, as a fault of Kafka's metadata loader does."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            METADATA.failed("following the metadata log", error)
            self._fail(f"following the cluster failed: {error!r}")

    def _is_following(self) -> bool:
        return time.monotonic() - self._fetcher.arrived_s < self._session_s

    def _is_registered(self) -> bool:
        own = self._metadata.image.brokers.get(self._node_id)
        return own is not None and own.epoch == self.broker_epoch

    def _is_unfenced(self) -> bool:
        own = self._metadata.image.brokers.get(self._node_id)
        return own is not None and not own.fenced

    def _notify(self) -> None:
        """Lets :meth:`_until` check its condition again."""
        self._changed.set()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not (self._problem is not None or self._is_stopping or condition()):
            self._changed.clear()
            await self._changed.wait()
        if self._is_stopping:
            raise LeftError
        if self._problem is not None:
            raise NotJoinedError(self._problem)
