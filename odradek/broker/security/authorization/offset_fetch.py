"""The authorization check of OffsetFetch, which can deny a whole group or single topics of a group.

Pure but for log lines. Source: ``KafkaApis.handleOffsetFetchRequest``, ``fetchOffsetsForGroup``,
``fetchAllOffsetsForGroup``.
"""

from collections.abc import Sequence
from typing import Any

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import OffsetFetchResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from .checked import Checked
from .request_authorizer import RequestAuthorizer
from .rules import Needs, joined, refusal

DESCRIBE = AclOperation.DESCRIBE
GROUPS_SINCE = 8
"""The first version in which a request may name several groups."""


def offset_fetch(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each group needs DESCRIBE, then each topic. A denied topic gets an error if the request names it.

    If the request is for all offsets of a group, denied topics are left out.
    """
    if authorizer.api_version < GROUPS_SINCE:
        return (yield from _one_group(authorizer, request))
    allowed, denied = yield from authorizer.divide(
        request.groups, lambda group: authorizer.group(DESCRIBE, group.group_id)
    )
    hidden: dict[str, list[Any]] = {}
    for group in allowed:
        if group.topics is not None:
            group.topics, hidden[group.group_id] = yield from authorizer.divide(
                group.topics, lambda topic: _may_describe(authorizer, topic.name, topic.topic_id)
            )
    refused = refusal(authorizer, request, "groups", denied, ErrorCode.GROUP_AUTHORIZATION_FAILED) if denied else None
    request.groups = allowed

    def complete(response: Any) -> Any:
        for group in response.groups if response is not None else ():
            if group.error_code:
                continue
            if group.group_id in hidden:
                group.topics += map(_hidden_topic, hidden[group.group_id])
            else:
                group.topics = [
                    topic for topic in group.topics if _may_describe(authorizer, topic.name, topic.topic_id)
                ]
        return response if refused is None else joined(response, refused, "groups")

    return Checked(request if allowed else None, complete)


def _one_group(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    Needs(AclResourceType.GROUP, DESCRIBE, "group_id").ask(authorizer, request)
    hidden: Sequence[Any] = ()
    shows_all = request.topics is None
    if not shows_all:
        request.topics, hidden = yield from authorizer.divide(
            request.topics, lambda topic: authorizer.topic(DESCRIBE, topic.name)
        )

    def complete(response: Any) -> Any:
        if response.error_code:
            return response
        if shows_all:
            response.topics = [topic for topic in response.topics if authorizer.topic(DESCRIBE, topic.name)]
        response.topics += map(_hidden_topic_of_old, hidden)
        return response

    return Checked(request, complete)


def _may_describe(authorizer: RequestAuthorizer, name: str, topic_id: bytes) -> bool:
    known = name or authorizer.name_of(topic_id)
    return known is None or authorizer.topic(DESCRIBE, known)


def _hidden_topic(topic: Any) -> OffsetFetchResponse.OffsetFetchResponseTopics:
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return OffsetFetchResponse.OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponse.OffsetFetchResponsePartitions(index, -1, error_code=denied)
            for index in topic.partition_indexes
        ],
    )


def _hidden_topic_of_old(topic: Any) -> OffsetFetchResponse.OffsetFetchResponseTopic:
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return OffsetFetchResponse.OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponse.OffsetFetchResponsePartition(index, -1, error_code=denied)
            for index in topic.partition_indexes
        ],
    )
