"""The authorization checks of the APIs that administrators use.

Pure but for log lines. Source: ``KafkaApis``, ``ControllerApis``, ``ConfigHelper``.
"""

from typing import Any

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetDeleteResponse
from odradek.protocol.messages.share_groups import AlterShareGroupOffsetsResponse, DeleteShareGroupOffsetsResponse
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.messages.topics import DeleteTopicsResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ...metadata.image.image import ResourceType
from .checked import Checked
from .request_authorizer import RequestAuthorizer
from .rules import DENIED, ElementRule, Needs, check, joined, only_allowed, refusal

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
READ, DELETE, DESCRIBE, ALTER = AclOperation.READ, AclOperation.DELETE, AclOperation.DESCRIBE, AclOperation.ALTER
DESCRIBE_CONFIGS, ALTER_CONFIGS = AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS
CONFIGS_IN_ANSWER_SINCE = 5
KNOWN_TYPES = frozenset(ResourceType) - {ResourceType.UNKNOWN}
NAMES_UNTIL = 5
"""The last version of DeleteTopics that has names only."""

needs_cluster_describe = check(Needs(CLUSTER, DESCRIBE))
needs_cluster_alter = check(Needs(CLUSTER, ALTER))
needs_cluster_describe_configs = check(Needs(CLUSTER, DESCRIBE_CONFIGS))
needs_cluster_action = check(Needs(CLUSTER, AclOperation.CLUSTER_ACTION))
needs_cluster_alter_configs = check(Needs(CLUSTER, ALTER_CONFIGS))
create_partitions = check(each=ElementRule("topics", "results", TOPIC, ALTER))
delete_records = check(each=ElementRule("topics", "topics", TOPIC, DELETE))
delete_groups = check(each=ElementRule("groups_names", "results", GROUP, DELETE, name=None))


def alter_share_group_offsets(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The group needs READ, and so does each topic. The handler runs even if every topic is denied."""
    Needs(GROUP, READ, "group_id").ask(authorizer, request)
    request.topics, denied = yield from authorizer.divide(
        request.topics, lambda topic: authorizer.topic(READ, topic.topic_name)
    )
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answer = AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition
    answers = [
        AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic(
            topic.topic_name,
            partitions=[answer(partition.partition_index, error, error.message) for partition in topic.partitions],
        )
        for topic in denied
    ]
    return Checked(request, lambda response: _with_refused(response, answers))


def delete_share_group_offsets(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The group needs DELETE, each topic READ. The handler runs even if every topic is denied."""
    Needs(GROUP, DELETE, "group_id").ask(authorizer, request)
    request.topics, denied = yield from authorizer.divide(
        request.topics, lambda topic: authorizer.topic(READ, topic.topic_name)
    )
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answer = DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic
    answers = [answer(topic.topic_name, error_code=error, error_message=error.message) for topic in denied]
    return Checked(request, lambda response: _with_refused(response, answers))


def _with_refused(response: Any, answers: list[Any]) -> Any:
    """The response to a request about a share group, with the answers for denied topics first."""
    if not response.error_code:
        response.responses = [*answers, *response.responses]
    return response


def offset_delete(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The group needs DELETE, each topic READ. Even if every topic is denied, the handler runs, to check the group."""
    Needs(GROUP, DELETE, "group_id").ask(authorizer, request)
    request.topics, denied = yield from authorizer.divide(
        request.topics, lambda topic: authorizer.topic(READ, topic.name)
    )
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answers = [
        OffsetDeleteResponse.OffsetDeleteResponseTopic(
            topic.name,
            [
                OffsetDeleteResponse.OffsetDeleteResponsePartition(partition.partition_index, error)
                for partition in topic.partitions
            ],
        )
        for topic in denied
    ]

    def complete(response: Any) -> Any:
        if not response.error_code:
            response.topics += answers
        return response

    return Checked(request, complete)


def create_topics(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Needs CREATE on the cluster, or on each topic. Without DESCRIBE_CONFIGS on a topic, its answer has no configs."""
    each = ElementRule("topics", "topics", TOPIC, AclOperation.CREATE)
    checked = Checked(request)
    if not authorizer.cluster(AclOperation.CREATE, log=False):
        checked = yield from only_allowed(authorizer, request, each)

    def complete(response: Any) -> Any:
        for topic in response.topics if response is not None else ():
            shows_configs = authorizer.api_version >= CONFIGS_IN_ANSWER_SINCE and not topic.error_code
            if shows_configs and not authorizer.topic(DESCRIBE_CONFIGS, topic.name, log=False):
                topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = []
        return checked.completed(response)

    return Checked(checked.request, complete)


def delete_topics(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Needs DELETE on the cluster, or on each topic. A name without DESCRIBE is denied even if no such topic exists."""
    if authorizer.cluster(DELETE, log=False):
        return Checked(request)
    if authorizer.api_version <= NAMES_UNTIL:
        each = ElementRule("topic_names", "responses", TOPIC, DELETE, name=None)
        return (
            yield from only_allowed(
                authorizer,
                request,
                each,
                lambda name: authorizer.topic(DESCRIBE, name) and _may_delete(authorizer, name),
            )
        )
    result, refused = DeleteTopicsResponse.DeletableTopicResult, []
    denied_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def is_allowed(topic: Any) -> bool:
        by_id = topic.name is None
        name = authorizer.name_of(topic.topic_id) if by_id else topic.name
        if name is None or not (by_id or topic.topic_id == ZERO_UUID):
            return True  # the handler says what is wrong
        describes = authorizer.topic(DESCRIBE, name)
        if (by_id or describes) and _may_delete(authorizer, name):
            return True
        shown = name if describes or not by_id else None
        refused.append(result(shown, topic.topic_id, denied_error, denied_error.message))
        return False

    request.topics, denied = yield from authorizer.divide(request.topics, is_allowed)
    if not denied:
        return Checked(request)
    return Checked(
        request if request.topics else None,
        lambda response: joined(response, DeleteTopicsResponse(responses=refused), "responses"),
    )


def _may_delete(authorizer: RequestAuthorizer, name: str) -> bool:
    """Whether a topic may be deleted. A missing topic may: the handler answers that it is unknown."""
    return name not in authorizer.image.topics_by_name or authorizer.topic(DELETE, name)


def describe_configs(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Needs DESCRIBE_CONFIGS on each topic or group; for other resource types on the cluster."""
    return (yield from _of_resources(authorizer, request, DESCRIBE_CONFIGS, "results"))


def alter_configs(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Needs ALTER_CONFIGS on each topic or group; for other resource types on the cluster."""
    return (yield from _of_resources(authorizer, request, ALTER_CONFIGS, "responses"))


def _of_resources(authorizer: RequestAuthorizer, request: Any, operation: AclOperation, answers: str) -> Steps[Checked]:
    denied: dict[AclResourceType, list[Any]] = {}

    def is_allowed(resource: Any) -> bool:
        if resource.resource_type not in KNOWN_TYPES:
            return True  # the handler refuses it
        kind = {ResourceType.TOPIC: TOPIC, ResourceType.GROUP: GROUP}.get(resource.resource_type, CLUSTER)
        if kind is CLUSTER:
            allowed = authorizer.cluster(operation)
        else:
            allowed = authorizer.may(operation, kind, resource.resource_name)
        if not allowed:
            denied.setdefault(kind, []).append(resource)
        return allowed

    allowed, _ = yield from authorizer.divide(request.resources, is_allowed)
    refusals = [refusal(authorizer, request, "resources", elements, DENIED[kind]) for kind, elements in denied.items()]
    if not refusals:
        return Checked(request)
    request.resources = allowed

    def complete(response: Any) -> Any:
        for refused in refusals:
            response = joined(response, refused, answers)
        return response

    return Checked(request if allowed else None, complete)
