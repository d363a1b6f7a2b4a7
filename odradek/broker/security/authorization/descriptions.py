"""The authorization checks of the APIs that describe and list topics, groups and transactions.

Pure but for log lines. Source: ``KafkaApis``, ``DescribeTopicPartitionsRequestHandler``.
"""

from collections.abc import Callable, Iterator
from typing import Any

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.consumer_groups import ConsumerGroupDescribeResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.share_groups import DescribeShareGroupOffsetsResponse, ShareGroupDescribeResponse
from odradek.protocol.messages.streams_groups import StreamsGroupDescribeResponse
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.names.topics import topology_topics
from odradek.protocol.security.acl import CLUSTER_NAME, AclOperation, AclResourceType

from .authorized_operations import CLUSTER_OPERATIONS, GROUP_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from .checked import Checked, at_once
from .request_authorizer import DECISIONS_A_STEP, RequestAuthorizer
from .rules import ElementRule, check, joined, only_allowed, refusal

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
READ, DESCRIBE = AclOperation.READ, AclOperation.DESCRIBE
HIDDEN_TOPICS = "The group has described topic(s) that the client is not authorized to describe."
HIDDEN_STREAMS_TOPICS = "The described group uses topics that the client is not authorized to describe."
BY_ID_SINCE = 12

describe_producers = check(each=ElementRule("topics", "topics", TOPIC, READ))


def metadata(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each topic needs DESCRIBE; a topic to create needs CREATE too, on the topic or the cluster.

    A denied name gets the same answer whether or not the topic exists.
    """
    refused: list[MetadataResponse.MetadataResponseTopic] = []
    shows_all = request.topics is None or (authorizer.api_version == 0 and not request.topics)
    if not shows_all:
        yield from _ask_of_each(authorizer, request, refused)
    nothing = not shows_all and not request.topics

    def complete(response: Any) -> Any:
        if nothing and authorizer.api_version == 0:
            response.topics = []  # drop the answer for the name "", by which version 0 asks for none
        for topic in response.topics:
            if topic.topic_authorized_operations != NOT_ASKED:
                topic.topic_authorized_operations = authorizer.operations(TOPIC, topic.name or "", TOPIC_OPERATIONS)
        if response.cluster_authorized_operations != NOT_ASKED:
            response.cluster_authorized_operations = _cluster_operations(authorizer)
        response.topics += refused
        return response

    if nothing and authorizer.api_version == 0:
        request.topics = [MetadataRequest.MetadataRequestTopic(name="")]
    return Checked(request, complete)


def metadata_passes(authorizer: RequestAuthorizer, request: Any) -> bool:
    """True for few existing topics by name, all allowed, without operations (:data:`.checked.Passes`)."""
    topics = request.topics
    if not topics or len(topics) > DECISIONS_A_STEP:
        return False
    if request.include_topic_authorized_operations or request.include_cluster_authorized_operations:
        return False
    known = authorizer.image.topics_by_name
    for topic in topics:
        name = topic.name
        if name not in known or topic.topic_id != ZERO_UUID or not authorizer.allows(DESCRIBE, TOPIC, name):
            return False
    return True


def _ask_of_each(
    authorizer: RequestAuthorizer, request: Any, refused: list[MetadataResponse.MetadataResponseTopic]
) -> Steps[None]:
    """Removes the denied topics from the request, and adds their answers to ``refused``."""
    answer = MetadataResponse.MetadataResponseTopic
    denied_error = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def is_described(topic: Any) -> bool:
        if topic.topic_id != ZERO_UUID:
            name = authorizer.name_of(topic.topic_id)
            if name is None or authorizer.topic(DESCRIBE, name):
                return True
            refused.append(answer(denied_error, None, topic.topic_id))
            return False
        if topic.name is None or authorizer.topic(DESCRIBE, topic.name):
            return True
        refused.append(answer(denied_error, topic.name))
        return False

    described, _ = yield from authorizer.divide(request.topics, is_described)
    if (
        request.allow_auto_topic_creation
        and authorizer.creates_topics
        and not authorizer.cluster(AclOperation.CREATE, log=False)
    ):

        def may_appear(topic: Any) -> bool:
            exists = not topic.name or topic.name in authorizer.image.topics_by_name
            if exists or authorizer.topic(AclOperation.CREATE, topic.name):
                return True
            refused.append(answer(denied_error, topic.name))
            return False

        described, _ = yield from authorizer.divide(described, may_appear)
    request.topics = described


def describe_topic_partitions(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each named topic needs DESCRIBE. In a request for all topics, the handler leaves out denied ones."""
    checked = Checked(request)
    if request.topics:
        checked = yield from only_allowed(authorizer, request, ElementRule("topics", "topics", TOPIC, DESCRIBE))

    def complete(response: Any) -> Any:
        for topic in response.topics if response is not None else ():
            topic.topic_authorized_operations = authorizer.operations(TOPIC, topic.name, TOPIC_OPERATIONS)
        return checked.completed(response)

    return Checked(checked.request, complete)


def describe_cluster(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Everything is allowed. Reduces the cluster operations in the answer to the authorized ones."""

    def complete(response: Any) -> Any:
        if response.cluster_authorized_operations != NOT_ASKED:
            response.cluster_authorized_operations = _cluster_operations(authorizer)
        return response

    return at_once(Checked(request, complete))


def _cluster_operations(authorizer: RequestAuthorizer) -> int:
    return authorizer.operations(CLUSTER, CLUSTER_NAME, CLUSTER_OPERATIONS) if authorizer.cluster(DESCRIBE) else 0


def describe_groups(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each group needs DESCRIBE. Reduces the group operations in the answer to the authorized ones."""
    checked = yield from only_allowed(authorizer, request, ElementRule("groups", "groups", GROUP, DESCRIBE, name=None))
    return _with_operations(authorizer, checked)


def _with_operations(authorizer: RequestAuthorizer, checked: Checked) -> Checked:
    def complete(response: Any) -> Any:
        for group in response.groups if response is not None else ():
            if group.authorized_operations != NOT_ASKED:
                group.authorized_operations = authorizer.operations(GROUP, group.group_id, GROUP_OPERATIONS)
        return checked.completed(response)

    return Checked(checked.request, complete)


def consumer_group_describe(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each group needs DESCRIBE. A group with an assigned topic that is denied gets TOPIC_AUTHORIZATION_FAILED."""
    return (yield from _describe_groups(authorizer, request, ConsumerGroupDescribeResponse.DescribedGroup))


def share_group_describe(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """As for consumer groups."""
    return (yield from _describe_groups(authorizer, request, ShareGroupDescribeResponse.DescribedGroup))


def streams_group_describe(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each group needs DESCRIBE. A group with a denied topic in its topology gets TOPIC_AUTHORIZATION_FAILED."""
    return (
        yield from _describe_groups(
            authorizer, request, StreamsGroupDescribeResponse.DescribedGroup, HIDDEN_STREAMS_TOPICS
        )
    )


def _describe_groups(
    authorizer: RequestAuthorizer,
    request: Any,
    answer: Callable[[ErrorCode, str, str], Any],
    hidden: str = HIDDEN_TOPICS,
) -> Steps[Checked]:
    """``answer`` makes the description of a group from an error, its message, and the group's id. ``hidden``: the
    message about denied topics."""
    allowed, denied = yield from authorizer.divide(
        request.group_ids, lambda group_id: authorizer.group(DESCRIBE, group_id)
    )
    refused = (
        refusal(authorizer, request, "group_ids", denied, ErrorCode.GROUP_AUTHORIZATION_FAILED) if denied else None
    )
    request.group_ids = allowed

    def complete(response: Any) -> Any:
        if response is None:
            return joined(None, refused, "groups")
        response.groups = [
            group
            if _is_shown(authorizer, group)
            else answer(ErrorCode.TOPIC_AUTHORIZATION_FAILED, hidden, group.group_id)
            for group in response.groups
        ]
        return response if refused is None else joined(response, refused, "groups")

    return _with_operations(authorizer, Checked(request if allowed else None, complete))


def _is_shown(authorizer: RequestAuthorizer, group: Any) -> bool:
    """Whether all topics that are assigned in the group, or that its topology names, may be described."""
    return all(authorizer.topic(DESCRIBE, name) for name in dict.fromkeys(_topics_of(group)))


def _topics_of(group: Any) -> Iterator[str]:
    if isinstance(group, StreamsGroupDescribeResponse.DescribedGroup):
        if group.topology is not None:
            yield from topology_topics(group.topology)
        return
    for member in group.members:
        # The description of a share group shows no targets.
        for assignment in (member.assignment, getattr(member, "target_assignment", member.assignment)):
            for partitions in assignment.topic_partitions:
                yield partitions.topic_name


def describe_share_group_offsets(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each group needs DESCRIBE, and each of its topics too. Topics that are not asked for by name are left out."""
    by_group = ElementRule("groups", "groups", GROUP, DESCRIBE, name="group_id")
    checked = yield from only_allowed(authorizer, request, by_group)
    hidden: dict[str, list[Any]] = {}
    for group in request.groups:
        if group.topics is not None:
            group.topics, denied = yield from authorizer.divide(
                group.topics, lambda topic: authorizer.topic(DESCRIBE, topic.topic_name)
            )
            hidden[group.group_id] = [_hidden_offsets(topic) for topic in denied]

    def complete(response: Any) -> Any:
        for group in response.groups if response is not None else ():
            answers = hidden.get(group.group_id)
            if answers is None:
                group.topics = [topic for topic in group.topics if authorizer.topic(DESCRIBE, topic.topic_name)]
            elif not group.error_code:
                group.topics += answers
        return checked.completed(response)

    return Checked(checked.request, complete)


def _hidden_offsets(topic: Any) -> Any:
    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    answer = DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
    return DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic(
        topic.topic_name,
        partitions=[
            answer(index, start_offset=-1, error_code=error, error_message=error.message) for index in topic.partitions
        ],
    )


def list_groups(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """With DESCRIBE on the cluster, lists every group; otherwise only the groups with DESCRIBE."""

    def complete(response: Any) -> Any:
        if not authorizer.cluster(DESCRIBE, log=False):
            response.groups = [
                group for group in response.groups if authorizer.may(DESCRIBE, GROUP, group.group_id, log=False)
            ]
        return response

    return at_once(Checked(request, complete))


def describe_transactions(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each transactional id needs DESCRIBE. Leaves out a transaction's topics that the client may not describe.

    The answers are in the order of the request, as in Kafka.
    """
    order = {name: place for place, name in enumerate(request.transactional_ids)}
    each = ElementRule("transactional_ids", "transaction_states", AclResourceType.TRANSACTIONAL_ID, DESCRIBE, name=None)
    checked = yield from only_allowed(authorizer, request, each)

    def complete(response: Any) -> Any:
        for state in response.transaction_states if response is not None else ():
            state.topics = [topic for topic in state.topics if authorizer.topic(DESCRIBE, topic.topic)]
        if checked.complete is not None:
            response = checked.complete(response)
            response.transaction_states.sort(key=lambda state: order[state.transactional_id])
        return response

    return Checked(checked.request, complete)


def list_transactions(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Lists only the transactional ids with DESCRIBE."""

    def complete(response: Any) -> Any:
        response.transaction_states = [
            state
            for state in response.transaction_states
            if authorizer.transactional_id(DESCRIBE, state.transactional_id)
        ]
        return response

    return at_once(Checked(request, complete))
