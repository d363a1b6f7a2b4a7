"""AlterShareGroupOffsets (91): sets where a share group without members begins to read (KIP-932).

Versions: 0.
Errors: UNSUPPORTED_VERSION (share.version is not finalised), INVALID_GROUP_ID, GROUP_ID_NOT_FOUND (a group of another
kind), NON_EMPTY_GROUP, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE; of a partition
UNKNOWN_TOPIC_OR_PARTITION, and those of the share coordinator. Any offset is taken. An unknown group is created.
Source: ``KafkaApis.handleAlterShareGroupOffsetsRequest``, ``GroupCoordinatorService.alterShareGroupOffsets``.
"""

from collections.abc import Callable
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.internal_records.share_partition_key import SharePartitionKey
from odradek.protocol.messages.share_groups import AlterShareGroupOffsetsRequest, AlterShareGroupOffsetsResponse

from ..dispatch.request import RequestContext
from ..groups.core import GroupCore
from ..groups.effects import GroupEffects
from ..groups.share.offsets import AlteredPartition, AlteredTopic, alter_offsets, plan_alteration
from ..groups.share.state_requests import Errors, alter
from ..groups.share.state_topics import Initialization
from ..metadata.image.features import SHARE_VERSION
from .parts import ShareParts

API_KEY = ApiKey.ALTER_SHARE_GROUP_OFFSETS


def _refused(error: ErrorCode, message: str | None = None) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error, error_message=message or error.message)


def handle(
    broker: ShareParts,
    request: AlterShareGroupOffsetsRequest,
    context: RequestContext,
    reply: Callable[[AlterShareGroupOffsetsResponse], None],
) -> Steps[None]:
    """Answers after the share coordinators have stored the offsets."""
    if not broker.metadata.image.features.get(SHARE_VERSION):
        reply(_refused(ErrorCode.UNSUPPORTED_VERSION))
        return
    if not request.group_id:
        reply(_refused(ErrorCode.INVALID_GROUP_ID))
        return
    coordinator = broker.group_coordinator
    plan = yield from plan_alteration(coordinator.topics, request, context.now_ms)
    wanted: Initialization | None = None

    def decide(core: GroupCore, effects: GroupEffects) -> None:
        nonlocal wanted
        try:
            wanted = alter_offsets(core.groups, request.group_id, plan, effects)
        except KafkaError as error:
            effects.response = _refused(error.error_code, error.message)

    def stored(response: AlterShareGroupOffsetsResponse) -> None:
        if response.error_code or wanted is None:
            reply(response)
            return
        coordinator.timers.schedule(0, partial(_alter, broker, wanted, response, reply))

    coordinator.write(request.group_id, context.now_ms, decide, stored, _refused)


def _alter(
    broker: ShareParts,
    wanted: Initialization,
    response: AlterShareGroupOffsetsResponse,
    reply: Callable[[AlterShareGroupOffsetsResponse], None],
) -> None:
    def done(errors: Errors) -> None:
        if errors:
            for topic in response.responses:
                for partition in topic.partitions:
                    _note(wanted.group_id, topic, partition, errors)
        reply(response)

    alter(broker.persister, broker.group_coordinator, wanted, done)


def _note(group_id: str, topic: AlteredTopic, partition: AlteredPartition, errors: Errors) -> None:
    error = errors.get(SharePartitionKey(group_id, topic.topic_id, partition.partition_index))
    if error and not partition.error_code:
        partition.error_code, partition.error_message = error, error.message
