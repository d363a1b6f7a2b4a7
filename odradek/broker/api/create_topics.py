"""CreateTopics (19): creates topics. They can be used before the answer is sent.

Versions: 0 to 7. 1: validate only, error messages. 2: throttle time. 4: -1 for the default number of partitions and
replicas. 5: flexible; the topic's configs, partitions and replicas in the answer. 7: the topic's id.
Errors, for each topic: TOPIC_ALREADY_EXISTS, INVALID_TOPIC_EXCEPTION, INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR,
INVALID_REPLICA_ASSIGNMENT, INVALID_CONFIG, INVALID_REQUEST (named twice), POLICY_VIOLATION (more than 10,000 records),
THROTTLING_QUOTA_EXCEEDED (from version 6 on), KAFKA_STORAGE_ERROR.
Source: ``ControllerApis.createTopics``, ``ReplicationControlManager.createTopics``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.topics import CreateTopicsRequest, CreateTopicsResponse

from ..dispatch.request import RequestContext, mutations
from ..metadata.controller.topics import create_topics
from .parts import ControllerParts

API_KEY = ApiKey.CREATE_TOPICS
THROTTLED_SINCE = 6


def handle(
    broker: ControllerParts,
    request: CreateTopicsRequest,
    context: RequestContext,
    reply: Callable[[CreateTopicsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: CreateTopicsResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    take = mutations(context, THROTTLED_SINCE)
    metadata.change(lambda: create_topics(metadata.image, request, broker.controller, take), context.now_ms, answer)


def _refused(request: CreateTopicsRequest, error: KafkaError) -> CreateTopicsResponse:
    result = CreateTopicsResponse.CreatableTopicResult
    return CreateTopicsResponse(
        topics=[
            result(name=topic.name, error_code=error.error_code, error_message=error.message)
            for topic in request.topics
        ]
    )
