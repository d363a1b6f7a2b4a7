"""The metadata of a broker that is its own controller: the only way to write records.

    metadata = MetadataService.open(directory, config, directory_id=..., now_ms=..., random_uuid=...)
    metadata.subscribe(on_change)
    metadata.change(decide, now_ms, done)

Shell: appends the records of a decision, flushes, replays, calls the subscribers, and then answers. Never does:
deciding what a change consists of (:mod:`..controller` does). All steps of a change run in slices of the event loop
(:meth:`PublishedMetadata.run`). One change runs at a time, the next ones wait for their turn.
Source: QuorumController.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.structure import Message
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.meta_properties import uuid_text

from ...config.errors import ConfigError
from ...config.server_config import ServerConfig
from ..image.features import BOOTSTRAP_FEATURES, feature_records
from ..image.image import MetadataDelta, MetadataImage, problem_of
from ..image.replay import replay
from ..log.voter_log import VoterLog
from .decision import Decision, Response
from .published import PublishedMetadata, Subscriber

logger = logging.getLogger(__name__)

Done = Callable[[Response | KafkaError], None]
"""Called with a decision's response, or with the error."""
RECORDS_A_STEP = 64
"""Records that one step replays: up to 5 us each."""
MAX_RECORDS_PER_USER_OPERATION = 10_000
"""``QuorumController.MAX_RECORDS_PER_USER_OP``."""


class OnlyVoter(NamedTuple):
    """The voter of a metadata log that no other node has. ``listener``: the name of its controller listener."""

    cluster_id: str
    node_id: int
    directory_id: bytes
    kraft_version: int
    listener: str


class MetadataService(PublishedMetadata):
    """The image of a broker that is its own controller, and the only way to change it."""

    log: VoterLog

    def __init__(
        self,
        log: VoterLog,
        config: ServerConfig,
        cluster_id: str,
        directory_id: bytes,
        now_ms: int,
    ) -> None:
        """``directory_id``: the id of the directory that holds the metadata log."""
        super().__init__(log, config, cluster_id, directory_id, now_ms)
        self._refusal: str | None = None
        self.controller_endpoint = controller_endpoint(config)

    @property
    def only_voter(self) -> OnlyVoter:
        """This node."""
        listener, _, _ = self.controller_endpoint
        return OnlyVoter(self.cluster_id, self.node_id, self.directory_id, self.log.kraft_version, listener)

    def refuse_changes(self, reason: str) -> None:
        """Refuses all changes from now on, for directories that are served read-only."""
        self._refusal = reason

    @classmethod
    def open(
        cls,
        directory: LogDirectory,
        config: ServerConfig,
        *,
        directory_id: bytes,
        now_ms: int,
        random_uuid: Callable[[], bytes],
        cluster_id: str | None = None,
        features: Mapping[str, int] = MappingProxyType(BOOTSTRAP_FEATURES),
    ) -> "MetadataService":
        """Opens ``__cluster_metadata-0`` and loads the image. Formats a new directory, with the levels of ``features``.

        ``cluster_id``: for a new directory; any text, as in Kafka's StorageTool; None for a random id. A formatted
        directory keeps its own, as with Apache Kafka's image. ``directory_id``: the id of this directory. Raises
        ConfigError for a directory of another node or of a later Kafka, KafkaError and OSError if the disk fails,
        MetadataLogError if the log can't be read.
        """
        if directory.meta is None:
            directory.format(cluster_id or uuid_text(random_uuid()), config.node_id, directory_id)
        meta = directory.meta
        assert meta is not None
        if meta.node_id != config.node_id:
            raise ConfigError(
                [
                    f"{directory.path}: Stored node id {meta.node_id} doesn't match node.id {config.node_id}: "
                    f"start with --override node.id={meta.node_id} to serve this directory"
                ]
            )
        endpoint, records = controller_endpoint(config), feature_records(features)
        log = VoterLog.open(directory, config.node_id, endpoint, config, now_ms, records)
        service = cls(log, config, meta.cluster_id, directory_id, now_ms)
        service._load()
        return service

    def _load(self) -> None:
        unused_delta = MetadataDelta()
        image = self._newest
        for offset, epoch, timestamp_ms, message, version in self.log.load():
            try:
                replay(image, message, unused_delta, version)
            except Exception as contradiction:
                # Any kind: a record may break a rule that no check covers. The broker can't serve without the whole
                # metadata log, so the start fails, as Kafka's does (the fault handlers of loader and controller).
                raise self.log.contradiction(offset, problem_of(message, contradiction)) from contradiction
            image.last_offset, image.last_epoch, image.last_timestamp_ms = offset, epoch, timestamp_ms
        image.last_offset = self.log.log_end_offset - 1
        self.image = image.view()
        if not image.is_empty:
            self.check_feature_levels()

    # Changes -----------------------------------------------------------------

    def change(self, decide: Callable[[], Steps[Decision[Response]]], now_ms: int, done: Done[Response]) -> None:
        """Decides and carries out a change after the earlier changes are done. Then calls ``done``.

        The change is carried out even if the client disconnects. ``done`` gets POLICY_VIOLATION if the change has more
        records than Kafka writes for one request, or if clients may not change the metadata (:meth:`refuse_changes`).
        Otherwise it gets the error of the decision or of the disk.
        """

        def failed(error: Exception) -> None:
            logger.error("a change of the metadata failed", exc_info=error)
            done(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR))

        self.turns.acquire(partial(self.run, self._change(decide, now_ms, done), failed))

    def _change(
        self, decide: Callable[[], Steps[Decision[Response]]], now_ms: int, done: Done[Response]
    ) -> Iterator[None]:
        result: Response | KafkaError
        try:
            decision = yield from decide()
            result = yield from self.carry_out(decision, now_ms)
        except KafkaError as error:
            result = error.with_traceback(None)  # the traceback holds this frame: a cycle
        finally:
            self.turns.release()
        done(result)

    def record(
        self, records: Callable[[], Sequence[Message]], now_ms: int, failed: Callable[[KafkaError], None]
    ) -> None:
        """Carries out a change that the broker itself needs, after the earlier changes. It has no limit of records.

        ``records`` returns the records to write; none if nothing is to change. ``failed`` gets the error of the disk.
        """

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
                self.turns.release()

        self.turns.acquire(partial(self.run, steps(), broken))

    def carry_out(self, decision: Decision[Response], now_ms: int) -> Steps[Response]:
        """Commits a decision's records and returns its response. The caller has the turn. Raises KafkaError."""
        if self._refusal is not None and decision.records:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, self._refusal)
        if len(decision.records) > MAX_RECORDS_PER_USER_OPERATION:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        if decision.records:
            yield from self._commit(decision.records, self.image.metadata_version, now_ms)
        return decision.response

    def commit(self, records: Sequence[Message], now_ms: int) -> None:
        """Appends, flushes and replays a few records and calls the subscribers, all before it returns.

        The caller has the turn, or no other change can depend on these records. Raises KafkaError if the disk fails.
        """
        if records:
            run_to_end(self._commit(records, self.image.metadata_version, now_ms))

    def write(self, records: Sequence[Message], now_ms: int, metadata_version: int | None = None) -> None:
        """Does the same as :meth:`commit` but calls no subscriber: for starts and stops.

        ``metadata_version`` decides the versions of the records; None means the finalised one. Raises KafkaError.
        """
        version = self.image.metadata_version if metadata_version is None else metadata_version
        run_to_end(self._written(records, version, now_ms, MetadataDelta()))

    def _commit(self, records: Sequence[Message], metadata_version: int, now_ms: int) -> Steps[None]:
        delta = MetadataDelta()
        yield from self._written(records, metadata_version, now_ms, delta, self._preparers)
        yield from self._run_subscribers(delta)

    def _written(
        self,
        records: Sequence[Message],
        metadata_version: int,
        now_ms: int,
        delta: MetadataDelta,
        preparers: Sequence[Subscriber] = (),
    ) -> Steps[None]:
        """Writes the records to the log and replays them into the image. Raises KafkaError."""
        yield from self.log.append(records, metadata_version, now_ms)

        def position(image: MetadataImage) -> None:
            image.last_offset = self.log.log_end_offset - 1
            image.last_epoch, image.last_timestamp_ms = self.log.leader_epoch, now_ms

        yield from self._replayed(((record, 0) for record in records), delta, position, preparers)


def controller_endpoint(config: ServerConfig) -> tuple[str, str, int]:
    """Listener, host and port of the voter: the first controller listener, or Kafka's usual one if there is none."""
    for listener in config.controller_listeners:
        return listener.name, listener.host or "localhost", listener.port
    return "CONTROLLER", "localhost", 9093
