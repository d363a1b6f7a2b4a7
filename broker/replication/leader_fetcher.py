"""Fetches the partitions that one other broker leads, until it is cancelled.

Shell around :class:`.follower.FollowedPartition` and :class:`.fetch_session.FetchSessionHandler`. Owns: one
connection, which partitions are fetched next. Never does: deciding what an answer means. Invariants: one request is in
flight; each full request begins with another partition, and in a session the leader rotates them, so that none starves
behind large ones; one partition's failure stops that partition alone.
Source: ReplicaFetcherThread, RemoteLeaderEndPoint.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import NamedTuple

from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.fetch import FetchRequest, FetchResponse
from ...protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from ...storage.errors import StorageError
from ...storage.files.disk_errors import is_passing
from ..metrics.replica_state import FetcherState, OneMinuteRate
from ..network.broker_client import BrokerClient
from ..network.node_client import NodeUnavailableError
from ..network.node_security import PLAINTEXT, NodeSecurity
from ..replicas.replication_throttle import ReplicationThrottle
from ..timers.monotonic import monotonic_ms
from ..timers.repeated_complaint import RepeatedComplaint
from .copy import Copy
from .fetch_session import FetchSessionHandler, Key, SessionRequest
from .follower import AppendToCopy, FetchPosition, ListOffsets, Pause, Step, StopFetching, TruncateCopy, TruncateFully

logger = logging.getLogger(__name__)

LATEST, EARLIEST = -1, -2
LOOK_AT_ALL_MS = 500
"""The time in ms after which a request is built from all partitions of a leader again. It finds what changes without an
answer, such as a log start offset. Between these times, a request is built only from the partitions that were answered,
so it costs nothing for the idle ones."""
PARTITIONS_A_TURN, BYTES_A_TURN = 16, 64 * 1024
"""The most partitions and bytes of an answer that are appended in one turn of the event loop: 1 ms. If an answer has
no more than that, the next request is sent in the same turn, because a produce with acks=all waits for it."""


class Asked(NamedTuple):
    """A partition of a request, and the position at which it was requested."""

    copy: Copy
    position: FetchPosition


class FetcherSettings(NamedTuple):
    """The values of ``replica.fetch.*`` and ``replica.socket.timeout.ms``: sizes in bytes, times in ms."""

    wait_max_ms: int
    min_bytes: int
    response_max_bytes: int
    backoff_ms: int
    timeout_ms: int


class LeaderFetcher:
    """One leader and the partitions that this broker follows there."""

    def __init__(
        self,
        leader_id: int,
        address: Callable[[], tuple[str, int] | str],
        node_id: int,
        broker_epoch: Callable[[], int],
        settings: FetcherSettings,
        throttle: ReplicationThrottle,
        clock_ms: Callable[[], int],
        security: NodeSecurity = PLAINTEXT,
    ) -> None:
        """``address`` returns the leader's host and port, or the reason why it has none. ``clock_ms``: wall clock,
        milliseconds since the epoch."""
        self.copies: dict[Key, Copy] = {}
        self._leader_id = leader_id
        self._address = address
        self._last_address = "", -1
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._settings = settings
        self._throttle = throttle
        self._clock_ms = clock_ms
        self._client = BrokerClient(address, f"broker-{node_id}-fetcher-{leader_id}", security)
        self._session = FetchSessionHandler()
        self._asked: dict[Key, Asked] = {}
        """The partitions in the last request, or in the session that it continues."""
        self._moved: dict[Key, None] = {}
        """Partitions whose part of the next request may differ from that of the last one."""
        self._look_at_all_ms = 0
        """When to build a request from all partitions again, in ms of the monotonic clock."""
        self._is_held_up = False
        """Whether some partitions pause or are throttled. No event tells when they are due again, only the time."""
        self._requests = OneMinuteRate(monotonic_ms())
        self._copied_bytes = 0
        self._changed = asyncio.Event()
        self._handover: asyncio.Future[FetchResponse | None]
        """The future that the task awaits while :meth:`_send_next` and :meth:`_answered` fetch without it."""
        self._complaint = RepeatedComplaint(f"can't fetch from broker {leader_id}", time.monotonic)
        self._no_space = RepeatedComplaint(f"can't store what broker {leader_id} leads", time.monotonic)

    @property
    def client_id(self) -> str:
        """The client id of Kafka's fetcher of this leader, for the metrics."""
        return f"ReplicaFetcherThread-0-{self._leader_id}"

    @property
    def state(self) -> FetcherState:
        """The leader's address and the counts of this fetcher, for the metrics."""
        rate = self._requests.rate(monotonic_ms())
        address = self._address()
        if not isinstance(address, str):
            self._last_address = address
        return FetcherState(self.client_id, *self._last_address, self._requests.count, self._copied_bytes, rate)

    def follow(self, copy: Copy) -> None:
        """Fetches a partition from now on. Replaces its copy of an earlier leader epoch."""
        key = copy.partition.topic_id, copy.partition.index
        self.copies[key] = copy
        self._moved[key] = None
        self._changed.set()

    def unfollow(self, key: Key) -> None:
        """Stops fetching a partition. Its part of an answer that is on its way is dropped."""
        self.copies.pop(key, None)
        self._moved[key] = None

    async def run(self) -> None:
        """Fetches until it is cancelled."""
        try:
            while True:
                try:
                    has_fetched = await self._fetch()
                except NodeUnavailableError as error:
                    self._session.handle_error()
                    self._complaint.complain(error)
                    await asyncio.sleep(self._settings.backoff_ms / 1000)
                    continue
                if not has_fetched:
                    await self._wait()
        finally:
            self._client.close()

    async def _wait(self) -> None:
        """Waits until a partition is added, the first pause is over, or the throttle must be checked again."""
        self._changed.clear()
        now_ms = monotonic_ms()
        pauses_ms = [
            self._settings.backoff_ms if self._leaves_out(copy, now_ms) else copy.partition.not_before_ms - now_ms
            for copy in self.copies.values()
            if not copy.partition.is_stopped
        ]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0, min(pauses_ms)) / 1000 if pauses_ms else None):
                await self._changed.wait()

    def _is_wanted(self, copy: Copy, now_ms: int) -> bool:
        """Whether to fetch a partition now."""
        return copy.partition.is_due(now_ms) and not self._leaves_out(copy, now_ms)

    def _leaves_out(self, copy: Copy, now_ms: int) -> bool:
        partition = copy.partition
        return self._throttle.leaves_out(copy.topic, partition.index, partition.is_in_sync, now_ms)

    async def _fetch(self) -> bool:
        """Sends a request and processes its answer. Then does the same for small requests, as long as
        :meth:`_fetch_small` goes on. Returns False if there is nothing to fetch. Raises NodeUnavailableError."""
        request = self._next_request(monotonic_ms())
        if request is None:
            return False
        response: FetchResponse | None = await self._client.send(
            request, FetchResponse, self._settings.timeout_ms / 1000
        )
        while response is not None:
            await self._take(response)
            response = await self._fetch_small()
        return True

    async def _take(self, response: FetchResponse) -> None:
        """Processes an answer, a part in each turn of the event loop. Raises NodeUnavailableError."""
        if not self._is_usable(response):
            return
        count = size = 0
        for topic in response.responses:
            for data in topic.partitions:
                if count >= PARTITIONS_A_TURN or size >= BYTES_A_TURN:
                    count = size = 0
                    await asyncio.sleep(0)
                asked = self._asked_for(topic.topic_id, data.partition_index)
                if asked is not None:
                    await self._process_partition_data(asked.copy, asked.position, data)
                    self._look_whether_held_up(asked.copy)
                    count += 1
                    size += len(data.records or b"")

    def _is_usable(self, response: FetchResponse) -> bool:
        """Whether an answer fits the session. Raises NodeUnavailableError if the answer to a full request does not."""
        is_full = self._session.is_full
        problem = self._session.handle_response(response)
        if problem is None:
            self._complaint.resolved()
            return True
        if is_full:
            raise NodeUnavailableError(problem)
        logger.info("fetch session with broker %d ends: %s", self._leader_id, problem)
        return False

    def _asked_for(self, topic_id: bytes, index: int) -> Asked | None:
        """The copy and the requested position of a partition in an answer; None if it is not followed any more."""
        key = topic_id, index
        asked = self._asked.get(key)
        if asked is None or self.copies.get(key) is not asked.copy:
            return None
        self._moved[key] = None
        return asked

    def _look_whether_held_up(self, copy: Copy) -> None:
        if not self._is_wanted(copy, monotonic_ms()):
            self._is_held_up = True

    # Small fetches, for which a produce with acks=all waits: sent and answered in callbacks, without waking the task.

    async def _fetch_small(self) -> FetchResponse | None:
        """Fetches as long as the answers are small. Each answer is processed, and the next request sent, in the turn of
        the event loop in which the answer arrives.

        Returns the first answer that is not small, or None if the task must send the next request. Raises
        NodeUnavailableError.
        """
        self._handover = asyncio.get_running_loop().create_future()
        return await self._handover if self._send_next() else None

    def _send_next(self) -> bool:
        """Sends the next request from a callback. Returns False, and sends nothing, if the task must send it."""
        now_ms = monotonic_ms()
        if self._session.is_full or self._is_held_up or now_ms >= self._look_at_all_ms or not self._client.is_ready:
            return False
        session = self._session_of_moved()
        if session is None:
            return False
        self._requests.mark(now_ms)
        request = self._request(session, self._settings.wait_max_ms)
        self._client.send_at_once(request, FetchResponse, self._settings.timeout_ms / 1000, self._answered)
        return True

    def _answered(self, response: FetchResponse | NodeUnavailableError) -> None:
        """Called with an answer or a failure. Processes a small answer and sends the next request; hands everything
        else over to the task."""
        handover = self._handover
        if handover.done():
            return  # cancelled
        try:
            if isinstance(response, NodeUnavailableError):
                handover.set_exception(response)
            elif not _is_small(response):
                handover.set_result(response)
            else:
                if self._is_usable(response):
                    self._take_small(response)
                if not self._send_next():
                    handover.set_result(None)
        except Exception as error:  # noqa: BLE001 - it is raised in the task
            handover.set_exception(error)

    def _take_small(self, response: FetchResponse) -> None:
        for topic in response.responses:
            for data in topic.partitions:
                asked = self._asked_for(topic.topic_id, data.partition_index)
                if asked is None:
                    continue
                step = self._next_step(asked.copy, asked.position, data)
                if step is not None:
                    assert isinstance(step, AppendToCopy), "an answer without an error"
                    try:
                        self._append(asked.copy, step)
                    except KafkaError as error:
                        self._not_carried_out(asked.copy, error)
                self._look_whether_held_up(asked.copy)

    def _next_request(self, now_ms: int) -> FetchRequest | None:
        """The request to send now; None if there is nothing to fetch."""
        wait_max_ms = self._settings.wait_max_ms
        if self._session.is_full or self._is_held_up or now_ms >= self._look_at_all_ms:
            wait_max_ms = self._first_pause_ms(now_ms, wait_max_ms)
            session = self._session_of_all(now_ms)
        else:
            session = self._session_of_moved()
        if session is None:
            return None
        self._requests.mark(now_ms)
        return self._request(session, wait_max_ms)

    def _request(self, session: SessionRequest, wait_max_ms: int) -> FetchRequest:
        settings = self._settings
        return FetchRequest(
            replica_state=FetchRequest.ReplicaState(self._node_id, self._broker_epoch()),
            max_wait_ms=wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            session_id=session.session_id,
            session_epoch=session.session_epoch,
            topics=session.topics,
            forgotten_topics_data=session.forgotten,
        )

    def _first_pause_ms(self, now_ms: int, wait_max_ms: int) -> int:
        """How long the leader may wait for data: ``wait_max_ms``, or until the first pause ends."""
        for copy in self.copies.values():
            left_ms = copy.partition.not_before_ms - now_ms
            if 0 < left_ms < wait_max_ms:
                wait_max_ms = left_ms
        return wait_max_ms

    def _session_of_all(self, now_ms: int) -> SessionRequest | None:
        """The next request, built from all partitions; None if nothing is to be sent. Costs 4 us for each partition."""
        self._look_at_all_ms = now_ms + LOOK_AT_ALL_MS
        self._moved.clear()
        due = [(key, copy) for key, copy in self.copies.items() if self._is_wanted(copy, now_ms)]
        self._is_held_up = len(due) < len(self.copies)
        if due:
            first, _ = due[0]
            self.copies[first] = self.copies.pop(first)  # next time the others come first
        self._asked = {key: Asked(copy, copy.fetch_position) for key, copy in due}
        return self._session.build({key: copy.request() for key, copy in due})

    def _session_of_moved(self) -> SessionRequest | None:
        """The next request, built from the partitions that were answered, added or removed since the last one."""
        changed, forgotten = {}, []
        for key in self._moved:
            copy = self.copies.get(key)
            if copy is None:
                forgotten.append(key)
                self._asked.pop(key, None)
            else:
                changed[key] = copy.request()
                self._asked[key] = Asked(copy, copy.fetch_position)
        self._moved.clear()
        return self._session.build_changes(changed, forgotten)

    def _next_step(self, copy: Copy, fetched_at: FetchPosition, data: FetchResponse.PartitionData) -> Step | None:
        partition, log = copy.partition, copy.log
        if data.records:
            self._copied_bytes += len(data.records)
            self._throttle.copied(copy.topic, partition.index, len(data.records), monotonic_ms())
        return partition.process_partition_data(data, fetched_at, log.log_end_offset, log.offsets.epoch_end_offset)

    async def _process_partition_data(
        self, copy: Copy, fetched_at: FetchPosition, data: FetchResponse.PartitionData
    ) -> None:
        step = self._next_step(copy, fetched_at, data)
        if isinstance(step, ListOffsets):
            step = await self._out_of_range(copy)
        try:
            await self._carry_out(copy, step)
        except KafkaError as error:
            self._not_carried_out(copy, error)

    def _not_carried_out(self, copy: Copy, error: KafkaError) -> None:
        partition = copy.partition
        if not isinstance(error, StorageError):
            logger.error("%s: what broker %d sent can't be appended: %s", copy.name, self._leader_id, error)
            partition.pause(monotonic_ms(), self._settings.backoff_ms)
        elif is_passing(error):  # no space: it is fetched again later, and the log directory logs what to do
            self._no_space.complain(error)
            partition.pause(monotonic_ms(), self._settings.backoff_ms)
        else:  # the log directory goes offline because of it, and logs that itself
            partition.is_stopped = True
            logger.error("%s: can't be followed any more: %s", copy.name, error)

    def _append(self, copy: Copy, step: AppendToCopy) -> None:
        """Appends records to a copy. Raises KafkaError."""
        copy.append(step, self._clock_ms())
        self._no_space.resolved()

    async def _carry_out(self, copy: Copy, step: Step | None) -> None:
        """Carries out what an answer requires. Raises KafkaError."""
        if isinstance(step, AppendToCopy):
            self._append(copy, step)
        elif isinstance(step, TruncateCopy):
            await copy.truncate(step)
        elif isinstance(step, TruncateFully):
            await copy.truncate_fully(step)
        elif isinstance(step, Pause):
            logger.info("%s: broker %d answers %s", copy.name, self._leader_id, step.code.name)
            copy.partition.pause(monotonic_ms(), step.delay_ms)
        elif isinstance(step, StopFetching):
            logger.info("%s: broker %d leads in a later epoch, waiting for the metadata", copy.name, self._leader_id)

    async def _out_of_range(self, copy: Copy) -> Step:
        """The step after OFFSET_OUT_OF_RANGE: asks the leader for its first and last offset. Raises
        NodeUnavailableError."""
        earliest = await self._list_offset(copy, EARLIEST)
        latest = await self._list_offset(copy, LATEST)
        if earliest < 0 or latest < 0:
            return Pause(self._settings.backoff_ms, ErrorCode.OFFSET_OUT_OF_RANGE)
        return copy.partition.out_of_range(copy.log.log_end_offset, earliest, latest)

    async def _list_offset(self, copy: Copy, timestamp: int) -> int:
        partition = ListOffsetsRequest.ListOffsetsPartition(
            copy.partition.index, current_leader_epoch=copy.partition.leader_epoch, timestamp=timestamp
        )
        topic = ListOffsetsRequest.ListOffsetsTopic(copy.topic, [partition])
        request = ListOffsetsRequest(self._node_id, topics=[topic])
        response = await self._client.send(request, ListOffsetsResponse, self._settings.timeout_ms / 1000)
        (answer,) = (one for found in response.topics for one in found.partitions)
        return -1 if answer.error_code else answer.offset


def _is_small(response: FetchResponse) -> bool:
    """Whether an answer can be processed in one turn of the event loop: it has few records, no error, and requires no
    truncation."""
    count = size = 0
    for topic in response.responses:
        for data in topic.partitions:
            if data.error_code or data.diverging_epoch.epoch >= 0:
                return False
            count += 1
            size += len(data.records or b"")
    return count <= PARTITIONS_A_TURN and size <= BYTES_A_TURN and not response.error_code
