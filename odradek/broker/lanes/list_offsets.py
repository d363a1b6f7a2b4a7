"""The lane of ListOffsets (2): the earliest or latest offset of one partition.

Versions: 4 and later. Serves a consumer's request for timestamp -1 (latest) or -2 (earliest). Leaves to the general
path: other timestamps, brokers and tools, denied clients, and every error.

Owns: the requests that it knows, by their bytes. Source: ``api/list_offsets.py``.
"""

from functools import partial

from odradek.protocol.errors import KafkaError
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.protocol.security.acl import AclOperation, AclResourceType

from ..api.list_offsets import CONSUMER, EARLIEST, LATEST, LEADER_EPOCH_SINCE
from ..dispatch.lane import Answering, only_part
from ..dispatch.route import Lane, Route
from ..fetch.partition_read import READ_COMMITTED
from ..network.connection import Connection
from .parts import LaneParts, recalling
from .template import Template, marks, template

NUMBERS = "qi"
"""Of an answer: offset and leader epoch."""


class KnownListOffsets:
    """A request."""

    __slots__ = ("answer", "index", "is_committed", "is_latest", "leader_epoch", "topic")

    def __init__(
        self,
        topic: str,
        index: int,
        leader_epoch: int,
        is_latest: bool,
        is_committed: bool,
        answer: Template,
    ) -> None:
        """``answer``: makes the answer of the frame, offset and leader epoch."""
        self.topic = topic
        self.index = index
        self.leader_epoch = leader_epoch
        self.is_latest = is_latest
        self.is_committed = is_committed
        self.answer = answer


def list_offsets_lane(parts: LaneParts, route: Route, answering: Answering) -> Lane | None:
    """The lane of one version."""
    if route.version < LEADER_EPOCH_SINCE:
        return None
    partitions = parts.partitions
    recall = recalling(route, partial(_learn, route))

    def serve(connection: Connection, frame: memoryview) -> bool:
        known = recall(frame)
        if known is None:
            return False
        partition = partitions.find(known.topic, known.index)
        if partition is None or not parts.may(connection, AclOperation.DESCRIBE, AclResourceType.TOPIC, known.topic):
            return False
        try:
            partition.check_leader_epoch(known.leader_epoch)
            offsets = partition.log_to_fetch(only_leader=True).offsets
        except KafkaError:
            return False
        if not known.is_latest:
            offset = offsets.log_start_offset
            epoch = offsets.epoch_of(offset)
        elif partition.leading is not None and not partition.leading.isr.are_offsets_settled:
            return False
        else:
            offset = offsets.last_stable_offset if known.is_committed else offsets.high_watermark
            epoch = partition.leader_epoch
        answering.send(connection, [known.answer(frame, offset, epoch)])
        return True

    return serve


def _learn(route: Route, request: ListOffsetsRequest, _: str | None) -> KnownListOffsets | None:
    if request.replica_id != CONSUMER or len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return None
    topic, wanted = request.topics[0].name, request.topics[0].partitions[0]
    if wanted.timestamp not in (EARLIEST, LATEST):
        return None
    offset, epoch = marks(NUMBERS)
    answered = ListOffsetsResponse.ListOffsetsPartitionResponse(
        wanted.partition_index, offset=offset, leader_epoch=epoch
    )
    response = ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(topic, [answered])])
    answer = template(only_part(route.encode(response, 0)), NUMBERS)
    if answer is None:
        return None
    is_latest = wanted.timestamp == LATEST
    is_committed = request.isolation_level == READ_COMMITTED
    return KnownListOffsets(topic, wanted.partition_index, wanted.current_leader_epoch, is_latest, is_committed, answer)
