"""Leaderships are handed over while a directory has no room, and taken back if no other broker can lead."""

from collections.abc import Sequence

import pytest

from odradek.broker.metadata.image.image import (
    DIRECTORY_LOST,
    NO_LEADER,
    BrokerRegistration,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from odradek.broker.metadata.quorum.directory_assignments import DirectoryAssignments
from odradek.protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

TOPIC = b"t" * 16
EPOCH = 40
DIRECTORIES = {broker: bytes([broker]) * 16 for broker in (1, 2, 3)}
OURS = DIRECTORIES[1]
FULL = frozenset({OURS})


def image_of(
    leader: int, isr: Sequence[int], *, lost: Sequence[int] = (), fenced: Sequence[int] = (), replicas: int = 3
) -> MetadataImage:
    """A cluster of three brokers with one partition; this broker is 1."""
    brokers = {
        one: BrokerRegistration(one, EPOCH, b"", {}, {}, None, one in fenced, False, (DIRECTORIES[one],))
        for one in (1, 2, 3)
    }
    ids = tuple(range(1, replicas + 1))
    directories = tuple(DIRECTORY_LOST if one in lost else DIRECTORIES[one] for one in ids)
    topic = TopicImage("t", TOPIC, {0: PartitionImage(ids, directories, tuple(isr), leader, 0, 0)})
    return MetadataImage({"t": topic}, {TOPIC: topic}, brokers=brokers, features={"metadata.version": 30})


def full() -> DirectoryAssignments:
    """This broker, whose only directory has no room."""
    assignments = DirectoryAssignments(1)
    assignments.refuse_in(FULL)
    return assignments


def sent(request: AssignReplicasToDirsRequest | None) -> bytes | None:
    """The directory in a request, None without one."""
    return None if request is None else request.directories[0].id


def confirm(assignments: DirectoryAssignments, directory_id: bytes) -> None:
    response = AssignReplicasToDirsResponse
    topic = response.TopicData(TOPIC, [response.PartitionData(0, 0)])
    assert not assignments.answered(response(directories=[response.DirectoryData(directory_id, [topic])]))


def look(assignments: DirectoryAssignments, image: MetadataImage) -> bytes | None:
    """The directory that the broker reports after it has looked at its replica."""
    assignments.placed(TOPIC, 0, OURS)
    return sent(assignments.next(image, EPOCH))


def test_leadership_goes_to_others_only_if_they_can_lead_at_once() -> None:
    assert look(full(), image_of(1, (1, 2, 3))) == DIRECTORY_LOST
    assert look(full(), image_of(1, (1, 3), fenced=[2])) == DIRECTORY_LOST
    assert look(full(), image_of(1, (1,))) is None, "no other is in sync"
    assert look(full(), image_of(1, (1, 2), fenced=[2], replicas=2)) is None
    assert look(full(), image_of(1, (1, 2, 3), lost=[2, 3])) is None, "the others are full, too"
    assert look(full(), image_of(1, (1,), replicas=1)) is None, "its only replica goes on serving reads"
    assert look(full(), image_of(2, (1, 2, 3))) is None, "followers keep their directory"


def test_partition_is_kept_away_while_the_directory_is_full_and_another_leads() -> None:
    assignments = full()
    assert look(assignments, image_of(2, (1, 2, 3), lost=[1])) is None
    assignments.refuse_in(frozenset())
    assert look(assignments, image_of(2, (1, 2, 3), lost=[1])) == OURS


@pytest.mark.parametrize("is_seen_before_its_answer", [False, True])
def test_partition_without_a_leader_is_reported_twice(is_seen_before_its_answer: bool) -> None:
    """Controllers look at the directory that they knew before a report, so that only the second one elects. The change
    that the first report makes may be seen before its answer."""
    assignments = full()
    assert look(assignments, image_of(NO_LEADER, (1,), lost=[1])) == OURS
    reported = image_of(NO_LEADER, (1,))
    if is_seen_before_its_answer:
        assignments.changed(reported, (TOPIC, 0))
        confirm(assignments, OURS)
    else:
        confirm(assignments, OURS)
        assignments.changed(reported, (TOPIC, 0))
    assert sent(assignments.next(reported, EPOCH)) == OURS
    confirm(assignments, OURS)
    assignments.changed(reported, (TOPIC, 0))
    assert assignments.next(reported, EPOCH) is None, "not again and again"


def test_new_leadership_is_handed_over_too() -> None:
    assignments = full()
    elected = image_of(1, (1, 3))
    assignments.changed(elected, (TOPIC, 0))
    assert sent(assignments.next(elected, EPOCH)) == DIRECTORY_LOST


def test_copy_that_cannot_grow_stays_out_of_the_isr_until_there_is_room() -> None:
    assignments = DirectoryAssignments(1)
    follows = image_of(2, (1, 2, 3))
    assignments.is_stuck(TOPIC, 0, OURS)
    assert sent(assignments.next(follows, EPOCH)) == DIRECTORY_LOST, "the log was refused before the watch noticed it"
    confirm(assignments, DIRECTORY_LOST)
    assignments.refuse_in(FULL)
    out = image_of(2, (2, 3), lost=[1])
    assignments.changed(out, (TOPIC, 0))
    assert look(assignments, out) is None
    taken_back = image_of(2, (1, 2, 3), lost=[1])  # by a change of the ISR that was under way
    assignments.changed(taken_back, (TOPIC, 0))
    assert sent(assignments.next(taken_back, EPOCH)) == DIRECTORY_LOST
    confirm(assignments, DIRECTORY_LOST)
    assignments.refuse_in(frozenset())
    assert look(assignments, out) == OURS
    confirm(assignments, OURS)
    assignments.changed(follows, (TOPIC, 0))
    assert assignments.next(follows, EPOCH) is None
