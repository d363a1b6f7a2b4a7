"""DeleteShareGroupOffsets (92): a share group without members forgets topics (KIP-932).

Versions: 0.
Errors: UNSUPPORTED_VERSION (share.version is not finalised), INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP,
COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE; of a topic UNKNOWN_TOPIC_OR_PARTITION (also if
the group does not know it), and those of the share coordinator.
Source: ``KafkaApis.handleDeleteShareGroupOffsetsRequest``, ``GroupCoordinatorService.deleteShareGroupOffsets``.
"""

from collections.abc import Callable
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import DeleteShareGroupOffsetsRequest, DeleteShareGroupOffsetsResponse

from ..dispatch.request import RequestContext
from ..groups.core import GroupCore
from ..groups.effects import GroupEffects
from ..groups.share.offsets import (
    DeletedTopic,
    OffsetDeletion,
    begin_offset_deletion,
    complete_offset_deletion,
    plan_deletion,
)
from ..groups.share.state_requests import Errors, delete
from ..metadata.image.features import SHARE_VERSION
from .parts import ShareParts

API_KEY = ApiKey.DELETE_SHARE_GROUP_OFFSETS
Respond = Callable[[DeleteShareGroupOffsetsResponse], None]


def _refused(error: ErrorCode, message: str | None = None) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error, error_message=message or error.message)


def handle(
    broker: ShareParts, request: DeleteShareGroupOffsetsRequest, context: RequestContext, reply: Respond
) -> Steps[None]:
    """Answers after the share coordinators have deleted the state of the topics, and the group has noted that."""
    if not broker.metadata.image.features.get(SHARE_VERSION):
        reply(_refused(ErrorCode.UNSUPPORTED_VERSION))
        return
    if not request.group_id:
        reply(_refused(ErrorCode.INVALID_GROUP_ID))
        return
    coordinator = broker.group_coordinator
    plan = yield from plan_deletion(coordinator.topics, request)
    deletion = OffsetDeletion([], [])

    def decide(core: GroupCore, effects: GroupEffects) -> None:
        nonlocal deletion
        try:
            deletion = begin_offset_deletion(core.groups, request.group_id, plan, effects)
            effects.response = DeleteShareGroupOffsetsResponse(responses=deletion.refused)
        except KafkaError as error:
            effects.response = _refused(error.error_code, error.message)

    def noted(response: DeleteShareGroupOffsetsResponse) -> None:
        if response.error_code or not deletion.keys:
            reply(response)
            return
        coordinator.timers.schedule(
            0, partial(_delete_state, broker, request.group_id, deletion, context.now_ms, reply)
        )

    coordinator.write(request.group_id, context.now_ms, decide, noted, _refused)


def _delete_state(broker: ShareParts, group_id: str, deletion: OffsetDeletion, now_ms: int, reply: Respond) -> None:
    coordinator = broker.group_coordinator

    def done(errors: Errors) -> None:
        failed = {key.topic_id: error for key, error in errors.items()}
        deleted = {key.topic_id for key in deletion.keys} - failed.keys()
        refused = list(deletion.refused)
        for topic_id, error in failed.items():
            topic = broker.metadata.image.topics_by_id.get(topic_id)
            refused.append(DeletedTopic("" if topic is None else topic.name, topic_id, error, error.message))
        if not deleted:
            reply(DeleteShareGroupOffsetsResponse(responses=refused))
            return
        coordinator.write(
            group_id,
            now_ms,
            lambda core, effects: complete_offset_deletion(core.groups, group_id, deleted, refused, effects),
            reply,
            _refused,
        )

    delete(broker.persister, coordinator, group_id, deletion.keys, done)
