"""Reads a partition forward or backward, one bounded piece at a time.

Owns: where a reader is in a partition, and how much it has read. Never does: a consumer group, a commit. Up to the last
stable offset the pieces are read with read_committed, because only then a broker names the aborted transactions; their
records are in the answer all the same. The rest is read with read_uncommitted.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.cluster.cluster import Cluster
from odradek.client.cluster.list_offsets import ISOLATION_LEVELS
from odradek.client.errors import broker_error
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse

from .record_walk import Fetched, FoundRecord, entries, next_offset

NAMES_UP_TO = 12
"""The last version of Fetch with topic names; later versions have topic ids (KIP-516)."""
PIECE_BYTES = 256 * 1024
"""The bytes that one Fetch asks for. A batch that is larger comes whole."""
FIRST_WINDOW, LARGEST_WINDOW = 64, 65_536
"""The number of offsets in one piece of a backward reader: doubled while pieces have few records."""
READ_COMMITTED, READ_UNCOMMITTED = ISOLATION_LEVELS["read_committed"], ISOLATION_LEVELS["read_uncommitted"]
ATTEMPTS = 5


class Bounds(NamedTuple):
    """The offsets of a partition: its start, its end (the high watermark) and its last stable offset."""

    start: int
    end: int
    stable: int


@dataclass(slots=True)
class Looked:
    """How far a look went."""

    records: int = 0
    """Records and control records that were read."""
    bytes: int = 0
    """Bytes of the batches that brokers sent."""


class ReadStep(NamedTuple):
    """What one step of a reader found, in its direction."""

    entries: list[FoundRecord]
    is_last: bool


async def fetch(
    cluster: Cluster, partition: TopicPartition, offset: int, isolation: int, *, max_bytes: int = PIECE_BYTES
) -> FetchResponse.PartitionData:
    """One Fetch of one partition, without waiting for records. Raises KafkaError, ClientError.

    Asks the metadata again if the leader has moved.
    """
    for attempt in range(ATTEMPTS):
        leader = await cluster.leader(*partition)
        connection = await cluster.connection(leader, "console-fetch")
        request = _request({partition: offset}, isolation, max_bytes, wait_ms=0)
        response = await connection.call(request, FetchResponse, max_version=NAMES_UP_TO)
        found = response.responses[0].partitions[0] if response.responses else None
        code = response.error_code or (found.error_code if found is not None else ErrorCode.UNKNOWN_SERVER_ERROR)
        if not code and found is not None:
            return found
        error = broker_error(code, f"reading {partition} at {offset}")
        if not error.error_code.retriable or attempt == ATTEMPTS - 1:
            raise error
        await asyncio.sleep(cluster.backoff_s(attempt))
        await cluster.refresh({partition.topic})
    raise AssertionError("the last attempt returns or raises")


async def fetch_new(
    cluster: Cluster, leader: int, positions: Mapping[TopicPartition, int], wait_ms: int
) -> list[tuple[TopicPartition, FetchResponse.PartitionData]]:
    """One Fetch of many partitions of a leader, which waits up to ``wait_ms`` for new records. Raises ClientError."""
    connection = await cluster.connection(leader, "console-tail")
    request = _request(positions, READ_UNCOMMITTED, PIECE_BYTES, wait_ms)
    response = await connection.call(request, FetchResponse, max_version=NAMES_UP_TO)
    return [
        (TopicPartition(topic.topic, part.partition_index), part)
        for topic in response.responses
        for part in topic.partitions
    ]


def _request(positions: Mapping[TopicPartition, int], isolation: int, max_bytes: int, wait_ms: int) -> FetchRequest:
    topics: dict[str, list[FetchRequest.FetchPartition]] = {}
    for partition, offset in positions.items():
        topics.setdefault(partition.topic, []).append(
            FetchRequest.FetchPartition(
                partition=partition.partition,
                current_leader_epoch=-1,
                fetch_offset=offset,
                partition_max_bytes=max_bytes,
            )
        )
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1 if wait_ms else 0,
        max_bytes=max_bytes,
        isolation_level=isolation,
        session_id=0,
        session_epoch=-1,
        topics=[FetchRequest.FetchTopic(topic=name, partitions=parts) for name, parts in topics.items()],
    )


async def fetched(cluster: Cluster, partition: TopicPartition, offset: int, stable: int) -> Fetched:
    """The bytes of one Fetch, with what is known of their transactions."""
    is_stable = offset < stable
    data = await fetch(cluster, partition, offset, READ_COMMITTED if is_stable else READ_UNCOMMITTED)
    aborted = [(transaction.producer_id, transaction.first_offset) for transaction in data.aborted_transactions or ()]
    return Fetched(bytes(data.records or b""), aborted, is_stable)


class LookReader:
    """Reads a partition from a position on, in one direction."""

    def __init__(self, cluster: Cluster, partition: TopicPartition, bounds: Bounds, position: int, looked: Looked):
        """``position``: the next offset of a forward reader; for a backward reader, the offset after the next one."""
        self.partition = partition
        self.bounds = bounds
        self.position = max(bounds.start, min(position, bounds.end))
        self._cluster = cluster
        self._looked = looked
        self._window = FIRST_WINDOW

    async def forward(self) -> ReadStep:
        """The next records, in the order of their offsets. Raises KafkaError, ClientError."""
        end = self.bounds.end
        if self.position >= end:
            return ReadStep([], is_last=True)
        found, self.position = await self._read(self.position, end)
        return ReadStep(found, self.position >= end)

    async def backward(self) -> ReadStep:
        """The records before the position, the last one first. Raises KafkaError, ClientError."""
        end = self.position
        if end <= self.bounds.start:
            return ReadStep([], is_last=True)
        start = max(self.bounds.start, end - self._window)
        found: list[FoundRecord] = []
        at, bytes_before = start, self._looked.bytes
        while at < end:
            more, at = await self._read(at, end)
            found += more
        if self._looked.bytes - bytes_before < PIECE_BYTES:
            self._window = min(self._window * 2, LARGEST_WINDOW)
        else:
            self._window = max(self._window // 2, 1)
        self.position = start
        found.reverse()
        return ReadStep(found, start <= self.bounds.start)

    async def _read(self, start: int, end: int) -> tuple[list[FoundRecord], int]:
        """The entries of one Fetch from ``start`` to before ``end``, and the offset to go on at."""
        answer = await fetched(self._cluster, self.partition, start, self.bounds.stable)
        after = next_offset(answer, start)
        found = list(entries(self.partition.partition, answer, start, end))
        self._looked.bytes += len(answer.data)
        self._looked.records += len(found)
        if after == start:  # nothing is left there: the rest was compacted away, or is after the last stable offset
            after = self.bounds.stable if start < self.bounds.stable < end else end
        return found, min(after, end)
