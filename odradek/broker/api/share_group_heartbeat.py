"""ShareGroupHeartbeat (76): a member joins a share group, stays in it, gets its assignment, leaves (KIP-932).

Versions: 1. 0 was an early access version.
Errors: UNSUPPORTED_VERSION (share.version is not finalised), INVALID_REQUEST, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR, COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleShareGroupHeartbeat``, ``GroupCoordinatorService.shareGroupHeartbeat``.

A member gets the partitions whose state is stored in ``__share_group_state``. That of new partitions is begun after the
answer, so the members of a new group get theirs in a later heartbeat.
"""

from collections.abc import Iterator
from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

from ..dispatch.request import Reply, RequestContext, in_one_step
from ..groups.coordinator import GroupCoordinator
from ..groups.core import GroupCore
from ..groups.effects import GroupEffects
from ..groups.modern.epochs import JOINING_EPOCH, LEAVE_GROUP_MEMBER_EPOCH
from ..groups.share.heartbeat import changes_nothing, share_group_heartbeat
from ..groups.share.state_requests import initialize
from ..groups.share.state_topics import Initialization
from ..metadata.image.features import SHARE_VERSION
from .parts import ShareParts

API_KEY = ApiKey.SHARE_GROUP_HEARTBEAT
LONGEST_MEMBER_ID = 36


def _refused(error: ErrorCode, message: str | None = None) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error, error_message=message)


def handle(
    broker: ShareParts,
    request: ShareGroupHeartbeatRequest,
    context: RequestContext,
    reply: Reply[ShareGroupHeartbeatResponse],
) -> Iterator[object] | None:
    """Answers after the changes are stored, then has the state of new share partitions begun.

    A heartbeat that may change something is served in slices: hundreds of members may join at once.
    """
    coordinator = broker.group_coordinator
    if not broker.metadata.image.features.get(SHARE_VERSION):
        reply(_refused(ErrorCode.UNSUPPORTED_VERSION))
        return None
    if not 0 < len(request.member_id) <= LONGEST_MEMBER_ID:
        reply(_refused(ErrorCode.INVALID_REQUEST))  # without a message, as in Kafka
        return None
    try:
        _validate(request)
    except KafkaError as error:
        reply(_refused(error.error_code, error.message))
        return None

    wanted: Initialization | None = None

    def decide(core: GroupCore, effects: GroupEffects) -> None:
        nonlocal wanted
        try:
            wanted = share_group_heartbeat(core.groups, request, context, effects)
        except KafkaError as error:
            effects.discard_records()
            effects.response = _refused(error.error_code, error.message)

    def answer(response: ShareGroupHeartbeatResponse) -> None:
        reply(response)
        if wanted is not None and not response.error_code:
            coordinator.timers.schedule(0, partial(_begin_state, broker, wanted))

    def serve() -> None:
        coordinator.write(request.group_id, context.now_ms, decide, answer, _refused)

    if request.member_epoch < 0 or _is_routine(coordinator, request, context.now_ms):
        # A member that leaves may close its connection at once, which would stop work in slices.
        serve()
        return None
    return in_one_step(context, serve)


def _begin_state(broker: ShareParts, wanted: Initialization) -> None:
    initialize(broker.persister, broker.group_coordinator, wanted)


def _is_routine(coordinator: GroupCoordinator, request: ShareGroupHeartbeatRequest, now_ms: int) -> bool:
    """Whether the heartbeat costs little: it changes nothing, or its group is not served here."""
    try:
        core = coordinator.shard_of(request.group_id).core
    except KafkaError:
        return True
    return changes_nothing(core.groups, request, now_ms)


def _validate(request: ShareGroupHeartbeatRequest) -> None:
    """Raises KafkaError INVALID_REQUEST, in Kafka's words."""
    _refuse_blank(request.member_id, "MemberId can't be empty.")
    _refuse_blank(request.group_id, "GroupId can't be empty.")
    _refuse_blank(request.rack_id, "RackId can't be empty.")
    if request.member_epoch == JOINING_EPOCH:
        if not request.subscribed_topic_names:
            raise _invalid("SubscribedTopicNames must be set in first request.")
    elif request.member_epoch < LEAVE_GROUP_MEMBER_EPOCH:
        raise _invalid("MemberEpoch is invalid.")


def _refuse_blank(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(message)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
