"""The role of a broker: its own controller, or a member of a cluster with other controllers.

Owns: the points of a start and of a stop at which the two differ. :mod:`.standalone` and :mod:`.cluster_member`
implement them. Source: ``process.roles``; BrokerServer, ControllerServer.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from typing import TYPE_CHECKING

from odradek.storage.directory.log_directories import LogDirectories

from ..controller.controller import Controller
from ..dispatch.dispatch import Dispatcher
from ..metadata.controller_link import BrokerReports, ProducerIdSource, TopicCreator
from ..metadata.image import Endpoint, Replica
from ..metadata.published import PublishedMetadata
from ..replicas.following import ReplicaFollowing
from ..replicas.group_commit import GroupCommit
from ..replicas.leaders import Leaders
from ..timers.slices import Slices
from .broker import Broker

if TYPE_CHECKING:
    from ..metrics.pieces import MetricsSource
    from ..network.node_security import NodeSecurity


class StartStopped(Exception):  # noqa: N818 - what has happened, and no error
    """The broker was told to stop while it waited to join its cluster."""


class Role(ABC):
    """The role of one broker process. Attributes without a default are set when :meth:`open` has returned."""

    metadata: PublishedMetadata
    controller: Controller
    topic_creator: TopicCreator
    producer_ids: ProducerIdSource
    reports: BrokerReports
    inter_broker: "NodeSecurity | None" = None
    """The security settings of connections to other brokers; None for a broker that is its own controller."""
    ask_themselves: frozenset[int] = frozenset()
    """APIs whose handlers ask the authorizer themselves, since controllers decide most of each request."""
    placed: Callable[[bytes, int, bytes], None] | None = None
    """Called with topic id, partition index and directory id if a replica lies in another directory than the metadata
    says (``ReplicaLogs.placed``). None for a broker that is its own controller, which chooses the directories."""

    @property
    @abstractmethod
    def broker_epoch(self) -> int:
        """The epoch of this broker's registration, for the marker of a clean stop; -1 before it."""

    @abstractmethod
    async def open(self, log_dirs: LogDirectories, endpoints: Sequence[Endpoint], now_ms: int) -> None:
        """Reads the metadata, or follows it until it is complete enough to look for logs.

        Raises ConfigError, MetadataLogError, KafkaError, OSError with what to do.
        """

    @abstractmethod
    def stop_waiting(self) -> None:
        """Ends an :meth:`open` or :meth:`activate` that waits, with StartStopped, and a :meth:`leave`; harmless
        otherwise."""

    @abstractmethod
    def register(self, log_dirs: LogDirectories, now_ms: int) -> None:
        """Reports the log directories to the controller, after the logs were found. Raises KafkaError."""

    @abstractmethod
    async def activate(self) -> None:
        """Called after all partitions are served. Returns when this broker may take requests. Raises ConfigError."""

    @abstractmethod
    async def announce(self, replica: Replica, directory_id: bytes) -> None:
        """Reports that a replica will move to another directory, and returns when the controllers know it. Otherwise a
        failure of either directory would move or keep the wrong leaders."""

    @abstractmethod
    def assign(self, lies_in: Mapping[Replica, bytes], now_ms: int) -> None:
        """Reports that replicas have moved to other directories. Raises KafkaError."""

    @abstractmethod
    def refuses_in(self, directory_ids: Set[bytes]) -> None:
        """Called with the ids of all directories that refuse clients' records for lack of space, when they change."""

    @abstractmethod
    def replication(self, group_commit: GroupCommit) -> ReplicaFollowing | None:
        """The part that follows other brokers' partitions; None without other brokers."""

    @abstractmethod
    def leaders(self, slices: Slices) -> Leaders | None:
        """The part that leads partitions with several replicas; None without other brokers."""

    @abstractmethod
    def route(self, broker: Broker, dispatcher: Dispatcher) -> None:
        """Sets up the forwarding of requests that this broker does not answer itself."""

    @abstractmethod
    def metrics(self) -> "Sequence[MetricsSource]":
        """The metrics of a broker in this role. Called only if metrics are wanted."""

    @abstractmethod
    async def leave(self) -> None:
        """The first step of a stop: other brokers take over what this broker leads."""

    @abstractmethod
    async def close(self, now_ms: int) -> None:
        """The last step of a stop, when everything else is at rest."""

    @abstractmethod
    def abort(self) -> None:
        """Ends at once, as in a crash: cancels its tasks, and reports nothing to the controller."""
