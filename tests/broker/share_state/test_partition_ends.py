"""The ends of partitions: of this broker's, and in the answers of other leaders."""

from types import SimpleNamespace
from typing import Any

from odradek.broker.metadata.image.image import MetadataImage, PartitionImage, TopicImage
from odradek.broker.network.node_client import PLAINTEXT
from odradek.broker.share_state.partition_ends import EndQuestion, EndsDialect, PartitionEnds
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.offsets import ListOffsetsResponse

Found = ListOffsetsResponse.ListOffsetsPartitionResponse


def test_questions_become_one_request_and_each_gets_its_answer() -> None:
    told: list[Any] = []
    questions = [EndQuestion("t", index, told.append) for index in range(3)]
    dialect = EndsDialect()
    request = dialect.request(questions)
    assert [(topic.name, [one.partition_index for one in topic.partitions]) for topic in request.topics] == [
        ("t", [0, 1, 2])
    ]
    assert {one.timestamp for one in request.topics[0].partitions} == {-1}
    answered = [Found(1, ErrorCode.NOT_LEADER_OR_FOLLOWER), Found(0, offset=7)]
    response = ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse("t", answered)])
    for deliver in dialect.answers(questions, response):
        deliver()
    assert told == [7, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_SERVER_ERROR]


def image(leader: int) -> MetadataImage:
    partition = PartitionImage(
        replicas=(1, 2), directories=(bytes(16),) * 2, isr=(1,), leader=leader, leader_epoch=0, partition_epoch=0
    )
    topic = TopicImage("t", b"t" * 16, {0: partition})
    return MetadataImage(topics_by_name={"t": topic}, topics_by_id={topic.topic_id: topic})


def test_what_this_broker_leads_is_known_at_once() -> None:
    told: list[Any] = []
    settled = SimpleNamespace(isr=SimpleNamespace(are_offsets_settled=True))
    led = SimpleNamespace(leading=settled, log_to_fetch=lambda only_leader: SimpleNamespace(high_watermark=5))

    def get(topic: str, index: int) -> Any:
        if index:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return led

    partitions: Any = SimpleNamespace(get=get)
    alone = PartitionEnds(1, partitions, lambda: image(1), "PLAINTEXT", 1_000, None)
    alone.ask("t", 0, told.append)
    alone.ask("t", 9, told.append)
    settled.isr.are_offsets_settled = False
    alone.ask("t", 0, told.append)
    among_others = PartitionEnds(1, partitions, lambda: image(-1), "PLAINTEXT", 1_000, PLAINTEXT)
    among_others.ask("t", 0, told.append)
    assert told == [
        5,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
    ]
