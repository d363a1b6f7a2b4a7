"""Partition indexes below 0 and beyond any topic: Odradek answers as a real Kafka does, and no handler fails."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from odradek.protocol.messages.log_dirs import AlterReplicaLogDirsRequest, DescribeLogDirsRequest
from odradek.protocol.messages.metadata import DescribeTopicPartitionsRequest
from odradek.protocol.messages.offsets import DeleteRecordsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    CreateTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from odradek.protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    DescribeProducersRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from parity.side import DEADLINE_S, Side, batch, fetch_request, produce_request, same
from parity.two_brokers import TwoBrokers

pytestmark = pytest.mark.java

TOPIC = "strange-partitions"
GROUP = "strange-partitions"
TRANSACTIONAL_ID = "strange-partitions"
STRANGE = (-(2**31), -2, -1, 2, 2**31 - 1)
Ask = Callable[[Side, int], tuple[Message, int]]


@pytest.fixture(scope="module", autouse=True)
def topic(both: TwoBrokers) -> None:
    """A topic of two partitions with one record each, and a committed offset."""

    def scene(side: Side) -> Any:
        side.topic(TOPIC, 2)
        side.group(GROUP)
        side.produce(TOPIC, batch(1))
        return side.ask(offset_commit(side, 0)[0], 8)

    same(both, scene)


def offset_fetch(_: Side, partition: int) -> tuple[Message, int]:
    return OffsetFetchRequest(GROUP, [OffsetFetchRequest.OffsetFetchRequestTopic(TOPIC, [partition, 0])]), 7


def offset_commit(_: Side, partition: int) -> tuple[Message, int]:
    committed = OffsetCommitRequest.OffsetCommitRequestPartition(partition, 7)
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(TOPIC, partitions=[committed])]
    return OffsetCommitRequest(GROUP, topics=topics), 8


def offset_delete(_: Side, partition: int) -> tuple[Message, int]:
    doomed = [OffsetDeleteRequest.OffsetDeleteRequestPartition(partition)]
    return OffsetDeleteRequest(GROUP, [OffsetDeleteRequest.OffsetDeleteRequestTopic(TOPIC, doomed)]), 0


def list_offsets(_: Side, partition: int) -> tuple[Message, int]:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=-1)
    return ListOffsetsRequest(-1, 0, [ListOffsetsRequest.ListOffsetsTopic(TOPIC, [wanted])]), 7


def fetch(side: Side, partition: int) -> tuple[Message, int]:
    wanted = FetchRequest.FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
    return fetch_request([FetchRequest.FetchTopic(TOPIC, side.topic_ids.get(TOPIC, bytes(16)), [wanted])]), 12


def produce(_: Side, partition: int) -> tuple[Message, int]:
    return produce_request(TOPIC, batch(1), partition=partition), 9


def delete_records(_: Side, partition: int) -> tuple[Message, int]:
    wanted = [DeleteRecordsRequest.DeleteRecordsPartition(partition, 0)]
    return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(TOPIC, wanted)], 5000), 2


def leader_epoch(_: Side, partition: int) -> tuple[Message, int]:
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition, -1, 0)
    return OffsetForLeaderEpochRequest(-2, [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(TOPIC, [wanted])]), 4


def describe_producers(_: Side, partition: int) -> tuple[Message, int]:
    return DescribeProducersRequest([DescribeProducersRequest.TopicRequest(TOPIC, [partition])]), 0


def add_partitions(side: Side, partition: int) -> tuple[Message, int]:
    producer_id, epoch = initialised(side)
    topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(TOPIC, [partition])]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TRANSACTIONAL_ID,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=topics,
    )
    return request, 3


def transactional_commit(side: Side, partition: int) -> tuple[Message, int]:
    producer_id, epoch = initialised(side)
    committed = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition, 7)]
    topics = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(TOPIC, partitions=committed)]
    return TxnOffsetCommitRequest(TRANSACTIONAL_ID, GROUP, producer_id, epoch, topics=topics), 3


def write_markers(side: Side, partition: int) -> tuple[Message, int]:
    producer_id, epoch = initialised(side)
    topics = [
        WriteTxnMarkersRequest.WritableTxnMarkerTopic(name, [partition]) for name in (TOPIC, "__consumer_offsets")
    ]
    marker = WriteTxnMarkersRequest.WritableTxnMarker(producer_id, epoch, False, topics, 0)
    return WriteTxnMarkersRequest([marker]), 1


def reassign(_: Side, partition: int) -> tuple[Message, int]:
    wanted = [AlterPartitionReassignmentsRequest.ReassignablePartition(partition, [1])]
    topics = [AlterPartitionReassignmentsRequest.ReassignableTopic(TOPIC, wanted)]
    return AlterPartitionReassignmentsRequest(5000, topics=topics), 0


def list_reassignments(_: Side, partition: int) -> tuple[Message, int]:
    wanted = [ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(TOPIC, [partition])]
    return ListPartitionReassignmentsRequest(5000, wanted), 0


def elect(_: Side, partition: int) -> tuple[Message, int]:
    return ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions(TOPIC, [partition])], 5000), 2


def move(_: Side, partition: int) -> tuple[Message, int]:
    topics = [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(TOPIC, [partition])]
    return AlterReplicaLogDirsRequest([AlterReplicaLogDirsRequest.AlterReplicaLogDir("/nowhere", topics)]), 2


def describe_log_dirs(_: Side, partition: int) -> tuple[Message, int]:
    return DescribeLogDirsRequest([DescribeLogDirsRequest.DescribableLogDirTopic(TOPIC, [partition])]), 4


def describe_from(_: Side, partition: int) -> tuple[Message, int]:
    cursor = DescribeTopicPartitionsRequest.Cursor(TOPIC, partition)
    return DescribeTopicPartitionsRequest([DescribeTopicPartitionsRequest.TopicRequest(TOPIC)], 10, cursor), 0


def create_topic(_: Side, partition: int) -> tuple[Message, int]:
    placed = [CreateTopicsRequest.CreatableReplicaAssignment(partition, [1])]
    topics = [CreateTopicsRequest.CreatableTopic(f"{TOPIC}-2", -1, -1, placed)]
    return CreateTopicsRequest(topics, 5000, validate_only=True), 7


def create_partitions(_: Side, partition: int) -> tuple[Message, int]:
    wanted = [CreatePartitionsRequest.CreatePartitionsTopic(TOPIC, min(partition, 1))]
    return CreatePartitionsRequest(wanted, 5000, validate_only=True), 3


def initialised(side: Side) -> tuple[int, int]:
    """Initialises a transactional id, once its coordinator serves it. Returns the producer's id and epoch."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        side.ask(FindCoordinatorRequest(TRANSACTIONAL_ID, 1), 2)  # creates __transaction_state
        body = side.ask(InitProducerIdRequest(TRANSACTIONAL_ID, 60_000), 4)
        if body["errorCode"] == 0:
            return body["producerId"], body["producerEpoch"]
        assert time.monotonic() < deadline, body


ALL: tuple[Ask, ...] = (
    offset_fetch,
    offset_commit,
    offset_delete,
    list_offsets,
    fetch,
    produce,
    delete_records,
    leader_epoch,
    describe_producers,
    add_partitions,
    transactional_commit,
    write_markers,
    reassign,
    list_reassignments,
    elect,
    move,
    describe_log_dirs,
    describe_from,
    create_topic,
    create_partitions,
)


CASES = [
    (ask, partition)
    for ask in ALL
    for partition in STRANGE
    # In Kafka, the sum of cursor and limit overflows, and the answer has a cursor below 0.
    if not (ask is describe_from and partition == STRANGE[-1])
]


def without_paths(answer: Any) -> Any:
    """An answer without the directory and disk sizes of DescribeLogDirs, which differ between brokers."""
    for result in answer.get("body", {}).get("results", ()):
        for own in ("logDir", "totalBytes", "usableBytes"):
            result.pop(own, None)
    return answer


@pytest.mark.parametrize(("ask", "partition"), CASES, ids=[f"{ask.__name__}-{partition}" for ask, partition in CASES])
def test_strange_partitions(both: TwoBrokers, ask: Ask, partition: int) -> None:
    same(both, lambda side: without_paths(side.answer(*ask(side, partition))))
    assert "Traceback" not in (both.our_log_dir.parent / "odradek.log").read_text()


def test_an_offset_that_was_committed_for_no_partition_is_none(both: TwoBrokers) -> None:
    """A negative index neither reads a row from the end of the array, nor fails the whole group without such a row."""
    fetched = same(both, lambda side: side.ask(*offset_fetch(side, -1)))
    offsets = {one["partitionIndex"]: one["committedOffset"] for one in fetched["topics"][0]["partitions"]}
    assert fetched["errorCode"] == 0
    assert offsets[-1] == -1
