"""ConsumerGroupHeartbeat (68): a member joins a consumer group, stays in it, gets its assignment, leaves (KIP-848).

Versions: 0 to 1. 1: regular expressions, and the client creates the member's id.
Errors: UNSUPPORTED_VERSION (group.version is not finalised), INVALID_REQUEST, UNSUPPORTED_ASSIGNOR,
GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID,
GROUP_MAX_SIZE_REACHED, INVALID_REGULAR_EXPRESSION, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleConsumerGroupHeartbeat``, ``GroupCoordinatorService.consumerGroupHeartbeat``.

A heartbeat appends records to ``__consumer_offsets`` only if it changes something. Otherwise it costs one decision, one
timer and one answer.
"""

from collections.abc import Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

from ..dispatch.request import Reply, RequestContext, in_one_step
from ..groups.consumer.heartbeat import changes_nothing, consumer_group_heartbeat, heartbeat_assignment
from ..groups.consumer.member import LEAVE_GROUP_STATIC_MEMBER_EPOCH, PartitionEpochs
from ..groups.coordinator import GroupCoordinator
from ..groups.core import GroupCore
from ..groups.effects import GroupEffects
from ..groups.modern.epochs import LEAVE_GROUP_MEMBER_EPOCH
from ..metadata.image.features import GROUP_VERSION
from .parts import GroupParts

API_KEY = ApiKey.CONSUMER_GROUP_HEARTBEAT
MEMBER_ID_REQUIRED_SINCE = 1


def _refused(error: ErrorCode, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error, error_message=message)


def handle(
    broker: GroupParts,
    request: ConsumerGroupHeartbeatRequest,
    context: RequestContext,
    reply: Reply[ConsumerGroupHeartbeatResponse],
) -> Iterator[object] | None:
    """Answers after the changes are stored.

    A heartbeat that may change something is served in slices: hundreds of members may join at once, or get partitions.
    """
    coordinator = broker.group_coordinator
    try:
        if not broker.metadata.image.features.get(GROUP_VERSION) or not coordinator.config.serves_consumer_protocol:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        _validate(request, context.api_version, coordinator.config.group_consumer_assignors)
    except KafkaError as error:
        reply(_refused(error.error_code, error.message))
        return None

    assigned: PartitionEpochs | None = None

    def decide(core: GroupCore, effects: GroupEffects) -> None:
        nonlocal assigned
        effects.access = context.access
        try:
            assigned = consumer_group_heartbeat(core.groups, request, context, effects)
        except KafkaError as error:
            # No record is stored. Effects on members of a classic group stay: they may already have been told to
            # rejoin.
            effects.discard_records()
            effects.response = _refused(error.error_code, error.message)

    def answer(response: ConsumerGroupHeartbeatResponse) -> None:
        if assigned is None or response.error_code:
            reply(response)
        else:
            reply.run_steps(request, _with_assignment(response, assigned, reply))

    def serve() -> None:
        coordinator.write(request.group_id, context.now_ms, decide, answer, _refused)

    if request.member_epoch < 0 or _is_routine(coordinator, request):
        # A member that leaves may close its connection at once, which would stop work in slices. So serve it in one
        # call.
        serve()
        return None
    return in_one_step(context, serve)


def _with_assignment(
    response: ConsumerGroupHeartbeatResponse, assigned: PartitionEpochs, reply: Reply[ConsumerGroupHeartbeatResponse]
) -> Steps[None]:
    response.assignment = yield from heartbeat_assignment(assigned)
    reply(response)


def _is_routine(coordinator: GroupCoordinator, request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the heartbeat costs little: it changes nothing, or its group is not served here."""
    try:
        core = coordinator.shard_of(request.group_id).core
    except KafkaError:
        return True
    return changes_nothing(core.groups, request)


def _validate(request: ConsumerGroupHeartbeatRequest, api_version: int, assignors: tuple[str, ...]) -> None:
    """Raises KafkaError INVALID_REQUEST or UNSUPPORTED_ASSIGNOR, in Kafka's words."""
    epoch = request.member_epoch
    if api_version >= MEMBER_ID_REQUIRED_SINCE or epoch > 0 or epoch == LEAVE_GROUP_MEMBER_EPOCH:
        _refuse_blank(request.member_id, "MemberId can't be empty.")
    _refuse_blank(request.group_id, "GroupId can't be empty.")
    _refuse_blank(request.instance_id, "InstanceId can't be empty.")
    _refuse_blank(request.rack_id, "RackId can't be empty.")
    if epoch == 0:
        if request.rebalance_timeout_ms == -1:
            raise _invalid("RebalanceTimeoutMs must be provided in first request.")
        if request.topic_partitions is None or request.topic_partitions:
            raise _invalid("TopicPartitions must be empty when (re-)joining.")
        if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
            raise _invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
    elif epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.server_assignor} is not supported. Supported assignors: {', '.join(assignors)}.",
        )


def _refuse_blank(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(message)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
