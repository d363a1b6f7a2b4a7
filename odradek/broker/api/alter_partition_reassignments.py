"""AlterPartitionReassignments (45): moves partitions to other brokers, or cancels such a move.

Versions: 0, 1. 1: the request says whether the replication factor may change (KIP-860).
Errors, for each partition: UNKNOWN_TOPIC_OR_PARTITION, INVALID_REPLICA_ASSIGNMENT, INVALID_REPLICATION_FACTOR,
NO_REASSIGNMENT_IN_PROGRESS. A single broker has no other broker to move a partition to. A request that names the
current replicas gets no error, as in Kafka. AlterReplicaLogDirs moves partitions between log directories.
Source: KIP-455; ``ReplicationControlManager.alterPartitionReassignments``.
"""

from collections.abc import Callable

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.topics import AlterPartitionReassignmentsRequest, AlterPartitionReassignmentsResponse

from ..dispatch.request import RequestContext
from ..metadata.controller.reassignments import alter_reassignments
from .parts import ControllerParts

API_KEY = ApiKey.ALTER_PARTITION_REASSIGNMENTS


def handle(
    broker: ControllerParts,
    request: AlterPartitionReassignmentsRequest,
    context: RequestContext,
    reply: Callable[[AlterPartitionReassignmentsResponse], None],
) -> None:
    """Decides and writes the metadata records in slices, after earlier metadata changes are done, then answers."""
    metadata = broker.own_metadata

    def answer(outcome: AlterPartitionReassignmentsResponse | KafkaError) -> None:
        reply(_refused(request, outcome) if isinstance(outcome, KafkaError) else outcome)

    metadata.change(lambda: alter_reassignments(metadata.image, request, broker.controller), context.now_ms, answer)


def _refused(request: AlterPartitionReassignmentsRequest, error: KafkaError) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(error_code=error.error_code, error_message=error.message)
