"""Leaders are elected at the start, after a clean stop, after a crash, and on request."""

import pytest

from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.elections import elect_at_start, elect_leaders
from odradek.broker.metadata.controller.registration import registration_records, stop_records
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import LeaderRecoveryState, MetadataImage, PartitionImage
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
)
from odradek.protocol.messages.topics import CreateTopicsRequest, ElectLeadersRequest
from support.brokers.metadata_images import DIRECTORY, Topic, apply, carry_out, controller, started

Electing = ElectLeadersRequest.TopicPartitions


def cluster(*topics: CreateTopicsRequest.CreatableTopic) -> tuple[Controller, MetadataImage]:
    core = controller()
    image = started(core, 2)
    carry_out(image, create_topics(image, CreateTopicsRequest(list(topics)), core))
    return core, image


def alone() -> tuple[Controller, MetadataImage]:
    core = controller()
    image = started(core)
    carry_out(image, create_topics(image, CreateTopicsRequest([Topic("t", 1, 1)]), core))
    return core, image


def partition(image: MetadataImage) -> PartitionImage:
    found = image.partition("t", 0)
    assert found is not None
    return found


def change(image: MetadataImage, record: PartitionChangeRecord) -> None:
    record.topic_id = image.topics_by_name["t"].topic_id
    apply(image, [record])


def test_start_after_a_clean_stop_raises_the_epoch_by_one() -> None:
    core, image = alone()
    apply(image, elect_at_start(image, core, clean=True))
    assert partition(image) == PartitionImage((1,), (DIRECTORY,), (1,), 1, leader_epoch=1, partition_epoch=1)


def test_start_on_the_directory_of_a_stopped_kafka_elects_from_the_eligible_replicas() -> None:
    core, image = alone()
    change(image, PartitionChangeRecord(0, isr=[], leader=-1, eligible_leader_replicas=[1], last_known_elr=[1]))
    apply(image, elect_at_start(image, core, clean=True))
    elected = partition(image)
    assert (elected.leader, elected.isr, elected.leader_epoch) == (1, (1,), 2)
    assert (elected.eligible_leader_replicas, elected.last_known_elr) == ((), ())
    assert elected.leader_recovery_state is LeaderRecoveryState.RECOVERED


def test_start_after_a_crash_is_an_unclean_election_that_is_recovered() -> None:
    core, image = alone()
    records = elect_at_start(image, core, clean=False)
    topic_id = image.topics_by_name["t"].topic_id
    assert records == [
        PartitionChangeRecord(0, topic_id, isr=[1], leader=1, leader_recovery_state=1),
        PartitionChangeRecord(0, topic_id, leader_recovery_state=0),
    ]
    apply(image, records)
    assert partition(image).leader_recovery_state is LeaderRecoveryState.RECOVERED
    assert partition(image).leader_epoch == 1


def test_start_after_a_crash_without_eligible_leader_replicas_is_a_plain_election() -> None:
    core, image = alone()
    apply(image, [FeatureLevelRecord("eligible.leader.replicas.version", 0)])
    [record] = elect_at_start(image, core, clean=False)
    assert isinstance(record, PartitionChangeRecord)
    assert (record.leader, record.leader_recovery_state) == (1, -1)


def test_last_known_leader_is_elected_uncleanly() -> None:
    core, image = alone()
    change(image, PartitionChangeRecord(0, isr=[], leader=-1, last_known_elr=[1]))
    records = elect_at_start(image, core, clean=True)
    assert [record.leader_recovery_state for record in records if isinstance(record, PartitionChangeRecord)] == [1, 0]
    apply(image, records)
    assert (partition(image).isr, partition(image).last_known_elr) == ((1,), ())


def test_replica_that_was_not_in_sync_leads_only_where_that_is_allowed() -> None:
    core, image = alone()
    change(image, PartitionChangeRecord(0, replicas=[1, 2], isr=[2], leader=2, directories=[DIRECTORY, bytes(16)]))
    apply(image, elect_at_start(image, core, clean=True))
    assert not partition(image).has_leader, "broker 2 is not there, broker 1 was not in sync"
    assert not elect_at_start(image, core, clean=True), "nothing more to write"
    apply(image, [ConfigRecord(2, "t", "unclean.leader.election.enable", "true")])
    apply(image, elect_at_start(image, core, clean=True))
    assert (partition(image).leader, partition(image).isr) == (1, (1,))


def test_replica_in_another_directory_is_not_served() -> None:
    core, image = alone()
    image.brokers[1] = image.brokers[1]._replace(directories=(b"another directory"[:16],))
    apply(image, elect_at_start(image, core, clean=True))
    assert not partition(image).has_leader


def test_partition_led_by_another_broker_is_left_alone() -> None:
    core, image = cluster(Topic("t", -1, -1, [CreateTopicsRequest.CreatableReplicaAssignment(0, [2, 1])]))
    assert not elect_at_start(image, core, clean=True)


def elect(image: MetadataImage, election_type: int, *asked: tuple[str, int]) -> list[tuple[str, int, int, str | None]]:
    topics = [Electing(name, [index]) for name, index in asked] or None
    response = carry_out(image, elect_leaders(image, ElectLeadersRequest(election_type, topics), 2))
    return [
        (topic.topic, one.partition_id, one.error_code, one.error_message)
        for topic in response.replica_election_results
        for one in topic.partition_result
    ]


def test_preferred_election_brings_the_first_replica_back() -> None:
    _, image = cluster(Topic("t", -1, -1, [CreateTopicsRequest.CreatableReplicaAssignment(0, [2, 1])]))
    change(image, PartitionChangeRecord(0, leader=1))
    assert elect(image, 0, ("t", 0)) == [("t", 0, 0, None)]
    assert (partition(image).leader, partition(image).leader_epoch) == (2, 2)


@pytest.mark.parametrize("election_type", [0, 1])
def test_election_that_is_not_needed(election_type: int) -> None:
    _, image = cluster(Topic("t", 1, 1))
    [(_, _, code, sentence)] = elect(image, election_type, ("t", 0))
    assert (code, sentence) == (
        ErrorCode.ELECTION_NOT_NEEDED,
        "Leader election not needed for topic partition.",
    )
    assert elect(image, election_type) == [], "of all partitions only those that needed one are answered"


def test_unknown_partitions_and_types() -> None:
    _, image = cluster(Topic("t", 1, 1))
    assert elect(image, 0, ("t", 7), ("nowhere", 0)) == [
        ("t", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such partition as t-7"),
        ("nowhere", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such topic as nowhere"),
    ]
    decision = run_to_end(elect_leaders(image, ElectLeadersRequest(7, None), 2))
    assert decision.response.error_code == ErrorCode.INVALID_REQUEST


def test_preferred_leader_that_is_not_there() -> None:
    _, image = cluster(Topic("t", -1, -1, [CreateTopicsRequest.CreatableReplicaAssignment(0, [2, 1])]))
    change(image, PartitionChangeRecord(0, isr=[1], leader=1))
    assert elect(image, 0, ("t", 0))[0][2] == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE


def test_unclean_election_takes_who_is_there() -> None:
    _, image = cluster(Topic("t", -1, -1, [CreateTopicsRequest.CreatableReplicaAssignment(0, [2, 1])]))
    change(image, PartitionChangeRecord(0, isr=[2], leader=-1))
    apply(image, [BrokerRegistrationChangeRecord(2, image.brokers[2].epoch, fenced=1)])
    assert elect(image, 1, ("t", 0)) == [("t", 0, 0, None)]
    assert (partition(image).leader, partition(image).isr) == (1, (1,))
    change(image, PartitionChangeRecord(0, leader=-1))
    apply(image, [BrokerRegistrationChangeRecord(1, image.brokers[1].epoch, fenced=1)])
    assert elect(image, 1, ("t", 0))[0][2] == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE


@pytest.mark.parametrize("has_elr", [True, False])
def test_a_stop_leaves_nobody_leading_and_the_next_start_elects_cleanly(has_elr: bool) -> None:
    core, image = alone()
    image.features["eligible.leader.replicas.version"] = int(has_elr)
    [(topic_id, topic)] = image.topics_by_id.items()
    [index] = topic.partitions
    epoch = image.brokers[1].epoch
    change = PartitionChangeRecord(index, topic_id, leader=-1)
    if has_elr:
        change.isr, change.eligible_leader_replicas, change.last_known_elr = [], [1], [1]
    records = stop_records(image, core)
    assert records == [
        BrokerRegistrationChangeRecord(1, epoch, in_controlled_shutdown=1),
        change,
        BrokerRegistrationChangeRecord(1, epoch, fenced=1),
    ]
    apply(image, records)
    assert stop_records(image, core) == []
    apply(image, registration_records(core, [], [DIRECTORY], epoch + 10))
    apply(image, elect_at_start(image, core, clean=True))
    partition = image.topics_by_id[topic_id].partitions[index]
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (
        1,
        (1,),
        LeaderRecoveryState.RECOVERED,
    )
