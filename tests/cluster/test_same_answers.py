"""Our broker and Kafka's in one cluster answer the same, about the cluster and about partitions that they lead, follow
or do not have; also while a third broker is gone, and partitions have no leader.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cluster.plain_clients import create_topic
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)
from odradek.protocol.messages.offsets import DeleteRecordsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import ListPartitionReassignmentsRequest
from odradek.protocol.messages.transactions import DescribeProducersRequest
from odradek.protocol.names.topics import OFFSETS_TOPIC
from odradek.protocol.records.builder import encode_batch
from odradek.protocol.records.record import Record
from support.brokers.asking import NOW_MS, Asking
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_controllers import MEMBER, RealControllers
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = [pytest.mark.java, pytest.mark.ci]

OURS, KAFKA, THIRD = 1, 2, 3
QUICK = {"replica.lag.time.max.ms": "3000", "replica.fetch.backoff.ms": "100", "num.partitions": "1"}
TOPICS = {
    "led-by-1": [OURS, KAFKA],
    "led-by-2": [KAFKA, OURS],
    "elsewhere": [THIRD],
    "partly-elsewhere": [THIRD, OURS, KAFKA],
}
ZERO_ID = bytes(16)
PATIENCE_S = 20.0
"""Until both know of a change. Each difference that stays costs this."""


class Both:
    """Ours and Kafka's, and the program that asks them."""

    def __init__(self, ours: OurBroker, kafka: RealKafka, third: OurBroker, wire: Wire) -> None:
        self._brokers: Mapping[int, OurBroker | RealKafka] = {OURS: ours, KAFKA: kafka}
        self.third = third
        self._wire = wire
        self.ids: dict[str, bytes] = {}
        """Topic -> topic id."""

    @property
    def servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in (*self._brokers.values(), self.third))

    def leaders(self, topic: str) -> list[int]:
        """The leader of a partition as both brokers have it."""
        return [Asking(broker.port).partition(topic, 0)[1] for broker in self._brokers.values()]

    def answer(self, node_id: int, request: Message, version: int) -> Any:
        """The body of a broker's answer, in an order that does not depend on its hash maps."""
        broker = self._brokers[node_id]
        found = self._wire.ask(broker.port, request, version, connection=str(node_id))
        assert "body" in found, f"broker {node_id}: {found}"
        return _sorted(found["body"])

    def same(self, question: Callable[[int], tuple[Message, int]], within: Callable[[int, Any], Any]) -> Any:
        """Waits until both answer the same, and returns that. ``within``: from node id and answer to what is compared.

        They learn of each change a moment apart, and high watermarks come to followers later.
        """

        def answers() -> list[Any]:
            return [within(node_id, self.answer(node_id, *question(node_id))) for node_id in (OURS, KAFKA)]

        def are_equal() -> Any:
            ours, kafka = answers()
            return [ours] if ours == kafka else None

        [found] = eventually(
            lambda: "both answer the same:\n{}\n{}".format(*map(json.dumps, answers())),
            are_equal,
            patience_s=PATIENCE_S,
        )
        return found


def _sorted(body: Any) -> Any:
    if isinstance(body, dict):
        return {key: _sorted(value) for key, value in body.items()}
    if isinstance(body, list):
        return sorted(map(_sorted, body), key=json.dumps) if body and isinstance(body[0], dict) else body
    return body


def is_written(port: int, topic: str) -> bool:
    """Writes a batch to a partition, if its leader is known there."""
    return Asking(port).produce(topic, 0, b"0", b"1") == 0


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    place: Path = tmp_path_factory.mktemp("same")
    with ExitStack() as stack:
        controllers = stack.enter_context(RealControllers(place / "controllers"))
        ours = stack.enter_context(controllers.broker(place / "1", OURS, QUICK))
        kafka = stack.enter_context(controllers.kafka_broker(place / "2", KAFKA, QUICK))
        third = stack.enter_context(controllers.broker(place / "3", THIRD, QUICK))
        wire = stack.enter_context(Wire())
        both = Both(ours, kafka, third, wire)
        for topic, replicas in TOPICS.items():
            create_topic(both.servers, topic, [replicas])
        create_topic(both.servers, OFFSETS_TOPIC, [[KAFKA, OURS]] * int(MEMBER["offsets.topic.num.partitions"]))
        ports = {"led-by-1": ours.port, "led-by-2": kafka.port, "elsewhere": third.port, "partly-elsewhere": third.port}
        for topic, port in ports.items():
            eventually(f"{topic} is written", partial(is_written, port, topic))
        found = Asking(ours.port).ask(MetadataRequest(None), 12).topics
        both.ids = {one.name: one.topic_id for one in found}
        yield both
        assert " ERROR " not in ours.log()


@pytest.fixture(scope="module", params=["all up", "one gone"])
def state(request: pytest.FixtureRequest, both: Both) -> str:
    """The third broker is there, then it is killed, and fenced."""
    name: str = request.param
    if name == "one gone":
        both.third.kill()
        eventually("the others know that nobody leads its partition", lambda: both.leaders("elsewhere") == [-1, -1])
    return name


def metadata(names: list[str], ids: list[bytes]) -> tuple[Message, int]:
    topic = MetadataRequest.MetadataRequestTopic
    topics = [*(topic(ZERO_ID, name) for name in names), *(topic(one, None) for one in ids)]
    return MetadataRequest(topics, allow_auto_topic_creation=False), 12


def of_topics(names: list[str], limit: int, begin: str | None) -> tuple[Message, int]:
    request = DescribeTopicPartitionsRequest
    cursor = None if begin is None else request.Cursor(begin, 0)
    return request([request.TopicRequest(name) for name in names], limit, cursor), 0


def of_cluster(version: int, *, with_fenced: bool = False) -> tuple[Message, int]:
    return DescribeClusterRequest(endpoint_type=1, include_fenced_brokers=with_fenced), version


METADATA_VERSIONS = (0, 1, 2, 4, 5, 7, 8, 9, 10, 11, 12, 13)
OF_THE_CLUSTER: dict[str, tuple[Message, int]] = {
    **{f"Metadata v{one}": (MetadataRequest(None if one else []), one) for one in METADATA_VERSIONS},
    "Metadata of names": metadata(["no", "elsewhere", "a b", "partly-elsewhere"], []),
    "Metadata of an unknown id": metadata([], [b"x" * 16]),
    "DescribeTopicPartitions": of_topics([*TOPICS, "no"], 2000, None),
    "DescribeTopicPartitions in pages": of_topics([], 2, "elsewhere"),
    **{f"DescribeCluster v{one}": of_cluster(one) for one in (0, 1, 2)},
    "DescribeCluster with fenced brokers": of_cluster(2, with_fenced=True),
    "FindCoordinator": (FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h"]), 6),
    "FindCoordinator v0": (FindCoordinatorRequest("g"), 0),
    "ListPartitionReassignments": (ListPartitionReassignmentsRequest(60_000, None), 0),
}


@pytest.mark.parametrize("name", OF_THE_CLUSTER)
def test_about_the_cluster(both: Both, state: str, name: str) -> None:
    answer = both.same(lambda _: OF_THE_CLUSTER[name], _without_the_one_asked)
    assert answer


def _without_the_one_asked(_: int, answer: Any) -> Any:
    """Kafka names any broker as the controller of a cluster."""
    answer.pop("controllerId", None)
    return answer


class Role(NamedTuple):
    """Topics by what they are to the broker that is asked."""

    node_id: int
    ids: Mapping[str, bytes]

    def topic(self, role: str) -> str:
        other = {OURS: KAFKA, KAFKA: OURS}[self.node_id]
        return {"own": f"led-by-{self.node_id}", "other's": f"led-by-{other}"}.get(role, role)

    def id_of(self, role: str) -> bytes:
        return self.ids.get(self.topic(role), b"x" * 16)


ROLES = ("own", "other's", "elsewhere", "unknown")


def produce(role: Role, topic: str, acks: int, version: int = 12) -> tuple[Message, int]:
    batch = encode_batch([Record(0, NOW_MS, b"k", b"v", [])])
    data = ProduceRequest.TopicProduceData(
        role.topic(topic), role.id_of(topic), [ProduceRequest.PartitionProduceData(0, batch)]
    )
    return ProduceRequest(None, acks, 10_000, [data]), version


def fetch(role: Role, topic: str, offset: int, epoch: int, version: int = 17) -> tuple[Message, int]:
    wanted = FetchRequest.FetchPartition(0, epoch, offset, partition_max_bytes=1 << 20)
    asked = FetchRequest.FetchTopic(role.topic(topic), role.id_of(topic), [wanted])
    return FetchRequest(max_wait_ms=0, min_bytes=0, topics=[asked]), version


def list_offsets(role: Role, topic: str, timestamp: int, epoch: int, replica: int = -1) -> tuple[Message, int]:
    wanted = ListOffsetsRequest.ListOffsetsPartition(0, epoch, timestamp)
    return ListOffsetsRequest(replica, 0, [ListOffsetsRequest.ListOffsetsTopic(role.topic(topic), [wanted])]), 10


def epoch_end(role: Role, topic: str, epoch: int, current: int) -> tuple[Message, int]:
    wanted = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(0, current, epoch)
    return OffsetForLeaderEpochRequest(
        -1, [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(role.topic(topic), [wanted])]
    ), 4


def delete_records(role: Role, topic: str, offset: int) -> tuple[Message, int]:
    wanted = DeleteRecordsRequest.DeleteRecordsPartition(0, offset)
    return DeleteRecordsRequest([DeleteRecordsRequest.DeleteRecordsTopic(role.topic(topic), [wanted])], 10_000), 2


def producers(role: Role, topic: str) -> tuple[Message, int]:
    return DescribeProducersRequest([DescribeProducersRequest.TopicRequest(role.topic(topic), [0])]), 0


LATEST_TO_PENDING_UPLOAD = (-1, -2, -3, -4, -5, -6)
OF_PARTITIONS: dict[str, Callable[[Role, str], tuple[Message, int]]] = {
    "Fetch v12": partial(fetch, offset=0, epoch=-1, version=12),
    **{
        f"Fetch at {offset} in epoch {epoch}": partial(fetch, offset=offset, epoch=epoch)
        for offset in (0, 1, 99)
        for epoch in (-1, 0, 7)
    },
    **{
        f"ListOffsets of {time} in epoch {epoch}": partial(list_offsets, timestamp=time, epoch=epoch)
        for time in (*LATEST_TO_PENDING_UPLOAD, NOW_MS, NOW_MS + 1)
        for epoch in (-1, 0, 7)
    },
    "ListOffsets of any replica": partial(list_offsets, timestamp=-1, epoch=-1, replica=-2),
    **{
        f"OffsetForLeaderEpoch {epoch} in epoch {current}": partial(epoch_end, epoch=epoch, current=current)
        for epoch in (0, 7)
        for current in (-1, 0, 7)
    },
    "DescribeProducers": producers,
    "DeleteRecords": partial(delete_records, offset=1),
    "DeleteRecords beyond the end": partial(delete_records, offset=99),
    "Produce with acks=all": partial(produce, acks=-1),
    "Produce with acks=1": partial(produce, acks=1),
    "Produce with acks=all v13": partial(produce, acks=-1, version=13),
    "Produce with acks=1 v9": partial(produce, acks=1, version=9),
}


@pytest.mark.parametrize("topic", ROLES)
def test_about_partitions(both: Both, state: str, topic: str) -> None:
    """Each question about a partition that the asked broker leads, follows, does not have, or that does not exist.

    Both partitions get the same records, one from each question that writes.
    """
    differences = {}
    for name, ask in OF_PARTITIONS.items():

        def question(node_id: int) -> tuple[Message, int]:
            return ask(Role(node_id, both.ids), topic)  # noqa: B023

        if topic == "own" and name.startswith("Produce"):
            # It is asked once of each: a second time it would write again.
            answers = [as_role(node_id, both.answer(node_id, *question(node_id))) for node_id in (OURS, KAFKA)]
            if answers[0] != answers[1]:
                differences[name] = str(answers)
        else:
            try:
                both.same(question, as_role)
            except AssertionError as difference:
                differences[name] = str(difference)
    assert not differences, "\n".join(f"{name}: {text}" for name, text in differences.items())


def as_role(node_id: int, answer: Any) -> Any:
    """The answer with node ids, addresses and names as they are to the broker that was asked."""
    other = {OURS: KAFKA, KAFKA: OURS}[node_id]

    def told(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: _role_of(key, told(one), node_id, other) for key, one in value.items()}
        return [told(one) for one in value] if isinstance(value, list) else value

    return told(answer)


def _role_of(key: str, value: Any, node_id: int, other: int) -> Any:
    if key in ("leaderId", "nodeId", "preferredReadReplica"):
        return {node_id: "own", other: "other"}.get(value, value)
    if key in ("name", "topic"):
        return {f"led-by-{node_id}": "own", f"led-by-{other}": "other's"}.get(value, value)
    return "some" if value and key in ("port", "topicId") else value
