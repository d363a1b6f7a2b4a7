"""The producer id and epoch of an idempotent producer.

Owns: InitProducerId, and the hooks of the sender that ``transactions.py`` overrides. Source: KIP-98,
``org.apache.kafka.clients.producer.internals.TransactionManager``.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

from ..cluster.cluster import Cluster
from ..cluster.connection import BrokerConnection
from ..errors import broker_error
from ..types import TopicPartition

NO_TRANSACTION_TIMEOUT_MS = 2**31 - 1


class ProducerId(NamedTuple):
    """A producer id and its epoch."""

    producer_id: int
    epoch: int


async def init_producer_id(
    connection: BrokerConnection,
    transactional_id: str | None = None,
    *,
    transaction_timeout_ms: int = NO_TRANSACTION_TIMEOUT_MS,
    current: ProducerId | None = None,
) -> ProducerId:
    """Sends InitProducerId: for a new producer id or the next epoch of ``current``. Raises KafkaError, ClientError."""
    request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=transaction_timeout_ms)
    if current is not None:
        request.producer_id, request.producer_epoch = current
    response = await connection.call(request, InitProducerIdResponse)
    if response.error_code:
        raise broker_error(response.error_code, "InitProducerId")
    return ProducerId(response.producer_id, response.producer_epoch)


class ProducerIdentity:
    """The identity of a producer without transactions. Its batches may always be sent and retried."""

    transactional_id: str | None = None
    max_produce_version: int | None = None

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._wake: Callable[[], None] = lambda: None
        self._fail_waiting: Callable[[BaseException], None] = lambda _: None

    def bind(self, wake: Callable[[], None], fail_waiting: Callable[[BaseException], None]) -> None:
        """Sets the sender's callbacks: ``wake`` makes it look for batches, ``fail_waiting`` fails queued records."""
        self._wake = wake
        self._fail_waiting = fail_waiting

    async def obtain(self) -> ProducerId:
        """Gets a producer id from any broker. Raises KafkaError, ClientError."""
        return await init_producer_id(await self._cluster.any_connection())

    def may_send(self, _partition: TopicPartition) -> bool:
        """Whether batches of the partition may be sent now."""
        return True

    @property
    def may_retry(self) -> bool:
        """Whether a failed batch may be sent again."""
        return True

    def batch_failed(self, error: BaseException) -> None:
        """Called after a batch failed for good. Does nothing without transactions."""
