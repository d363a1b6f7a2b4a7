"""The state of the controller: the metadata and its log, the sessions of brokers, fetches that wait for new metadata.

Shell. Owns: the order of decisions, the check of sessions. Never does: deciding, sockets. Invariant: an answer is sent
after its records are on disk. Source: QuorumController.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.image.features import LATEST_METADATA_VERSION, METADATA_VERSION
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage
from odradek.broker.metadata.publisher.decision import Decision, Response
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.timers.loop_timers import monotonic_ms
from odradek.protocol.common.steps import Steps
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.metadata_records import FeatureLevelRecord
from odradek.protocol.messages.structure import Message

from .broker_sessions import BrokerControlState, BrokerSessions
from .broker_transitions import transition_records

logger = logging.getLogger(__name__)

CHECKS_A_SESSION = 8
"""How many times per session timeout it looks for expired sessions; the same as ``ClusterControlManager``."""


class ActiveController:
    """The only controller of a cluster of test brokers."""

    forwarded_versions: Mapping[int, tuple[int, int]] = {}

    def __init__(self, metadata: MetadataService, config: ServerConfig, random_uuid: Callable[[], bytes]) -> None:
        self.metadata = self.own_metadata = metadata
        """The metadata log. It has two names, because the broker's handlers of forwarded requests use both."""
        self.controller = Controller(config.node_id, config, random_uuid)
        self.sessions = BrokerSessions(config.get_int("broker.session.timeout.ms"))
        self.registered_at: dict[int, int] = {}
        """Broker id -> the offset of its last RegisterBroker record."""
        self._grown = asyncio.Event()
        self._checking: asyncio.TimerHandle | None = None
        metadata.subscribe(self._changed)

    def start(self, features: Mapping[str, int]) -> None:
        """Becomes the leader of a new epoch. ``features``: the levels of a new cluster. Raises KafkaError."""
        metadata, now_ms = self.metadata, clock_ms()
        metadata.log.become_leader(metadata.node_id, now_ms)
        if METADATA_VERSION not in metadata.image.features:
            levels = [FeatureLevelRecord(name, level) for name, level in features.items()]
            metadata.write(levels, now_ms, LATEST_METADATA_VERSION)
        brokers = metadata.image.brokers
        self.registered_at = {broker_id: broker.epoch for broker_id, broker in brokers.items()}
        self.sessions.begin(brokers, monotonic_ms())
        self._check_later()

    def stop(self) -> None:
        """Stops the check of sessions."""
        if self._checking is not None:
            self._checking.cancel()

    async def change(self, decide: Callable[[MetadataImage], Decision[Response]]) -> Response:
        """Writes the records of a decision, made on the metadata after all earlier ones; returns its response.

        Raises KafkaError.
        """
        done: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def steps() -> Steps[Decision[Response]]:
            yield
            return decide(self.metadata.image)

        def answered(outcome: Response | KafkaError) -> None:
            if isinstance(outcome, KafkaError):
                done.set_exception(outcome)
            else:
                done.set_result(outcome)

        self.metadata.change(steps, clock_ms(), answered)
        return await done

    async def grown(self, offset: int, timeout_s: float) -> None:
        """Waits until the log end offset is greater than ``offset``, or ``timeout_s`` seconds have passed."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + timeout_s
        while self.metadata.log.log_end_offset <= offset and (left_s := until_s - loop.time()) > 0:
            try:
                async with asyncio.timeout(left_s):
                    await self._grown.wait()
            except TimeoutError:
                return

    def _changed(self, image: MetadataImage, delta: MetadataDelta) -> Steps[None]:
        self._grown.set()
        self._grown = asyncio.Event()
        yield

    # Sessions ----------------------------------------------------------------

    def _check_later(self) -> None:
        loop = asyncio.get_running_loop()
        due_s = loop.time() + self.sessions.timeout_ms / 1000 / CHECKS_A_SESSION
        self._checking = loop.call_at(due_s, self._check_sessions, due_s)

    def _check_sessions(self, due_s: float) -> None:
        """Fences the brokers whose session has expired.

        If the check runs late, the loop was busy and heartbeats may wait unread in sockets, so sessions are extended.
        """
        late_ms = int((asyncio.get_running_loop().time() - due_s) * 1000)
        self.sessions.extend(max(0, late_ms))
        brokers = self.metadata.image.brokers.items()
        unfenced = [broker_id for broker_id, broker in brokers if not broker.fenced]
        for broker_id in self.sessions.expired(unfenced, monotonic_ms()):
            logger.info("broker %d is fenced: it sent no heartbeat for %d ms", broker_id, self.sessions.timeout_ms)
            self.metadata.record(partial(self._fencing, broker_id), clock_ms(), _not_fenced)
        self._check_later()

    def _fencing(self, broker_id: int) -> list[Message]:
        return transition_records(self.metadata.image, broker_id, BrokerControlState.FENCED)


def _not_fenced(error: KafkaError) -> None:
    logger.error("a broker could not be fenced: %s", error)
