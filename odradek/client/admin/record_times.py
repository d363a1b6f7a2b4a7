"""Finds the first record that a consumer would read from an offset on, and its timestamp.

Owns: fetching only the batches at the given offsets. Never does: estimates a time from neighbouring records. Source:
``consumer.internals.CompletedFetch`` decides which records a consumer sees (``fetched.py``).
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse

from ..cluster.list_offsets import EARLIEST_TIMESTAMP, ISOLATION_LEVELS, list_offsets
from ..consumer.fetched import FetchedPartition
from ..errors import BrokerConnectionError, broker_error
from ..types import TopicPartition, partitions_by_topic
from .base import AdminBase

NAMES_UP_TO = 12
"""The last version of Fetch with topic names; later versions have topic ids (KIP-516)."""
PARTITIONS_IN_A_REQUEST = 200
FIRST_BYTES_OF_A_PARTITION = 32 * 1024
"""Two batches of the default batch.size. A larger batch is fetched again, with MORE_ROOM times the bytes."""
BYTES_OF_A_REQUEST = 50 * 1024 * 1024
MORE_ROOM = 8


class NextRecord(NamedTuple):
    """A record and its timestamp in ms since 1970; -1 in records without one."""

    offset: int
    timestamp_ms: int


class RecordTimeAdmin(AdminBase):
    """Calls about the timestamps of records."""

    async def next_records(
        self, ranges: Mapping[TopicPartition, tuple[int, int]], *, isolation_level: str = "read_uncommitted"
    ) -> dict[TopicPartition, NextRecord | None]:
        """The first record of each partition that a consumer reads in its range of offsets (start, exclusive end).

        Skips control records, and with read_committed also aborted records. If retention or compaction removed the
        start, returns the next remaining record. None if the range has no readable record.
        Raises KafkaError if a partition cannot be read before the timeout.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout_ms / 1000
        isolation = ISOLATION_LEVELS[isolation_level]
        found: dict[TopicPartition, NextRecord | None] = {p: None for p, (start, end) in ranges.items() if start >= end}
        positions = {p: start for p, (start, end) in ranges.items() if start < end}
        room = FIRST_BYTES_OF_A_PARTITION
        attempts = 0
        while positions:
            before = dict(positions)
            failures = await self._read_once(ranges, positions, found, isolation, room)
            if not failures and positions == before and not found.keys() & positions.keys():
                if room > BYTES_OF_A_REQUEST:
                    first = next(iter(positions.items()))
                    failures = [broker_error(ErrorCode.REQUEST_TIMED_OUT, f"reading {first[0]} at {first[1]}")]
                room *= MORE_ROOM
            if failures:
                await self._cluster.back_off(failures[0], attempts, deadline)
                await self._cluster.refresh({partition.topic for partition in positions})
                attempts += 1
            for partition in found:
                positions.pop(partition, None)
        return {partition: found[partition] for partition in ranges}

    async def _read_once(
        self,
        ranges: Mapping[TopicPartition, tuple[int, int]],
        positions: dict[TopicPartition, int],
        found: dict[TopicPartition, NextRecord | None],
        isolation: int,
        room: int,
    ) -> list[KafkaError | BrokerConnectionError]:
        """Sends one Fetch for each leader and up to PARTITIONS_IN_A_REQUEST partitions. Returns the retriable errors.

        Raises KafkaError for other errors.
        """
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in positions:
            by_leader[await self._cluster.leader(*partition)].append(partition)
        failures: list[KafkaError | BrokerConnectionError] = []
        deleted: list[TopicPartition] = []

        async def read(leader: int, part: list[TopicPartition]) -> None:
            try:
                connection = await self._cluster.connection(leader)
                request = _fetch_request(part, positions, isolation, room)
                response = await connection.call(request, FetchResponse, max_version=NAMES_UP_TO)
            except BrokerConnectionError as error:
                failures.append(error)
                return
            if response.error_code:
                failures.append(broker_error(response.error_code, "Fetch"))
                return
            for topic in response.responses:
                for data in topic.partitions:
                    partition = TopicPartition(topic.topic, data.partition_index)
                    if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                        deleted.append(partition)
                    elif data.error_code:
                        failure = broker_error(data.error_code, f"reading {partition} at {positions[partition]}")
                        if not failure.error_code.retriable:
                            raise failure
                        failures.append(failure)
                    else:
                        _read_answer(partition, ranges[partition][1], data, positions, found, isolation)

        parts = [
            (leader, partitions[start : start + PARTITIONS_IN_A_REQUEST])
            for leader, partitions in by_leader.items()
            for start in range(0, len(partitions), PARTITIONS_IN_A_REQUEST)
        ]
        for leader, part in parts:  # one after the other: each answer may be tens of MiB
            await read(leader, part)
        await self._go_to_log_start(deleted, ranges, positions, found)
        return failures

    async def _go_to_log_start(
        self,
        partitions: list[TopicPartition],
        ranges: Mapping[TopicPartition, tuple[int, int]],
        positions: dict[TopicPartition, int],
        found: dict[TopicPartition, NextRecord | None],
    ) -> None:
        """Handles positions outside the log: those before its start move there, the others end without a record."""
        starts = await list_offsets(
            self._cluster, dict.fromkeys(partitions, EARLIEST_TIMESTAMP), timeout_ms=self._timeout_ms
        )
        for partition, start in starts.items():
            if positions[partition] < start.offset < ranges[partition][1]:
                positions[partition] = start.offset
            else:
                found[partition] = None


def _fetch_request(
    part: list[TopicPartition], positions: Mapping[TopicPartition, int], isolation: int, room: int
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=BYTES_OF_A_REQUEST,
        isolation_level=isolation,
        session_id=0,
        session_epoch=-1,
        topics=[
            FetchRequest.FetchTopic(
                topic=name,
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=number,
                        current_leader_epoch=-1,
                        fetch_offset=positions[TopicPartition(name, number)],
                        partition_max_bytes=min(room, BYTES_OF_A_REQUEST),
                    )
                    for number in numbers
                ],
            )
            for name, numbers in partitions_by_topic(part).items()
        ],
    )


def _read_answer(
    partition: TopicPartition,
    end: int,
    data: FetchResponse.PartitionData,
    positions: dict[TopicPartition, int],
    found: dict[TopicPartition, NextRecord | None],
    isolation: int,
) -> None:
    """Reads one partition's answer. Sets ``found`` to the record, or to None if the range has none.

    Otherwise moves the position past the offsets that were read.
    """
    readable = data.last_stable_offset if isolation else data.high_watermark
    if positions[partition] >= min(end, readable):
        found[partition] = None
        return
    aborted = [(transaction.producer_id, transaction.first_offset) for transaction in data.aborted_transactions or ()]
    fetched = FetchedPartition(
        partition,
        positions[partition],
        data.records or b"",
        aborted_transactions=aborted if isolation else None,
        check_crcs=True,
    )
    records = fetched.take(1)
    if records:
        record = records[0]
        found[partition] = NextRecord(record.offset, record.timestamp) if record.offset < end else None
        return
    positions[partition] = fetched.next_offset
    if positions[partition] >= end:
        found[partition] = None
