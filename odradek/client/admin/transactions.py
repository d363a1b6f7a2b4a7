"""The admin client's part for transactions: list, describe and end them, describe a partition's producers (KIP-664).

ListTransactions goes to all brokers and the answers are merged. Transactions are described by their coordinators,
producers by the leaders of their partitions. Source: ``clients.admin.internals.ListTransactionsHandler``,
``DescribeTransactionsHandler``, ``DescribeProducersHandler``, ``AbortTransactionHandler``, ``FenceProducersHandler``.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.transactions import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

from ..cluster.connection import BrokerConnection
from ..errors import AdminError, BrokerConnectionError, UnsupportedVersionError, broker_error
from ..types import TopicPartition, partitions_by_topic
from .base import AdminBase, all_or_raise
from .coordinators import TRANSACTION_KEY, ask_all_brokers, ask_coordinators

DURATION_FILTER_SINCE = 1
PATTERN_SINCE = 2
NO_DURATION_FILTER = -1
FENCING_TRANSACTION_TIMEOUT_MS = 30_000
"""The transaction timeout in InitProducerId; Kafka's admin client sends its request timeout, 30 s by default.

A broker with a lower transaction.max.timeout.ms refuses the request.
"""


class TransactionListing(NamedTuple):
    """A transactional id in a list; ``state`` is Kafka's: Empty, Ongoing, PrepareCommit, CompleteAbort …"""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """A transactional id; ``start_time_ms`` is None while no transaction is open."""

    transactional_id: str
    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: tuple[TopicPartition, ...]


class ProducerState(NamedTuple):
    """A partition's state of one producer. ``transaction_start_offset`` is None without an open transaction;
    ``last_sequence`` and ``coordinator_epoch`` are -1 if unknown."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    transaction_start_offset: int | None


class TransactionAdmin(AdminBase):
    """Calls about transactions; part of Admin."""

    async def list_transactions(
        self,
        *,
        states: Collection[str] = (),
        producer_ids: Collection[int] = (),
        running_longer_than_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> list[TransactionListing]:
        """All transactional ids, or those that pass every filter, sorted by coordinator and id.

        Raises KafkaError INVALID_REGULAR_EXPRESSION, UnsupportedVersionError if a broker does not know a filter.
        """
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=NO_DURATION_FILTER if running_longer_than_ms is None else running_longer_than_ms,
            transactional_id_pattern=transactional_id_pattern or None,
        )

        async def ask(connection: BrokerConnection) -> ListTransactionsResponse:
            _check_filters(request, connection.version_for(ListTransactionsRequest))
            response = await connection.call(request, ListTransactionsResponse)
            if response.error_code:
                raise broker_error(response.error_code, "ListTransactions")
            return response

        answers = await ask_all_brokers(self._cluster, ask, timeout_ms=self._timeout_ms)
        return [
            TransactionListing(found.transactional_id, node_id, found.producer_id, found.transaction_state)
            for node_id, answer in answers.items()
            for found in sorted(answer.transaction_states, key=lambda found: found.transactional_id)
        ]

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """State, producer and partitions of transactional ids. Raises AdminError: TRANSACTIONAL_ID_NOT_FOUND …"""

        async def describe(
            connection: BrokerConnection, ids: Sequence[str]
        ) -> dict[str, TransactionDescription | KafkaError]:
            request = DescribeTransactionsRequest(transactional_ids=list(ids))
            response = await connection.call(request, DescribeTransactionsResponse)
            return {
                state.transactional_id: broker_error(state.error_code, f"transactional id '{state.transactional_id}'")
                if state.error_code
                else _description(state, self._node_of(connection))
                for state in response.transaction_states
            }

        return await ask_coordinators(
            self._cluster, TRANSACTION_KEY, transactional_ids, describe, timeout_ms=self._timeout_ms
        )

    async def describe_producers(
        self, partitions: Collection[TopicPartition], *, broker_id: int | None = None
    ) -> dict[TopicPartition, list[ProducerState]]:
        """The producer states of each partition, from its leader or from the replica on ``broker_id``.

        Raises AdminError: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER if that broker has no replica.
        """
        deadline = asyncio.get_running_loop().time() + self._timeout_ms / 1000
        results: dict[TopicPartition, list[ProducerState]] = {}
        attempts = 0
        while True:
            missing = [partition for partition in partitions if partition not in results]
            found, errors = await self._describe_producers_once(missing, broker_id)
            results.update(found)
            if not errors:
                return {partition: results[partition] for partition in partitions}
            first = next(iter(errors.values()))
            if broker_id is not None or not all(error.error_code.retriable for error in errors.values()):
                return all_or_raise(errors, results)
            await self._cluster.back_off(first, attempts, deadline)
            attempts += 1

    async def _describe_producers_once(
        self, partitions: Collection[TopicPartition], broker_id: int | None
    ) -> tuple[dict[TopicPartition, list[ProducerState]], dict[TopicPartition, KafkaError]]:
        await self._cluster.refresh({partition.topic for partition in partitions})
        by_node: dict[int, list[TopicPartition]] = defaultdict(list)
        for partition in partitions:
            node_id = await self._cluster.leader(*partition) if broker_id is None else broker_id
            by_node[node_id].append(partition)

        async def ask(node_id: int, partitions_there: list[TopicPartition]) -> DescribeProducersResponse:
            topics = [
                DescribeProducersRequest.TopicRequest(name=name, partition_indexes=numbers)
                for name, numbers in partitions_by_topic(partitions_there).items()
            ]
            connection = await self._cluster.connection(node_id)
            return await connection.call(DescribeProducersRequest(topics=topics), DescribeProducersResponse)

        found: dict[TopicPartition, list[ProducerState]] = {}
        errors: dict[TopicPartition, KafkaError] = {}
        for answer in await asyncio.gather(
            *(ask(node_id, partitions_there) for node_id, partitions_there in by_node.items())
        ):
            for topic in answer.topics:
                for part in topic.partitions:
                    partition = TopicPartition(topic.name, part.partition_index)
                    if part.error_code:
                        errors[partition] = broker_error(part.error_code, str(partition), part.error_message)
                    else:
                        found[partition] = [_producer_state(state) for state in part.active_producers]
        return found, errors

    async def abort_transaction(
        self, partition: TopicPartition, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
    ) -> None:
        """Writes a producer's abort marker on one partition, without its coordinator. It ends a hanging transaction.

        Raises KafkaError: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, UNKNOWN_TOPIC_OR_PARTITION.
        """
        marker = WriteTxnMarkersRequest.WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            transaction_result=False,
            topics=[
                WriteTxnMarkersRequest.WritableTxnMarkerTopic(
                    name=partition.topic, partition_indexes=[partition.partition]
                )
            ],
            coordinator_epoch=coordinator_epoch,
        )
        deadline = asyncio.get_running_loop().time() + self._timeout_ms / 1000
        attempts = 0
        while True:
            failure: KafkaError | BrokerConnectionError
            try:
                leader = await self._cluster.leader(*partition)
                connection = await self._cluster.connection(leader)
                response = await connection.call(WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse)
                code = response.markers[0].topics[0].partitions[0].error_code
                if not code:
                    return
                failure = broker_error(code, f"abort marker of producer {producer_id} on {partition}")
                if not failure.error_code.retriable:
                    raise failure
            except BrokerConnectionError as error:
                failure = error
            await self._cluster.back_off(failure, attempts, deadline)
            await self._cluster.refresh([partition.topic])
            attempts += 1

    async def force_terminate_transaction(self, transactional_id: str) -> None:
        """Aborts the open transaction of a transactional id by fencing its producer with InitProducerId.

        An id that was never used becomes registered, as in Kafka. Raises KafkaError.
        """

        async def fence(connection: BrokerConnection, ids: Sequence[str]) -> dict[str, KafkaError | None]:
            outcome: dict[str, KafkaError | None] = {}
            for transactional_id in ids:
                request = InitProducerIdRequest(
                    transactional_id=transactional_id,
                    transaction_timeout_ms=FENCING_TRANSACTION_TIMEOUT_MS,
                    producer_id=-1,
                    producer_epoch=-1,
                )
                response = await connection.call(request, InitProducerIdResponse)
                code = response.error_code
                outcome[transactional_id] = (
                    broker_error(code, f"transactional id '{transactional_id}'") if code else None
                )
            return outcome

        try:
            await ask_coordinators(
                self._cluster, TRANSACTION_KEY, [transactional_id], fence, timeout_ms=self._timeout_ms
            )
        except AdminError as error:
            raise error.errors[transactional_id] from None


def _check_filters(request: ListTransactionsRequest, version: int) -> None:
    """Raises UnsupportedVersionError if a filter does not exist in ``version``.

    The broker would not get that filter, and list too much.
    """
    if request.duration_filter >= 0 and version < DURATION_FILTER_SINCE:
        raise UnsupportedVersionError("the broker cannot filter transactions by duration (Kafka 3.8 can)")
    if request.transactional_id_pattern is not None and version < PATTERN_SINCE:
        raise UnsupportedVersionError("the broker cannot filter transactional ids by pattern (Kafka 4.1 can)")


def _description(state: DescribeTransactionsResponse.TransactionState, coordinator: int) -> TransactionDescription:
    return TransactionDescription(
        state.transactional_id,
        coordinator,
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None,
        tuple(TopicPartition(topic.topic, number) for topic in state.topics for number in topic.partitions),
    )


def _producer_state(state: DescribeProducersResponse.ProducerState) -> ProducerState:
    return ProducerState(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset if state.current_txn_start_offset >= 0 else None,
    )
