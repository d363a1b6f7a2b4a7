"""ShareAcknowledge (79): a member of a share group says what became of records.

Versions: 1 to 2. 2: locks can be renewed (KIP-1222), and the answer has their duration.
Errors: UNSUPPORTED_VERSION (share.version is not finalised), INVALID_REQUEST, SHARE_SESSION_NOT_FOUND,
INVALID_SHARE_SESSION_EPOCH; for a partition UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION, TOPIC_AUTHORIZATION_FAILED,
INVALID_REQUEST, INVALID_RECORD_STATE, NOT_LEADER_OR_FOLLOWER, COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR.
Source: ``KafkaApis.handleShareAcknowledgeRequest``; KIP-932.
"""

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareAcknowledgeRequest, ShareAcknowledgeResponse

from ..dispatch.request import Reply, RequestContext
from ..fetch.answer import LEADER_ELSEWHERE
from ..metadata.image.features import SHARE_VERSION
from ..metadata.image.partition_view import CurrentLeaders
from ..share_partitions.sessions import FINAL_EPOCH, INITIAL_EPOCH, next_epoch
from .parts import ShareFetchParts
from .share_acknowledgements import Results, acknowledge_all, check_member

API_KEY = ApiKey.SHARE_ACKNOWLEDGE
RENEW_SINCE = 2

Topic = ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse


def handle(
    broker: ShareFetchParts,
    request: ShareAcknowledgeRequest,
    context: RequestContext,
    reply: Reply[ShareAcknowledgeResponse],
) -> Steps[None]:
    """Answers when the changes are stored."""
    group_id, member_id = request.group_id or "", request.member_id or ""
    shares = broker.share_partitions
    try:
        if not broker.metadata.image.features.get(SHARE_VERSION):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        check_member(request.group_id, request.member_id)
        if request.share_session_epoch == INITIAL_EPOCH:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session = shares.sessions.existing((group_id, member_id), request.share_session_epoch)
    except KafkaError as error:
        reply(ShareAcknowledgeResponse(error_code=error.error_code))
        return
    is_last = request.share_session_epoch == FINAL_EPOCH
    if not is_last:
        session.epoch = next_epoch(session.epoch)

    def answer(results: Results) -> None:
        response = ShareAcknowledgeResponse(responses=_by_topic(results))
        response.acquisition_lock_timeout_ms = shares.settings(group_id).lock_duration_ms
        _name_leaders(broker, response, context.listener_name)
        if is_last:
            shares.end_session((group_id, member_id))
        reply(response)

    acknowledged = [
        ((topic.topic_id, partition.partition_index), partition.acknowledgement_batches)
        for topic in request.topics
        for partition in topic.partitions
    ]
    renews = request.is_renew_ack if context.api_version >= RENEW_SINCE else None
    yield from acknowledge_all(broker, context, group_id, member_id, acknowledged, renews=renews, done=answer)


def _by_topic(results: Results) -> list[Topic]:
    topics: dict[bytes, Topic] = {}
    for (topic_id, index), (error, message) in results.items():
        topic = topics.setdefault(topic_id, Topic(topic_id=topic_id, partitions=[]))
        topic.partitions.append(
            ShareAcknowledgeResponse.PartitionData(partition_index=index, error_code=error, error_message=message)
        )
    return list(topics.values())


def _name_leaders(broker: ShareFetchParts, response: ShareAcknowledgeResponse, listener_name: str) -> None:
    """Adds the current leader of each partition that another broker leads, and its address."""
    image = broker.metadata.image
    leaders = CurrentLeaders(image, listener_name)
    for topic in response.responses:
        for partition in topic.partitions:
            if partition.error_code in LEADER_ELSEWHERE and topic.topic_id in image.topics_by_id:
                found = leaders.find(image.topics_by_id[topic.topic_id].name, partition.partition_index)
                if found is not None:
                    partition.current_leader = ShareAcknowledgeResponse.LeaderIdAndEpoch(
                        found.leader, found.leader_epoch
                    )
    response.node_endpoints = [
        ShareAcknowledgeResponse.NodeEndpoint(leader, at.host, at.port) for leader, at in leaders.endpoints.items()
    ]
