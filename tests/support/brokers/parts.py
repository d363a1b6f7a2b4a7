"""A broker with only the parts that a test needs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_type_hints

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.dispatch.request import RequestContext
from odradek.broker.fetch.session import FetchSessionCache
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.groups.streams.internal_topics import InternalTopics
from odradek.broker.metadata.controller.auto_topic_creation import AutoTopicCreation
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.own_controller import ProducerIds
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.image.token_hmacs import TokenHmacs
from odradek.broker.metadata.publisher.controller_link import ProducerIdSource, TopicCreator
from odradek.broker.metadata.publisher.published import PublishedMetadata
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.metrics.topic_meters import TopicMeters
from odradek.broker.replicas.moves import ReplicaMoves
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.replicas.record_work import ChargedRecordWork, RecordWork
from odradek.broker.security.authorization.standard_authorizer import StandardAuthorizer
from odradek.broker.share_partitions.registry import SharePartitions
from odradek.broker.share_state.coordinator import ShareCoordinator
from odradek.broker.share_state.partition_ends import PartitionEnds
from odradek.broker.share_state.persister import Persister
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.slices import Slices
from odradek.broker.transactions.coordinator import TransactionCoordinator
from odradek.broker.transactions.stalled_clients import StalledClients
from odradek.storage.directory.log_directories import LogDirectories


class PartialBroker:
    """A broker for handlers that was never started (:class:`.AllParts`). A handler that uses a missing part gets
    AttributeError."""

    metadata: PublishedMetadata
    own_metadata: MetadataService
    controller: Controller
    auto_topic_creation: TopicCreator
    internal_topics: InternalTopics
    producer_ids: ProducerIdSource
    partitions: Partitions
    group_coordinator: GroupCoordinator
    transaction_coordinator: TransactionCoordinator
    stalled_clients: StalledClients
    share_coordinator: ShareCoordinator
    persister: Persister
    share_partitions: SharePartitions
    partition_ends: PartitionEnds
    timers: LoopTimers
    slices: Slices
    fetch_sessions: FetchSessionCache
    log_dirs: LogDirectories
    replica_moves: ReplicaMoves
    forwarded_versions: Callable[[], Mapping[int, tuple[int, int]]] = dict
    security_protocols: Mapping[str, str]
    authorizer: StandardAuthorizer | None = None
    token_hmacs: TokenHmacs | None = None
    topic_meters: TopicMeters | None = None
    is_cluster_member = False
    fetch_check_crcs = False

    def __init__(self, *, config: ServerConfig | None = None, **parts: Any) -> None:
        """``parts``: by the names above."""
        self.config = config or ServerConfig.load(None, [], {})
        self.static_config = self.config
        self.fetch_max_bytes = self.config.get_int("fetch.max.bytes")
        self.record_work = RecordWork()
        # Disabled, so that it needs none of its parts.
        nothing: Any = None
        self.stalled_clients = StalledClients(
            nothing, lambda: 0, nothing, nothing, is_enabled=False, watches_always=False
        )
        unknown = parts.keys() - get_type_hints(PartialBroker).keys()
        assert not unknown, f"no handler needs {unknown}"
        for name, part in parts.items():
            setattr(self, name, part)
        if isinstance(metadata := parts.get("metadata"), MetadataService):
            self.own_metadata = metadata

    def record_work_for(self, context: RequestContext) -> RecordWork:
        """As in the broker."""
        if context.charge is None:
            return self.record_work
        return ChargedRecordWork(self.record_work, context.charge.on_thread)


class ImageOnly(MetadataService):
    """A metadata service with an image but no log, so metadata cannot be changed."""

    def __init__(self, image: MetadataImage) -> None:
        # Does not call the constructor of MetadataService, which needs a log.
        self.image = image


class CalledForTopics(AutoTopicCreation):
    """Calls back with the name of an internal topic to create, and creates nothing itself."""

    def __init__(self, needed: Callable[[str], object] = lambda _: None) -> None:
        self._needed = needed

    def ensure(self, name: str, now_ms: int, configs: Mapping[str, str] | None = None) -> None:
        self._needed(name)


class ProducerIdsFrom(ProducerIds):
    """Takes producer ids from an iterator."""

    def __init__(self, ids: Iterator[int]) -> None:
        self._ids = ids

    def next_id(self, now_ms: int) -> int:
        return next(self._ids)
