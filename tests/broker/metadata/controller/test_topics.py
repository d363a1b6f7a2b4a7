"""Creating and deleting topics: Kafka's rules, error codes and messages."""

import pytest

from odradek.broker.metadata.controller.topic_changes import delete_topics
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import DIRECTORY_UNASSIGNED, ResourceType
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionRecord,
    TopicRecord,
)
from odradek.protocol.messages.structure import ZERO_UUID
from odradek.protocol.messages.topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
)
from support.brokers.metadata_images import (
    DIRECTORY,
    Topic,
    apply,
    carry_out,
    controller,
    create,
    directory_of,
    started,
    two_brokers,
    with_topics,
)

Assignment = CreateTopicsRequest.CreatableReplicaAssignment
Config = CreateTopicsRequest.CreatableTopicConfig
Named = DeleteTopicsRequest.DeleteTopicState

FENCED = "All brokers are currently fenced or in controlled shutdown."
Result = CreateTopicsResponse.CreatableTopicResult


def manual(*replicas: list[int], partitions: int = -1, factor: int = -1) -> CreateTopicsRequest.CreatableTopic:
    assignments = [Assignment(index, brokers) for index, brokers in enumerate(replicas)]
    return Topic("t", partitions, factor, assignments)


def test_records_are_topic_configs_partitions() -> None:
    core = controller()
    image = started(core)
    topic = Topic("t", 2, 1, configs=[Config("cleanup.policy", "compact"), Config("segment.ms", "70000")])
    decision = run_to_end(create_topics(image, CreateTopicsRequest([topic]), core))
    topic_id = decision.response.topics[0].topic_id
    assert decision.records == [
        TopicRecord("t", topic_id),
        ConfigRecord(ResourceType.TOPIC, "t", "cleanup.policy", "compact"),
        ConfigRecord(ResourceType.TOPIC, "t", "segment.ms", "70000"),
        *(
            PartitionRecord(
                index,
                topic_id,
                replicas=[1],
                isr=[1],
                leader=1,
                leader_epoch=0,
                partition_epoch=0,
                directories=[DIRECTORY],
            )
            for index in range(2)
        ),
    ]
    assert not image.topics_by_name, "a decision changes nothing by itself"


def test_answer_has_the_id_the_numbers_and_the_configs() -> None:
    core = controller("log.retention.hours=2")
    [result] = create(started(core), core, Topic("t", 2, 1, configs=[Config("cleanup.policy", "compact")]))
    configs = {config.name: (config.value, config.config_source) for config in result.configs or ()}
    assert (result.error_code, result.error_message) == (0, None)
    assert (result.num_partitions, result.replication_factor) == (2, 1)
    assert result.topic_id != ZERO_UUID
    assert configs["cleanup.policy"] == ("compact", 1)
    assert configs["retention.ms"] == ("7200000", 4)
    assert configs["segment.bytes"] == ("1073741824", 5)
    assert list(configs) == sorted(configs)


def test_minus_one_means_the_defaults() -> None:
    core = controller("num.partitions=4")
    [result] = create(started(core), core, Topic("t", -1, -1))
    assert (result.num_partitions, result.replication_factor) == (4, 1)


def test_validate_only_answers_the_same_and_writes_nothing() -> None:
    core = controller()
    request = CreateTopicsRequest([Topic("t", 2, 1), Topic("bad name", 1, 1)], validate_only=True)
    decision = run_to_end(create_topics(started(core), request, core))
    assert [result.error_code for result in decision.response.topics] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert not decision.records


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        (".", "Topic name is invalid: '.' is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        ("x" * 250, f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249"),
        (
            "a b",
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and "
            "'-'",
        ),
        ("grün", None),
        ("a\n", None),
        ("my.topic", "Topic 'my.topic' collides with existing topic: my_topic"),
    ],
)
def test_names_that_no_topic_can_have(name: str, sentence: str | None) -> None:
    core = controller()
    image = started(core)
    create(image, core, Topic("my_topic", 1, 1))
    [result] = create(image, core, Topic(name, 1, 1))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert sentence is None or result.error_message == sentence


@pytest.mark.parametrize("name", ["x" * 249, "A-Z.0_9", "__consumer_offsets", "...", "-"])
def test_names_that_a_topic_can_have(name: str) -> None:
    core = controller()
    assert [result.error_code for result in create(started(core), core, Topic(name, 1, 1))] == [0]


def test_existing_name_is_refused_even_where_it_collides_with_itself() -> None:
    core = controller()
    image = started(core)
    create(image, core, Topic("my_topic", 1, 1))
    [result] = create(image, core, Topic("my_topic", 1, 1))
    assert (result.error_code, result.error_message) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'my_topic' already exists.",
    )


def test_one_bad_topic_spoils_no_other_and_duplicates_are_answered_once() -> None:
    core = controller()
    image = started(core)
    topics = [Topic("a", 1, 1), Topic("twice", 1, 1), Topic("b", 0, 1), Topic("twice", 1, 1)]
    results = create(image, core, *topics, Topic("__cluster_metadata", 1, 1))
    assert [(result.name, result.error_code, result.error_message) for result in results] == [
        ("a", 0, None),
        ("b", ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."),
        ("twice", ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
        (
            "__cluster_metadata",
            ErrorCode.INVALID_REQUEST,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
    ]
    assert list(image.topics_by_name) == ["a"]


REFUSED = [
    (Topic("t", -2, 1), ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."),
    (
        Topic("t", 1, 0),
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Replication factor must be larger than 0, or -1 to use the default value.",
    ),
    (
        Topic("t", 1, 3),
        ErrorCode.INVALID_REPLICATION_FACTOR,
        "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because "
        "only 2 broker(s) are registered or some brokers have all their log directories cordoned.",
    ),
    (
        manual([1], factor=1),
        ErrorCode.INVALID_REQUEST,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (
        manual([1], partitions=1),
        ErrorCode.INVALID_REQUEST,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        manual([]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes an empty replica list.",
    ),
    (
        manual([1, 7]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes broker 7, but no such broker is registered.",
    ),
    (
        manual([1, 1]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes the broker 1 more than once.",
    ),
    (
        manual([1, 2], [2]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with "
        "previous partitions, which have 2 replica(s).",
    ),
    (
        Topic("t", -1, -1, [Assignment(0, [1]), Assignment(0, [2])]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "Found multiple manual partition assignments for partition 0",
    ),
    (
        Topic("t", -1, -1, [Assignment(0, [1]), Assignment(2, [2])]),
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "partitions should be a consecutive 0-based integer sequence",
    ),
    (
        Topic("t", 1, 1, configs=[Config("segment.ms", None), Config("retention.ms", None)]),
        ErrorCode.INVALID_CONFIG,
        "Null value not supported for topic configs: segment.ms,retention.ms",
    ),
    (
        Topic("t", 1, 1, configs=[Config("no.such.key", "1")]),
        ErrorCode.INVALID_CONFIG,
        "Unknown topic config name: no.such.key",
    ),
]


@pytest.mark.parametrize(("topic", "code", "sentence"), REFUSED, ids=[case[2][:60] for case in REFUSED])
def test_refusals(topic: CreateTopicsRequest.CreatableTopic, code: ErrorCode, sentence: str) -> None:
    core, image = two_brokers()
    [result] = create(image, core, topic)
    assert (result.error_code, result.error_message) == (code, sentence)
    assert not image.topics_by_name


def test_manual_assignment_is_taken_as_it_is() -> None:
    core, image = two_brokers()
    [result] = create(image, core, manual([2, 1], [1, 2]))
    partitions = image.topics_by_name["t"].partitions
    assert (result.num_partitions, result.replication_factor) == (2, 2)
    assert [(one.replicas, one.leader) for one in partitions.values()] == [((2, 1), 2), ((1, 2), 1)]
    assert partitions[0].directories == (directory_of(2), DIRECTORY)


def test_fenced_broker_is_a_replica_but_not_in_sync() -> None:
    core, image = two_brokers()
    apply(image, [BrokerRegistrationChangeRecord(2, image.brokers[2].epoch, fenced=1)])
    create(image, core, Topic("t", 2, 2))
    assert {one.isr for one in image.topics_by_name["t"].partitions.values()} == {(1,)}
    [result] = create(image, core, Topic("u", -1, -1, [Assignment(0, [2])]))
    assert result.error_message is not None
    assert result.error_message.startswith("All brokers specified in the manual partition assignment for partition 0")


def test_without_an_active_broker_nothing_is_created() -> None:
    core = controller()
    image = started(core)
    apply(image, [BrokerRegistrationChangeRecord(1, image.brokers[1].epoch, in_controlled_shutdown=1)])
    [result] = create(image, core, Topic("t", 1, 1))
    assert result.error_message == f"Unable to replicate the partition 1 time(s): {FENCED}"
    apply(image, [BrokerRegistrationChangeRecord(1, image.brokers[1].epoch, fenced=1)])
    [result] = create(image, core, Topic("t", 1, 1))
    assert result.error_message == (
        "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log "
        "directories cordoned."
    )


def test_partitions_spread_over_the_log_directories() -> None:
    core = controller()
    directories = (DIRECTORY, b"d" * 16)
    image = started(core, directories=directories)
    create(image, core, Topic("a", 3, 1))
    create(image, core, Topic("b", 3, 1))
    used = [one.directories[0] for topic in image.topics_by_name.values() for one in topic.partitions.values()]
    assert {used.count(directory) for directory in directories} == {3}


def test_before_directory_ids_none_are_written() -> None:
    core = controller()
    image = started(core)
    apply(image, [FeatureLevelRecord("metadata.version", 16)])
    decision = run_to_end(create_topics(image, CreateTopicsRequest([Topic("t", 1, 1)]), core))
    [partition] = [record for record in decision.records if isinstance(record, PartitionRecord)]
    assert partition.directories == []


def test_broker_without_directory_ids_gets_none_assigned() -> None:
    core = controller()
    image = started(core, directories=())
    create(image, core, Topic("t", 1, 1))
    assert image.topics_by_name["t"].partitions[0].directories == (DIRECTORY_UNASSIGNED,)


def test_delete_by_name() -> None:
    core, image = with_topics("a", "b")
    request = DeleteTopicsRequest(topic_names=["a", "nowhere"])
    results = carry_out(image, delete_topics(image, request, 5, core)).responses
    assert [(one.name, one.error_code, one.error_message) for one in results] == [
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition."),
        ("a", 0, None),
    ]
    assert list(image.topics_by_name) == ["b"]


def test_delete_by_id_and_by_name_in_one_request() -> None:
    core, image = with_topics("a", "b", "c")
    ids = {name: topic.topic_id for name, topic in image.topics_by_name.items()}
    request = DeleteTopicsRequest([Named(None, ids["a"]), Named("b"), Named(None, b"x" * 16)])
    results = carry_out(image, delete_topics(image, request, 6, core)).responses
    assert [(one.name, one.topic_id, one.error_code) for one in results] == [
        (None, b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
        ("a", ids["a"], 0),
        ("b", ids["b"], 0),
    ]
    assert list(image.topics_by_name) == ["c"]


def test_what_is_asked_for_twice_is_not_deleted() -> None:
    core, image = with_topics("a", "b", "c")
    ids = {name: topic.topic_id for name, topic in image.topics_by_name.items()}
    request = DeleteTopicsRequest(
        [
            Named(None, ZERO_UUID),
            Named("a", ids["a"]),
            Named("b"),
            Named("b"),
            Named(None, ids["c"]),
            Named("c"),
            Named(None, b"y" * 16),
            Named(None, b"y" * 16),
        ]
    )
    decision = run_to_end(delete_topics(image, request, 6, core))
    assert not decision.records
    assert {one.error_code for one in decision.response.responses} == {ErrorCode.INVALID_REQUEST}
    assert [one.error_message for one in decision.response.responses] == [
        "Neither topic name nor id were specified.",
        "You may not specify both topic name and topic id.",
        "Duplicate topic name.",
        "Duplicate topic id.",
        "The provided topic name maps to an ID that was already supplied.",
    ]


@pytest.mark.parametrize(("version", "code"), [(2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)])
def test_deletion_can_be_switched_off(version: int, code: ErrorCode) -> None:
    core = controller("delete.topic.enable=false")
    decision = run_to_end(delete_topics(started(core), DeleteTopicsRequest(topic_names=["a", "b"]), version, core))
    assert [(one.name, one.error_code) for one in decision.response.responses] == [("a", code), ("b", code)]


def test_created_again_has_another_id() -> None:
    core, image = with_topics("a")
    before = image.topics_by_name["a"].topic_id
    carry_out(image, delete_topics(image, DeleteTopicsRequest(topic_names=["a"]), 1, core))
    create(image, core, Topic("a", 1, 1))
    assert image.topics_by_name["a"].topic_id != before
