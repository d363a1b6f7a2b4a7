"""The handlers of the metadata APIs in cases that cannot be compared with a Kafka.

Auto-creation, listeners, versions that Kafka 4 no longer serves, failing disks.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.dispatch.request import RequestContext
from odradek.broker.metadata.controller.auto_topic_creation import AutoTopicCreation
from odradek.broker.metadata.controller.registration import registration_records
from odradek.broker.metadata.image.image import Endpoint
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.protocol.codec import decode, encode
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.messages.metadata import DescribeClusterRequest, DescribeTopicPartitionsRequest, MetadataRequest
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    ClientQuotaRecord,
    PartitionChangeRecord,
)
from odradek.protocol.messages.quotas import DescribeClientQuotasRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from support.brokers.metadata_images import ENDPOINT, Topic, apply
from support.brokers.metadata_service import NOW_MS, controller_of, open_service
from support.brokers.parts import PartialBroker

Name = MetadataRequest.MetadataRequestTopic


class Asked:
    """A broker that has only metadata, and functions that send it requests."""

    def __init__(self, metadata: MetadataService, *overrides: str) -> None:
        self.metadata = metadata
        self.controller = controller_of(*overrides)
        self._broker = PartialBroker(
            config=self.controller.config,
            metadata=metadata,
            controller=self.controller,
            auto_topic_creation=AutoTopicCreation(metadata, self.controller),
        )

    def ask(self, api: str, request: Message, version: int, listener: str = "PLAINTEXT") -> Any:
        """Calls a handler; returns its answer as a client of that version decodes it."""
        answer = self.answer_of(api, request, version, listener)
        return decode(type(answer), version, encode(answer, version))[0]

    def answer_of(self, api: str, request: Message, version: int, listener: str = "PLAINTEXT") -> Any:
        """The answer of a handler before it is encoded."""
        handler = import_module(f"odradek.broker.api.{api}")
        answers: list[Message] = []
        context = RequestContext(handler.API_KEY, version, "client", "127.0.0.1", listener, 1, NOW_MS)
        steps = handler.handle(self._broker, request, context, answers.append)
        if steps is not None:
            run_to_end(steps)
        [answer] = answers
        return answer

    def create(self, *names: str, partitions: int = 1) -> None:
        """Creates topics."""
        request = CreateTopicsRequest([Topic(name, partitions, 1) for name in names])
        assert [one.error_code for one in self.ask("create_topics", request, 7).topics] == [0] * len(names)

    def metadata_of(self, *names: str, version: int = 12, create: bool = False, listener: str = "PLAINTEXT") -> Any:
        """A Metadata answer for topics by name."""
        request = MetadataRequest([Name(name=name) for name in names], create)
        return self.ask("metadata", request, version, listener)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Asked]:
    with open_service(tmp_path, "num.partitions=3") as service:
        yield Asked(service, "num.partitions=3")


def test_topic_is_created_on_demand_and_answered_with_its_leaders(broker: Asked) -> None:
    [topic] = broker.metadata_of("new", create=True).topics
    assert (topic.error_code, topic.name, topic.topic_id != bytes(16)) == (0, "new", True)
    assert [(one.error_code, one.leader_id, one.isr_nodes) for one in topic.partitions] == [(0, 1, [1])] * 3


def test_topic_is_not_created_where_the_client_does_not_want_it(broker: Asked) -> None:
    [topic] = broker.metadata_of("new").topics
    assert (topic.error_code, topic.partitions) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])


@pytest.mark.parametrize("version", range(4))
def test_old_clients_cannot_say_that_they_do_not_want_it(broker: Asked, version: int) -> None:
    request = MetadataRequest([Name(name="new")])
    [topic] = broker.ask("metadata", request, version).topics
    assert (topic.error_code, len(topic.partitions)) == (0, 3)


def test_topic_is_not_created_where_the_configuration_forbids_it(tmp_path: Path) -> None:
    with open_service(tmp_path, "auto.create.topics.enable=false") as service:
        [topic] = Asked(service, "auto.create.topics.enable=false").metadata_of("new", create=True).topics
        assert topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_topics_that_cannot_be_created_say_why(broker: Asked) -> None:
    broker.create("a_b")
    topics = broker.metadata_of("a.b", "sp ace", "fine", create=True).topics
    assert {topic.name: topic.error_code for topic in topics} == {
        "a.b": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "sp ace": ErrorCode.INVALID_TOPIC_EXCEPTION,
        "fine": 0,
    }


def test_offsets_topic_on_demand_is_as_kafka_makes_it(broker: Asked) -> None:
    [topic] = broker.metadata_of("__consumer_offsets", create=True).topics
    assert (topic.is_internal, len(topic.partitions)) == (True, 50)


def test_all_topics_none_and_named(broker: Asked) -> None:
    broker.create("a", "b")
    assert {topic.name for topic in broker.ask("metadata", MetadataRequest(None), 1).topics} == {"a", "b"}
    assert {topic.name for topic in broker.ask("metadata", MetadataRequest([]), 0).topics} == {"a", "b"}
    assert broker.ask("metadata", MetadataRequest([]), 1).topics == []
    assert [topic.name for topic in broker.metadata_of("b", "b").topics] == ["b"]


def test_equal_lists_of_an_answer_are_one_object(broker: Asked) -> None:
    """Twenty clients may request 15,000 partitions at once. Three lists for each partition would take 50 MB."""
    broker.create("wide", partitions=500)
    for name in (None, [Name(name="wide")]):
        answer = broker.answer_of("metadata", MetadataRequest(name), 12)
        partitions = answer.topics[0].partitions
        assert len(partitions) == 500
        for field in ("replica_nodes", "isr_nodes", "offline_replicas"):
            assert len({id(getattr(one, field)) for one in partitions}) == 1, field


def test_topics_by_id(broker: Asked) -> None:
    broker.create("a")
    topic_id = broker.metadata.image.topics_by_name["a"].topic_id
    request = MetadataRequest([Name(topic_id, None), Name(b"x" * 16, None)])
    topics = broker.ask("metadata", request, 12).topics
    assert [(topic.name, topic.topic_id, topic.error_code) for topic in topics] == [
        ("a", topic_id, 0),
        (None, b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


def test_endpoint_is_that_of_the_listener_asked(broker: Asked) -> None:
    core = broker.controller
    inside = Endpoint("INSIDE", "kafka.internal", 29092)
    broker.metadata.commit(registration_records(core, [ENDPOINT, inside], [b"directory id 123"], 90), NOW_MS)
    for listener, endpoint in (("PLAINTEXT", ENDPOINT), ("INSIDE", inside)):
        [one] = broker.metadata_of(listener=listener).brokers
        assert (one.host, one.port) == (endpoint.host, endpoint.port)
        [one] = broker.ask("describe_cluster", DescribeClusterRequest(), 0, listener).brokers
        assert (one.host, one.port) == (endpoint.host, endpoint.port)


@pytest.mark.parametrize(("version", "code"), [(5, ErrorCode.LEADER_NOT_AVAILABLE), (6, ErrorCode.LISTENER_NOT_FOUND)])
def test_leader_that_is_not_on_the_listener(broker: Asked, version: int, code: ErrorCode) -> None:
    broker.create("a")
    answer = broker.metadata_of("a", version=version, listener="ELSEWHERE")
    [partition] = answer.topics[0].partitions
    assert (partition.error_code, partition.leader_id, partition.offline_replicas) == (code, -1, [1])
    assert answer.brokers == []


def test_version_0_leaves_out_replicas_that_are_not_there(broker: Asked) -> None:
    broker.create("a")
    topic_id = broker.metadata.image.topics_by_name["a"].topic_id
    moved = PartitionChangeRecord(0, topic_id, replicas=[1, 2], directories=[b"directory id 123", bytes(16)])
    apply(broker.metadata.image, [moved])
    [partition] = broker.ask("metadata", MetadataRequest([Name(name="a")]), 0).topics[0].partitions
    assert (partition.error_code, partition.replica_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1])
    [partition] = broker.metadata_of("a", version=5).topics[0].partitions
    assert (partition.error_code, partition.replica_nodes, partition.offline_replicas) == (0, [1, 2], [2])


def test_fenced_brokers_are_shown_only_on_request(broker: Asked) -> None:
    epoch = broker.metadata.image.brokers[1].epoch
    broker.metadata.commit([BrokerRegistrationChangeRecord(1, epoch, fenced=1)], NOW_MS)
    assert broker.ask("describe_cluster", DescribeClusterRequest(), 2).brokers == []
    [one] = broker.ask("describe_cluster", DescribeClusterRequest(False, 1, True), 2).brokers
    assert one.is_fenced
    broker.metadata.commit([BrokerRegistrationChangeRecord(1, epoch, fenced=-1)], NOW_MS)


def test_pages_of_partitions_cover_everything_once(broker: Asked) -> None:
    for name, partitions in (("a", 3), ("b", 1), ("c", 5)):
        broker.create(name, partitions=partitions)
    for limit in (1, 2, 3, 4, 9, 20):
        seen, cursor = [], None
        while True:
            request = DescribeTopicPartitionsRequest([], limit, cursor)
            page = broker.ask("describe_topic_partitions", request, 0)
            found = [(topic.name, one.partition_index) for topic in page.topics for one in topic.partitions]
            assert 0 < len(found) <= limit
            seen += found
            if page.next_cursor is None:
                break
            following = page.next_cursor
            cursor = DescribeTopicPartitionsRequest.Cursor(following.topic_name, following.partition_index)
        assert seen == [(name, index) for name, count in (("a", 3), ("b", 1), ("c", 5)) for index in range(count)]


def test_describe_configs_of_version_0_says_whether_it_is_the_default(broker: Asked) -> None:
    broker.create("a")
    request = DescribeConfigsRequest([DescribeConfigsRequest.DescribeConfigsResource(2, "a", ["retention.ms"])])
    [result] = broker.ask("describe_configs", request, 0).results
    assert [(one.name, one.value, one.is_default) for one in result.configs] == [("retention.ms", "604800000", True)]


def test_moves_of_replicas_that_a_cluster_left_are_listed(broker: Asked) -> None:
    broker.create("a", "b")
    topic_id = broker.metadata.image.topics_by_name["a"].topic_id
    moving = PartitionChangeRecord(
        0, topic_id, replicas=[1, 2], adding_replicas=[2], directories=[b"directory id 123", bytes(16)]
    )
    apply(broker.metadata.image, [moving])
    [topic] = broker.ask("list_partition_reassignments", ListPartitionReassignmentsRequest(0, None), 0).topics
    [one] = topic.partitions
    assert (topic.name, one.replicas, one.adding_replicas, one.removing_replicas) == ("a", [1, 2], [2], [])


def test_quotas_are_answered_as_the_filter_says(broker: Asked) -> None:
    def entity(**names: str | None) -> list[ClientQuotaRecord.EntityData]:
        return [ClientQuotaRecord.EntityData(kind.replace("_", "-"), name) for kind, name in names.items()]

    for names, value in (({"user": "u"}, 1.0), ({"user": None}, 2.0), ({"user": "u", "client_id": "c"}, 3.0)):
        broker.metadata.commit([ClientQuotaRecord(entity(**names), "producer_byte_rate", value)], NOW_MS)
    component = DescribeClientQuotasRequest.ComponentData

    def found(strict: bool, *components: DescribeClientQuotasRequest.ComponentData) -> list[float]:
        answer = broker.ask("describe_client_quotas", DescribeClientQuotasRequest(list(components), strict), 1)
        return sorted(one.value for entry in answer.entries for one in entry.values)

    assert found(False) == [1.0, 2.0, 3.0]
    assert found(False, component("user", 0, "u")) == [1.0, 3.0]
    assert found(True, component("user", 0, "u")) == [1.0]
    assert found(False, component("user", 1, None)) == [2.0]
    assert found(False, component("client-id", 2, None)) == [3.0]
    assert found(False, component("ip", 2, None)) == []


REFUSED_BY_THE_DISK: list[tuple[str, Message, int, Callable[[Any], list[int]]]] = [
    (
        "create_topics",
        CreateTopicsRequest([Topic("b", 1, 1)]),
        7,
        lambda answer: [one.error_code for one in answer.topics],
    ),
    (
        "delete_topics",
        DeleteTopicsRequest(topic_names=["a"]),
        5,
        lambda answer: [one.error_code for one in answer.responses],
    ),
    (
        "create_partitions",
        CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic("a", 4, None)]),
        3,
        lambda answer: [one.error_code for one in answer.results],
    ),
    (
        "alter_configs",
        AlterConfigsRequest(
            [AlterConfigsRequest.AlterConfigsResource(2, "a", [AlterConfigsRequest.AlterableConfig("segment.ms", "9")])]
        ),
        2,
        lambda answer: [one.error_code for one in answer.responses],
    ),
    (
        "incremental_alter_configs",
        IncrementalAlterConfigsRequest(
            [
                IncrementalAlterConfigsRequest.AlterConfigsResource(
                    2, "a", [IncrementalAlterConfigsRequest.AlterableConfig("segment.ms", 0, "9")]
                )
            ]
        ),
        1,
        lambda answer: [one.error_code for one in answer.responses],
    ),
    (
        "elect_leaders",
        ElectLeadersRequest(0, [ElectLeadersRequest.TopicPartitions("a", [0])]),
        2,
        lambda answer: [one.error_code for topic in answer.replica_election_results for one in topic.partition_result],
    ),
    (
        "metadata",
        MetadataRequest([Name(name="b")]),
        12,
        lambda answer: [one.error_code for one in answer.topics],
    ),
]


@pytest.mark.parametrize(
    ("api", "request_", "version", "codes"), REFUSED_BY_THE_DISK, ids=lambda value: str(value)[:20]
)
def test_disk_that_refuses_is_said_so_and_changes_nothing(
    broker: Asked,
    monkeypatch: pytest.MonkeyPatch,
    api: str,
    request_: Message,
    version: int,
    codes: Callable[[Any], list[int]],
) -> None:
    broker.create("a")
    topic_id = broker.metadata.image.topics_by_name["a"].topic_id
    apply(broker.metadata.image, [PartitionChangeRecord(0, topic_id, leader=-1)])

    def refuse(*arguments: object) -> int:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    with monkeypatch.context() as patch:
        patch.setattr(broker.metadata.log, "append", refuse)
        assert codes(broker.ask(api, request_, version)) == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert set(broker.metadata.image.topics_by_name) == {"a"}
    assert broker.metadata.image.config_of(2, "a") == {}
