"""The parts of a running broker that handlers need, by the kind of their requests.

A handler names the narrowest one as the type of its first argument. ``server/broker.py`` has them all, and mypy
compares the two where the server passes the broker to the dispatcher (:class:`AllParts`). Never does: anything.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from odradek.storage.directory.log_directories import LogDirectories

from ..config.server_config import ServerConfig
from ..dispatch.request import RequestContext
from ..fetch.session import FetchSessionCache
from ..groups.coordinator import GroupCoordinator
from ..metadata.controller.controller import Controller
from ..metadata.publisher.controller_link import ProducerIdSource, TopicCreator
from ..metadata.publisher.published import PublishedMetadata
from ..metadata.publisher.service import MetadataService
from ..replicas.moves import ReplicaMoves
from ..replicas.partitions import Partitions
from ..replicas.record_work import RecordWork
from ..timers.loop_timers import LoopTimers
from ..timers.slices import Slices
from ..transactions.coordinator import TransactionCoordinator
from ..transactions.stalled_clients import StalledClients

if TYPE_CHECKING:
    from ..groups.streams.internal_topics import InternalTopics
    from ..metadata.image.token_hmacs import TokenHmacs
    from ..metrics.topic_meters import TopicMeters
    from ..security.authorization.standard_authorizer import StandardAuthorizer
    from ..share_partitions.registry import SharePartitions
    from ..share_state.coordinator import ShareCoordinator
    from ..share_state.partition_ends import PartitionEnds
    from ..share_state.persister import Persister
    from ..telemetry.telemetry import Telemetry


class MetadataParts(Protocol):
    """For requests that read the metadata."""

    @property
    def metadata(self) -> PublishedMetadata:
        """The image, and its changes."""

    @property
    def static_config(self) -> ServerConfig:
        """The configuration from the file, without dynamic configs."""

    @property
    def is_cluster_member(self) -> bool:
        """Whether other nodes control the cluster."""

    @property
    def controller(self) -> Controller:
        """The input of decisions besides the image."""

    @property
    def auto_topic_creation(self) -> TopicCreator:
        """Creates topics that a request names, and internal ones."""

    @property
    def forwarded_versions(self) -> Callable[[], Mapping[int, tuple[int, int]]]:
        """Returns API key -> lowest and highest version, of the APIs that are forwarded to the controllers."""


class ControllerParts(MetadataParts, Protocol):
    """For requests that change the metadata, at a broker that is its own controller."""

    @property
    def own_metadata(self) -> MetadataService:
        """The metadata, which this broker may change."""

    @property
    def authorizer(self) -> "StandardAuthorizer | None":
        """Decides what clients may do; None if they may do everything."""


class DelegationTokenParts(ControllerParts, Protocol):
    """For requests about delegation tokens."""

    @property
    def token_hmacs(self) -> "TokenHmacs | None":
        """The HMACs of the tokens; None if tokens are disabled."""

    @property
    def security_protocols(self) -> Mapping[str, str]:
        """The names of listeners with their security protocols."""


class GroupParts(Protocol):
    """For requests about groups."""

    @property
    def metadata(self) -> PublishedMetadata:
        """The image, for the names and ids of topics."""

    @property
    def group_coordinator(self) -> GroupCoordinator:
        """The coordinator of groups."""


class ShareParts(GroupParts, Protocol):
    """For requests about share groups, and about the state of their partitions."""

    @property
    def share_coordinator(self) -> "ShareCoordinator":
        """The coordinator of the state of share partitions, as far as this broker leads it. Made at the first use."""

    @property
    def persister(self) -> "Persister":
        """Stores and reads the state of share partitions, here or at another broker. Made at the first use."""


class ShareOffsetParts(ShareParts, Protocol):
    """For requests about the offsets of share groups."""

    @property
    def partition_ends(self) -> "PartitionEnds":
        """The ends of partitions, here or at other leaders. Made at the first use."""


class StreamsParts(GroupParts, Protocol):
    """For requests of members of streams groups."""

    @property
    def internal_topics(self) -> "InternalTopics":
        """Creates the internal topics of streams groups. Made at the first use."""


class TransactionParts(GroupParts, Protocol):
    """For requests about transactions."""

    @property
    def transaction_coordinator(self) -> TransactionCoordinator:
        """The coordinator of transactions."""

    @property
    def stalled_clients(self) -> StalledClients:
        """Wakes clients that stand still in a transaction after a restart."""

    @property
    def producer_ids(self) -> ProducerIdSource:
        """Producer ids for producers without a transactional id."""

    @property
    def partitions(self) -> Partitions:
        """The partitions of this broker."""


class RecordParts(Protocol):
    """For requests that write, read or remove records."""

    @property
    def metadata(self) -> PublishedMetadata:
        """The image, for the names and ids of topics."""

    @property
    def config(self) -> ServerConfig:
        """The current configuration."""

    @property
    def partitions(self) -> Partitions:
        """The partitions of this broker."""

    @property
    def transaction_coordinator(self) -> TransactionCoordinator:
        """Adds partitions to transactions (KIP-890)."""

    @property
    def timers(self) -> LoopTimers:
        """For requests that wait."""

    @property
    def slices(self) -> Slices:
        """For work that goes on without its request."""

    @property
    def fetch_sessions(self) -> FetchSessionCache:
        """Incremental fetch sessions (KIP-227)."""

    @property
    def fetch_max_bytes(self) -> int:
        """``fetch.max.bytes``."""

    @property
    def fetch_check_crcs(self) -> bool:
        """``odradek.fetch.check.crcs``."""

    @property
    def topic_meters(self) -> "TopicMeters | None":
        """Counts what clients write and read; None without metrics."""

    def record_work_for(self, context: RequestContext) -> RecordWork:
        """Runs work on threads for a request, and charges the time to its client if that has quotas."""


class ShareFetchParts(Protocol):
    """For requests of members of share groups about records."""

    @property
    def metadata(self) -> PublishedMetadata:
        """The image, for the names and ids of topics."""

    @property
    def timers(self) -> LoopTimers:
        """For requests that wait."""

    @property
    def fetch_max_bytes(self) -> int:
        """``fetch.max.bytes``."""

    @property
    def topic_meters(self) -> "TopicMeters | None":
        """Counts what members read and acknowledge; None without metrics."""

    @property
    def share_partitions(self) -> "SharePartitions":
        """The share partitions that this broker leads, and the sessions of their members."""


class TelemetryParts(Protocol):
    """For requests of clients that push their metrics."""

    @property
    def telemetry(self) -> "Telemetry":
        """The clients that push, and what they push. Made at the first use."""


class DirectoryParts(Protocol):
    """For requests about log directories."""

    @property
    def log_dirs(self) -> LogDirectories:
        """The log directories."""

    @property
    def replica_moves(self) -> ReplicaMoves:
        """Moves of replicas between them."""


class AllParts(
    DelegationTokenParts,
    ShareOffsetParts,
    StreamsParts,
    TransactionParts,
    RecordParts,
    ShareFetchParts,
    TelemetryParts,
    DirectoryParts,
    Protocol,
):
    """What a broker has for its handlers."""
