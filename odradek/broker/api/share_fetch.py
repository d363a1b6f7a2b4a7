"""ShareFetch (78): a member of a share group gets records, and acknowledges others.

Versions: 1 to 2. 1: limits of records. 2: the acquire mode (KIP-1206), and locks can be renewed (KIP-1222).
Errors: UNSUPPORTED_VERSION (share.version is not finalised), INVALID_REQUEST, SHARE_SESSION_NOT_FOUND,
INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED; for a partition UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION,
TOPIC_AUTHORIZATION_FAILED, NOT_LEADER_OR_FOLLOWER, COORDINATOR_NOT_AVAILABLE, UNKNOWN_SERVER_ERROR (the group has no
state of this partition), and those of ShareAcknowledge.
Source: ``KafkaApis.handleShareFetchRequest``, ``ShareSessionContext``; KIP-932.
"""

from functools import partial

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.share_groups import ShareFetchRequest, ShareFetchResponse

from ..dispatch.request import Reply, RequestContext
from ..fetch.answer import LEADER_ELSEWHERE
from ..metadata.image.features import SHARE_VERSION
from ..metadata.image.partition_view import CurrentLeaders
from ..share_partitions.acquire import Wish
from ..share_partitions.fetch import Answers, FetchBounds, ShareFetch, failed
from ..share_partitions.live import LiveSharePartition
from ..share_partitions.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession, TopicIdPartition, next_epoch
from .parts import ShareFetchParts
from .share_acknowledgements import Results, acknowledge_all, check_member, refusal

API_KEY = ApiKey.SHARE_FETCH
LATEST_IN_ONE = 2
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
PARTITIONS_A_STEP = 64
"""The number of partitions of a request or of its session that are looked at in one step."""

FetchTopic = ShareFetchResponse.ShareFetchableTopicResponse


def handle(
    broker: ShareFetchParts, request: ShareFetchRequest, context: RequestContext, reply: Reply[ShareFetchResponse]
) -> Steps[None]:
    """Answers when the acknowledgements are stored and there are records, or the time is up."""
    try:
        if not broker.metadata.image.features.get(SHARE_VERSION):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        check_member(request.group_id, request.member_id)
        _check_renewal(request, context.api_version)
        session = _session(broker, request, context)
    except KafkaError as error:
        _refuse(broker, request, context, reply, error.error_code)
        return
    yield from _FetchAndAcknowledge(broker, request, context, reply, session).serve()


def _refuse(
    broker: ShareFetchParts,
    request: ShareFetchRequest,
    context: RequestContext,
    reply: Reply[ShareFetchResponse],
    error: int,
) -> None:
    """Answers an error. A client that gets no session is answered after its wait, so that it does not ask at once."""

    def answer() -> None:
        if context.is_wanted():
            reply(ShareFetchResponse(error_code=error))

    if error == ErrorCode.SHARE_SESSION_LIMIT_REACHED and request.max_wait_ms > 0:
        broker.timers.schedule(request.max_wait_ms, answer)
    else:
        answer()


def _check_renewal(request: ShareFetchRequest, version: int) -> None:
    """Raises KafkaError INVALID_REQUEST for a request that renews locks and wants records too."""
    if version >= LATEST_IN_ONE and request.is_renew_ack:
        wrong = [
            name
            for name, value in (
                ("maxBytes", request.max_bytes),
                ("minBytes", request.min_bytes),
                ("maxRecords", request.max_records),
                ("maxWaitMs", request.max_wait_ms),
            )
            if value
        ]
        if wrong:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{', '.join(wrong)} must be 0 if isRenewAck is true")
    if version >= LATEST_IN_ONE and request.share_acquire_mode not in (BATCH_OPTIMIZED, RECORD_LIMIT):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"unknown acquire mode {request.share_acquire_mode}")


def _session(broker: ShareFetchParts, request: ShareFetchRequest, context: RequestContext) -> ShareSession:
    """The session of the request, after its changes. Raises KafkaError."""
    shares, key = broker.share_partitions, (request.group_id or "", request.member_id or "")
    named = [(topic.topic_id, one.partition_index) for topic in request.topics for one in topic.partitions]
    if request.share_session_epoch == INITIAL_EPOCH:
        if any(one.acknowledgement_batches for topic in request.topics for one in topic.partitions):
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        return shares.open_session(key, named, context.connection_id, context.owner)
    session = shares.sessions.existing(key, request.share_session_epoch)
    if request.share_session_epoch != FINAL_EPOCH:
        forgotten = [(topic.topic_id, index) for topic in request.forgotten_topics_data for index in topic.partitions]
        shares.update_session(session, named, forgotten)
        session.epoch = next_epoch(session.epoch)
    return session


class _FetchAndAcknowledge:
    """One request: its acknowledgements and its fetch go on side by side, and are answered together."""

    def __init__(
        self,
        broker: ShareFetchParts,
        request: ShareFetchRequest,
        context: RequestContext,
        reply: Reply[ShareFetchResponse],
        session: ShareSession,
    ) -> None:
        self.broker = broker
        self.request = request
        self.context = context
        self.reply = reply
        self.session = session
        self.key = request.group_id or "", request.member_id or ""
        self.is_first = request.share_session_epoch == INITIAL_EPOCH
        self.is_last = request.share_session_epoch == FINAL_EPOCH
        self.renews = context.api_version >= LATEST_IN_ONE and request.is_renew_ack
        self.acknowledged: Results | None = None
        self.fetched: Answers | None = None

    def serve(self) -> Steps[None]:
        """Begins both parts."""
        request, context = self.request, self.context
        acknowledged = [
            ((topic.topic_id, one.partition_index), one.acknowledgement_batches)
            for topic in request.topics
            for one in topic.partitions
        ]
        if any(batches for _, batches in acknowledged):
            renews = self.renews if context.api_version >= LATEST_IN_ONE else None
            group_id, member_id = self.key
            yield from acknowledge_all(
                self.broker, context, group_id, member_id, acknowledged, renews=renews, done=self._acknowledged
            )
        else:
            self.acknowledged = {}
        if self.renews or self.is_last:
            self._fetched({}, {})
        else:
            yield from self._fetch()

    def _fetch(self) -> Steps[None]:
        request, context, broker = self.request, self.context, self.broker
        refused: Answers = {}
        shares: dict[TopicIdPartition, LiveSharePartition] = {}
        for count, where in enumerate(self.session.in_turn(request.share_session_epoch)):
            if count % PARTITIONS_A_STEP == PARTITIONS_A_STEP - 1:
                yield
            error = refusal(broker, context, where)
            if not error:
                try:
                    shares[where] = broker.share_partitions.get(self.key[0], where)
                except KafkaError as problem:
                    error = ErrorCode(problem.error_code)
            if error:
                refused[where] = failed(where, error)
        max_bytes = min(request.max_bytes, broker.fetch_max_bytes)
        if context.charge is not None:
            max_bytes = int(min(max_bytes, context.charge.fetch_max_bytes(is_follower=False)))
        bounds = FetchBounds(
            min(request.min_bytes, max_bytes),
            max_bytes,
            request.max_wait_ms,
            None if context.charge is None else context.charge.fetched,
        )
        is_exact = context.api_version >= LATEST_IN_ONE and request.share_acquire_mode == RECORD_LIMIT
        fetch = ShareFetch(
            shares,
            Wish(self.key[1], request.max_records, request.batch_size, is_exact),
            bounds,
            broker.timers,
            broker.timers.now_ms,
            partial(self.reply.run_steps, request),
            context.is_wanted,
            partial(self._fetched, refused),
        )
        yield from fetch.begin()

    def _acknowledged(self, results: Results) -> None:
        self.acknowledged = results
        self._answer()

    def _fetched(self, refused: Answers, answers: Answers) -> None:
        self.fetched = refused | answers
        self._answer()

    def _count(self, answers: Answers) -> None:
        """Adds the partitions to the metrics."""
        meters, image = self.broker.topic_meters, self.broker.metadata.image
        if meters is not None:
            for (topic_id, _), data in answers.items():
                if topic_id in image.topics_by_id:
                    name = image.topics_by_id[topic_id].name
                    meters.share_read(name, len(data.records or b""), has_failed=bool(data.error_code))

    def _answer(self) -> None:
        """Answers, if both parts have ended."""
        if self.acknowledged is None or self.fetched is None or not self.context.is_wanted():
            return
        self._count(self.fetched)
        named = self.fetched if self.is_first else self._news(self.fetched)
        for where, (error, message) in self.acknowledged.items():
            data = named.setdefault(where, failed(where, ErrorCode.NONE))
            data.acknowledge_error_code, data.acknowledge_error_message = error, message
        response = ShareFetchResponse(responses=_by_topic(named))
        response.acquisition_lock_timeout_ms = self.broker.share_partitions.settings(self.key[0]).lock_duration_ms
        _name_leaders(self.broker, response, self.context.listener_name)
        if self.is_last:
            self.broker.share_partitions.end_session(self.key)
        self.reply(response)

    def _news(self, answers: Answers) -> Answers:
        """The partitions that an answer in a session must name."""
        return {
            where: data
            for where, data in answers.items()
            if self.session.must_name(where, has_records=bool(data.records), has_error=bool(data.error_code))
        }


def _by_topic(answers: Answers) -> list[FetchTopic]:
    topics: dict[bytes, FetchTopic] = {}
    for (topic_id, _), data in answers.items():
        topics.setdefault(topic_id, FetchTopic(topic_id=topic_id, partitions=[])).partitions.append(data)
    return list(topics.values())


def _name_leaders(broker: ShareFetchParts, response: ShareFetchResponse, listener_name: str) -> None:
    """Adds the current leader of each partition that another broker leads, and its address."""
    image = broker.metadata.image
    leaders = CurrentLeaders(image, listener_name)
    for topic in response.responses:
        for partition in topic.partitions:
            if partition.error_code in LEADER_ELSEWHERE and topic.topic_id in image.topics_by_id:
                found = leaders.find(image.topics_by_id[topic.topic_id].name, partition.partition_index)
                if found is not None:
                    partition.current_leader = ShareFetchResponse.LeaderIdAndEpoch(found.leader, found.leader_epoch)
    response.node_endpoints = [
        ShareFetchResponse.NodeEndpoint(leader, at.host, at.port) for leader, at in leaders.endpoints.items()
    ]
