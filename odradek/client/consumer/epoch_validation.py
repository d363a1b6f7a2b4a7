"""Checks, after a partition got a new leader, that its log still has the records that the consumer has read.

Owns: nothing; it moves the subscription's positions. It asks the leader where the epoch of the last read record ends.
An end before the position means that the log was truncated: the consumer continues from that end, or gets an error if
it has no reset policy. Source: KIP-320,
``consumer.internals.OffsetFetcher.validatePositionsAsync``, ``SubscriptionState.maybeCompleteValidation``.
"""

import asyncio
import logging
from collections import defaultdict

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.offsets import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse

from ..cluster.cluster import Cluster
from ..errors import ClientError, LogTruncationError, broker_error
from ..group.subscription import PartitionState, SubscriptionState
from ..types import OffsetAndMetadata, TopicPartition

logger = logging.getLogger(__name__)
USABLE_SINCE = 3
"""Earlier versions of OffsetForLeaderEpoch need the cluster permission of a replica (``OffsetsForLeaderEpochClient``).
"""
ASK_AGAIN = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)


class EpochValidation:
    """Validates the positions of one consumer."""

    def __init__(self, cluster: Cluster, subscription: SubscriptionState, *, has_reset: bool) -> None:
        """``has_reset``: whether the consumer has a reset policy. Without one a truncation is an error."""
        self._cluster = cluster
        self._subscription = subscription
        self._has_reset = has_reset

    def pending(self) -> dict[TopicPartition, PartitionState]:
        """The partitions whose position must be validated with their leader."""
        metadata, subscription = self._cluster.metadata, self._subscription
        subscription.metadata_is(metadata.generation)
        found = {}
        for partition in subscription.to_validate:
            state = subscription.assigned.get(partition)
            leader = metadata.leader(*partition) if state is not None and state.position is not None else None
            if state is not None and leader is not None and state.needs_validation(leader):
                found[partition] = state
        subscription.to_validate = dict.fromkeys(found)
        return found

    async def validate(self, reset_timestamp: int | None) -> None:
        """Sends one request to each leader; the partitions of a failed request stay pending.

        ``reset_timestamp`` is for ListOffsets; it is used if the leader does not know where the logs diverge.
        Raises LogTruncationError if the log lost records that were read and the reset policy is none; KafkaError.
        """
        by_leader: dict[int, dict[TopicPartition, PartitionState]] = defaultdict(dict)
        for partition, state in self.pending().items():
            leader = self._cluster.metadata.leader(*partition)
            if leader is not None:
                by_leader[leader.leader][partition] = state
        again = [await self._ask(leader, states, reset_timestamp) for leader, states in by_leader.items()]
        if any(again):
            await asyncio.sleep(self._cluster.backoff_s(0))
            await self._cluster.refresh({partition.topic for states in by_leader.values() for partition in states})

    async def _ask(
        self, leader_id: int, states: dict[TopicPartition, PartitionState], reset_timestamp: int | None
    ) -> bool:
        """Sends one request to one leader. Returns True if a partition must be asked for again."""
        topics: dict[str, list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition]] = defaultdict(list)
        asked: dict[TopicPartition, tuple[int | None, int, tuple[int, int]]] = {}
        for partition, state in states.items():
            leader = self._cluster.metadata.leader(*partition)
            epoch = leader.leader_epoch if leader is not None else -1
            asked[partition] = (state.position, state.leader_epoch, (leader_id, epoch))
            topics[partition.topic].append(
                OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                    partition=partition.partition, current_leader_epoch=epoch, leader_epoch=state.leader_epoch
                )
            )
        request = OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=[
                OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=name, partitions=parts)
                for name, parts in topics.items()
            ],
        )
        try:
            connection = await self._cluster.connection(leader_id)
            served = connection.versions.get(OffsetForLeaderEpochRequest.API_KEY, (0, -1))
            if served[1] < USABLE_SINCE:
                for partition, state in states.items():
                    if self._subscription.assigned.get(partition) is state:
                        self._subscription.validated(partition, asked[partition][2])
                return False
            response = await connection.call(request, OffsetForLeaderEpochResponse)
        except ClientError:
            return True
        again = False
        for topic in response.topics:
            for answer in topic.partitions:
                partition = TopicPartition(topic.topic, answer.partition)
                state = states[partition]
                if self._subscription.assigned.get(partition) is not state:
                    continue
                position, leader_epoch, leader_now = asked[partition]
                if (state.position, state.leader_epoch) != (position, leader_epoch):
                    continue
                if answer.error_code:
                    error = broker_error(answer.error_code, f"validating the position of {partition}")
                    if error.error_code not in ASK_AGAIN and not error.error_code.retriable:
                        raise error
                    again = True
                else:
                    self._judge(partition, state, answer.leader_epoch, answer.end_offset, reset_timestamp)
                    self._subscription.validated(partition, leader_now)
        return again

    def _judge(
        self, partition: TopicPartition, state: PartitionState, epoch: int, end_offset: int, reset_timestamp: int | None
    ) -> None:
        position = state.position
        assert position is not None
        if epoch >= 0 and end_offset >= position:
            return
        diverging = OffsetAndMetadata(end_offset, "", epoch) if epoch >= 0 and end_offset >= 0 else None
        if not self._has_reset:
            raise LogTruncationError(partition, position, diverging)
        if diverging is not None:
            logger.info(
                "the log of %s was truncated below the position %d: continuing at offset %d",
                partition,
                position,
                end_offset,
            )
            self._subscription.seek(partition, end_offset, epoch)
        elif reset_timestamp is not None:
            logger.info("the log of %s was truncated below the position %d: resetting the offset", partition, position)
            self._subscription.reset(partition, reset_timestamp)
