"""Reassignments in the image of a directory from a cluster: those that end at once, and those that stay in progress."""

import pytest

from odradek.broker.metadata.controller.reassignments import alter_reassignments
from odradek.broker.metadata.image.image import LeaderRecoveryState, MetadataImage, PartitionImage
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata_records import PartitionChangeRecord, PartitionRecord, TopicRecord
from odradek.protocol.messages.topics import AlterPartitionReassignmentsRequest
from support.brokers.metadata_images import DIRECTORY, apply, carry_out, controller, directory_of, started

Partition = AlterPartitionReassignmentsRequest.ReassignablePartition
Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
TOPIC_ID = b"t" * 16


def cluster(replicas: list[int], isr: list[int], leader: int = 1) -> MetadataImage:
    """This broker (1) and the other brokers in the metadata of the directory."""
    image = started(controller(), 2, 3)
    directories = [DIRECTORY if one == 1 else directory_of(one) for one in replicas]
    partition = PartitionRecord(
        0, TOPIC_ID, replicas=replicas, isr=isr, leader=leader, leader_epoch=4, directories=directories
    )
    apply(image, [TopicRecord("t", TOPIC_ID), partition])
    return image


def alter(
    image: MetadataImage, to: list[int] | None, *overrides: str, allow: bool = True
) -> tuple[int, str | None, PartitionImage]:
    """Requests a reassignment; returns the error code, the message and the partition afterwards."""
    request = AlterPartitionReassignmentsRequest(5000, allow, [Topic("t", [Partition(0, to)])])
    response = carry_out(image, alter_reassignments(image, request, controller(*overrides)))
    [answer] = response.responses[0].partitions
    found = image.partition("t", 0)
    assert found is not None
    assert len(found.directories) == len(found.replicas)
    return answer.error_code, answer.error_message, found


def test_what_is_only_taken_away_is_done_at_once_and_raises_the_leader_epoch() -> None:
    code, _, after = alter(cluster([1, 2, 3], [1, 2]), [1])
    assert (code, after.replicas, after.isr, after.leader, after.leader_epoch) == (0, (1,), (1,), 1, 5)
    assert after.directories == (DIRECTORY,)
    assert not after.is_reassigning


def test_another_order_changes_neither_leader_nor_epoch() -> None:
    code, _, after = alter(cluster([1, 2], [1, 2]), [2, 1])
    assert (code, after.replicas, after.leader, after.leader_epoch) == (0, (2, 1), 1, 4)
    assert after.directories == (directory_of(2), DIRECTORY)


def test_a_leader_that_leaves_gives_way() -> None:
    code, _, after = alter(cluster([1, 2], [1, 2], leader=2), [1])
    assert (code, after.replicas, after.leader, after.leader_epoch) == (0, (1,), 1, 5)


def test_what_is_to_be_copied_stays_under_way_until_it_is_cancelled() -> None:
    image = cluster([1, 2], [1])
    code, _, after = alter(image, [3, 1])
    assert (code, after.replicas, after.adding_replicas, after.removing_replicas) == (0, (3, 1, 2), (3,), (2,))
    assert (after.isr, after.leader, after.leader_epoch) == ((1,), 1, 4)
    assert after.directories == (directory_of(3), DIRECTORY, directory_of(2))
    code, _, after = alter(image, None)
    assert (code, after.replicas, after.isr, after.leader) == (0, (1, 2), (1,), 1)
    assert not after.is_reassigning
    assert alter(image, None)[:2] == (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None)


def test_a_plan_in_place_of_one_that_is_under_way() -> None:
    image = cluster([1, 2], [1, 2])
    alter(image, [1, 3])
    code, _, after = alter(image, [1, 2])
    assert (code, after.replicas) == (0, (1, 2))
    assert not after.is_reassigning


def test_to_go_back_to_nobody_in_sync_takes_an_unclean_election() -> None:
    image = cluster([2], [2], leader=2)
    assert alter(image, [1])[0] == 0
    apply(image, [PartitionChangeRecord(0, TOPIC_ID, isr=[1], leader=1)])
    sentence = "Unable to revert partition assignment for t:0 because it would require an unclean leader election."
    assert alter(image, None)[:2] == (ErrorCode.INVALID_REPLICA_ASSIGNMENT, sentence)
    code, _, after = alter(image, None, "unclean.leader.election.enable=true")
    assert (code, after.replicas, after.isr, after.leader) == (0, (2,), (2,), 2)
    assert after.leader_recovery_state is LeaderRecoveryState.RECOVERED


@pytest.mark.parametrize(("to", "code"), [([2, 1], 0), ([1], ErrorCode.INVALID_REPLICATION_FACTOR)])
def test_the_replication_factor_may_be_held(to: list[int], code: int) -> None:
    image = cluster([1, 2], [1, 2])
    assert alter(image, to, allow=False)[0] == code
    alter(image, [1, 3])
    assert alter(image, to, allow=False)[0] == code, "of three, one is on its way out"
