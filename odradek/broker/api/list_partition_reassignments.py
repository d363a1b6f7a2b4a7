"""ListPartitionReassignments (46): the partitions whose replicas are being moved.

Versions: 0. Null topics list all reassignments; unknown topics are left out.
Errors: no error of its own. A single broker starts no reassignments, but a data directory that comes from a cluster may
hold unfinished ones.
Source: KIP-455; ``ReplicationControlManager.listPartitionReassignments``.
"""

from collections.abc import Callable, Iterable, Iterator

from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.topics import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse

from ..dispatch.request import RequestContext
from .parts import MetadataParts

API_KEY = ApiKey.LIST_PARTITION_REASSIGNMENTS
PARTITIONS_A_STEP = 500
"""The number of partitions looked up in one step: below 1 us each."""


def handle(
    broker: MetadataParts,
    request: ListPartitionReassignmentsRequest,
    context: RequestContext,
    reply: Callable[[ListPartitionReassignmentsResponse], None],
) -> Iterator[None]:
    """Answers from the metadata image."""
    image = broker.metadata.image
    asked: list[tuple[str, Iterable[int]]]
    if request.topics is None:
        asked = [(topic.name, topic.partitions) for topic in image.topics_by_name.values()]
    else:
        asked = [(topic.name, topic.partition_indexes) for topic in request.topics]
    yield
    response = ListPartitionReassignmentsResponse(error_message=None)
    for name, indexes in asked:
        moving = []
        for count, index in enumerate(indexes):
            if not count % PARTITIONS_A_STEP:
                yield
            partition = image.partition(name, index)
            if partition is not None and partition.is_reassigning:
                moving.append(
                    ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
                        index,
                        list(partition.replicas),
                        list(partition.adding_replicas),
                        list(partition.removing_replicas),
                    )
                )
        if moving:
            response.topics.append(ListPartitionReassignmentsResponse.OngoingTopicReassignment(name, moving))
    reply(response)
