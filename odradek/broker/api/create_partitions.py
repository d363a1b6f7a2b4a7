"""CreatePartitions (37): adds partitions to topics. They can be used before the answer is sent.

Versions: 0 to 3. 1: answers are sent before throttling. 2: flexible. 3: THROTTLING_QUOTA_EXCEEDED.
Errors, for each topic: UNKNOWN_TOPIC_OR_PARTITION, INVALID_PARTITIONS (the count is not larger than the current one),
INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR, INVALID_REQUEST (named twice), POLICY_VIOLATION,
KAFKA_STORAGE_ERROR.
Source: KIP-195; ``ControllerApis.createPartitions``, ``ReplicationControlManager.createPartitions``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.topics import CreatePartitionsRequest, CreatePartitionsResponse

from ..dispatch.request import RequestContext, mutations
from ..metadata.controller.topic_changes import create_partitions
from .parts import ControllerParts

API_KEY = ApiKey.CREATE_PARTITIONS
THROTTLED_SINCE = 3


def handle(
    broker: ControllerParts,
    request: CreatePartitionsRequest,
    context: RequestContext,
    reply: Callable[[CreatePartitionsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: CreatePartitionsResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    take = mutations(context, THROTTLED_SINCE)
    metadata.change(lambda: create_partitions(metadata.image, request, broker.controller, take), context.now_ms, answer)


def _refused(request: CreatePartitionsRequest, error: KafkaError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsResponse.CreatePartitionsTopicResult(topic.name, error.error_code, error.message)
            for topic in request.topics
        ]
    )
