"""The share session of a member with one broker: its ShareFetch and ShareAcknowledge requests.

Owns: the epoch, the partitions that the broker knows, the acknowledgements that are not sent yet. Never does: choosing
what is acknowledged. Invariant: one request at a time. Source: ``consumer.internals.ShareSessionHandler``.
"""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

from ..cluster.cluster import Cluster
from ..errors import broker_error

INITIAL_EPOCH = 0
FINAL_EPOCH = -1
MAX_EPOCH = 2**31 - 1
RECORD_LIMIT_SINCE = 2
PURPOSE = "share"
LOST_SESSION = frozenset({ErrorCode.SHARE_SESSION_NOT_FOUND, ErrorCode.INVALID_SHARE_SESSION_EPOCH})

Place = tuple[bytes, int]
"""Topic id and partition number."""
Types = dict[int, int]
"""Offset -> acknowledge type."""


class ShareFetchLimits(NamedTuple):
    """The limits of each ShareFetch. Sizes in bytes."""

    min_bytes: int
    max_wait_ms: int
    max_bytes: int
    max_records: int
    is_exact: bool


class BrokerSession:
    """One member's session with one broker."""

    def __init__(
        self, cluster: Cluster, broker_id: int, group_id: str, member_id: str, limits: ShareFetchLimits
    ) -> None:
        self._cluster = cluster
        self._broker_id = broker_id
        self._group_id = group_id
        self._member_id = member_id
        self._limits = limits
        self._epoch = INITIAL_EPOCH
        self._known: set[Place] = set()
        self._lock = asyncio.Lock()
        self.acknowledged: dict[Place, Types] = {}
        """What is not sent yet."""

    def acknowledge(self, place: Place, offset: int, kind: int) -> None:
        """Notes what became of a record. It is sent with the next request."""
        self.acknowledged.setdefault(place, {})[offset] = kind

    async def fetch(self, wanted: Iterable[Place]) -> ShareFetchResponse:
        """Fetches from these partitions, and sends acknowledgements. Raises ClientError, KafkaError."""
        async with self._lock:
            if self._epoch == INITIAL_EPOCH and self.acknowledged:
                self.acknowledged.clear()  # the session that they belong to is gone, and its records are released
            acknowledged, self.acknowledged = self.acknowledged, {}
            places = set(wanted)
            named = {place: acknowledged.get(place, {}) for place in sorted((places - self._known) | set(acknowledged))}
            limits = self._limits
            request = ShareFetchRequest(
                group_id=self._group_id,
                member_id=self._member_id,
                share_session_epoch=self._epoch,
                max_wait_ms=limits.max_wait_ms,
                min_bytes=limits.min_bytes,
                max_bytes=limits.max_bytes,
                max_records=limits.max_records,
                batch_size=limits.max_records,
                share_acquire_mode=int(limits.is_exact),
                topics=_fetch_topics(named),
                forgotten_topics_data=_forgotten(self._known - places),
            )
            connection = await self._cluster.connection(self._broker_id, PURPOSE)
            lowest = RECORD_LIMIT_SINCE if limits.is_exact else None
            if lowest is not None and connection.version_for(ShareFetchRequest) < lowest:
                raise broker_error(ErrorCode.UNSUPPORTED_VERSION, "share_acquire_mode='record_limit'")
            response = await connection.call(request, ShareFetchResponse)
            self._answered(response.error_code)
            self._known = places
            return response

    async def send(self, *, is_last: bool = False) -> dict[Place, KafkaError | None]:
        """Sends acknowledgements alone. ``is_last`` ends the session, which releases what is still held.

        Returns the result of each partition. Raises ClientError, KafkaError.
        """
        async with self._lock:
            if self._epoch == INITIAL_EPOCH:
                self.acknowledged.clear()
                return {}
            acknowledged, self.acknowledged = self.acknowledged, {}
            if not acknowledged and not is_last:
                return {}
            epoch = FINAL_EPOCH if is_last else self._epoch
            request = ShareAcknowledgeRequest(
                group_id=self._group_id,
                member_id=self._member_id,
                share_session_epoch=epoch,
                topics=_acknowledged_topics(acknowledged),
            )
            connection = await self._cluster.connection(self._broker_id, PURPOSE)
            response = await connection.call(request, ShareAcknowledgeResponse)
            self._answered(response.error_code)
            if is_last:
                self._epoch = INITIAL_EPOCH
            return {
                (topic.topic_id, one.partition_index): (
                    broker_error(one.error_code, f"partition {one.partition_index}", one.error_message)
                    if one.error_code
                    else None
                )
                for topic in response.responses
                for one in topic.partitions
            }

    def lose(self) -> None:
        """Begins a new session with the next request, because the connection was lost."""
        self._epoch = INITIAL_EPOCH
        self._known = set()
        self.acknowledged.clear()

    def _answered(self, error_code: int) -> None:
        if not error_code:
            self._epoch = 1 if self._epoch == MAX_EPOCH else self._epoch + 1
            return
        if error_code in LOST_SESSION:
            self.lose()
        raise broker_error(error_code, f"share group '{self._group_id}'")


def _batches(types: Types) -> list[tuple[int, int, list[int]]]:
    """Acknowledge types as ranges: one type for a range where all are equal, otherwise one for each offset."""
    batches: list[tuple[int, int, list[int]]] = []
    for offset, kind in sorted(types.items()):
        if batches and batches[-1][1] + 1 == offset:
            first, _, kinds = batches[-1]
            kinds.append(kind)
            batches[-1] = (first, offset, kinds)
        else:
            batches.append((offset, offset, [kind]))
    return [(first, last, kinds[:1] if len(set(kinds)) == 1 else kinds) for first, last, kinds in batches]


def _fetch_topics(named: dict[Place, Types]) -> list[ShareFetchRequest.FetchTopic]:
    topics: dict[bytes, ShareFetchRequest.FetchTopic] = {}
    for (topic_id, number), types in named.items():
        batches = [ShareFetchRequest.AcknowledgementBatch(*batch) for batch in _batches(types)]
        topic = topics.setdefault(topic_id, ShareFetchRequest.FetchTopic(topic_id, []))
        topic.partitions.append(ShareFetchRequest.FetchPartition(number, acknowledgement_batches=batches))
    return list(topics.values())


def _acknowledged_topics(named: dict[Place, Types]) -> list[ShareAcknowledgeRequest.AcknowledgeTopic]:
    topics: dict[bytes, ShareAcknowledgeRequest.AcknowledgeTopic] = {}
    for (topic_id, number), types in named.items():
        batches = [ShareAcknowledgeRequest.AcknowledgementBatch(*batch) for batch in _batches(types)]
        topic = topics.setdefault(topic_id, ShareAcknowledgeRequest.AcknowledgeTopic(topic_id, []))
        topic.partitions.append(ShareAcknowledgeRequest.AcknowledgePartition(number, batches))
    return list(topics.values())


def _forgotten(places: set[Place]) -> list[ShareFetchRequest.ForgottenTopic]:
    topics: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(places):
        topics.setdefault(topic_id, []).append(number)
    return [ShareFetchRequest.ForgottenTopic(topic_id, numbers) for topic_id, numbers in topics.items()]
