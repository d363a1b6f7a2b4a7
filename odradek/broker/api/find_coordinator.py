"""FindCoordinator (10): the broker that coordinates a group, a transactional id or the state of a share partition.

Versions: 0 to 6. 1: key type, error message, throttle time. 3: flexible. 4: several keys at once (KIP-699). 5: the
client knows TRANSACTION_ABORTABLE. 6: share coordinators (KIP-932), for brokers.
Errors: COORDINATOR_NOT_AVAILABLE (the coordinator's partition has no leader), INVALID_REQUEST (unknown key types, and
keys of share partitions that are malformed or asked for before version 6).
Source: ``KafkaApis.handleFindCoordinatorRequest``.
"""

from collections.abc import Callable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.protocol.names.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC

from ..coordinator.partitioning import partition_for
from ..dispatch.request import RequestContext
from .gather_in_order import gather_in_order
from .parts import MetadataParts

with lazy_imports:
    from odradek.protocol.internal_records import share_partition_key

API_KEY = ApiKey.FIND_COORDINATOR
GROUP = 0
TRANSACTION = 1
SHARE = 2
SHARE_SINCE = 6
BATCHES_SINCE = 4
NO_NODE = -1

Coordinator = FindCoordinatorResponse.Coordinator


def handle(
    broker: MetadataParts,
    request: FindCoordinatorRequest,
    context: RequestContext,
    reply: Callable[[FindCoordinatorResponse], None],
) -> Iterator[object] | None:
    """Answers, in slices if there are many keys. Creates the coordinator's internal topic if it is missing."""
    if context.api_version >= BATCHES_SINCE:

        def look_up(key: str, done: Callable[[Coordinator], None]) -> None:
            coordinator = _find(broker, request.key_type, key, context)
            coordinator.error_message = ""  # Kafka sets it in older versions only
            done(coordinator)

        return gather_in_order(
            request.coordinator_keys, look_up, lambda found: reply(FindCoordinatorResponse(coordinators=found))
        )
    coordinator = _find(broker, request.key_type, request.key, context)
    reply(
        FindCoordinatorResponse(
            error_code=coordinator.error_code,
            # Kafka writes "NONE" here if there was no error.
            error_message=coordinator.error_message or ErrorCode(coordinator.error_code).name,
            node_id=coordinator.node_id,
            host=coordinator.host,
            port=coordinator.port,
        )
    )
    return None


def _find(broker: MetadataParts, key_type: int, key: str, context: RequestContext) -> Coordinator:
    placed = key
    if key_type == GROUP:
        topic = OFFSETS_TOPIC
    elif key_type == TRANSACTION:
        topic = TRANSACTION_STATE_TOPIC
    elif key_type == SHARE and context.api_version >= SHARE_SINCE and (share_key := _share_key(key)) is not None:
        topic, placed = SHARE_STATE_TOPIC, share_key
    else:
        return _refused(key, ErrorCode.INVALID_REQUEST)
    if topic not in broker.metadata.image.topics_by_name:
        try:
            broker.auto_topic_creation.ensure(topic, context.now_ms)
        except KafkaError:
            return _refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    image = broker.metadata.image
    topic_image = image.topics_by_name[topic]
    partition = topic_image.partitions.get(partition_for(placed, len(topic_image.partitions)))
    endpoint = None
    if partition is not None and partition.has_leader:
        endpoint = image.endpoint(partition.leader, context.listener_name)
    if partition is None or endpoint is None:
        return _refused(key, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Coordinator(key=key, node_id=partition.leader, host=endpoint.host, port=endpoint.port)


def _share_key(key: str) -> str | None:
    """The key of a share partition as its coordinator writes it; None if ``key`` is malformed."""
    share_partition = share_partition_key.SharePartitionKey.parsed(key)
    return None if share_partition is None else share_partition.coordinator_key


def _refused(key: str, error: ErrorCode) -> Coordinator:
    return Coordinator(key=key, node_id=NO_NODE, host="", port=NO_NODE, error_code=error, error_message=error.message)
