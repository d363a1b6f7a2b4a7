"""The metadata image that a broker reads, and the subscribers to its changes.

Shell. Owns: the image, its publication in steps, its snapshots. Never does: deciding a change, knowing the source of
its records: :mod:`.service` writes them, :mod:`.followed` gets them from the controllers of a cluster. Invariant:
readers see a topic either before or after a change. Source: Kafka's MetadataLoader.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.structure import Message

from ...config.errors import ConfigError
from ...config.server_config import ServerConfig
from ..image.features import KRAFT_VERSION, SUPPORTED_FEATURES, levels_problem
from ..image.image import MetadataDelta, MetadataImage, problem_of
from ..image.replay import publish, replay_aside
from ..log.metadata_log import MetadataLog, PendingSnapshot
from ..log.snapshot import UnwritableMetadataError


class Turns:
    """The queue of changes."""

    def __init__(self) -> None:
        self._waiting: deque[Callable[[], object]] = deque()
        self.is_acquired = False

    def __len__(self) -> int:
        """The number of waiting changes."""
        return len(self._waiting)

    def acquire(self, begin: Callable[[], object]) -> None:
        """Calls ``begin`` when the caller has the turn: at once if no other change has it."""
        if self.is_acquired:
            self._waiting.append(begin)
        else:
            self.is_acquired = True
            begin()

    def release(self) -> None:
        """Ends a turn. The next one begins at once."""
        assert self.is_acquired, "a turn was released twice"
        if self._waiting:
            self._waiting.popleft()()
        else:
            self.is_acquired = False

    def close(self) -> None:
        """Drops the waiting changes, because the broker stops."""
        self._waiting.clear()


logger = logging.getLogger(__name__)

RunSteps = Callable[[Iterator[object], Callable[[Exception], None]], object]
"""Runs the steps of a change, and calls back with the exception of a step (``Slices.start``)."""
Subscriber = Callable[[MetadataImage, MetadataDelta], Iterator[None]]
RECORDS_A_STEP = 64
"""The number of records replayed in one step: up to 5 us each."""
MAX_RECORDS_TO_LOAD = 20_000
"""A running broker writes a snapshot if there are more records than this after the latest one: a start after a kill
would take about half a second to read them.
"""
MAX_RECORDS_AFTER_STOP = 1_000
"""A stop writes a snapshot if there are more records than this after the latest one. A snapshot has one record for each
partition; each start and stop adds two to the log.
"""


class PublishedMetadata:
    """The image, and the publication of its changes."""

    def __init__(
        self, log: MetadataLog, config: ServerConfig, cluster_id: str, directory_id: bytes, now_ms: int
    ) -> None:
        """``directory_id``: that of the metadata log's directory."""
        self._newest = MetadataImage()
        """The state after all records. It is modified during a change."""
        self.image = self._newest.view()
        """The image for readers: a new, immutable one after each change."""
        self.cluster_id = cluster_id
        self.node_id = config.node_id
        self._run: RunSteps = run_at_once
        self.turns = Turns()
        """The queue of changes."""
        self.log = log
        self.directory_id = directory_id
        """The id of the metadata log's directory."""
        self._max_bytes_between_snapshots = config.get_int("metadata.log.max.record.bytes.between.snapshots")
        self._max_snapshot_interval_ms = config.get_int("metadata.log.max.snapshot.interval.ms")
        self._last_snapshot_ms = now_ms
        self._unpublished = 0
        """The number of changes in the log that are not in the image yet."""
        self._preparers: list[Subscriber] = []
        self._subscribers: list[Subscriber] = []

    def run(self, steps: Iterator[object], failed: Callable[[Exception], None]) -> None:
        """Runs the steps of a change; calls ``failed`` with the exception of a step."""
        self._run(steps, failed)

    def run_with(self, run: RunSteps) -> None:
        """Runs the steps of changes with ``run`` from now on. Before that, all steps of a change run at once."""
        self._run = run

    def check_feature_levels(self) -> None:
        """Raises ConfigError if the log finalised a level that this broker does not support."""
        problem = levels_problem(self.image.features)
        if problem is not None:
            raise ConfigError([problem])

    def subscribe(self, subscriber: Subscriber) -> None:
        """Runs the steps of ``subscriber(image, delta)`` after each change, before its request is answered."""
        self._subscribers.append(subscriber)

    def prepare(self, preparer: Subscriber) -> None:
        """Runs the steps of ``preparer(image, delta)`` before ``delta.drafts`` are put into the image.

        So topics are served before clients can see them.
        """
        self._preparers.append(preparer)

    # Snapshots ---------------------------------------------------------------

    def snapshot_reason(self, now_ms: int) -> str | None:
        """Why a snapshot is due now, or None: the bytes, the time or the records since the last one.

        Source: SnapshotGenerator.publishLogDelta; the rule of records is ours.
        """
        log = self.log
        if self._unpublished:
            return None  # the image lacks records of the log
        if log.bytes_since_snapshot >= self._max_bytes_between_snapshots:
            return f"{log.bytes_since_snapshot} bytes were written or read since the last one"
        if log.records_since_snapshot > MAX_RECORDS_TO_LOAD:
            return f"a start would read {log.records_since_snapshot} records"
        interval_ms = self._max_snapshot_interval_ms
        if interval_ms and log.bytes_since_snapshot and now_ms - self._last_snapshot_ms >= interval_ms:
            return f"{interval_ms} ms have passed since the last one"
        return None

    def begin_snapshot(self, now_ms: int) -> PendingSnapshot | None:
        """Starts a snapshot of the present image (``MetadataLog.begin_snapshot``)."""
        self._last_snapshot_ms = now_ms
        return self.log.begin_snapshot(self.image, now_ms)

    def write_snapshot(self, now_ms: int) -> None:
        """Writes a snapshot before it returns, and removes old snapshots and segments.

        Raises KafkaError, OSError, UnwritableMetadataError.
        """
        pending = self.begin_snapshot(now_ms)
        if pending is not None:
            if self.log.flusher.is_dirty:
                self.log.flusher.flush()
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
            logger.warning("could not write a snapshot of the metadata; the next start takes longer: %s", error)

    # Publication -------------------------------------------------------------

    def _replayed(
        self,
        records: Iterable[tuple[Message, int]],
        delta: MetadataDelta,
        position: Callable[[MetadataImage], None],
        preparers: Sequence[Subscriber] = (),
        contradiction: Callable[[str], Exception] | None = None,
    ) -> Steps[None]:
        """Steps that replay records (with their versions) into the image. ``position`` sets the image's offset.

        ``contradiction``: makes the error to raise for the last record if it can't be replayed; None for records that
        this broker has decided itself.
        """
        image = self._newest
        self._unpublished += 1
        try:
            for count, (record, version) in enumerate(records):
                if not count % RECORDS_A_STEP:
                    yield
                try:
                    replay_aside(image, record, delta, version)
                except Exception as error:
                    # Any kind, as at a start: a record may break a rule that no check covers.
                    if contradiction is None:
                        raise
                    raise contradiction(problem_of(record, error)) from error
            self.image = image.view()  # with the new configs, which topics need, but without the drafts
            for preparer in preparers:
                yield from preparer(self.image, delta)
        finally:
            # Even after a disk error, since the records are in the log.
            publish(image, delta)
            self._unpublished -= 1
            position(image)
            self.image = image.view()

    def _run_subscribers(self, delta: MetadataDelta) -> Steps[None]:
        """Runs the steps of all subscribers."""
        image = self.image
        for subscriber in self._subscribers:
            yield from subscriber(image, delta)

    def supported_features(self) -> dict[str, tuple[int, int]]:
        """Feature name -> lowest and highest level that this broker supports."""
        return SUPPORTED_FEATURES

    def finalized_features(self) -> dict[str, int]:
        """Feature name -> finalised level, of the features that this broker supports.

        The directory of a newer Kafka may have more, on which a client would rely if it saw them.
        """
        finalized = {name: level for name, level in self.image.features.items() if name in SUPPORTED_FEATURES}
        if self.log.kraft_version:
            finalized[KRAFT_VERSION] = self.log.kraft_version
        return finalized

    def finalized_features_epoch(self) -> int:
        """The metadata offset up to which the finalised levels are known."""
        return self.image.last_offset


def run_at_once(steps: Iterator[object], failed: Callable[[Exception], None]) -> None:
    """Runs all steps. Exceptions go to the caller."""
    for _ in steps:
        pass
