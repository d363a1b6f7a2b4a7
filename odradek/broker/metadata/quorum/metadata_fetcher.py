"""Copies the controllers' metadata log and applies what is committed, until it is cancelled.

Shell around :class:`.metadata_observer.MetadataObserver`. Owns: one connection, the order of append and apply. Never
does: deciding what an answer means. Invariant: one turn of the event loop applies records for 2 ms at most. Source:
KafkaRaftClient, RaftManager, MetadataLoader.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.quorum import FetchSnapshotResponse
from odradek.protocol.records.errors import CorruptRecordError
from odradek.storage.errors import StorageError
from odradek.storage.files.disk_errors import is_passing

from ...network.node_client import NodeClient, NodeSilentError, NodeUnavailableError, client_at
from ...timers.repeated_complaint import RepeatedComplaint
from ...timers.work import KindOfWork
from ..log.log_reader import MetadataLogError
from ..log.snapshot_files import ReceivedSnapshot
from ..publisher.followed import FollowedMetadata
from .known_controllers import KnownControllers
from .metadata_observer import Append, Fatal, MetadataObserver, Retry, SnapshotPiece, Step, Truncate

logger = logging.getLogger(__name__)

METADATA = KindOfWork("metadata-log", "follows the controllers' metadata log")

REQUEST_TIMEOUT_S = 2.0
"""``controller.quorum.request.timeout.ms``. A controller may hold a Fetch response back for 500 ms of it."""
FETCH_MAX_VERSION = 18
RECONNECT_MS = 100
TURN_S = 0.002


class MetadataFetcher:
    """Keeps one broker's metadata in step with the quorum's."""

    def __init__(
        self,
        metadata: FollowedMetadata,
        controllers: KnownControllers,
        *,
        applied: Callable[[int], None],
        fail: Callable[[str], None],
        led_anew: Callable[[], None] = lambda: None,
        clock_ms: Callable[[], int],
    ) -> None:
        """``applied`` gets the last offset that the image holds. ``fail`` gets the reason if this broker can't go on.
        ``led_anew`` is called when a new active controller is known. ``clock_ms``: wall clock, milliseconds since the
        epoch."""
        self.arrived_s = time.monotonic()
        """The time of the last progress, by the monotonic clock: an answer (with or without new metadata), or a part
        that was applied. Refusals and damaged batches do not count."""
        self.caught_up = asyncio.Event()
        """Set once the image holds what was committed when the first leader answered."""
        self._metadata = metadata
        self._controllers = controllers
        self._applied = applied
        self._fail = fail
        self._led_anew = led_anew
        self._clock_ms = clock_ms
        log = metadata.log
        self._observer = MetadataObserver(
            controllers,
            metadata.node_id,
            metadata.cluster_id,
            metadata.directory_id,
            log.end_of_epoch,
            metadata.applied_offset + 1,
        )
        self._client: NodeClient | None = None
        self._received: ReceivedSnapshot | None = None
        self._leader = (-1, 0)
        self._complaint = RepeatedComplaint("can't follow the metadata of the controllers", time.monotonic)

    async def run(self) -> None:
        """Fetches and applies until it is cancelled. Ends early after a call of ``fail``."""
        try:
            while True:
                step = await self._ask()
                if isinstance(step, Fatal):
                    self._fail(step.reason)
                    return
                await self._take(step)
        except (MetadataLogError, KafkaError, OSError) as error:
            self._fail(f"the metadata of the cluster can't be stored or applied: {error}")
        finally:
            if self._client is not None:
                self._client.close()
            self._discard_received()

    async def _ask(self) -> Step:
        """Sends one request. Returns the step that its answer asks for."""
        address = self._controllers.any()
        client_id = f"broker-{self._metadata.node_id}-metadata"
        self._client = client_at(self._client, address.host, address.port, client_id, self._controllers.security)
        log = self._metadata.log
        request = self._observer.request(log.log_end_offset, log.last_epoch)
        try:
            if isinstance(request, FetchRequest):
                fetched = await self._client.send(request, FetchResponse, REQUEST_TIMEOUT_S, FETCH_MAX_VERSION)
                step = self._observer.take_fetch(fetched, address)
            else:
                piece = await self._client.send(request, FetchSnapshotResponse, REQUEST_TIMEOUT_S)
                step = self._observer.take_snapshot(piece, address)
        except NodeUnavailableError as error:
            if isinstance(error, NodeSilentError):
                self._controllers.silent(address)
            else:
                self._controllers.failed(address)
            self._observer.lost_connection()
            step = Retry(RECONNECT_MS, str(error))
        if isinstance(step, Retry):
            self._controllers.has_problem(address, step.reason)
        return step

    async def _take(self, step: Retry | Append | Truncate | SnapshotPiece) -> None:
        """Carries out what an answer asks for. Raises KafkaError, OSError, MetadataLogError."""
        if isinstance(step, Retry):
            if step.delay_ms:
                self._complaint.complain(self._controllers.problems)
            await asyncio.sleep(step.delay_ms / 1000)
            return
        if not self._store(step):
            await asyncio.sleep(RECONNECT_MS / 1000)
        elif isinstance(step, SnapshotPiece) and step.is_last:
            await self._take_snapshot(step)
        else:
            self._arrived()
            if isinstance(step, Append):
                await self._apply()

    def _store(self, step: Append | Truncate | SnapshotPiece) -> bool:
        """Writes what an answer brings. Returns False if the same must be fetched again: it was damaged, or the disk is
        full.

        A full disk does not end the broker. It fetches again until there is space; none of that counts as progress.
        """
        try:
            self._write(step)
        except CorruptRecordError as damage:
            self._complaint.complain(f"{self._controllers.active} sent damaged batches: {damage}")
        except (StorageError, OSError) as error:
            if not is_passing(error):
                raise
            self._complaint.complain(f"can't write it to disk: {error}")
            self._observer.lost_connection()  # a snapshot begins anew
            self._discard_received()
        else:
            return True
        return False

    def _write(self, step: Append | Truncate | SnapshotPiece) -> None:
        log = self._metadata.log
        self._remember_leader()
        if isinstance(step, Truncate):
            logger.info("truncating the metadata log to offset %d, where the leader's differs", step.offset)
            log.truncate_to(step.offset)
        elif isinstance(step, Append):
            log.append_fetched(step.records, self._clock_ms())
        else:
            if step.position == 0:
                self._discard_received()
                self._received = log.receive_snapshot(step.snapshot_id)
            assert self._received is not None
            self._received.write(step.records)

    def _arrived(self) -> None:
        self.arrived_s = time.monotonic()
        self._controllers.has_sent_metadata()
        self._complaint.resolved()

    async def _apply(self) -> None:
        await self._in_turns(self._metadata.apply(self._observer.high_watermark))
        self._report_applied()

    async def _take_snapshot(self, piece: SnapshotPiece) -> None:
        """Replaces log and image by a snapshot whose last piece is written."""
        received = self._received
        assert received is not None
        try:
            snapshot = await METADATA.awaited_on_thread(self._metadata.log.check_received, received)
        except MetadataLogError as damage:
            self._discard_received()
            self._complaint.complain(f"{self._controllers.active} sent a damaged snapshot: {damage}")
            await asyncio.sleep(RECONNECT_MS / 1000)
            return
        self._arrived()
        logger.info("loading the metadata snapshot %s of the controllers", piece.snapshot_id.file_name)
        await self._in_turns(self._metadata.replace(received, snapshot, self._clock_ms()))
        self._received = None
        self._report_applied()

    def _discard_received(self) -> None:
        if self._received is not None:
            self._received.discard()
            self._received = None

    def _report_applied(self) -> None:
        self._applied(self._metadata.applied_offset)
        if self._observer.is_known and self._metadata.applied_offset + 1 >= self._observer.high_watermark:
            self.caught_up.set()

    def _remember_leader(self) -> None:
        leader = self._controllers.leader_id, self._controllers.leader_epoch
        if leader != self._leader and leader[0] >= 0:
            self._metadata.log.remember_leader(*leader)
            self._leader = leader
            logger.info("the active controller is node %d, epoch %d", *leader)
            self._led_anew()

    async def _in_turns(self, steps: Iterator[object]) -> None:
        """Runs all steps, for :data:`TURN_S` in one turn of the event loop. Each turn counts as progress."""
        until_s = time.monotonic() + TURN_S
        for _ in steps:
            if time.monotonic() >= until_s:
                await asyncio.sleep(0)
                self.arrived_s = time.monotonic()
                until_s = self.arrived_s + TURN_S
