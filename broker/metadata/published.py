"""The metadata image as a broker reads it, and those who hear of its changes.

Shell. Owns: the image, its publication in steps, its snapshots. Never does: deciding a change, or knowing where its
records come from: :mod:`.service` writes them, :mod:`.followed` gets them from the controllers of a cluster.
Invariant: readers see a topic as it was before a change or as it is after it. Source: Kafka's MetadataLoader.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...protocol.errors import KafkaError
from ...protocol.messages.structure import Message
from ...protocol.steps import Steps
from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from .features import KRAFT_VERSION, SUPPORTED_FEATURES, levels_problem
from .image import MetadataDelta, MetadataImage
from .metadata_log import MetadataLog, PendingSnapshot
from .replay import publish, replay_aside
from .snapshot import UnwritableMetadataError
from .turns import Turns

logger = logging.getLogger(__name__)

Subscriber = Callable[[MetadataImage, MetadataDelta], Iterator[None]]
RECORDS_A_STEP = 64
"""Records that one step replays: up to 5 us each."""
MAX_RECORDS_TO_LOAD = 20_000
"""With more records than this behind the latest snapshot, one is written while the broker runs, so that a start after a
kill needn't read them: about half a second's worth."""
MAX_RECORDS_AFTER_STOP = 1_000
"""With more than this one is written at a stop, where nobody waits for it: it has a record for each partition, the log
two more with each start and stop."""


class PublishedMetadata:
    """The image, and the order in which its changes become visible."""

    def __init__(
        self, log: MetadataLog, config: ServerConfig, cluster_id: str, directory_id: bytes, now_ms: int
    ) -> None:
        """``directory_id``: of the directory of the metadata log."""
        self._newest = MetadataImage()
        """What all records say; changes while a change is under way."""
        self.image = self._newest.view()
        """What readers see: a new image after each change, none of which changes any more."""
        self.cluster_id = cluster_id
        self.node_id = config.node_id
        self.run: Callable[[Iterator[object], Callable[[Exception], None]], object] = run_at_once
        """Takes the steps of what is asked for, and calls back with what a step raised: ``Slices.start`` once the
        broker serves, all steps at once before."""
        self.turns = Turns()
        """Of those who change the image."""
        self.log = log
        self.directory_id = directory_id
        """The directory of the metadata log."""
        self._max_bytes_between_snapshots = config.get_int("metadata.log.max.record.bytes.between.snapshots")
        self._max_snapshot_interval_ms = config.get_int("metadata.log.max.snapshot.interval.ms")
        self._last_snapshot_ms = now_ms
        self._unpublished = 0
        """Changes that are in the log and not yet in the image."""
        self._preparers: list[Subscriber] = []
        self._subscribers: list[Subscriber] = []

    def check_feature_levels(self) -> None:
        """Raises ConfigError if the log finalised a level that this broker does not support."""
        problem = levels_problem(self.image.features)
        if problem is not None:
            raise ConfigError([problem])

    def subscribe(self, subscriber: Subscriber) -> None:
        """Takes the steps of ``subscriber(image, delta)`` after each change, before its request is answered."""
        self._subscribers.append(subscriber)

    def prepare(self, preparer: Subscriber) -> None:
        """Takes the steps of ``preparer(image, delta)`` before the image shows what is in ``delta.drafts``.

        So topics are served before others can learn of them.
        """
        self._preparers.append(preparer)

    # Snapshots ---------------------------------------------------------------

    def snapshot_reason(self, now_ms: int) -> str | None:
        """Why a snapshot is due now, None where none is: by the bytes, the time or the records since the last one.

        Source: SnapshotGenerator.publishLogDelta; the rule of records is ours.
        """
        log = self.log
        if self._unpublished:
            return None  # the image lacks what the log has
        if log.bytes_since_snapshot >= self._max_bytes_between_snapshots:
            return f"{log.bytes_since_snapshot} bytes were written or read since the last one"
        if log.records_since_snapshot > MAX_RECORDS_TO_LOAD:
            return f"a start would read {log.records_since_snapshot} records"
        interval_ms = self._max_snapshot_interval_ms
        if interval_ms and log.bytes_since_snapshot and now_ms - self._last_snapshot_ms >= interval_ms:
            return f"{interval_ms} ms have passed since the last one"
        return None

    def begin_snapshot(self, now_ms: int) -> PendingSnapshot | None:
        """A snapshot of the image as it is now (``MetadataLog.begin_snapshot``)."""
        self._last_snapshot_ms = now_ms
        return self.log.begin_snapshot(self.image, now_ms)

    def write_snapshot(self, now_ms: int) -> None:
        """Writes a snapshot before it returns, and removes what is no longer needed.

        Raises KafkaError, OSError, UnwritableMetadataError.
        """
        pending = self.begin_snapshot(now_ms)
        if pending is not None:
            self.log.write_snapshot(pending.snapshot_id, list(pending.batches))
            self.log.complete_snapshot(pending)
            self.log.clean(now_ms)

    def write_snapshot_at_stop(self, now_ms: int) -> None:
        """Writes a snapshot if the next start would read many records without it; logs a warning if that fails."""
        if self.log.records_since_snapshot <= MAX_RECORDS_AFTER_STOP or self._unpublished:
            return
        try:
            self.write_snapshot(now_ms)
        except (KafkaError, OSError, UnwritableMetadataError) as error:
            logger.warning("could not write a snapshot of the metadata, the next start takes longer: %s", error)

    # Publication -------------------------------------------------------------

    def _replayed(
        self,
        records: Iterable[tuple[Message, int]],
        delta: MetadataDelta,
        position: Callable[[MetadataImage], None],
        preparers: Sequence[Subscriber] = (),
    ) -> Steps[None]:
        """Until records (with their versions) are in the image. ``position`` notes in it how far it has come."""
        image = self._newest
        self._unpublished += 1
        try:
            for count, (record, version) in enumerate(records):
                if not count % RECORDS_A_STEP:
                    yield
                replay_aside(image, record, delta, version)
            self.image = image.view()  # with configs that topics are served by, but without the drafts
            for preparer in preparers:
                yield from preparer(self.image, delta)
        finally:
            # Whatever a disk said: the records are in the log.
            publish(image, delta)
            self._unpublished -= 1
            position(image)
            self.image = image.view()

    def _tell(self, delta: MetadataDelta) -> Steps[None]:
        """Takes the steps of all subscribers."""
        image = self.image
        for subscriber in self._subscribers:
            yield from subscriber(image, delta)

    def supported_features(self) -> dict[str, tuple[int, int]]:
        """Feature name -> lowest and highest level that this broker supports."""
        return SUPPORTED_FEATURES

    def finalized_features(self) -> dict[str, int]:
        """Feature name -> finalised level, of the features that this broker supports.

        A real Kafka's directory may have more (share.version): a client that saw those would rely on them.
        """
        finalized = {name: level for name, level in self.image.features.items() if name in SUPPORTED_FEATURES}
        if self.log.kraft_version:
            finalized[KRAFT_VERSION] = self.log.kraft_version
        return finalized

    def finalized_features_epoch(self) -> int:
        """The metadata offset up to which the finalised levels are known."""
        return self.image.last_offset


def run_at_once(steps: Iterator[object], failed: Callable[[Exception], None]) -> None:
    """Takes all steps; what one raises goes to the caller."""
    for _ in steps:
        pass
