"""Fetches the partitions that one other broker leads, until it is cancelled.

Shell around :class:`.follower.FollowedPartition` and :class:`.fetch_session.FetchSessionHandler`. Owns: one
connection, which partitions are fetched next. Never does: deciding what an answer means. Invariants: one request is in
flight; partitions take turns at the start of a full request, and the leader of a session lets them take turns, so that
none starves behind large ones; one partition's failure stops that partition alone.
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
from ..network.broker_client import BrokerClient
from ..network.node_client import NodeUnavailableError
from ..timers.monotonic import monotonic_ms
from ..timers.repeated_complaint import RepeatedComplaint
from .copy import Copy
from .fetch_session import FetchSessionHandler, Key
from .follower import AppendToCopy, FetchPosition, ListOffsets, Pause, Step, StopFetching, TruncateCopy, TruncateFully
from .follower_throttle import FollowerThrottle

logger = logging.getLogger(__name__)

LATEST, EARLIEST = -1, -2


class FetcherSettings(NamedTuple):
    """``replica.fetch.*`` and ``replica.socket.timeout.ms``. Bytes and ms."""

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
        address: Callable[[], tuple[str, int] | None],
        node_id: int,
        broker_epoch: Callable[[], int],
        settings: FetcherSettings,
        throttle: FollowerThrottle,
        clock_ms: Callable[[], int],
    ) -> None:
        """``address``: of the leader, None while it is fenced. ``clock_ms``: wall clock, milliseconds since the
        epoch."""
        self.copies: dict[Key, Copy] = {}
        self._leader_id = leader_id
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._settings = settings
        self._throttle = throttle
        self._clock_ms = clock_ms
        self._client = BrokerClient(address, f"broker-{node_id}-fetcher-{leader_id}")
        self._session = FetchSessionHandler()
        self._changed = asyncio.Event()
        self._complaint = RepeatedComplaint(f"can't fetch from broker {leader_id}", time.monotonic)

    def follow(self, copy: Copy) -> None:
        """Fetches a partition from now on; one of an earlier epoch is replaced."""
        self.copies[copy.partition.topic_id, copy.partition.index] = copy
        self._changed.set()

    def unfollow(self, key: Key) -> None:
        """Fetches a partition no longer; an answer that is on its way is dropped."""
        self.copies.pop(key, None)

    async def run(self) -> None:
        """Fetches, for ever."""
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
        """Until a partition is added, the first pause is over, or it is time to look at the throttle again."""
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

    def _leaves_out(self, copy: Copy, now_ms: int) -> bool:
        partition = copy.partition
        return self._throttle.leaves_out(copy.topic, partition.index, partition.is_in_sync, now_ms)

    async def _fetch(self) -> bool:
        """One request, and what its answer asks for. Returns False if there is nothing to fetch. Raises
        NodeUnavailableError."""
        now_ms = monotonic_ms()
        due = {key: copy for key, copy in self.copies.items() if copy.partition.is_due(now_ms)}
        fetched = {key: copy for key, copy in due.items() if not self._leaves_out(copy, now_ms)}
        positions = {key: copy.fetch_position for key, copy in fetched.items()}
        is_full = self._session.is_full
        request = self._request(fetched)
        if request is None:
            return False
        response = await self._client.send(request, FetchResponse, self._settings.timeout_ms / 1000)
        problem = self._session.handle_response(response)
        if problem is not None:
            if is_full:
                raise NodeUnavailableError(problem)
            logger.info("fetch session with broker %d ends: %s", self._leader_id, problem)
            return True
        self._complaint.resolved()
        for topic in response.responses:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                if key in fetched and self.copies.get(key) is fetched[key]:
                    await self._process_partition_data(fetched[key], positions[key], data)
                    await asyncio.sleep(0)
        return True

    def _request(self, due: dict[Key, Copy]) -> FetchRequest | None:
        if due:
            first = next(iter(due))
            self.copies[first] = self.copies.pop(first)  # next time the others come first
        session = self._session.build({key: copy.request() for key, copy in due.items()})
        if session is None:
            return None
        settings = self._settings
        return FetchRequest(
            replica_state=FetchRequest.ReplicaState(self._node_id, self._broker_epoch()),
            max_wait_ms=settings.wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            session_id=session.session_id,
            session_epoch=session.session_epoch,
            topics=session.topics,
            forgotten_topics_data=session.forgotten,
        )

    async def _process_partition_data(
        self, copy: Copy, fetched_at: FetchPosition, data: FetchResponse.PartitionData
    ) -> None:
        partition, log = copy.partition, copy.log
        if data.records:
            self._throttle.fetched(copy.topic, partition.index, len(data.records), monotonic_ms())
        step = partition.process_partition_data(data, fetched_at, log.log_end_offset, log.offsets.epoch_end_offset)
        if isinstance(step, ListOffsets):
            step = await self._out_of_range(copy)
        try:
            self._carry_out(copy, step)
        except StorageError as error:
            # Its directory fails with it, and says so.
            partition.is_stopped = True
            logger.error("%s: can't be followed any more: %s", copy.name, error)
        except KafkaError as error:
            logger.error("%s: what broker %d sent can't be appended: %s", copy.name, self._leader_id, error)
            partition.pause(monotonic_ms(), self._settings.backoff_ms)

    def _carry_out(self, copy: Copy, step: Step | None) -> None:
        """Raises KafkaError."""
        if isinstance(step, AppendToCopy):
            copy.append(step, self._clock_ms())
        elif isinstance(step, TruncateCopy):
            copy.truncate(step)
        elif isinstance(step, TruncateFully):
            copy.truncate_fully(step)
        elif isinstance(step, Pause):
            logger.info("%s: broker %d answers %s", copy.name, self._leader_id, step.code.name)
            copy.partition.pause(monotonic_ms(), step.delay_ms)
        elif isinstance(step, StopFetching):
            logger.info("%s: broker %d leads in a later epoch, waiting for the metadata", copy.name, self._leader_id)

    async def _out_of_range(self, copy: Copy) -> Step:
        """Asks for the first and last offset of the leader's log. Raises NodeUnavailableError."""
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
