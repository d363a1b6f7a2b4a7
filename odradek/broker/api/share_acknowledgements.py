"""Acknowledgements of ShareFetch and ShareAcknowledge: their checks, and their answers for each partition.

Source: ``KafkaApis.handleAcknowledgements``, ``KafkaApis.validateAcknowledgementBatches``.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.security.acl import AclOperation

from ..dispatch.request import RequestContext
from ..share_partitions.registry import SharePartitions
from ..share_partitions.sessions import TopicIdPartition
from ..share_partitions.share_partition import RENEW, Acknowledgement
from .parts import ShareFetchParts

PARTITIONS_A_STEP = 16
"""Partitions that are acknowledged in one step: 20 us each, and more for many records with different types."""
MEMBER_ID_MAX = 36
"""The longest member id, in characters."""

Results = dict[TopicIdPartition, tuple[int, str | None]]
"""The partitions that were acknowledged, with their errors. As in Kafka, a request that is refused before its records
are looked at gets no text."""
DONE = (ErrorCode.NONE, None)


class AcknowledgementBatch(Protocol):
    """A batch of either request."""

    first_offset: int
    last_offset: int
    acknowledge_types: list[int]


def check_member(group_id: str | None, member_id: str | None) -> None:
    """Raises KafkaError INVALID_REQUEST for a request without a group, or with a member id that can't be one."""
    if group_id is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid group id in the request.")
    if not member_id or len(member_id) > MEMBER_ID_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid member id in the request.")


def refusal(broker: ShareFetchParts, context: RequestContext, where: TopicIdPartition) -> ErrorCode:
    """Why a client may not use a partition; NONE if it may."""
    topic = broker.metadata.image.topics_by_id.get(where[0])
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if context.access is not None and not context.access.topic(AclOperation.READ, topic.name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return ErrorCode.NONE if where[1] in topic.partitions else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def acknowledge_all(
    broker: ShareFetchParts,
    context: RequestContext,
    group_id: str,
    member_id: str,
    acknowledged: Iterable[tuple[TopicIdPartition, Sequence[AcknowledgementBatch]]],
    *,
    renews: bool | None,
    done: Callable[[Results], None],
) -> Steps[None]:
    """Carries out the acknowledgements of a request, for each partition all or none of them.

    ``renews``: whether it may renew locks; None in a version that can't. ``done`` is called once, when all are stored.
    """
    meters = broker.topic_meters

    def count_and_end(results: Results) -> None:
        if meters is not None:
            image = broker.metadata.image
            for (topic_id, _), (error, _message) in results.items():
                if topic_id in image.topics_by_id:
                    meters.share_acknowledged(image.topics_by_id[topic_id].name, has_failed=bool(error))
        done(results)

    work = _AckWork(count_and_end)
    shares = broker.share_partitions
    for count, (where, batches) in enumerate(acknowledged):
        if count % PARTITIONS_A_STEP == PARTITIONS_A_STEP - 1:
            yield
        error = refusal(broker, context, where)
        if not error and not _are_valid(batches, renews):
            error = ErrorCode.INVALID_REQUEST
        if error:
            work.results[where] = (error, None)
        elif batches:
            work.begin(shares, group_id, member_id, where, batches)
        else:
            work.results[where] = DONE
    work.end_begun()


class _AckWork:
    """The acknowledgements of one request that are not stored yet."""

    def __init__(self, done: Callable[[Results], None]) -> None:
        self.results: Results = {}
        self._done = done
        self._missing = 1

    def begin(
        self,
        shares: SharePartitions,
        group_id: str,
        member_id: str,
        where: TopicIdPartition,
        batches: Sequence[AcknowledgementBatch],
    ) -> None:
        share = shares.find(group_id, where)
        if share is None or not share.is_active:
            unknown = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            self.results[where] = (unknown.error_code, unknown.message)
            return
        self._missing += 1

        def stored(error: KafkaError | None) -> None:
            self.results[where] = DONE if error is None else (error.error_code, error.message)
            self.end_begun()

        acknowledgements = [
            Acknowledgement(batch.first_offset, batch.last_offset, batch.acknowledge_types) for batch in batches
        ]
        share.acknowledge(member_id, acknowledgements, stored)

    def end_begun(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._done(self.results)


def _are_valid(batches: Sequence[AcknowledgementBatch], renews: bool | None) -> bool:
    """Whether the batches are in order, and have one type or one for each record."""
    highest = RENEW - 1 if renews is None else RENEW
    before = -1
    for batch in batches:
        types = batch.acknowledge_types
        if batch.first_offset > batch.last_offset or batch.first_offset < before or not types:
            return False
        if len(types) > 1 and len(types) != batch.last_offset - batch.first_offset + 1:
            return False
        if any(not 0 <= kind <= highest or (kind == RENEW and not renews) for kind in set(types)):
            return False
        before = batch.last_offset
    return True
