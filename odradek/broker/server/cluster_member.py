"""A broker of a cluster that other nodes control: ``process.roles=broker``.

Owns: the order of the steps that only this role has. Never does: deciding what controllers decide. Invariants: no
request is served before the controllers have unfenced this start's registration; requests that only controllers can
answer are forwarded to them. Source: BrokerServer.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.storage.directory.log_directories import LogDirectories

from ..api.loggers import has_logger, set_levels
from ..config.cross_checks import RACK_AWARE_SELECTOR
from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from ..dispatch.dispatch import Dispatcher
from ..dispatch.request_in_service import RequestInService
from ..metadata.controller.controller import Controller
from ..metadata.image.features import SUPPORTED_FEATURES, levels_problem
from ..metadata.image.image import BrokerRegistration, BrokerState, Endpoint, Replica
from ..metadata.publisher.followed import FollowedMetadata
from ..metadata.quorum.alter_partition import AlterPartitionManager
from ..metadata.quorum.assignments_manager import AssignmentsManager
from ..metadata.quorum.channel import ControllerChannel
from ..metadata.quorum.forwarded_apis import FORWARDED, PREPROCESSED
from ..metadata.quorum.forwarding import Forwarding
from ..metadata.quorum.lifecycle import Registrant
from ..metadata.quorum.membership import ClusterMembership, LeftError, NotJoinedError
from ..metadata.quorum.producer_ids import ProducerIdBlocks
from ..metadata.quorum.topic_creation import ForwardedTopicCreation
from ..metrics.replica_state import IsrChanges
from ..replicas.directories.identity import format_new, identify
from ..replicas.group_commit import GroupCommit
from ..replicas.leaders import Leaders
from ..replicas.leading import LeadingCommon
from ..replicas.replica_selector import RackAwareReplicaSelector
from ..replicas.replication.replica_fetchers import ReplicaFetchers
from ..replicas.replication_throttle import (
    FOLLOWER_KEYS,
    LEADER_KEYS,
    ReplicationQuota,
    ReplicationThrottle,
    ThrottleKeys,
)
from ..security.node_security import node_security
from ..timers.loop_timers import monotonic_ms
from ..timers.slices import Slices
from ..timers.work import KindOfWork
from .broker import Broker
from .forwarded_configs import ForwardedConfigs
from .forwarded_tokens import ForwardedTokens
from .random_ids import random_uuid
from .role import ControlledBy, Replicated, Role, StartStopped

with lazy_imports:
    from ..metrics import controller_metrics

if TYPE_CHECKING:
    from ..metrics.pieces import MetricsSource

logger = logging.getLogger(__name__)

LAGGING = KindOfWork("isr-expiration", "looks for followers that lag")
WAKING = KindOfWork("election-wake-up", "answers fetches of followers after an election")
TO_CONTROLLERS = KindOfWork("controller-requests", "sends one kind of requests to the controllers")


class ClusterMember(Role):
    """One broker under the controllers that its configuration names."""

    def __init__(
        self,
        config: ServerConfig,
        cluster_id: str | None,
        clock_ms: Callable[[], int],
        ended: Callable[[str], None],
        check_listeners: Callable[[Mapping[str, str]], None],
    ) -> None:
        """``cluster_id``: for a new data directory; without it, a new one is refused. ``clock_ms``: wall clock,
        milliseconds since the epoch. ``ended`` gets the reason if the broker can't go on. ``check_listeners``: as for
        :class:`.Controller`."""
        self._config = config
        self._cluster_id = cluster_id
        self._clock_ms = clock_ms
        self._ended = ended
        self._check_listeners = check_listeners
        self._metadata: FollowedMetadata | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._membership: ClusterMembership | None = None
        self._fetchers: ReplicaFetchers | None = None
        self._leaders: Leaders | None = None
        self._registered_directories: list[bytes] = []
        self._inter_broker, self._to_controllers = node_security(config, self._own_configs)

    def _own_configs(self) -> Mapping[str, str]:
        """The dynamic configs of this broker; empty before the metadata is there."""
        metadata = self._metadata
        return {} if metadata is None else metadata.image.broker_configs(metadata.node_id)

    @property
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration; -1 before it."""
        return -1 if self._membership is None else self._membership.broker_epoch

    async def open(self, log_dirs: LogDirectories, endpoints: Sequence[Endpoint], now_ms: int) -> ControlledBy:
        """Follows the metadata log and registers; returns when the image holds this registration."""
        config = self._config
        ids = identify(log_dirs, random_uuid)
        if self._cluster_id is not None and log_dirs.metadata.meta is None:
            log_dirs.metadata.format(self._cluster_id, config.node_id, ids[0])
        metadata = self._metadata = FollowedMetadata.open(log_dirs.metadata, config, now_ms)
        format_new(log_dirs, ids, metadata.cluster_id, metadata.node_id)
        controller = Controller(
            config.node_id,
            config,
            random_uuid,
            log_dirs.shortage_in,
            check_listeners=self._check_listeners,
            has_logger=has_logger,
        )
        self._registered_directories = [directory.directory_id for directory in log_dirs.online]
        registrant = Registrant(
            node_id=config.node_id,
            cluster_id=metadata.cluster_id,
            incarnation_id=random_uuid(),
            endpoints=endpoints,
            features=SUPPORTED_FEATURES,
            rack=config["broker.rack"],
            directory_ids=self._registered_directories,
            previous_epoch=log_dirs.previous_broker_epoch,
        )
        membership = ClusterMembership(
            metadata, config, registrant, clock_ms=self._clock_ms, ended=self._ended, security=self._to_controllers
        )
        self._membership = membership
        self._controller = controller
        self._start_channels(metadata, membership, log_dirs)
        logger.info("joining cluster %s through the controllers at %s", metadata.cluster_id, membership.controllers)
        membership.start()
        with _as_start_errors():
            await membership.joined()
        unserved = levels_problem(metadata.image.features)
        if unserved is not None:
            raise ConfigError([unserved])
        return ControlledBy(
            metadata=metadata,
            controller=controller,
            topic_creator=ForwardedTopicCreation(metadata, config, self._forwarding),
            producer_ids=self._producer_ids,
            reports=membership,
            inter_broker=self._inter_broker,
            placed=self._assignments.placed,
            forwarded_versions=self._forwarding.versions,
            ask_themselves=PREPROCESSED,
        )

    def stop_waiting(self) -> None:
        """Ends a start that waits for the controllers, with StartStopped, and a :meth:`leave`."""
        if self._membership is not None:
            self._membership.stop_waiting()

    def _start_channels(
        self, metadata: FollowedMetadata, membership: ClusterMembership, log_dirs: LogDirectories
    ) -> None:
        """Makes one channel to the controllers for each kind of request, so that none waits for another kind."""
        controllers, name = membership.controllers, f"broker-{self._config.node_id}"
        self._forwarding = Forwarding(ControllerChannel(controllers, f"{name}-forwarding"))
        self._producer_ids = ProducerIdBlocks(
            self._config.node_id,
            lambda: membership.broker_epoch,
            ControllerChannel(controllers, f"{name}-producer-ids"),
        )
        self._isr_changes = AlterPartitionManager(
            self._config.node_id,
            lambda: membership.broker_epoch,
            ControllerChannel(controllers, f"{name}-alter-partition"),
        )
        self._assignments = AssignmentsManager(
            metadata,
            lambda: membership.broker_epoch,
            ControllerChannel(controllers, f"{name}-directory-assignments"),
            partial(_directory_with, log_dirs),
        )
        metadata.subscribe(self._assignments.changed)

    def register(self, log_dirs: LogDirectories, now_ms: int) -> None:
        """The registration was made when the metadata was opened: reports the directories that failed since then."""
        online = {directory.directory_id for directory in log_dirs.online}
        for directory_id in self._registered_directories:
            if directory_id not in online:
                self._joined.directory_failed(directory_id, now_ms)
        if log_dirs.cordoned_ids:
            self._joined.cordon(log_dirs.cordoned_ids, now_ms)

    @property
    def _followed(self) -> FollowedMetadata:
        assert self._metadata is not None, "open() comes first"
        return self._metadata

    @property
    def _joined(self) -> ClusterMembership:
        assert self._membership is not None, "open() comes first"
        return self._membership

    async def activate(self) -> None:
        """Asks to be unfenced and waits for it."""
        self._joined.ready_to_unfence()
        channels = (self._forwarding, self._producer_ids, self._assignments, self._isr_changes)
        self._tasks = [TO_CONTROLLERS.keep_running(channel.run) for channel in channels]
        self._tasks.append(LAGGING.keep_running(self._look_for_lagging))
        with _as_start_errors():
            await self._joined.unfenced()
            await self._joined.reached(self._forwarding.knows_versions)

    async def announce(self, replica: Replica, directory_id: bytes) -> None:
        """Reports that a replica will move to another directory. Returns when the controllers know it."""
        await self._assignments.assigned(replica, directory_id)

    def refuses_in(self, directory_ids: Set[bytes]) -> None:
        """Lets other brokers lead what this broker leads in these directories, and takes part again in all others."""
        self._assignments.refuse_in(directory_ids)

    def replicated(self, group_commit: GroupCommit, slices: Slices) -> Replicated:
        """The parts that follow other brokers' partitions, and lead those with several replicas."""
        return Replicated(self._following(group_commit), self._leading(slices))

    def _following(self, group_commit: GroupCommit) -> ReplicaFetchers:
        joined = self._joined
        self._fetchers = ReplicaFetchers(
            self._followed,
            self._config,
            lambda: joined.broker_epoch,
            self._throttle(FOLLOWER_KEYS),
            group_commit,
            self._clock_ms,
            self._inter_broker,
            self._assignments.is_stuck,
        )
        return self._fetchers

    def _leading(self, slices: Slices) -> Leaders:
        lag_max_ms = self._config.get_int("replica.lag.time.max.ms")
        selector = None
        if self._config["replica.selector.class"] == RACK_AWARE_SELECTOR:
            selector = RackAwareReplicaSelector(self._followed.node_id, lambda: self._followed.image)
        self._leaders = Leaders(
            self._followed.node_id,
            lag_max_ms,
            self._registration,
            LeadingCommon(self._isr_changes.submit, monotonic_ms, IsrChanges(), self._throttle(LEADER_KEYS), selector),
            WAKING.later,
            slices,
        )
        return self._leaders

    def _throttle(self, keys: ThrottleKeys) -> ReplicationThrottle:
        config = self._config
        quota = ReplicationQuota(
            config.get_int("replication.quota.window.num"),
            config.get_int("replication.quota.window.size.seconds") * 1000,
        )
        return ReplicationThrottle(self._followed.node_id, lambda: self._followed.image, quota, keys)

    def _registration(self, broker_id: int) -> BrokerRegistration | None:
        return self._followed.image.brokers.get(broker_id)

    async def _look_for_lagging(self) -> None:
        """Looks for followers that lag, twice in ``replica.lag.time.max.ms``."""
        leaders = self._leaders
        assert leaders is not None, "partitions are led before this broker is unfenced"
        while True:
            await asyncio.sleep(leaders.lag_max_ms / 2 / 1000)
            for _ in leaders.look_for_lagging():
                await asyncio.sleep(0)

    def route(self, broker: Broker, dispatcher: Dispatcher) -> None:
        """Lets the dispatcher forward requests that only controllers can answer."""
        dispatcher.forward(FORWARDED - PREPROCESSED, self._forwarding.versions, self._forward)
        configs = ForwardedConfigs(self._followed, self._controller, self._forwarding, set_levels)
        dispatcher.override_handlers(dict.fromkeys(PREPROCESSED, configs.handle))
        dispatcher.override_handlers(ForwardedTokens(self._forwarding, broker.security_protocols).handlers)

    def metrics(self) -> "Sequence[MetricsSource]":
        """The metric of the broker's state. Those of the controllers are at the controllers."""
        return [controller_metrics.BrokerStateMetric(self._state)]

    def _state(self) -> BrokerState:
        return BrokerState.STARTING if self._membership is None else self._membership.lifecycle.state

    def _forward(self, _broker: Any, frame: bytes, context: RequestInService, reply: Callable[[Any], None]) -> None:
        """The handler of forwarded requests. ``context`` and ``reply`` are the same object."""

        def answered(response: bytes | KafkaError) -> None:
            if not context.is_wanted():
                return
            if not isinstance(response, KafkaError):
                reply(response)
            elif response.error_code is ErrorCode.UNSUPPORTED_VERSION:
                # The active controller has changed. The client connects anew and learns the versions of this one.
                context.refuse("the active controller does not support this version")
            else:
                context.fail_undecoded(frame, response)

        self._forwarding.forward(frame, context.requester, answered)

    async def leave(self) -> None:
        """A controlled shutdown: the controllers move every leadership, then this broker stops."""
        begin_s = time.monotonic()
        logger.info("asking the controllers to move what this broker leads; a second signal stops it without that")
        try:
            await self._joined.leave()
        except NotJoinedError as problem:
            logger.warning("stopping without a controlled shutdown: %s", problem)
        except LeftError:
            logger.warning("stopping without a controlled shutdown: a second signal came")
        else:
            logger.info(
                "the controllers moved the leaders of this broker's partitions in %.1f s", time.monotonic() - begin_s
            )
        if self._fetchers is not None:
            self._fetchers.close()

    async def close(self, now_ms: int) -> None:
        """Ends the connections to the controllers."""
        self.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._joined.close()

    def abort(self) -> None:
        """Cancels the tasks, and reports nothing to the controllers."""
        for task in self._tasks:
            task.cancel()
        if self._fetchers is not None:
            self._fetchers.close()
        if self._membership is not None:
            self._membership.abort()


def _directory_with(log_dirs: LogDirectories, topic: str, index: int) -> bytes | None:
    """The id of the online directory that has a partition, None if there is none."""
    holder = log_dirs.holder(topic, index)
    return None if holder is None else holder.directory_id


@contextmanager
def _as_start_errors() -> Iterator[None]:
    """Raises ConfigError with the text of a NotJoinedError, and StartStopped for a LeftError (a signal)."""
    try:
        yield
    except NotJoinedError as problem:
        raise ConfigError([str(problem)]) from problem
    except LeftError as stopped:
        raise StartStopped from stopped
