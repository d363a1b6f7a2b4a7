"""ElectLeaders (43): elects the preferred replica as leader, or any live replica of a partition without a leader.

Versions: 0 to 2. 1: unclean elections, an error of the whole answer. 2: flexible.
Errors: INVALID_REQUEST (an unknown election type); for each partition: ELECTION_NOT_NEEDED, UNKNOWN_TOPIC_OR_PARTITION,
PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE, KAFKA_STORAGE_ERROR.
Source: KIP-183, KIP-460; ``ReplicationControlManager.electLeaders``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.topics import ElectLeadersRequest, ElectLeadersResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.elections import elect_leaders
from .parts import ControllerParts

API_KEY = ApiKey.ELECT_LEADERS


def handle(
    broker: ControllerParts,
    request: ElectLeadersRequest,
    context: RequestContext,
    reply: Callable[[ElectLeadersResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: ElectLeadersResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(lambda: elect_leaders(metadata.image, request, context.api_version), context.now_ms, answer)


def _refused(request: ElectLeadersRequest, error: KafkaError) -> ElectLeadersResponse:
    """The error for each named partition, or for the whole answer if all were requested."""
    if request.topic_partitions is None:
        return ElectLeadersResponse(error_code=error.error_code)
    one = ElectLeadersResponse.PartitionResult
    return ElectLeadersResponse(
        replica_election_results=[
            ElectLeadersResponse.ReplicaElectionResult(
                topic.topic, [one(index, error.error_code, error.message) for index in topic.partitions]
            )
            for topic in request.topic_partitions
        ]
    )
