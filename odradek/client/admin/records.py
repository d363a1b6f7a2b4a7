"""The admin client's part for the records of partitions: find offsets by timestamp, delete the oldest records."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping

from odradek.protocol.messages.offsets import DeleteRecordsRequest, DeleteRecordsResponse

from ..cluster.list_offsets import ISOLATION_LEVELS, list_offsets
from ..types import OffsetAndTimestamp, TopicPartition, partitions_by_topic
from .base import AdminBase, all_or_raise, split


class RecordAdmin(AdminBase):
    """Calls about records; part of Admin."""

    async def list_offsets(
        self, timestamps: Mapping[TopicPartition, int], *, isolation_level: str = "read_uncommitted"
    ) -> dict[TopicPartition, OffsetAndTimestamp]:
        """The first offset whose record's timestamp is at or after the given one, in ms.

        Timestamp -1 asks for the end of the log, -2 for its start, -3 for the record with the maximum timestamp.
        Offset -1 is returned if no record has such a timestamp. Raises KafkaError.
        """
        return await list_offsets(
            self._cluster, timestamps, isolation_level=ISOLATION_LEVELS[isolation_level], timeout_ms=self._timeout_ms
        )

    async def delete_records(self, before_offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Deletes the records before the offsets (-1: the high watermark). Returns the new low watermarks.

        Raises AdminError: OFFSET_OUT_OF_RANGE, POLICY_VIOLATION for a topic that is compacted only …
        """
        by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in before_offsets:
            by_leader[await self._cluster.leader(*partition)].append(partition)

        async def ask(leader: int, partitions: list[TopicPartition]) -> DeleteRecordsResponse:
            request = DeleteRecordsRequest(
                topics=[
                    DeleteRecordsRequest.DeleteRecordsTopic(
                        name=name,
                        partitions=[
                            DeleteRecordsRequest.DeleteRecordsPartition(
                                partition_index=number, offset=before_offsets[TopicPartition(name, number)]
                            )
                            for number in numbers
                        ],
                    )
                    for name, numbers in partitions_by_topic(partitions).items()
                ],
                timeout_ms=int(self._timeout_ms),
            )
            connection = await self._cluster.connection(leader)
            return await connection.call(request, DeleteRecordsResponse, timeout_ms=self._timeout_ms)

        answers = await asyncio.gather(*(ask(leader, partitions) for leader, partitions in by_leader.items()))
        errors, results = split(
            (TopicPartition(topic.name, part.partition_index), part.error_code, None, part.low_watermark)
            for answer in answers
            for topic in answer.topics
            for part in topic.partitions
        )
        return all_or_raise(errors, results)
