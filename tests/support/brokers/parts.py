"""A broker with only the parts that a test needs."""

from collections.abc import Callable, Iterator

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.fetch.session import FetchSessionCache
from odradek.broker.groups.coordinator import GroupCoordinator
from odradek.broker.metadata.controller.auto_topic_creation import AutoTopicCreation
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.producer_ids import ProducerIds
from odradek.broker.metadata.image.image import MetadataImage
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.replicas.partitions import Partitions
from odradek.broker.replicas.record_work import RecordWork
from odradek.broker.server.broker import Broker
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.slices import Slices
from odradek.broker.transactions.coordinator import TransactionCoordinator


class PartialBroker(Broker):
    """A broker for handlers that was never started. A handler that uses a missing part gets AttributeError."""

    def __init__(
        self,
        *,
        config: ServerConfig | None = None,
        metadata: MetadataService | None = None,
        controller: Controller | None = None,
        auto_topic_creation: AutoTopicCreation | None = None,
        producer_ids: ProducerIds | None = None,
        fetch_sessions: FetchSessionCache | None = None,
        partitions: Partitions | None = None,
        group_coordinator: GroupCoordinator | None = None,
        transaction_coordinator: TransactionCoordinator | None = None,
        timers: LoopTimers | None = None,
        slices: Slices | None = None,
    ) -> None:
        # Does not call the constructor of Broker, which needs every part.
        self.config = config or ServerConfig.load(None, [], {})
        self.static_config = self.config
        self.record_work = RecordWork()
        self.fetch_max_bytes = self.config.get_int("fetch.max.bytes")
        self.fetch_check_crcs = False
        self.topic_meters = None
        if metadata is not None:
            self.metadata = metadata
        if controller is not None:
            self.controller = controller
        if auto_topic_creation is not None:
            self.auto_topic_creation = auto_topic_creation
        if producer_ids is not None:
            self.producer_ids = producer_ids
        if fetch_sessions is not None:
            self.fetch_sessions = fetch_sessions
        if partitions is not None:
            self.partitions = partitions
        if group_coordinator is not None:
            self.group_coordinator = group_coordinator
        if transaction_coordinator is not None:
            self.transaction_coordinator = transaction_coordinator
        if timers is not None:
            self.timers = timers
        if slices is not None:
            self.slices = slices


class ImageOnly(MetadataService):
    """A metadata service with an image but no log, so metadata cannot be changed."""

    def __init__(self, image: MetadataImage) -> None:
        # Does not call the constructor of MetadataService, which needs a log.
        self.image = image


class CalledForTopics(AutoTopicCreation):
    """Calls back with the name of an internal topic to create, and creates nothing itself."""

    def __init__(self, needed: Callable[[str], object] = lambda _: None) -> None:
        self._needed = needed

    def ensure(self, name: str, now_ms: int) -> None:
        self._needed(name)


class ProducerIdsFrom(ProducerIds):
    """Takes producer ids from an iterator."""

    def __init__(self, ids: Iterator[int]) -> None:
        self._ids = ids

    def next_id(self, now_ms: int) -> int:
        return next(self._ids)
