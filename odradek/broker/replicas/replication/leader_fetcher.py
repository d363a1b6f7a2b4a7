"""Fetches the partitions that one other broker leads, until it is cancelled.

Shell around :class:`.follower.FollowedPartition` and :class:`.fetch_plan.FetchPlan`. Owns: one connection. Never does:
choosing the partitions of a request, deciding what an answer means. Invariants: one request is in flight; one
partition's failure stops that partition alone; an answer that can't be used ends this attempt alone. Source:
ReplicaFetcherThread, RemoteLeaderEndPoint; FailedPartitions.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from odradek.protocol.errors import KafkaError, error_name
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.storage.errors import StorageError
from odradek.storage.files.disk_errors import is_passing

from ...metrics.replica_state import FetcherState, OneMinuteRate
from ...network.broker_client import BrokerClient
from ...network.node_client import PLAINTEXT, NodeAnswerError, NodeSecurity, NodeUnavailableError
from ...timers.loop_timers import monotonic_ms
from ...timers.repeated_complaint import RepeatedComplaint
from ...timers.work import KindOfWork
from ..replication_throttle import ReplicationThrottle
from .copy import PARTITIONS, Copy, Extent
from .fetch_plan import FetchPlan
from .fetch_session import NO_SESSION_ID, Key, SessionRequest, withdrawing
from .follower import (
    FAILURE_PAUSE_MAX_MS,
    AppendToCopy,
    Fail,
    FetchPosition,
    ListOffsets,
    Pause,
    Step,
    StopFetching,
    TruncateCopy,
    TruncateFully,
)

logger = logging.getLogger(__name__)

FETCHING = KindOfWork("replica-fetcher", "fetches the partitions that one other broker leads")
LATEST, EARLIEST = -1, -2
PARTITIONS_A_TURN, BYTES_A_TURN = 16, 64 * 1024
"""The most partitions and bytes of an answer that are appended in one turn of the event loop: 1 ms. If an answer has
no more than that, the next request is sent in the same turn, because a produce with acks=all waits for it."""


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
        out_of_space: Callable[[Copy], None] = lambda copy: None,
    ) -> None:
        """``address`` returns the leader's host and port, or the reason why it has none. ``clock_ms``: wall clock,
        milliseconds since the epoch. ``out_of_space`` is called with a copy that fetches nothing from now on, until its
        full log directory has room again."""
        self._plan = FetchPlan(throttle)
        self._leader_id = leader_id
        self._address = address
        self._last_address = "", -1
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._settings = settings
        self._throttle = throttle
        self._clock_ms = clock_ms
        self._client = BrokerClient(address, f"broker-{node_id}-fetcher-{leader_id}", security)
        self._requests = OneMinuteRate(monotonic_ms())
        self._copied_bytes = 0
        self._refused = 0
        """The number of answers in a row that could not be used as a whole."""
        self._changed = asyncio.Event()
        self._handover: asyncio.Future[FetchResponse | None]
        """The future that the task awaits while :meth:`_send_next` and :meth:`_answered` fetch without it."""
        self._out_of_space = out_of_space
        self._stuck: list[Copy] = []
        """The copies that ran out of space since the last request."""
        self._complaint = RepeatedComplaint(f"can't fetch from broker {leader_id}", time.monotonic)
        self._no_space = RepeatedComplaint(f"can't store records from broker {leader_id}", time.monotonic)

    @property
    def copies(self) -> Mapping[Key, Copy]:
        """The partitions that this broker follows there."""
        return self._plan.copies

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
        self._plan.follow(copy)
        self._changed.set()

    def unfollow(self, key: Key) -> None:
        """Stops fetching a partition. Its part of an answer that is on its way is dropped."""
        self._plan.unfollow(key)

    async def run(self) -> None:
        """Fetches until it is cancelled. A request that fails is followed by a pause and a new request."""
        try:
            while True:
                try:
                    if not await self._fetch():
                        await self._wait()
                except NodeAnswerError as error:
                    await asyncio.sleep(self._answer_refused(error) / 1000)
                except NodeUnavailableError as error:
                    self._plan.session.handle_error()
                    self._complaint.complain(error)
                    await asyncio.sleep(self._settings.backoff_ms / 1000)
                except Exception as error:  # noqa: BLE001 - a bug here must not end the other leaders' replication
                    self._client.close()
                    await asyncio.sleep(self._answer_refused(error) / 1000)
        finally:
            self._client.close()

    def _answer_refused(self, error: Exception) -> int:
        """Logs and counts an attempt that failed as a whole for another reason than an unreachable leader. Returns the
        pause in ms, which grows as that of a partition."""
        self._plan.session.handle_error()
        longest_ms = max(self._settings.backoff_ms, FAILURE_PAUSE_MAX_MS)
        delay_ms = min(self._settings.backoff_ms << min(self._refused, 32), longest_ms)
        self._refused += 1
        FETCHING.failed(f"the requests to broker {self._leader_id}, the next one follows in {delay_ms} ms", error)
        return delay_ms

    async def _wait(self) -> None:
        """Waits until a partition is added, the first pause is over, or the throttle must be checked again."""
        self._changed.clear()
        pause_ms = self._plan.next_due_ms(monotonic_ms(), self._settings.backoff_ms)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if pause_ms is None else pause_ms / 1000):
                await self._changed.wait()

    async def _fetch(self) -> bool:
        """Sends a request and processes its answer. Then does the same for small requests, as long as
        :meth:`_fetch_small` goes on. Returns False if there is nothing to fetch. Raises NodeUnavailableError."""
        if self._stuck:
            stuck, self._stuck = self._stuck, []
            withdrawal = withdrawing(self._node_id, self._broker_epoch(), stuck)
            await self._client.send(withdrawal, FetchResponse, self._settings.timeout_ms / 1000)
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
                asked = self._plan.answered(topic.topic_id, data.partition_index)
                if asked is not None:
                    await self._process_partition_data(asked.copy, asked.position, data)
                    self._plan.look_whether_held_up(asked.copy, monotonic_ms())
                    count += 1
                    size += len(data.records or b"")

    def _is_usable(self, response: FetchResponse) -> bool:
        """Whether an answer fits the session. Raises NodeAnswerError if it has the wrong partitions,
        NodeUnavailableError if a full request is answered with an error."""
        is_full = self._plan.session.is_full
        problem = self._plan.session.handle_response(response)
        if problem is None:
            if not is_full or response.session_id == NO_SESSION_ID:
                self._refused = 0
            self._complaint.resolved()
            return True
        if not response.error_code:
            raise NodeAnswerError(problem)
        if is_full:
            raise NodeUnavailableError(problem)
        logger.info("closing the fetch session with broker %d: %s", self._leader_id, problem)
        return False

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
        if self._plan.looks_at_all(now_ms) or not self._client.is_ready:
            return False
        session = self._plan.request_of_moved()
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
                asked = self._plan.answered(topic.topic_id, data.partition_index)
                if asked is None:
                    continue
                copy = asked.copy
                before = copy.extent
                try:
                    step = self._next_step(copy, asked.position, data)
                    if isinstance(step, AppendToCopy):
                        self._append(copy, step)
                    elif isinstance(step, Fail):
                        self._partition_failed(copy, step.cause)
                    else:
                        assert step is None, "an answer without an error"
                except Exception as error:  # noqa: BLE001 - ends this partition's step only: it is named and counted
                    self._not_carried_out(copy, before, error)
                self._plan.look_whether_held_up(asked.copy, monotonic_ms())

    def _next_request(self, now_ms: int) -> FetchRequest | None:
        """The request to send now; None if there is nothing to fetch."""
        wait_max_ms = self._settings.wait_max_ms
        if self._plan.looks_at_all(now_ms):
            wait_max_ms = self._plan.first_pause_ms(now_ms, wait_max_ms)
            session = self._plan.request_of_all(now_ms)
        else:
            session = self._plan.request_of_moved()
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

    def _next_step(self, copy: Copy, fetched_at: FetchPosition, data: FetchResponse.PartitionData) -> Step | None:
        partition, log = copy.partition, copy.log
        if data.records:
            self._copied_bytes += len(data.records)
            self._throttle.copied(copy.topic, partition.index, len(data.records), monotonic_ms())
        return partition.process_partition_data(data, fetched_at, log.log_end_offset, log.offsets.epoch_end_offset)

    async def _process_partition_data(
        self, copy: Copy, fetched_at: FetchPosition, data: FetchResponse.PartitionData
    ) -> None:
        before = copy.extent
        try:
            step = self._next_step(copy, fetched_at, data)
            if isinstance(step, ListOffsets):
                step = await self._out_of_range(copy)
            await self._carry_out(copy, step)
        except Exception as error:  # noqa: BLE001 - ends this partition's step only: it is named and counted
            self._not_carried_out(copy, before, error)

    def _partition_failed(self, copy: Copy, cause: object, error: Exception | None = None) -> None:
        """Counts and logs a failure of one partition, which is fetched again after a growing pause. ``error``: an
        exception that no answer may cause, for its traceback."""
        delay_ms = copy.partition.failed(monotonic_ms())
        PARTITIONS.failed(
            f"{copy.name} from broker {self._leader_id} at offset {copy.log.log_end_offset}: {cause}; "
            f"failure {copy.partition.failures} in a row, fetching it again in {delay_ms} ms",
            error,
        )

    def _not_carried_out(self, copy: Copy, before: Extent, error: Exception) -> None:
        """Handles an exception of one partition's step. ``before``: the extent of the log before the step."""
        partition = copy.partition
        if not isinstance(error, KafkaError):
            if copy.extent == before:
                self._partition_failed(copy, repr(error), error)
            else:  # half of a step was done: appending the same records again would damage the log
                partition.is_stopped = True
                PARTITIONS.failed(f"{copy.name}: replication stops until the next election", error)
        elif not isinstance(error, StorageError):
            self._partition_failed(copy, error)
        elif is_passing(error):  # no space: it is fetched again later, and the log directory logs what to do
            self._no_space.complain(error)
            partition.pause(monotonic_ms(), self._settings.backoff_ms)
            if copy.log.health.refuses_clients:
                copy.wait_for_room()
                self._stuck.append(copy)
                self._out_of_space(copy)
        else:  # the log directory goes offline because of it, and logs that itself
            partition.is_stopped = True
            PARTITIONS.failed(f"{copy.name}: replication stops: {error}")

    def _append(self, copy: Copy, step: AppendToCopy) -> None:
        """Appends records to a copy. Raises KafkaError."""
        copy.append(step, self._clock_ms())
        if step.records:
            self._no_space.resolved()
        copy.partition.succeeded()
        if step.problem:
            self._partition_failed(copy, step.problem)

    async def _carry_out(self, copy: Copy, step: Step | None) -> None:
        """Carries out what an answer requires. Raises KafkaError."""
        if isinstance(step, AppendToCopy):
            self._append(copy, step)
        elif isinstance(step, TruncateCopy):
            before = copy.extent
            await copy.truncate(step)
            if copy.extent == before:
                self._partition_failed(copy, f"its log differs from offset {step.offset} on, which the copy lacks")
        elif isinstance(step, TruncateFully):
            await copy.truncate_fully(step)
        elif isinstance(step, Fail):
            self._partition_failed(copy, step.cause)
        elif isinstance(step, Pause):
            logger.info(
                "%s: broker %d answered %s; it retries after a pause", copy.name, self._leader_id, step.code.name
            )
            copy.partition.pause(monotonic_ms(), step.delay_ms)
        elif isinstance(step, StopFetching):
            logger.info("%s: broker %d has a later leader epoch, waiting for metadata", copy.name, self._leader_id)

    async def _out_of_range(self, copy: Copy) -> Step:
        """The step after OFFSET_OUT_OF_RANGE: asks the leader for its first and last offset."""
        earliest, latest = await self._list_offset(copy, EARLIEST), await self._list_offset(copy, LATEST)
        if isinstance(earliest, Fail):
            return earliest
        if isinstance(latest, Fail):
            return latest
        return copy.partition.out_of_range(copy.log.log_end_offset, earliest, latest)

    async def _list_offset(self, copy: Copy, timestamp: int) -> int | Fail:
        index = copy.partition.index
        partition = ListOffsetsRequest.ListOffsetsPartition(
            index, current_leader_epoch=copy.partition.leader_epoch, timestamp=timestamp
        )
        topic = ListOffsetsRequest.ListOffsetsTopic(copy.topic, [partition])
        request = ListOffsetsRequest(self._node_id, topics=[topic])
        try:
            response = await self._client.send(request, ListOffsetsResponse, self._settings.timeout_ms / 1000)
        except NodeUnavailableError as error:
            return Fail(f"ListOffsets: {error}")
        answers = [(found.name, answered) for found in response.topics for answered in found.partitions]
        if [(name, answered.partition_index) for name, answered in answers] != [(copy.topic, index)]:
            return Fail(f"ListOffsets was answered with {len(answers)} partitions, not with this one alone")
        answer = answers[0][1]
        return Fail(f"ListOffsets: {error_name(answer.error_code)}") if answer.error_code else answer.offset


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
