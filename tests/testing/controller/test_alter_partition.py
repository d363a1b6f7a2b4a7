"""A leader's changes of its ISR are accepted or refused as by Kafka's ReplicationControlManager."""

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.controller.controller import Controller
from odradek.broker.metadata.controller.placement import Placer
from odradek.broker.metadata.image.image import (
    BrokerRegistration,
    LeaderRecoveryState,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.metadata.image.replay import replay
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import AlterPartitionRequest, AlterPartitionResponse
from odradek.testing.controller.alter_partition import alter_partition

TOPIC_ID = b"t" * 16
PARTITION = PartitionImage((1, 2, 3), tuple(bytes(15) + bytes([9 + one]) for one in (1, 2, 3)), (1, 2), 1, 5, 7)


def directory(node_id: int) -> bytes:
    return bytes(15) + bytes([9 + node_id])


def broker(node_id: int, *, fenced: bool = False, stopping: bool = False) -> BrokerRegistration:
    directories = (directory(node_id),)
    return BrokerRegistration(node_id, node_id * 100, bytes(16), {}, {}, None, fenced, stopping, directories)


def image_of(partition: PartitionImage = PARTITION, *others: BrokerRegistration) -> MetadataImage:
    """Brokers 1 to 4 and one topic. ``others``: brokers with other registrations."""
    topic = TopicImage("orders", TOPIC_ID, {0: partition})
    brokers = {one.broker_id: one for one in (*map(broker, (1, 2, 3, 4)), *others)}
    return MetadataImage(
        topics_by_name={"orders": topic},
        topics_by_id={TOPIC_ID: topic},
        brokers=brokers,
        features={"metadata.version": 30},
    )


def asked(isr: dict[int, int], **changes: int) -> AlterPartitionRequest.PartitionData:
    """A leader's request. ``isr``: node id -> broker epoch."""
    states = [AlterPartitionRequest.BrokerState(node_id, epoch) for node_id, epoch in isr.items()]
    partition = AlterPartitionRequest.PartitionData(0, leader_epoch=5, new_isr_with_epochs=states, partition_epoch=7)
    for name, value in changes.items():
        setattr(partition, name, value)
    return partition


def answer(
    image: MetadataImage,
    partition: AlterPartitionRequest.PartitionData,
    *,
    leader: int = 1,
    epoch: int = 100,
    topic_id: bytes = TOPIC_ID,
) -> AlterPartitionResponse:
    """Decides a request and applies the change to the image; returns the answer."""
    controller = Controller(3000, ServerConfig.load(None, [], {}), lambda: bytes(16))
    request = AlterPartitionRequest(leader, epoch, [AlterPartitionRequest.TopicData(topic_id, [partition])])
    decision = alter_partition(image, request, Placer(image, controller))
    for record in decision.records:
        replay(image, record, MetadataDelta())
    return decision.response


def partition_answer(response: AlterPartitionResponse) -> AlterPartitionResponse.PartitionData:
    (topic,) = response.topics
    (partition,) = topic.partitions
    return partition


@pytest.mark.parametrize("isr", [{1: 100}, {1: 100, 2: 200, 3: 300}, {1: 100, 3: -1}])
def test_isr_changes_without_a_new_leader_epoch(isr: dict[int, int]) -> None:
    image = image_of()
    got = partition_answer(answer(image, asked(isr)))
    assert (got.error_code, got.leader_id, got.leader_epoch) == (ErrorCode.NONE, 1, 5)
    assert (got.isr, got.partition_epoch) == (list(isr), 8)
    after = image.topics_by_id[TOPIC_ID].partitions[0]
    assert (after.isr, after.leader, after.leader_epoch, after.partition_epoch) == (tuple(isr), 1, 5, 8)


def test_isr_that_is_committed_already_writes_nothing() -> None:
    image = image_of()
    got = partition_answer(answer(image, asked({1: 100, 2: 200})))
    assert (got.error_code, got.isr, got.partition_epoch) == (ErrorCode.NONE, [1, 2], 7)
    assert image.topics_by_id[TOPIC_ID].partitions[0] is PARTITION


@pytest.mark.parametrize(
    ("partition", "code"),
    [
        (asked({1: 100}, leader_epoch=4), ErrorCode.FENCED_LEADER_EPOCH),
        (asked({1: 100}, leader_epoch=6), ErrorCode.NOT_CONTROLLER),
        (asked({1: 100}, partition_epoch=6), ErrorCode.INVALID_UPDATE_VERSION),
        (asked({1: 100}, partition_epoch=8), ErrorCode.NOT_CONTROLLER),
        (asked({2: 200, 3: 300}), ErrorCode.INVALID_REQUEST),
        (asked({1: 100, 4: 400}), ErrorCode.INVALID_REQUEST),
        (asked({1: 100, 2: 199}), ErrorCode.INELIGIBLE_REPLICA),
        (asked({1: 100}, leader_recovery_state=1), ErrorCode.INVALID_REQUEST),
        (asked({1: 100}, partition_index=1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_refusals_change_nothing(partition: AlterPartitionRequest.PartitionData, code: ErrorCode) -> None:
    image = image_of()
    assert partition_answer(answer(image, partition)).error_code == code
    assert image.topics_by_id[TOPIC_ID].partitions[0] is PARTITION


@pytest.mark.parametrize("other", [broker(3, fenced=True), broker(3, stopping=True)])
def test_fenced_and_stopping_brokers_join_no_isr(other: BrokerRegistration) -> None:
    image = image_of(PARTITION, other)
    got = partition_answer(answer(image, asked({1: 100, 2: 200, 3: 300})))
    assert got.error_code == ErrorCode.INELIGIBLE_REPLICA


def test_who_does_not_lead_is_refused() -> None:
    got = partition_answer(answer(image_of(), asked({1: 100, 2: 200}), leader=2, epoch=200))
    assert got.error_code == ErrorCode.INVALID_REQUEST


def test_unknown_topic_and_old_broker_epoch() -> None:
    unknown = answer(image_of(), asked({1: 100}), topic_id=b"u" * 16)
    assert partition_answer(unknown).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    stale = answer(image_of(), asked({1: 100}), epoch=99)
    assert (stale.error_code, stale.topics) == (ErrorCode.STALE_BROKER_EPOCH, [])


def test_leader_says_that_it_has_recovered() -> None:
    image = image_of(PARTITION._replace(isr=(1,), leader_recovery_state=LeaderRecoveryState.RECOVERING))
    got = partition_answer(answer(image, asked({1: 100})))
    assert (got.error_code, got.leader_recovery_state, got.partition_epoch) == (ErrorCode.NONE, 0, 8)
    after = image.topics_by_id[TOPIC_ID].partitions[0]
    assert after.leader_recovery_state is LeaderRecoveryState.RECOVERED


def moving(replicas: tuple[int, ...], *, adding: tuple[int, ...], removing: tuple[int, ...]) -> PartitionImage:
    directories = tuple(map(directory, replicas))
    moved = PARTITION._replace(replicas=replicas, directories=directories)
    return moved._replace(adding_replicas=adding, removing_replicas=removing)


def test_last_new_replica_in_sync_ends_a_reassignment() -> None:
    image = image_of(moving((1, 3, 2), adding=(3,), removing=(2,)))
    got = partition_answer(answer(image, asked({1: 100, 2: 200, 3: 300})))
    assert (got.error_code, got.isr, got.leader_id) == (ErrorCode.NONE, [1, 3], 1)
    after = image.topics_by_id[TOPIC_ID].partitions[0]
    assert (after.replicas, after.adding_replicas, after.removing_replicas) == ((1, 3), (), ())
    assert got.leader_epoch == after.leader_epoch == 6


def test_reassignment_without_the_leader_elects_another() -> None:
    image = image_of(moving((3, 2, 1), adding=(3,), removing=(1,)))
    got = partition_answer(answer(image, asked({1: 100, 2: 200, 3: 300})))
    assert got.error_code == ErrorCode.NEW_LEADER_ELECTED
    after = image.topics_by_id[TOPIC_ID].partitions[0]
    assert (after.replicas, after.isr, after.leader, after.leader_epoch) == ((3, 2), (2, 3), 3, 6)
