"""Fetches the partitions that one other broker leads, until it is cancelled.

Shell around :class:`.follower.FollowedPartition`. Owns: one connection, which partitions are asked for next. Never
does: deciding what an answer means. Invariants: one request is in flight; partitions take turns at the front of a
request, so that none starves behind large ones; one partition's failure stops that partition alone.
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
from ..network.node_client import NodeClient, NodeUnavailableError, client_at
from ..timers.repeated_complaint import RepeatedComplaint
from .copy import Copy
from .follower import Append, Asked, AskOffsets, Pause, StartAnew, Step, Stop, Truncate

logger = logging.getLogger(__name__)

SESSIONLESS = -1
"""``FetchMetadata.FINAL_EPOCH``: the leader keeps no session."""
LATEST, EARLIEST = -1, -2
Key = tuple[bytes, int]
"""Topic id and partition index."""


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
        clock_ms: Callable[[], int],
    ) -> None:
        """``address``: of the leader, None while it is fenced. ``clock_ms``: wall clock, milliseconds since the
        epoch."""
        self.copies: dict[Key, Copy] = {}
        self._leader_id = leader_id
        self._address = address
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._settings = settings
        self._clock_ms = clock_ms
        self._client: NodeClient | None = None
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
                due = {key: copy for key, copy in self.copies.items() if copy.partition.is_due(_now_ms())}
                if not due:
                    await self._wait()
                    continue
                try:
                    await self._fetch(due)
                except NodeUnavailableError as error:
                    self._complaint.complain(error)
                    await asyncio.sleep(self._settings.backoff_ms / 1000)
        finally:
            if self._client is not None:
                self._client.close()

    async def _wait(self) -> None:
        """Until a partition is added, or one's pause may be over."""
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._settings.wait_max_ms / 1000 if self.copies else None):
                await self._changed.wait()

    def _connected(self) -> NodeClient:
        """The connection to where the leader is now. Raises NodeUnavailableError."""
        address = self._address()
        if address is None:
            raise NodeUnavailableError("it is fenced, or lacks the inter-broker listener")
        self._client = client_at(self._client, *address, f"broker-{self._node_id}-fetcher-{self._leader_id}")
        return self._client

    async def _fetch(self, due: dict[Key, Copy]) -> None:
        """One request, and what its answer asks for. Raises NodeUnavailableError."""
        asked: dict[Key, tuple[Copy, Asked]] = {}
        topics: dict[bytes, FetchRequest.FetchTopic] = {}
        first = next(iter(due))
        self.copies[first] = self.copies.pop(first)  # next time the others come first
        for key, copy in due.items():
            asked[key] = copy, copy.asked
            topic = topics.setdefault(key[0], FetchRequest.FetchTopic(topic_id=key[0]))
            topic.partitions.append(
                copy.partition.request(copy.log.log_end_offset, copy.last_epoch, copy.log.log_start_offset)
            )
        settings = self._settings
        request = FetchRequest(
            replica_state=FetchRequest.ReplicaState(self._node_id, self._broker_epoch()),
            max_wait_ms=settings.wait_max_ms,
            min_bytes=settings.min_bytes,
            max_bytes=settings.response_max_bytes,
            session_epoch=SESSIONLESS,
            topics=list(topics.values()),
        )
        response = await self._connected().send(request, FetchResponse, settings.timeout_ms / 1000)
        if response.error_code:
            raise NodeUnavailableError(f"it answers {ErrorCode(response.error_code).name}")
        self._complaint.settled()
        for topic_answer in response.responses:
            for answer in topic_answer.partitions:
                found = asked.get((topic_answer.topic_id, answer.partition_index))
                if found is not None and self.copies.get((topic_answer.topic_id, answer.partition_index)) is found[0]:
                    await self._take(found[0], found[1], answer)
                    await asyncio.sleep(0)

    async def _take(self, copy: Copy, asked: Asked, answer: FetchResponse.PartitionData) -> None:
        partition, log = copy.partition, copy.log
        step = partition.take(answer, asked, log.log_end_offset, log.offsets.epoch_end_offset)
        if isinstance(step, AskOffsets):
            step = await self._out_of_range(copy)
        try:
            self._carry_out(copy, step)
        except StorageError as error:
            # Its directory fails with it, and says so.
            partition.is_stopped = True
            logger.error("%s: can't be followed any more: %s", copy.name, error)
        except KafkaError as error:
            logger.error("%s: what broker %d sent can't be appended: %s", copy.name, self._leader_id, error)
            partition.pause(_now_ms(), self._settings.backoff_ms)

    def _carry_out(self, copy: Copy, step: Step | None) -> None:
        """Raises KafkaError."""
        if isinstance(step, Append):
            copy.append(step, self._clock_ms())
        elif isinstance(step, Truncate):
            copy.truncate(step)
        elif isinstance(step, StartAnew):
            copy.start_anew(step)
        elif isinstance(step, Pause):
            logger.info("%s: broker %d answers %s", copy.name, self._leader_id, step.code.name)
            copy.partition.pause(_now_ms(), step.delay_ms)
        elif isinstance(step, Stop):
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
        response = await self._connected().send(request, ListOffsetsResponse, self._settings.timeout_ms / 1000)
        (answer,) = (one for found in response.topics for one in found.partitions)
        return -1 if answer.error_code else answer.offset


def _now_ms() -> int:
    """A monotonic clock, in milliseconds."""
    return time.monotonic_ns() // 1_000_000
