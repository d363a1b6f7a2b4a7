"""The authorization checks of the APIs that producers and consumers use.

Pure but for log lines. Fetch is not here: a fetch session has partitions that the request does not name, so Fetch's
handler checks each partition. Source: ``KafkaApis``.
"""

from typing import Any

from odradek.protocol.common.steps import Steps
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.transactions import AddPartitionsToTxnResponse
from odradek.protocol.names.topics import INTERNAL_TOPICS, is_legal, topology_topics
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ...dispatch.request import Denial
from .checked import Checked, at_once
from .request_authorizer import DECISIONS_A_STEP, RequestAuthorizer
from .rules import ElementRule, Needs, check, only_allowed

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
TRANSACTIONAL_ID = AclResourceType.TRANSACTIONAL_ID
READ, WRITE, DESCRIBE = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE

WRITES = ElementRule("topic_data", "responses", TOPIC, WRITE, topic_id="topic_id")
DESCRIBES = ElementRule("topics", "topics", TOPIC, DESCRIBE)
COMMITS = ElementRule("topics", "topics", TOPIC, READ, topic_id="topic_id")
READS_GROUP = Needs(GROUP, READ, "group_id")
WRITES_TRANSACTIONAL_ID = Needs(TRANSACTIONAL_ID, WRITE, "transactional_id")

ATTRIBUTES_AT = 21
"""The position of a record batch's attributes, in bytes. Their low byte is at the next position."""
IS_TRANSACTIONAL = 1 << 4
PROTOCOL_NAMES_SINCE = 5
"""The first version in which a SyncGroup request must have protocol type and name."""
BATCHES_OF_TRANSACTIONS_SINCE = 4
"""The first version of AddPartitionsToTxn that only brokers send."""
ANY_GROUP, ANY_TRANSACTION, ANY_SHARE = range(3)
"""The types of keys in FindCoordinator."""

list_offsets = check(each=DESCRIBES)
join_group = heartbeat = leave_group = check(READS_GROUP)
share_fetch = share_acknowledge = check(READS_GROUP)
"""The handlers ask for READ on each topic, whose names they learn from its id."""
offset_commit = check(READS_GROUP, each=COMMITS)
add_offsets_to_txn = check(WRITES_TRANSACTIONAL_ID, READS_GROUP)
txn_offset_commit = check(WRITES_TRANSACTIONAL_ID, READS_GROUP, each=COMMITS)
end_txn = check(WRITES_TRANSACTIONAL_ID)


def produce(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Topics need WRITE. If any batch is transactional, the transactional id needs WRITE too.

    The flag in the batch counts, even if the request has no transactional id (CVE-2018-17196).
    """
    if any(_is_transactional(data.records) for topic in request.topic_data for data in topic.partition_data):
        name = request.transactional_id
        if name is None or not authorizer.transactional_id(WRITE, name):
            raise Denial(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    checked = yield from only_allowed(authorizer, request, WRITES)
    if request.acks == 0 and checked.complete is not None:
        refusal = "a Produce request with acks=0 was denied, and such a request gets no answer"
        return Checked(checked.request, refusal=refusal)
    return checked


def produce_passes(authorizer: RequestAuthorizer, request: Any) -> bool:
    """Whether a small Produce without transactional batches is allowed as a whole (:data:`.checked.Passes`)."""
    if len(request.topic_data) > DECISIONS_A_STEP or not WRITES.passes(authorizer, request):
        return False
    return not any(_is_transactional(data.records) for topic in request.topic_data for data in topic.partition_data)


def _is_transactional(records: Any) -> bool:
    if records is None or len(records) <= ATTRIBUTES_AT + 1:
        return False
    return bool(records[ATTRIBUTES_AT + 1] & IS_TRANSACTIONAL)


def offset_for_leader_epoch(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """With CLUSTER_ACTION on the cluster (followers), every topic is allowed. Otherwise a topic needs DESCRIBE."""
    if authorizer.cluster(AclOperation.CLUSTER_ACTION, log=False):
        return Checked(request)
    return (yield from only_allowed(authorizer, request, DESCRIBES._replace(name="topic")))


def sync_group(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The group needs READ. A request without protocol is not checked, as its handler refuses it anyway."""
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if authorizer.api_version < PROTOCOL_NAMES_SINCE or names_protocol:
        READS_GROUP.ask(authorizer, request)
    return at_once(Checked(request))


def init_producer_id(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """A transactional id needs WRITE, and TWO_PHASE_COMMIT if two-phase commit is requested.

    Without a transactional id: IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679).
    """
    name = request.transactional_id
    if name is not None:
        needed = (WRITE, AclOperation.TWO_PHASE_COMMIT) if request.enable2_pc else (WRITE,)
        if not all(authorizer.transactional_id(operation, name) for operation in needed):
            raise Denial(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    elif not authorizer.cluster(AclOperation.IDEMPOTENT_WRITE, log=False) and not authorizer.any_topic(WRITE):
        raise Denial(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
    return at_once(Checked(request))


def consumer_group_heartbeat(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The group needs READ, and every topic that the member subscribes to by name needs DESCRIBE.

    A regular expression does not match topics that the member may not describe; the handler sees to that.
    """
    READS_GROUP.ask(authorizer, request)
    _, denied = yield from authorizer.divide(
        dict.fromkeys(request.subscribed_topic_names or ()), lambda name: authorizer.topic(DESCRIBE, name)
    )
    if denied:
        raise Denial(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return Checked(request)


share_group_heartbeat = consumer_group_heartbeat
"""As for consumer groups."""


def streams_group_heartbeat(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The group needs READ, and every topic of the topology needs DESCRIBE. The handler refuses a topology with an
    internal topic or an invalid name, and asks for CREATE on the topics that the group lacks."""
    READS_GROUP.ask(authorizer, request)
    names = [] if request.topology is None else topology_topics(request.topology)
    if any(name in INTERNAL_TOPICS or not is_legal(name) for name in names):
        return Checked(request)
    _, denied = yield from authorizer.divide(names, lambda name: authorizer.topic(DESCRIBE, name))
    if denied:
        raise Denial(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return Checked(request)


streams_group_topology_description_update = check(READS_GROUP)


def write_txn_markers(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Needs ALTER on the cluster (administrators who end hanging transactions) or CLUSTER_ACTION (brokers)."""
    if not authorizer.cluster(AclOperation.ALTER, log=False):
        authorizer.require_cluster(AclOperation.CLUSTER_ACTION)
    return at_once(Checked(request))


def add_partitions_to_txn(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """The transactional id and every topic need WRITE. If a topic is denied, the others get OPERATION_NOT_ATTEMPTED.

    From version 4 on only brokers send this request, after checking their clients. They need CLUSTER_ACTION.
    """
    if authorizer.api_version >= BATCHES_OF_TRANSACTIONS_SINCE:
        authorizer.require_cluster(AclOperation.CLUSTER_ACTION)
        return Checked(request)
    if not authorizer.transactional_id(WRITE, request.v3_and_below_transactional_id):
        raise Denial(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    allowed, denied = yield from authorizer.divide(
        request.v3_and_below_topics,
        lambda topic: topic.name not in INTERNAL_TOPICS and authorizer.topic(WRITE, topic.name),
    )
    if not denied:
        return Checked(request)
    codes = [(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in denied]
    codes += [(topic, ErrorCode.OPERATION_NOT_ATTEMPTED) for topic in allowed]
    response = AddPartitionsToTxnResponse()
    for topic, code in codes:
        results = [
            AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(index, code) for index in topic.partitions
        ]
        response.results_by_topic_v3_and_below.append(
            AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult(topic.name, results)
        )
    return Checked(None, lambda _: response)


def find_coordinator(authorizer: RequestAuthorizer, request: Any) -> Steps[Checked]:
    """Each group or transactional id needs DESCRIBE. A share coordinator key needs CLUSTER_ACTION on the cluster."""
    needed = {
        ANY_GROUP: (GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        ANY_TRANSACTION: (TRANSACTIONAL_ID, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
    }.get(request.key_type)
    if needed is None:
        if request.key_type == ANY_SHARE:
            authorizer.require_cluster(AclOperation.CLUSTER_ACTION)
        return Checked(request)
    resource_type, error = needed
    if authorizer.api_version < 4:
        if not authorizer.may(DESCRIBE, resource_type, request.key):
            raise Denial(error)
        return Checked(request)
    each = ElementRule("coordinator_keys", "coordinators", resource_type, DESCRIBE, name=None)
    return (yield from only_allowed(authorizer, request, each))
