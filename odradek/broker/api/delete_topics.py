"""DeleteTopics (20): deletes topics. They no longer exist when the answer is sent.

Versions: 0 to 6. 1: throttle time. 3: TOPIC_DELETION_DISABLED. 4: flexible. 5: error messages. 6: topics by id.
Errors, for each topic: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_REQUEST (a topic named twice, by name and
id together, or by neither), THROTTLING_QUOTA_EXCEEDED (from version 5 on), TOPIC_DELETION_DISABLED
(``delete.topic.enable`` is false; INVALID_REQUEST before version 3), KAFKA_STORAGE_ERROR.
Source: ``ControllerApis.deleteTopics``, ``ReplicationControlManager.deleteTopics``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.topics import DeleteTopicsRequest, DeleteTopicsResponse

from ..dispatch.request import RequestContext, mutations
from ..metadata.controller.topic_changes import asked_topics, delete_topics
from .parts import ControllerParts

API_KEY = ApiKey.DELETE_TOPICS
THROTTLED_SINCE = 5


def handle(
    broker: ControllerParts,
    request: DeleteTopicsRequest,
    context: RequestContext,
    reply: Callable[[DeleteTopicsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: DeleteTopicsResponse | KafkaError) -> None:
        reply(_refused(request, context.api_version, outcome) if isinstance(outcome, KafkaError) else outcome)

    version, take = context.api_version, mutations(context, THROTTLED_SINCE)
    metadata.change(
        lambda: delete_topics(metadata.image, request, version, broker.controller, take), context.now_ms, answer
    )


def _refused(request: DeleteTopicsRequest, version: int, error: KafkaError) -> DeleteTopicsResponse:
    return DeleteTopicsResponse(
        responses=[
            DeleteTopicsResponse.DeletableTopicResult(name, topic_id, error.error_code, error.message)
            for name, topic_id in asked_topics(request, version)
        ]
    )
