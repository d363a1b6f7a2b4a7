"""Asks the controllers to change the ISR of partitions that this broker leads. Source: AlterPartitionManager.

Shell. Owns: the queued changes, the task that sends them, its connection. Never does: deciding who is in sync.
Invariants: one request is in flight; the next one takes up to 1,000 queued changes; a partition's newer change replaces
its queued one; if a request fails as a whole, its changes are queued again.
"""

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import AlterPartitionRequest, AlterPartitionResponse

from ...network.node_client import NodeUnavailableError
from ...timers.repeated_complaint import RepeatedComplaint
from .channel import RETRY_MS, ControllerChannel, described

REQUEST_TIMEOUT_S = 10.0
"""A request takes one commit of the controllers. Kafka sets no limit, so a dead connection blocks all ISR changes."""
MAX_IN_REQUEST = 1_000
"""Changes in one request, which takes 2 ms to encode."""

Answered = Callable[[AlterPartitionResponse.PartitionData | ErrorCode], None]
Key = tuple[bytes, int]
"""Topic id and partition index."""


class IsrChange(NamedTuple):
    """The change of one partition, and the callback that gets the answer."""

    data: AlterPartitionRequest.PartitionData
    answered: Answered


class AlterPartitionManager:
    """Queues the ISR changes of one broker, and sends them to the controllers."""

    def __init__(self, node_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel) -> None:
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._waiting: dict[Key, IsrChange] = {}
        self._wake = asyncio.Event()
        self._complaint = RepeatedComplaint("could not change the ISR of partitions", time.monotonic)

    def submit(self, topic_id: bytes, data: AlterPartitionRequest.PartitionData, answered: Answered) -> None:
        """Sends a change with the next request."""
        self._waiting[topic_id, data.partition_index] = IsrChange(data, answered)
        self._wake.set()

    async def run(self) -> None:
        """Sends changes until it is cancelled."""
        try:
            while True:
                if not self._waiting:
                    self._wake.clear()
                    await self._wake.wait()
                    continue
                keys = list(self._waiting)[:MAX_IN_REQUEST]
                if not await self._send({key: self._waiting.pop(key) for key in keys}):
                    await asyncio.sleep(RETRY_MS / 1000)
        finally:
            self._channel.close()

    async def _send(self, changes: dict[Key, IsrChange]) -> bool:
        """Sends one request. Returns False if the next one must wait: this one failed, or a partition was refused."""
        try:
            response = await self._channel.send(self._request(changes), AlterPartitionResponse, REQUEST_TIMEOUT_S)
        except NodeUnavailableError as error:
            self._complaint.complain(error)
            self._wait_again(changes)
            return False
        except Exception:  # a bug: the leaders wait for an answer
            self._wait_again(changes)
            raise
        if response.error_code:
            self._complaint.complain(described(response.error_code))
            self._wait_again(changes)
            return False
        self._complaint.resolved()
        has_refused = False
        for topic in response.topics:
            for answer in topic.partitions:
                change = changes.pop((topic.topic_id, answer.partition_index), None)
                if change is not None:
                    has_refused = has_refused or bool(answer.error_code)
                    change.answered(answer)
        for change in changes.values():
            change.answered(ErrorCode.UNKNOWN_SERVER_ERROR)  # not in the response: the leader submits it again
        return not (has_refused or changes)

    def _wait_again(self, changes: dict[Key, IsrChange]) -> None:
        """Queues the changes again, except for partitions that have a newer change queued."""
        for key, change in changes.items():
            self._waiting.setdefault(key, change)

    def _request(self, changes: dict[Key, IsrChange]) -> AlterPartitionRequest:
        topics: dict[bytes, AlterPartitionRequest.TopicData] = {}
        for (topic_id, _), change in changes.items():
            topics.setdefault(topic_id, AlterPartitionRequest.TopicData(topic_id)).partitions.append(change.data)
        return AlterPartitionRequest(self._node_id, self._broker_epoch(), list(topics.values()))
