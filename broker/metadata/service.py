"""The metadata service: the image, its log, and who is told of changes. What handlers and the daemon use.

    metadata = MetadataService.open(directory, config, directory_ids=[...], now_ms=..., random_uuid=...)
    metadata.start(endpoints, now_ms)           # registers, unfences, elects: epochs are final now
    metadata.subscribe(on_change)
    ...
    metadata.stop(now_ms)                       # fences; then LogDirectory.close(metadata.broker_epoch)

Shell: appends the records of a decision, flushes, replays, lets subscribers act, and only then the handler answers.
All of this goes in steps, which :attr:`MetadataService.run` takes in slices of the event loop. One change at a time is
under way, the next ones wait for their turn. Readers see a topic as it was before a change or as it is after it.
Source: Kafka's QuorumController and BrokerLifecycleManager.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Protocol

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.structure import Message
from ...protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ...protocol.steps import Steps, run_to_end
from ...storage.directory.log_directory import LogDirectory
from ...storage.files.meta_properties import uuid_text
from ..config.errors import ConfigError
from ..config.server_config import ServerConfig
from ..controller.directories import Replica, assignment_records, cordoned_records
from ..controller.elections import elect_at_start
from ..controller.registration import (
    abort_record,
    auto_created,
    bootstrap_records,
    producer_id_block,
    registration_records,
    stop_records,
)
from ..controller.topics import create_topics
from .decision import Controller, Decision, Response
from .features import (
    DIRECTORY_ASSIGNMENT_SUPPORTED,
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    SUPPORTED_FEATURES,
    levels_problem,
)
from .image import Endpoint, MetadataDelta, MetadataImage
from .metadata_log import MetadataLog, PendingSnapshot
from .replay import problem_of, publish, replay, replay_aside
from .snapshot import UnwritableMetadataError
from .turns import Turns

logger = logging.getLogger(__name__)

Subscriber = Callable[[MetadataImage, MetadataDelta], Iterator[None]]
Done = Callable[[Response | KafkaError], None]
"""Called with a decision's response, or with what went wrong."""
RECORDS_A_STEP = 64
"""Records that one step replays: up to 5 us each."""
MAX_RECORDS_PER_USER_OPERATION = 10_000
"""``QuorumController.MAX_RECORDS_PER_USER_OP``."""
MAX_RECORDS_TO_LOAD = 20_000
"""With more records than this behind the latest snapshot, one is written while the broker runs, so that a start after a
kill needn't read them: about half a second's worth."""
MAX_RECORDS_AFTER_STOP = 1_000
"""With more than this one is written at a stop, where nobody waits for it: it has a record for each partition, the log
two more with each start and stop."""


class MetadataService:
    """The image and the only way to change it."""

    def __init__(
        self,
        log: MetadataLog,
        controller: Controller,
        cluster_id: str,
        directory_ids: Sequence[bytes],
        clean_epoch: int,
        now_ms: int,
    ) -> None:
        """``clean_epoch``: the broker epoch in the clean-shutdown marker, -1 without one."""
        self.image = MetadataImage()
        self.controller = controller
        self.cluster_id = cluster_id
        self.node_id = controller.node_id
        self.broker_epoch = -1
        """The offset of our RegisterBroker record; -1 before :meth:`start`."""
        self.refusal: str | None = None
        """Why clients may change nothing, None where they may."""
        self.run: Callable[[Iterator[object], Callable[[Exception], None]], object] = run_at_once
        """Takes the steps of what is asked for, and calls back with what a step raised: ``Slices.start`` once the
        broker serves, all steps at once before."""
        self.turns = Turns()
        """Of those who change the image."""
        self.log = log
        self.directory_id = directory_ids[0]
        """The directory of the metadata log: the voter's."""
        self.controller_endpoint = controller_endpoint(controller.config)
        self._directory_ids = directory_ids
        self._clean_epoch = clean_epoch
        self._max_bytes_between_snapshots = controller.config.get_int("metadata.log.max.record.bytes.between.snapshots")
        self._max_snapshot_interval_ms = controller.config.get_int("metadata.log.max.snapshot.interval.ms")
        self._last_snapshot_ms = now_ms
        self._unpublished = 0
        """Changes that are in the log and not yet in the image."""
        self._preparers: list[Subscriber] = []
        self._subscribers: list[Subscriber] = []
        self._producer_ids = iter(range(0))

    @classmethod
    def open(
        cls,
        directory: LogDirectory,
        config: ServerConfig,
        *,
        directory_ids: Sequence[bytes],
        now_ms: int,
        random_uuid: Callable[[], bytes],
        cluster_id: str | None = None,
        clean_epoch: int | None = None,
    ) -> "MetadataService":
        """Opens ``__cluster_metadata-0`` and loads the image; a directory that is new is formatted.

        ``cluster_id`` is for a new directory (any text, as Kafka's StorageTool takes it; None: a random one): one that
        was formatted keeps its own, as with Apache Kafka's image. ``directory_ids`` are those of all of the broker's
        log directories, this one's first; ``clean_epoch`` is the broker epoch that the markers of the clean stop agree
        on (None: that of this directory). Raises ConfigError for a directory of another node or of a later Kafka;
        KafkaError and OSError of the disk; MetadataLogError for a log that can't be read.
        """
        if directory.meta is None:
            directory.format(cluster_id or uuid_text(random_uuid()), config.node_id, directory_ids[0])
        meta = directory.meta
        assert meta is not None
        if meta.node_id != config.node_id:
            raise ConfigError(
                [
                    f"{directory.path}: Stored node id {meta.node_id} doesn't match node.id {config.node_id}: "
                    f"start with --override node.id={meta.node_id} to serve this directory"
                ]
            )
        log = MetadataLog.open(directory, config.node_id, controller_endpoint(config), config, now_ms)
        controller = Controller(config.node_id, config, random_uuid)
        clean_epoch = directory.previous_broker_epoch if clean_epoch is None else clean_epoch
        service = cls(log, controller, meta.cluster_id, directory_ids, clean_epoch, now_ms)
        service._load()
        return service

    def _load(self) -> None:
        unheard = MetadataDelta()
        image = self.image
        for offset, epoch, timestamp_ms, message, version in self.log.load():
            try:
                replay(image, message, unheard, version)
            except Exception as contradiction:
                # Any kind: a record may break a rule that no check foresaw. Without the whole log there is no metadata
                # to serve by, so the start ends, as Kafka's does (the fault handlers of loader and controller).
                raise self.log.contradiction(offset, problem_of(message, contradiction)) from contradiction
            image.last_offset, image.last_epoch, image.last_timestamp_ms = offset, epoch, timestamp_ms
        image.last_offset = self.log.log_end_offset - 1
        if not image.is_empty:
            self._check_feature_levels()

    def _check_feature_levels(self) -> None:
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

    def start(
        self,
        endpoints: Sequence[Endpoint],
        now_ms: int,
        *,
        directory_ids: Sequence[bytes] | None = None,
        cordoned: Sequence[bytes] = (),
        lies_in: Mapping[Replica, bytes] = MappingProxyType({}),
    ) -> None:
        """Becomes the leader of a new epoch, registers with these endpoints, unfences, elects.

        ``directory_ids`` are those of the directories that are online (None: all), ``cordoned`` those that take no new
        partitions, ``lies_in`` says in which directory each partition was found.
        """
        previous = self.image.brokers.get(self.node_id)
        clean = previous is None or previous.epoch == self._clean_epoch
        self.log.become_leader(self.node_id, now_ms)
        if self.log.has_open_transaction:
            self.commit([abort_record()], now_ms)
        self._bootstrap(now_ms)
        self.broker_epoch = self.log.log_end_offset
        online = self._directory_ids if directory_ids is None else directory_ids
        if self.image.metadata_version < DIRECTORY_ASSIGNMENT_SUPPORTED:
            online = ()  # before KIP-858 a registration could not name them
        self.commit(registration_records(self.controller, endpoints, online, self.broker_epoch), now_ms)
        self.commit(cordoned_records(self.image, self.controller, cordoned), now_ms)
        self.commit(assignment_records(self.image, self.node_id, lies_in), now_ms)
        self.commit(elect_at_start(self.image, self.controller, clean=clean), now_ms)

    def _bootstrap(self, now_ms: int) -> None:
        """The first records of a fresh cluster, where there are none yet."""
        if METADATA_VERSION not in self.image.features:
            # A directory that Kafka's own tool has formatted begins as that tool was told.
            records = bootstrap_records(self.controller.config, self.log.bootstrap_records())
            run_to_end(self._written(records, LATEST_METADATA_VERSION, now_ms, MetadataDelta()))
            self._check_feature_levels()

    def seed(self, records_for: Callable[[int], Sequence[Message]], now_ms: int) -> None:
        """Writes what a new metadata log begins with, instead of :meth:`start`: behind the features these records, for
        the metadata.version that they finalise.

        Nobody is registered afterwards: whoever starts on the directory next does that. Raises KafkaError.
        """
        self.log.become_leader(self.node_id, now_ms)
        self._bootstrap(now_ms)
        self.commit(records_for(self.image.metadata_version), now_ms)

    def stop(self, now_ms: int) -> None:
        """Writes the records of a stop, so that the next start (a real Kafka's too) need not wait for a session.

        Where the disk refuses it, a warning says so and the stop goes on.
        """
        try:
            records = stop_records(self.image, self.controller)
            if records:
                run_to_end(self._written(records, self.image.metadata_version, now_ms, MetadataDelta()))
        except KafkaError as error:
            logger.warning("could not write the records of a stop, the next start (of a Kafka) waits for it: %s", error)
        if self.log.records_since_snapshot > MAX_RECORDS_AFTER_STOP and not self._unpublished:
            try:
                self.write_snapshot(now_ms)
            except (KafkaError, OSError, UnwritableMetadataError) as error:
                logger.warning("could not write a snapshot of the metadata, the next start takes longer: %s", error)

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

    # Changes -----------------------------------------------------------------

    def change(self, decide: Callable[[], Steps[Decision[Response]]], now_ms: int, done: Done[Response]) -> None:
        """Decides when the changes asked for before are done, carries it out, and calls ``done``.

        It goes on when the client is gone. The error is POLICY_VIOLATION for more records than Kafka writes for one
        request or if the broker only reads (:attr:`refusal`), what the decision raised, or what the disk says.
        """

        def failed(error: Exception) -> None:
            logger.error("a change of the metadata failed", exc_info=error)
            done(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))

        self.turns.take(partial(self.run, self._change(decide, now_ms, done), failed))

    def _change(
        self, decide: Callable[[], Steps[Decision[Response]]], now_ms: int, done: Done[Response]
    ) -> Iterator[None]:
        result: Response | KafkaError
        try:
            decision = yield from decide()
            result = yield from self.carry_out(decision, now_ms)
        except KafkaError as error:
            result = error
        finally:
            self.turns.give_back()
        done(result)

    def record(
        self, records: Callable[[], Sequence[Message]], now_ms: int, failed: Callable[[KafkaError], None]
    ) -> None:
        """A change of the broker's own, in its turn: no limit holds for it. ``failed`` gets what the disk said."""

        def broken(error: Exception) -> None:
            logger.error("a change of the metadata failed", exc_info=error)
            failed(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))

        def steps() -> Iterator[None]:
            try:
                wanted = records()
                if wanted:
                    yield from self._commit(wanted, self.image.metadata_version, now_ms)
            except KafkaError as error:
                failed(error)
            finally:
                self.turns.give_back()

        self.turns.take(partial(self.run, steps(), broken))

    def carry_out(self, decision: Decision[Response], now_ms: int) -> Steps[Response]:
        """Commits a decision's records and gives its response; the caller has the turn. Raises KafkaError."""
        if self.refusal is not None and decision.records:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, self.refusal)
        if len(decision.records) > MAX_RECORDS_PER_USER_OPERATION:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        if decision.records:
            yield from self._commit(decision.records, self.image.metadata_version, now_ms)
        return decision.response

    def commit(self, records: Sequence[Message], now_ms: int) -> None:
        """Appends, flushes, replays, lets the subscribers act, all at once: for few records.

        The caller has the turn, or no other change can depend on these records. Raises KafkaError if the disk refuses.
        """
        if records:
            run_to_end(self._commit(records, self.image.metadata_version, now_ms))

    def _commit(self, records: Sequence[Message], metadata_version: int, now_ms: int) -> Steps[None]:
        image, delta = self.image, MetadataDelta()
        yield from self._written(records, metadata_version, now_ms, delta, self._preparers)
        for subscriber in self._subscribers:
            yield from subscriber(image, delta)

    def _written(
        self,
        records: Sequence[Message],
        metadata_version: int,
        now_ms: int,
        delta: MetadataDelta,
        preparers: Sequence[Subscriber] = (),
    ) -> Steps[None]:
        """Until the records are in the log and in the image. Raises KafkaError."""
        image = self.image
        yield from self.log.append(records, metadata_version, now_ms)
        self._unpublished += 1
        try:
            for count, record in enumerate(records):
                if not count % RECORDS_A_STEP:
                    yield
                replay_aside(image, record, delta)
            for preparer in preparers:
                yield from preparer(image, delta)
        finally:
            # Whatever a disk said: the records are in the log.
            publish(image, delta)
            self._unpublished -= 1
            image.last_offset = self.log.log_end_offset - 1
            image.last_epoch, image.last_timestamp_ms = self.log.leader_epoch, now_ms

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

    def auto_create(self, names: Sequence[str], now_ms: int, done: Callable[[dict[str, ErrorCode]], None]) -> None:
        """Creates topics with the defaults, or as Kafka's internal topics are; ``done`` gets the outcome of each name.

        One that another request has created since is no error.
        """

        def answer(response: CreateTopicsResponse | KafkaError) -> None:
            if isinstance(response, KafkaError):
                done(dict.fromkeys(names, response.error_code))
                return
            outcomes = dict.fromkeys(names, ErrorCode.NONE)
            for topic in response.topics:
                outcomes[topic.name] = ErrorCode(topic.error_code)
                if topic.error_code:
                    logger.warning("could not create topic %r: %r", topic.name, topic.error_message)
            done(outcomes)

        self.change(partial(self._auto_created, names), now_ms, answer)

    def _auto_created(self, names: Sequence[str]) -> Steps[Decision[CreateTopicsResponse]]:
        config = self.controller.config
        missing = [name for name in names if name not in self.image.topics_by_name]
        request = CreateTopicsRequest([auto_created(name, config) for name in missing])
        return (yield from create_topics(self.image, request, self.controller))

    def ensure_topic(self, name: str, now_ms: int) -> None:
        """Creates a topic of the broker's own (``__consumer_offsets``) if it is not there. Raises KafkaError.

        Such a topic has few partitions, and no files at first: it is created at once. While another change is under way
        the error is COORDINATOR_NOT_AVAILABLE, with which clients ask again.
        """
        if name in self.image.topics_by_name:
            return
        if self.turns.is_taken:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{name} can't be created yet")
        decision = run_to_end(self._auto_created([name]))
        run_to_end(self.carry_out(decision, now_ms))
        for topic in decision.response.topics:
            if topic.error_code:
                logger.warning("could not create topic %r: %r", topic.name, topic.error_message)
                raise KafkaError(ErrorCode(topic.error_code), f"could not create {name}")

    def next_producer_id(self, now_ms: int) -> int:
        """A producer id that was never given out; a block of 1000 is taken where the last one is used up."""
        for producer_id in self._producer_ids:
            return producer_id
        block, records = producer_id_block(self.image, self.controller)
        self.commit(records, now_ms)
        self._producer_ids = iter(block)
        return next(self._producer_ids)


def run_at_once(steps: Iterator[object], failed: Callable[[Exception], None]) -> None:
    """Takes all steps; what one raises goes to the caller."""
    for _ in steps:
        pass


def controller_endpoint(config: ServerConfig) -> tuple[str, str, int]:
    """Listener, host and port of the voter: the first controller listener, or Kafka's usual one if there is none."""
    for listener in config.controller_listeners:
        return listener.name, listener.host or "localhost", listener.port
    return "CONTROLLER", "localhost", 9093


class HasMetadata(Protocol):
    """What the handlers of metadata APIs need of a broker."""

    @property
    def metadata(self) -> MetadataService:
        """The metadata service."""
