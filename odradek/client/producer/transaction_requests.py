"""Sends a transactional producer's requests to its coordinators, with retries.

No state except the coordinators. Source: ``clients.producer.internals.TransactionManager`` (its handlers), KIP-890
(request versions that need transaction.version 2).
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import TypeVar

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    EndTxnRequest,
    EndTxnResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)

from ..cluster.cluster import Cluster
from ..cluster.coordinator import COORDINATOR_MOVED, TRANSACTION_KEY_TYPE, CoordinatorConnection
from ..errors import BrokerConnectionError, RequestTimedOutError, TransactionTimeoutError, broker_error
from ..types import GroupMetadata, OffsetAndMetadata, TopicPartition, partitions_by_topic
from .producer_identity import ProducerId

TRANSACTION_VERSION = "transaction.version"
SINGLE_TRANSACTION_UP_TO = 3
"""The last version of AddPartitionsToTxn for clients. Later ones are for brokers, with several transactions each."""
END_BEFORE_V2 = 4
OFFSETS_BEFORE_V2 = 4
NAMES_UP_TO = 5
"""From version 6 on, TxnOffsetCommit has topic ids, which this client does not need."""
Result = TypeVar("Result")


class TransactionRequests:
    """Sends the requests of one transactional id."""

    def __init__(self, cluster: Cluster, transactional_id: str, *, max_block_ms: float) -> None:
        """``max_block_ms`` limits the retries of each request."""
        self._cluster = cluster
        self._transactional_id = transactional_id
        self._max_block_ms = max_block_ms
        self.coordinator = CoordinatorConnection(
            cluster, transactional_id, key_type=TRANSACTION_KEY_TYPE, timeout_ms=max_block_ms
        )
        self._group_coordinators: dict[str, CoordinatorConnection] = {}

    async def serves_v2(self) -> bool:
        """Whether the cluster's finalized transaction.version is at least 2. Raises KafkaError, ClientError."""
        connection = await self.coordinator.connection()
        return connection.finalized_features.get(TRANSACTION_VERSION, 0) >= 2

    async def add_partitions(self, producer: ProducerId, partitions: Collection[TopicPartition]) -> None:
        """Sends AddPartitionsToTxn. If several partitions fail, raises the KafkaError that is not retriable, if any.

        Raises TransactionTimeoutError, ClientError.
        """
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=numbers)
                for name, numbers in partitions_by_topic(sorted(partitions)).items()
            ],
        )

        async def once() -> None:
            connection = await self.coordinator.connection()
            response = await connection.call(request, AddPartitionsToTxnResponse, max_version=SINGLE_TRANSACTION_UP_TO)
            errors = [
                broker_error(
                    part.partition_error_code, f"adding {topic.name}-{part.partition_index} to the transaction"
                )
                for topic in response.results_by_topic_v3_and_below
                for part in topic.results_by_partition
                if part.partition_error_code
            ]
            if errors:  # OPERATION_NOT_ATTEMPTED only says that another partition failed
                raise min(
                    errors, key=lambda e: (e.error_code.name == "OPERATION_NOT_ATTEMPTED", e.error_code.retriable)
                )

        await self.with_retries("AddPartitionsToTxn", once)

    async def add_offsets(self, producer: ProducerId, group_id: str) -> None:
        """Sends AddOffsetsToTxn. Raises KafkaError, ClientError."""
        request = AddOffsetsToTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group_id,
        )

        async def once() -> None:
            connection = await self.coordinator.connection()
            response = await connection.call(request, AddOffsetsToTxnResponse)
            if response.error_code:
                raise broker_error(response.error_code, f"adding offsets of group '{group_id}' to the transaction")

        await self.with_retries("AddOffsetsToTxn", once)

    async def commit_offsets(
        self,
        producer: ProducerId,
        group: GroupMetadata,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        is_v2: bool,
    ) -> None:
        """Sends TxnOffsetCommit to the group's coordinator. Raises KafkaError, ClientError."""
        by_topic = partitions_by_topic(sorted(offsets))
        request = TxnOffsetCommitRequest(
            transactional_id=self._transactional_id,
            group_id=group.group_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            generation_id_or_member_epoch=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                    name=name, partitions=[_offset(n, offsets[TopicPartition(name, n)]) for n in numbers]
                )
                for name, numbers in by_topic.items()
            ],
        )
        coordinator = self._group_coordinators.setdefault(
            group.group_id, CoordinatorConnection(self._cluster, group.group_id, timeout_ms=self._max_block_ms)
        )

        async def once() -> None:
            connection = await coordinator.connection()
            max_version = NAMES_UP_TO if is_v2 else OFFSETS_BEFORE_V2
            response = await connection.call(request, TxnOffsetCommitResponse, max_version=max_version)
            for topic in response.topics:
                for part in topic.partitions:
                    if part.error_code:
                        what = f"transactional offset of {topic.name}-{part.partition_index}"
                        raise broker_error(part.error_code, what)

        await self.with_retries("TxnOffsetCommit", once, coordinator)

    async def end(self, producer: ProducerId, *, committed: bool, is_v2: bool) -> ProducerId | None:
        """Sends EndTxn. Returns the producer id and epoch for the next transaction, or None if they stay the same.

        Raises KafkaError, ClientError.
        """
        request = EndTxnRequest(
            transactional_id=self._transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=committed,
        )

        async def once() -> ProducerId | None:
            connection = await self.coordinator.connection()
            max_version = None if is_v2 else END_BEFORE_V2
            response = await connection.call(request, EndTxnResponse, max_version=max_version)
            if response.error_code:
                raise broker_error(response.error_code, "committing" if committed else "aborting")
            if response.producer_id < 0:
                return None
            return ProducerId(response.producer_id, response.producer_epoch)

        return await self.with_retries("EndTxn", once)

    async def with_retries(
        self, what: str, once: Callable[[], Awaitable[Result]], coordinator: CoordinatorConnection | None = None
    ) -> Result:
        """Calls ``once`` until it succeeds or fails with an error that is not retriable.

        Raises KafkaError, TransactionTimeoutError after ``max_block_ms``, ClientError.
        """
        asked = coordinator or self.coordinator
        deadline = asyncio.get_running_loop().time() + self._max_block_ms / 1000
        attempts = 0
        while True:
            try:
                return await once()
            except (BrokerConnectionError, RequestTimedOutError) as error:
                asked.forget()
                failure: Exception = error
            except KafkaError as error:
                if not error.error_code.retriable:
                    raise
                if error.error_code in COORDINATOR_MOVED:
                    asked.forget()
                failure = error
            delay_s = self._cluster.backoff_s(attempts)
            if asyncio.get_running_loop().time() + delay_s >= deadline:
                raise TransactionTimeoutError(
                    f"{what} did not succeed within max_block_ms ({self._max_block_ms:.0f} ms): {failure}"
                ) from failure
            await asyncio.sleep(delay_s)
            attempts += 1


def _offset(partition: int, offset: OffsetAndMetadata) -> TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
