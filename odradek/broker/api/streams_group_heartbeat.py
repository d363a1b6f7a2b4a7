"""StreamsGroupHeartbeat (88): a member joins a streams group, stays in it, gets its tasks, leaves (KIP-1071).

Versions: 0, 1. 1: acceptableRecoveryLag as an int64, topologyDescriptionRequired, the status of missing client tags.
Errors: UNSUPPORTED_VERSION (streams.version is not finalised, or the protocol is disabled), INVALID_REQUEST,
STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
UNRELEASED_INSTANCE_ID, GROUP_MAX_SIZE_REACHED, COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR,
COORDINATOR_NOT_AVAILABLE.
Source: ``KafkaApis.handleStreamsGroupHeartbeat``, ``GroupCoordinatorService.streamsGroupHeartbeat``.

The internal topics that a new topology lacks are created after the answer, with the rights of the client. Members get
tasks in a later heartbeat.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from odradek.protocol.names.topics import INTERNAL_TOPICS, is_legal, topology_topics
from odradek.protocol.security.acl import AclOperation

from ..dispatch.request import Reply, RequestContext, in_one_step
from ..groups.coordinator import GroupCoordinator
from ..groups.core import GroupCore
from ..groups.effects import GroupEffects
from ..groups.modern.epochs import JOINING_EPOCH
from ..groups.streams.configured_topology import StatusCode
from ..groups.streams.heartbeat import (
    NO_INTERNAL_TOPICS,
    Prepared,
    changes_nothing,
    prepare,
    streams_group_heartbeat,
)
from ..groups.streams.member import LEAVE_GROUP_STATIC_MEMBER_EPOCH
from ..groups.streams.request_limits import refuse_large
from ..groups.streams.topology import InternalTopic
from ..metadata.image.features import STREAMS_VERSION
from .parts import StreamsParts

API_KEY = ApiKey.STREAMS_GROUP_HEARTBEAT
FAILURES_SHOWN = 3
FAILURES_KEPT_MS = 10_000
"""How long a failure to create an internal topic is kept; twice the default heartbeat interval of Kafka, as there."""
Status = StreamsGroupHeartbeatResponse.Status


def _refused(error: ErrorCode, message: str | None = None) -> StreamsGroupHeartbeatResponse:
    return StreamsGroupHeartbeatResponse(error_code=error, error_message=message)


def handle(
    broker: StreamsParts,
    request: StreamsGroupHeartbeatRequest,
    context: RequestContext,
    reply: Reply[StreamsGroupHeartbeatResponse],
) -> Iterator[object] | None:
    """Answers after the changes are stored, then has missing internal topics created.

    A heartbeat that may change something is served in slices: hundreds of members may join at once.
    """
    coordinator = broker.group_coordinator
    try:
        if not broker.metadata.image.features.get(STREAMS_VERSION) or not coordinator.config.serves_streams_protocol:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        refuse_large(request)
        if request.topology is not None:
            _check_topic_names(topology_topics(request.topology))
        _validate(request)
    except KafkaError as error:
        reply(_refused(error.error_code, error.message))
        return None

    missing = NO_INTERNAL_TOPICS
    prepared: Prepared | None = None

    def decide(core: GroupCore, effects: GroupEffects) -> None:
        nonlocal missing
        try:
            missing = streams_group_heartbeat(core.groups, request, context, effects, prepared)
        except KafkaError as error:
            effects.discard_records()
            effects.response = _refused(error.error_code, error.message)

    def answer(response: StreamsGroupHeartbeatResponse) -> None:
        if missing and not response.error_code:
            _create(broker, response, missing, context)
        reply(response)

    def serve() -> None:
        coordinator.write(request.group_id, context.now_ms, decide, answer, _refused)

    def steps(core: GroupCore) -> Iterator[object]:
        nonlocal prepared
        prepared = yield from prepare(core.groups, request, context.now_ms)
        yield from in_one_step(context, serve)

    core = _core(coordinator, request.group_id)
    if request.member_epoch < 0 or core is None or changes_nothing(core.groups, request, context.now_ms):
        # A member that leaves may close its connection at once, which would stop work in slices.
        serve()
        return None
    return steps(core)


def _core(coordinator: GroupCoordinator, group_id: str) -> GroupCore | None:
    """The groups among which a group is, or None if it is not served here."""
    try:
        return coordinator.shard_of(group_id).core
    except KafkaError:
        return None


def _create(
    broker: StreamsParts,
    response: StreamsGroupHeartbeatResponse,
    missing: Mapping[str, InternalTopic],
    context: RequestContext,
) -> None:
    """Has missing internal topics created, and adds to the response why others can't be."""
    denied = _denied(missing, context)
    if denied:
        _add_detail(response, f"Unauthorized to CREATE on topics {', '.join(denied)}.")
        return
    topics = missing.values()
    broker.internal_topics.create(topics, context.requester, FAILURES_KEPT_MS)
    failures = broker.internal_topics.failures(topics)
    if failures:
        shown = ", ".join(f"{name} ({reason})" for name, reason in list(failures.items())[:FAILURES_SHOWN])
        more = len(failures) - FAILURES_SHOWN
        _add_detail(response, f"Creation failed: {shown}{f' and {more} more' if more > 0 else ''}.")


def _denied(missing: Mapping[str, InternalTopic], context: RequestContext) -> list[str]:
    """Returns the topics that the client may not create."""
    access = context.access
    if access is None or access.cluster(AclOperation.CREATE, log=False):
        return []
    return [name for name in missing if not access.topic(AclOperation.CREATE, name)]


def _add_detail(response: StreamsGroupHeartbeatResponse, text: str) -> None:
    statuses = response.status or []
    for status in statuses:
        if status.status_code == StatusCode.MISSING_INTERNAL_TOPICS:
            status.status_detail += f"; {text}"
            return
    response.status = [*statuses, Status(StatusCode.MISSING_INTERNAL_TOPICS, text)]


def _check_topic_names(names: Sequence[str]) -> None:
    """Raises KafkaError STREAMS_INVALID_TOPOLOGY for Kafka's internal topics and for invalid names."""
    prohibited = [name for name in names if name in INTERNAL_TOPICS]
    if prohibited:
        raise _invalid_topology(
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is prohibited."
        )
    invalid = [name for name in names if not is_legal(name)]
    if invalid:
        raise _invalid_topology(f"Topic names {','.join(invalid)} are not valid topic names.")


def _validate(request: StreamsGroupHeartbeatRequest) -> None:
    """Raises KafkaError INVALID_REQUEST or STREAMS_INVALID_TOPOLOGY, in Kafka's words."""
    topology, epoch = request.topology, request.member_epoch
    if topology is not None and any(each.source_topic_regex for each in topology.subtopologies):
        raise _invalid("Regular expressions for source topics are not supported yet.")
    _refuse_blank(request.member_id, "MemberId can't be empty.")
    _refuse_blank(request.group_id, "GroupId can't be empty.")
    _refuse_blank(request.instance_id, "InstanceId can't be empty.")
    _refuse_blank(request.rack_id, "RackId can't be empty.")
    tasks = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    if epoch == JOINING_EPOCH:
        _validate_join(request)
    elif epoch == LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif epoch < LEAVE_GROUP_STATIC_MEMBER_EPOCH:
        raise _invalid(f"MemberEpoch is {epoch}, but must be greater than or equal to -2.")
    if any(kind is None for kind in tasks) and any(kind is not None for kind in tasks):
        raise _invalid("If one task-type is non-null, all must be non-null.")
    if epoch != JOINING_EPOCH and topology is not None:
        raise _invalid("Topology can only be provided when (re-)joining.")
    for kind in tasks:
        _refuse_twice([each.subtopology_id for each in kind or ()], "Subtopology")
    _refuse_twice([tag.key for tag in request.client_tags or ()], "Client tag")


def _validate_join(request: StreamsGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    for name, tasks in (
        ("ActiveTasks", request.active_tasks),
        ("StandbyTasks", request.standby_tasks),
        ("WarmupTasks", request.warmup_tasks),
    ):
        if tasks is None or tasks:
            raise _invalid(f"{name} must be empty when (re-)joining.")
    if request.topology is None:
        raise _invalid("Topology must be non-null when (re-)joining.")
    for each in request.topology.subtopologies:
        for topic in each.state_changelog_topics:
            if topic.partitions:
                raise _invalid_topology(
                    f"Changelog topic {topic.name} must have an undefined partition count, but it is set to "
                    f"{topic.partitions}."
                )


def _refuse_blank(text: str | None, message: str) -> None:
    if text is not None and not text.strip():
        raise _invalid(message)


def _refuse_twice(names: Sequence[str], kind: str) -> None:
    if len(set(names)) < len(names):
        counts = Counter(names)
        twice = next(name for name in names if counts[name] > 1)
        raise _invalid(f"{kind} {twice} is there twice.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


def _invalid_topology(message: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
