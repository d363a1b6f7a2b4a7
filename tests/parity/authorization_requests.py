"""The longer requests of :mod:`parity.authorization_questions`. ``ids`` maps topic names to a broker's topic ids."""

from typing import Any

from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import (
    OffsetFetchRequest,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
)
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import ZERO_UUID, Message
from odradek.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from parity.authorization_names import GROUPS, TOPICS

TRANSACTIONAL_ID = "payer"
TIME_MS = 1_700_000_000_000


def _batch(is_transactional: bool = False) -> bytes:
    records = [Record(0, TIME_MS, b"k", b"v", [])]
    if not is_transactional:
        return encode_batch(records)
    return encode_batch(records, producer_id=4_000, producer_epoch=0, base_sequence=0, is_transactional=True)


def produce(
    ids: dict[str, bytes], by_id: bool, transactional_id: str | None = None, is_flagged: bool = False
) -> Message:
    """``is_flagged``: sets the transactional bit of the batch, independently of the request's transactional id."""
    batch = _batch(is_flagged)
    topics = [
        ProduceRequest.TopicProduceData(
            "" if by_id else topic,
            ids.get(topic, bytes(range(16))) if by_id else ZERO_UUID,
            [ProduceRequest.PartitionProduceData(0, batch)],
        )
        for topic in TOPICS
    ]
    return ProduceRequest(transactional_id, -1, 10_000, topics)


def fetch(ids: dict[str, bytes], by_id: bool, replica_id: int = -1) -> Message:
    """``replica_id``: the id of a follower; -1 is a consumer."""
    topics = [
        FetchRequest.FetchTopic(
            "" if by_id else topic,
            ids.get(topic, bytes(range(16))) if by_id else ZERO_UUID,
            [FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)],
        )
        for topic in TOPICS
    ]
    return FetchRequest(
        topics=topics,
        max_wait_ms=0,
        min_bytes=0,
        session_epoch=-1,
        replica_id=-1 if by_id else replica_id,
        replica_state=FetchRequest.ReplicaState(replica_id if by_id else -1),
    )


def metadata(ids: dict[str, bytes], **given: Any) -> Message:
    kind = given.pop("kind")
    one = MetadataRequest.MetadataRequestTopic
    topics = {
        "names": [one(name=topic) for topic in TOPICS],
        "ids": [one(topic_id=ids[topic], name=None) for topic in TOPICS[:2]],
        "all": None,
    }[kind]
    return MetadataRequest(topics=topics, **given)


def commit_topics(request: Any, ids: dict[str, bytes] | None = None) -> list[Any]:
    topic, partition = request.OffsetCommitRequestTopic, request.OffsetCommitRequestPartition
    return [
        topic(
            name="" if ids is not None else name,
            topic_id=ZERO_UUID if ids is None else ids.get(name, bytes(range(16))),
            partitions=[partition(partition_index=0, committed_offset=3, committed_metadata="")],
        )
        for name in TOPICS
    ]


def offset_fetch(all_topics: bool) -> Message:
    topic = OffsetFetchRequest.OffsetFetchRequestTopics
    return OffsetFetchRequest(
        groups=[
            OffsetFetchRequest.OffsetFetchRequestGroup(
                group, None, -1, None if all_topics else [topic(name=name, partition_indexes=[0]) for name in TOPICS]
            )
            for group in GROUPS
        ]
    )


def reassignments(_: dict[str, bytes]) -> Message:
    topic, partition = (
        AlterPartitionReassignmentsRequest.ReassignableTopic,
        AlterPartitionReassignmentsRequest.ReassignablePartition,
    )
    return AlterPartitionReassignmentsRequest(topics=[topic(name, [partition(0, None)]) for name in TOPICS])


def write_markers(_: dict[str, bytes]) -> Message:
    topic = WriteTxnMarkersRequest.WritableTxnMarkerTopic
    marker = WriteTxnMarkersRequest.WritableTxnMarker(4_000, 0, False, [topic("missing", [0])], 0)
    return WriteTxnMarkersRequest([marker])


def share_state(request: type[Any]) -> Any:
    """One of the requests about the state of share partitions, for a topic that does not exist."""
    topic = next(kind for name, kind in vars(request).items() if name.endswith(("StateData", "SummaryData")))
    return lambda _: request("shared", [topic(bytes(range(16)), [request.PartitionData(0)])])


def add_partitions(version: int) -> Message:
    topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    topics = [topic(name, [0]) for name in TOPICS[:2]]
    if version < 4:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TRANSACTIONAL_ID,
            v3_and_below_producer_id=4_000,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=topics,
        )
    one = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(TRANSACTIONAL_ID, 4_000, 0, True, topics)
    return AddPartitionsToTxnRequest([one])


def txn_offset_commit(_: dict[str, bytes]) -> Message:
    topic, partition = (
        TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic,
        TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition,
    )
    topics = [topic(name, partitions=[partition(0, 3, -1, "")]) for name in TOPICS]
    return TxnOffsetCommitRequest(TRANSACTIONAL_ID, GROUPS[0], 4_000, 0, topics=topics)


def heartbeat_of_consumer(_: dict[str, bytes]) -> Message:
    return ConsumerGroupHeartbeatRequest(
        group_id="modern", member_id="nobody", member_epoch=5, subscribed_topic_names=list(TOPICS[:2])
    )
