"""The metadata of a broker of a cluster: the controllers' records, applied once they are committed.

    metadata = FollowedMetadata.open(directory, config, now_ms)
    metadata.subscribe(on_change)
    yield from metadata.apply(high_watermark)

Shell. Owns: the applied offset of the copied log. Never does: fetching (:mod:`..quorum` does), writing records of its
own, overriding the controllers' decisions. Invariant: the image holds exactly the whole metadata transactions below the
high watermark. Source: MetadataLoader, MetadataBatchLoader; KIP-866.
"""

import logging
from collections.abc import Callable, Iterable, Iterator

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import TopicRecord
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.meta_properties import META_PROPERTIES

from ...config.errors import ConfigError
from ...config.server_config import ServerConfig
from ..image.image import MetadataDelta, MetadataImage, problem_of
from ..image.image_difference import difference
from ..image.replay import replay
from ..log.log_reader import LoadedRecord, MetadataLogError
from ..log.metadata_log import MetadataLog
from ..log.observer_log import ObserverLog
from ..log.snapshot_files import ReceivedSnapshot
from .published import PublishedMetadata

logger = logging.getLogger(__name__)

DECODED_RECORDS_A_STEP = 16
"""The number of records of a snapshot decoded and replayed in one step: some 25 us each."""


class FollowedMetadata(PublishedMetadata):
    """The image of a cluster whose controllers are other nodes."""

    log: ObserverLog

    def __init__(
        self, log: ObserverLog, config: ServerConfig, cluster_id: str, directory_id: bytes, now_ms: int
    ) -> None:
        """Use :meth:`open`."""
        super().__init__(log, config, cluster_id, directory_id, now_ms)
        self._next_offset = log.log_start_offset
        """The first offset that is not read yet."""

    @classmethod
    def open(cls, directory: LogDirectory, config: ServerConfig, now_ms: int) -> "FollowedMetadata":
        """Opens the copy of the metadata log and applies its latest snapshot, whose records are committed.

        Raises ConfigError if the directory is not formatted, belongs to another node, or to a broker that was its own
        controller; MetadataLogError, KafkaError and OSError of the disk.
        """
        meta = directory.meta
        where = directory.path / META_PROPERTIES
        if meta is None or not meta.directory_id:
            raise ConfigError(
                [
                    f"{where} is missing, or has no directory.id. A broker of a cluster needs directories with the"
                    " cluster's id: run `odradek storage format --config FILE --cluster-id ID` with the id that the"
                    " controllers have, or start with `odradek serve --cluster-id ID`"
                ]
            )
        if meta.node_id != config.node_id:
            raise ConfigError(
                [
                    f"{where}: Stored node id {meta.node_id} doesn't match node.id {config.node_id}: "
                    f"start with --override node.id={meta.node_id} to serve this directory"
                ]
            )
        log = ObserverLog.open(directory, config.node_id, None, config, now_ms)
        followed = cls(log, config, meta.cluster_id, meta.directory_id, now_ms)
        snapshot_id, records = log.latest_snapshot()
        if log.was_written_by(config.node_id):
            raise ConfigError(
                [
                    f"{directory.path}: in this directory the broker was its own controller, but process.roles=broker"
                    " joins another cluster. Serve the directory as before (process.roles=broker,controller), copy its"
                    " topics with MirrorMaker 2, or format a new directory: `odradek storage format`"
                ]
            )
        if snapshot_id is not None:
            followed._newest = _image_of(records, log)
            _place(followed._newest, snapshot_id.end_offset, snapshot_id.epoch)
            followed._next_offset = snapshot_id.end_offset
            followed.image = followed._newest.view()
        return followed

    @property
    def applied_offset(self) -> int:
        """The last offset in the image, or -1. Heartbeats send it to the controllers."""
        return self.image.last_offset

    def apply(self, high_watermark: int) -> Steps[None]:
        """Applies the records up to the high watermark, and runs the subscribers. Raises MetadataLogError.

        A disk error of a partition is only logged: the records are committed in the cluster in any case.
        """
        end = min(high_watermark, self.log.log_end_offset)
        if end <= self._next_offset:
            return
        runs = _Runs(self.log.committed(self._next_offset, end))
        while not runs.are_done:
            yield from self._apply_run(runs)
        self._next_offset = end
        self._newest.last_offset = self.log.applied_end(end) - 1
        self._newest.last_epoch = self.log.read_epoch
        self.image = self._newest.view()

    def _apply_run(self, runs: "_Runs") -> Steps[None]:
        delta = MetadataDelta()

        def position(image: MetadataImage) -> None:
            if runs.last is not None:
                image.last_offset, image.last_epoch = runs.last.offset, runs.last.epoch
                image.last_timestamp_ms = max(image.last_timestamp_ms, runs.last.timestamp_ms)

        def contradiction(problem: str) -> MetadataLogError:
            return self.log.contradiction(-1 if runs.last is None else runs.last.offset, problem)

        records = ((record.message, record.version) for record in runs.next(delta))
        try:
            yield from self._replayed(records, delta, position, self._preparers, contradiction)
        except KafkaError as error:
            logger.error("could not apply all of a metadata change on this broker: %s", error)
        if runs.last is not None:
            yield from self._run_subscribers(delta)

    def replace(self, received: ReceivedSnapshot, snapshot: bytes, now_ms: int) -> Steps[None]:
        """Replaces log and image by a snapshot from the controllers, and runs the subscribers with the difference.

        ``snapshot``: its bytes, from ``ObserverLog.check_received``. Until all its records are replayed, log and image
        stay as they were; then one step replaces both. Raises OSError and KafkaError of the disk, MetadataLogError.
        """
        snapshot_id = received.snapshot_id
        image = MetadataImage()
        self._unpublished += 1  # no snapshot of the old image begins now
        try:
            records = self.log.received_records(snapshot_id, snapshot)
            yield from _fill(image, records, lambda problem: self.log.contradiction_in(snapshot_id, problem))
            _place(image, snapshot_id.end_offset, snapshot_id.epoch)
            delta = yield from difference(self.image, image)
            self.log.replace_by_snapshot(received, snapshot, now_ms)
            self._newest, self._next_offset = image, snapshot_id.end_offset
            self.image = image.view()
        finally:
            self._unpublished -= 1
        # Deletions first: a new topic may have the name of a deleted one.
        yield from self._run_subscribers(MetadataDelta(deleted_topics=delta.deleted_topics))
        delta.deleted_topics = {}
        for preparer in self._preparers:
            try:
                yield from preparer(self.image, delta)
            except KafkaError as error:
                logger.error("could not apply all of a metadata snapshot on this broker: %s", error)
        delta.drafts.clear()
        yield from self._run_subscribers(delta)


class _Runs:
    """Divides records into runs, each with one delta for subscribers.

    A run ends before a record that creates a topic whose name the run has deleted.
    """

    def __init__(self, records: Iterator[LoadedRecord]) -> None:
        self.are_done = False
        self.last: LoadedRecord | None = None
        """The last record of the run; None if it is empty."""
        self._records = records
        self._held: LoadedRecord | None = None
        self._gone: set[str] = set()

    def next(self, delta: MetadataDelta) -> Iterator[LoadedRecord]:
        """The records of the next run. ``delta``: the changes of those that the caller has replayed so far."""
        self.last = None
        self._gone.clear()
        while True:
            record = next(self._records, None) if self._held is None else self._held
            self._held = None
            if record is None:
                self.are_done = True
                return
            message = record.message
            if isinstance(message, TopicRecord) and message.name in self._deleted(delta):
                self._held = record
                return
            self.last = record
            yield record

    def _deleted(self, delta: MetadataDelta) -> set[str]:
        """The names of the topics that the run has deleted."""
        if len(self._gone) != len(delta.deleted_topics):
            self._gone = {topic.name for topic in delta.deleted_topics.values()}
        return self._gone


def _image_of(records: list[LoadedRecord], log: MetadataLog) -> MetadataImage:
    image = MetadataImage()
    run_to_end(_fill(image, records, lambda problem: log.contradiction(-1, problem)))
    return image


def _fill(
    image: MetadataImage, records: Iterable[LoadedRecord], contradiction_of: Callable[[object], MetadataLogError]
) -> Steps[None]:
    """Replays the records of a snapshot. ``contradiction_of`` makes the error for a record that can't be replayed."""
    unused_delta = MetadataDelta()
    for count, record in enumerate(records, 1):
        if not count % DECODED_RECORDS_A_STEP:
            yield
        try:
            replay(image, record.message, unused_delta, record.version)
        except Exception as contradiction:
            # Any exception: a record may be invalid in a way that no check covers, and the broker needs its snapshot.
            raise contradiction_of(problem_of(record.message, contradiction)) from contradiction
        image.last_timestamp_ms = record.timestamp_ms


def _place(image: MetadataImage, end_offset: int, epoch: int) -> None:
    image.last_offset, image.last_epoch = end_offset - 1, epoch
