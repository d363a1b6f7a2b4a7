"""The metadata service: the image, its log, and who is told of changes. What handlers and the daemon use.

    metadata = MetadataService.open(directory, config, cluster_id=..., directory_ids=[...], now_ms=..., random_uuid=...)
    metadata.subscribe(on_change)
    metadata.start(endpoints, now_ms)           # registers, unfences, elects: epochs are final now
    ...
    metadata.stop(now_ms)                       # fences; then LogDirectory.close(metadata.broker_epoch)

Shell: appends the records of a decision, flushes, replays, tells subscribers, and only then the handler answers.
Source: Kafka's QuorumController and BrokerLifecycleManager.
"""

from collections.abc import Callable, Sequence

from ...protocol.messages.structure import Message
from ...storage.log_directory import LogDirectory
from ..config.server_config import ServerConfig
from .decision import Controller, Decision, Response
from .image import Endpoint, MetadataDelta, MetadataImage

Subscriber = Callable[[MetadataImage, MetadataDelta], None]


class MetadataService:
    """The image and the only way to change it."""

    image: MetadataImage
    controller: Controller
    cluster_id: str
    node_id: int
    broker_epoch: int
    """The offset of our RegisterBroker record; -1 before :meth:`start`."""

    @classmethod
    def open(
        cls,
        directory: LogDirectory,
        config: ServerConfig,
        *,
        directory_ids: Sequence[bytes],
        now_ms: int,
        random_uuid: Callable[[], bytes],
    ) -> "MetadataService":
        """Opens ``__cluster_metadata-0`` in a directory that has its meta.properties, and loads the image.

        A directory without it is formatted. ``directory_ids`` are those of all of the broker's log directories.
        """

    def subscribe(self, subscriber: Subscriber) -> None:
        """Calls ``subscriber(image, delta)`` after every change, before the request that caused it is answered."""

    def start(self, endpoints: Sequence[Endpoint], now_ms: int) -> None:
        """Becomes the leader of a new epoch, registers with these endpoints, unfences, elects."""

    def stop(self, now_ms: int) -> None:
        """Writes the fencing record, so that the next start (a real Kafka's too) need not wait for a session."""

    def commit(self, records: Sequence[Message], now_ms: int) -> None:
        """Appends, flushes, replays, tells the subscribers. Raises KafkaError where the disk refuses."""

    def carry_out(self, decision: Decision[Response], now_ms: int) -> Response:
        """Commits a decision's records and gives its response."""

    def supported_features(self) -> dict[str, tuple[int, int]]:
        """Feature name -> lowest and highest level that this broker supports."""

    def finalized_features(self) -> dict[str, int]:
        """Feature name -> finalised level, of the features that this broker supports."""

    def finalized_features_epoch(self) -> int:
        """The metadata offset up to which the finalised levels are known."""

    def ensure_topic(self, name: str, now_ms: int) -> None:
        """Creates a topic of the broker's own (``__consumer_offsets``) if it is not there. Raises KafkaError."""

    def next_producer_id(self, now_ms: int) -> int:
        """A producer id that was never given out; a block of 1000 is taken where the last one is used up."""
