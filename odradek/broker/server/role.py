"""The role of a broker: its own controller, or a member of a cluster with other controllers.

Owns: the points of a start and of a stop at which the two differ. :mod:`.standalone` and :mod:`.cluster_member`
implement them. Source: ``process.roles``; BrokerServer, ControllerServer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.common.holder import holder
from odradek.storage.directory.log_directories import LogDirectories

from ..dispatch.dispatch import Dispatcher
from ..metadata.controller.controller import Controller
from ..metadata.image.image import Endpoint, Replica
from ..metadata.publisher.controller_link import BrokerReports, ProducerIdSource, TopicCreator
from ..metadata.publisher.published import PublishedMetadata
from ..replicas.following import ReplicaFollowing
from ..replicas.group_commit import GroupCommit
from ..replicas.leaders import Leaders
from ..replicas.replica_logs import Placed
from ..timers.slices import Slices
from .broker import Broker

if TYPE_CHECKING:
    from ..metrics.pieces import MetricsSource
    from ..network.node_client import NodeSecurity

Versions = Mapping[int, tuple[int, int]]
"""API key -> lowest and highest version."""


class StartStopped(Exception):  # noqa: N818 - what has happened, and no error
    """The broker was told to stop while it waited to join its cluster."""


def no_versions() -> Versions:
    """The versions of a broker that forwards nothing."""
    return {}


@holder(kw_only=True)
class ControlledBy:
    """What a broker has of its controllers, once its metadata is there.

    ``inter_broker``: the security settings of connections to other brokers; None without other brokers. ``placed``: as
    for :class:`.ReplicaLogs`. ``forwarded_versions`` returns the versions of the APIs that this broker forwards.
    ``ask_themselves``: APIs whose handlers ask the authorizer themselves, since controllers decide most of each
    request.
    """

    metadata: PublishedMetadata
    controller: Controller
    topic_creator: TopicCreator
    producer_ids: ProducerIdSource
    reports: BrokerReports
    inter_broker: "NodeSecurity | None" = None
    placed: Placed | None = None
    forwarded_versions: Callable[[], Versions] = no_versions
    ask_themselves: frozenset[int] = frozenset()


class Replicated(NamedTuple):
    """The parts for partitions with several replicas; None without other brokers."""

    following: ReplicaFollowing | None = None
    leaders: Leaders | None = None


class Role(ABC):
    """The role of one broker process. A method that a role does not need does nothing."""

    @property
    @abstractmethod
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration, for the marker of a clean stop; -1 before it."""

    @abstractmethod
    async def open(self, log_dirs: LogDirectories, endpoints: Sequence[Endpoint], now_ms: int) -> ControlledBy:
        """Reads the metadata, or follows it until it is complete enough to look for logs.

        Raises ConfigError, MetadataLogError, KafkaError, OSError with what to do.
        """

    def stop_waiting(self) -> None:
        """Ends an :meth:`open` or :meth:`activate` that waits, with StartStopped, and a :meth:`leave`; harmless
        otherwise."""
        return

    @abstractmethod
    def register(self, log_dirs: LogDirectories, now_ms: int) -> None:
        """Reports the log directories to the controller, after the logs were found. Raises KafkaError."""

    async def activate(self) -> None:
        """Called after all partitions are served. Returns when this broker may take requests. Raises ConfigError."""
        return

    async def announce(self, replica: Replica, directory_id: bytes) -> None:
        """Reports that a replica will move to another directory, and returns when the controllers know it. Otherwise a
        failure of either directory would move or keep the wrong leaders."""
        return

    def assign(self, lies_in: Mapping[Replica, bytes], now_ms: int) -> None:
        """Reports that replicas have moved to other directories. Raises KafkaError."""
        return

    def refuses_in(self, directory_ids: Set[bytes]) -> None:
        """Called with the ids of all directories that refuse clients' records for lack of space, when they change."""
        return

    def replicated(self, group_commit: GroupCommit, slices: Slices) -> Replicated:
        """The parts for partitions with several replicas."""
        return Replicated()

    def route(self, broker: Broker, dispatcher: Dispatcher) -> None:
        """Sets up the forwarding of requests that this broker does not answer itself."""
        return

    @abstractmethod
    def metrics(self) -> "Sequence[MetricsSource]":
        """The metrics of a broker in this role. Called only if metrics are wanted."""

    async def leave(self) -> None:
        """The first step of a stop: other brokers take over what this broker leads."""
        return

    @abstractmethod
    async def close(self, now_ms: int) -> None:
        """The last step of a stop, when everything else is at rest."""

    def abort(self) -> None:
        """Ends at once, as in a crash: cancels its tasks, and reports nothing to the controller."""
        return
