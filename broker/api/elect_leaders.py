"""ElectLeaders (43): makes the preferred replica the leader, or any replica where none is.

Versions: 0 to 2. 1: unclean elections, an error of the whole answer. 2: flexible.
Errors: INVALID_REQUEST (an unknown election type); for each partition: ELECTION_NOT_NEEDED, UNKNOWN_TOPIC_OR_PARTITION,
PREFERRED_LEADER_NOT_AVAILABLE, ELIGIBLE_LEADERS_NOT_AVAILABLE, KAFKA_STORAGE_ERROR.
Source: KIP-183, KIP-460; ``ReplicationControlManager.electLeaders``.
"""

from collections.abc import Callable

from ...protocol.api_keys import ApiKey
from ...protocol.errors import KafkaError
from ...protocol.messages.topics import ElectLeadersRequest, ElectLeadersResponse
from ..metadata.elections import elect_leaders
from ..metadata.service import HasMetadata
from ..request import RequestContext

API_KEY = ApiKey.ELECT_LEADERS


def handle(
    broker: HasMetadata,
    request: ElectLeadersRequest,
    context: RequestContext,
    reply: Callable[[ElectLeadersResponse], None],
) -> None:
    """Decides, writes the records, answers."""
    metadata = broker.metadata
    decision = elect_leaders(metadata.image, request, context.api_version)
    try:
        response = metadata.carry_out(decision, context.now_ms)
    except KafkaError as error:
        response = decision.response
        for topic in response.replica_election_results:
            for one in topic.partition_result:
                one.error_code, one.error_message = error.error_code, error.message
    reply(response)
