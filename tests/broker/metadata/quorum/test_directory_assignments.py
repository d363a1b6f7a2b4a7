"""Directories of replicas are reported to controllers that answer late, with errors, or not at all."""

from random import Random

import pytest

from odradek.broker.metadata.image.image import (
    DIRECTORY_UNASSIGNED,
    MetadataImage,
    PartitionImage,
    Replica,
    TopicImage,
)
from odradek.broker.metadata.quorum.directory_assignments import MAX_BACKOFF_MS, DirectoryAssignments
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.quorum import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse

NODE_ID, EPOCH, LIMIT = 7, 40, 3
DIRECTORIES = [bytes([letter]) * 16 for letter in b"abc"]
A, B, _ = DIRECTORIES
TOPIC = b"t" * 16


def topic_id(number: int) -> bytes:
    return b"topic" + number.to_bytes(11, "big")


def partition(directory: bytes, *, replicas: tuple[int, ...] = (NODE_ID, 9)) -> PartitionImage:
    return PartitionImage(
        replicas, (directory, *[DIRECTORY_UNASSIGNED] * (len(replicas) - 1)), replicas, replicas[0], 0, 0
    )


def image_with(topics: dict[bytes, dict[int, PartitionImage]], level: int = 30) -> MetadataImage:
    by_id = {one: TopicImage(one.hex(), one, dict(partitions)) for one, partitions in topics.items()}
    return MetadataImage({topic.name: topic for topic in by_id.values()}, by_id, features={"metadata.version": level})


def sent_by(request: AssignReplicasToDirsRequest | None) -> dict[Replica, bytes]:
    """The directory of each replica in a request."""
    if request is None:
        return {}
    assert (request.broker_id, request.broker_epoch) == (NODE_ID, EPOCH)
    return {
        (topic.topic_id, one.partition_index): directory.id
        for directory in request.directories
        for topic in directory.topics
        for one in topic.partitions
    }


def answer(
    assigned: dict[Replica, bytes], errors: dict[Replica, ErrorCode] | None = None
) -> AssignReplicasToDirsResponse:
    """The answer to a request, one entry for each assignment."""
    response = AssignReplicasToDirsResponse
    return response(
        directories=[
            response.DirectoryData(
                directory,
                [
                    response.TopicData(
                        topic, [response.PartitionData(index, (errors or {}).get((topic, index), ErrorCode.NONE))]
                    )
                ],
            )
            for (topic, index), directory in assigned.items()
        ]
    )


def test_what_the_metadata_holds_or_this_broker_lost_is_not_sent() -> None:
    assignments = DirectoryAssignments(NODE_ID)
    for index in range(4):
        assignments.placed(TOPIC, index, A)
    elsewhere = partition(B, replicas=(9, 10))
    image = image_with({TOPIC: {0: partition(DIRECTORY_UNASSIGNED), 1: partition(A), 2: elsewhere}})
    assert sent_by(assignments.next(image, EPOCH)) == {(TOPIC, 0): A}
    assert assignments.pending == {(TOPIC, 0): A}


def test_a_topic_that_is_not_published_yet_waits_and_a_deleted_one_does_not() -> None:
    assignments = DirectoryAssignments(NODE_ID)
    assignments.placed(TOPIC, 0, A)
    assert assignments.next(image_with({}), EPOCH) is None
    assert assignments.pending, "its partitions are served before it is published"
    published = image_with({TOPIC: {0: partition(DIRECTORY_UNASSIGNED)}})
    assert assignments.next(image_with({TOPIC: {0: partition(B)}}, level=16), EPOCH) is None, "no controller takes it"
    assert sent_by(assignments.next(published, EPOCH)) == {(TOPIC, 0): A}
    assignments.topics_deleted([TOPIC])
    assert not assignments.pending
    assert not assignments.answered(answer({(TOPIC, 0): A}))


def test_one_request_is_in_flight_and_the_last_directory_counts() -> None:
    image = image_with({TOPIC: {0: partition(DIRECTORY_UNASSIGNED)}})
    assignments = DirectoryAssignments(NODE_ID)
    assignments.placed(TOPIC, 0, A)
    assert assignments.next(image, EPOCH)
    assignments.placed(TOPIC, 0, B)
    assert assignments.next(image, EPOCH) is None
    assignments.unanswered()
    assert sent_by(assignments.next(image, EPOCH)) == {(TOPIC, 0): B}
    assignments.placed(TOPIC, 0, A)
    assignments.placed(TOPIC, 0, B)
    assignments.answered(answer({(TOPIC, 0): B}))
    assert not assignments.pending


def test_failures_are_retried_ever_more_slowly_until_anything_is_confirmed() -> None:
    image = image_with({TOPIC: {index: partition(DIRECTORY_UNASSIGNED) for index in range(2)}})
    assignments = DirectoryAssignments(NODE_ID)
    for index in range(2):
        assignments.placed(TOPIC, index, A)
    waits = []
    for attempt in range(9):
        assigned = sent_by(assignments.next(image, EPOCH))
        if attempt % 3 == 0:
            assignments.unanswered()
        elif attempt % 3 == 1:
            refused = assignments.answered(AssignReplicasToDirsResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
            assert refused == {ErrorCode.STALE_BROKER_EPOCH: 2}
        else:
            errors = dict.fromkeys(assigned, ErrorCode.UNKNOWN_TOPIC_ID)
            assert assignments.answered(answer(assigned, errors)) == {ErrorCode.UNKNOWN_TOPIC_ID: 2}
        waits.append(assignments.backoff_ms)
    assert waits == [100, 200, 400, 800, 1600, 3200, 6400, MAX_BACKOFF_MS, MAX_BACKOFF_MS]
    assigned = sent_by(assignments.next(image, EPOCH))
    assert assignments.answered(answer(assigned, {(TOPIC, 1): ErrorCode.UNKNOWN_TOPIC_ID})) == {
        ErrorCode.UNKNOWN_TOPIC_ID: 1
    }
    assert assignments.backoff_ms == 0
    assert assignments.pending == {(TOPIC, 1): A}


class Cluster:
    """Controllers, a broker whose image is late, and random requests between them."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.assignments = DirectoryAssignments(NODE_ID, LIMIT)
        self.stored: dict[bytes, dict[int, PartitionImage]] = {}
        """The directories that the controllers know."""
        self.image = image_with({})
        self.lies_in: dict[Replica, bytes] = {}

    def known(self) -> dict[Replica, bytes]:
        """The directory of each of the broker's replicas in the controllers' metadata."""
        return {
            (topic, index): one.directory_of(NODE_ID)
            for topic, partitions in self.stored.items()
            for index, one in partitions.items()
            if NODE_ID in one.replicas
        }

    def publish(self) -> None:
        """The broker gets the current metadata, and compares the directories of its replicas."""
        gone = self.image.topics_by_id.keys() - self.stored.keys()
        self.image = image_with(self.stored)
        self.assignments.topics_deleted(gone)
        known = self.known()
        self.lies_in = {replica: where for replica, where in self.lies_in.items() if replica in known}
        for replica, assigned in known.items():
            where = self.lies_in.setdefault(replica, self.random.choice(DIRECTORIES))
            if where != assigned:
                self.assignments.placed(*replica, where)

    def step(self) -> None:
        """One event at the controllers or at the broker."""
        random = self.random
        kind = random.choice(["create", "delete", "reassign", "move", "publish", "publish"])
        if kind == "create":
            indexes = range(random.randint(1, 5))
            self.stored[topic_id(random.randrange(10**9))] = {one: partition(DIRECTORY_UNASSIGNED) for one in indexes}
        elif kind == "delete" and self.stored:
            del self.stored[random.choice(list(self.stored))]
        elif kind == "reassign" and self.stored:
            partitions = random.choice(list(self.stored.values()))
            index = random.choice(list(partitions))
            is_here = NODE_ID in partitions[index].replicas
            partitions[index] = partition(DIRECTORY_UNASSIGNED, replicas=(9, 10) if is_here else (NODE_ID, 9))
        elif kind == "move" and self.lies_in:
            replica = random.choice(list(self.lies_in))
            self.lies_in[replica] = random.choice(DIRECTORIES)
            self.assignments.placed(*replica, self.lies_in[replica])
        else:
            self.publish()

    def exchange(self, fates: list[str]) -> None:
        """Sends one request, with a random outcome."""
        request = self.assignments.next(self.image, EPOCH)
        if request is None:
            return
        assigned = sent_by(request)
        assert 0 < len(assigned) <= LIMIT
        assert self.assignments.next(self.image, EPOCH) is None, "one in flight"
        fate = self.random.choice(fates)
        errors = self._store(assigned, fate)
        if fate != "all":
            self.step()  # while it is in flight
        if fate in ("lost", "answer lost"):
            self.assignments.unanswered()
        elif fate == "refused":
            self.assignments.answered(AssignReplicasToDirsResponse(error_code=ErrorCode.NOT_CONTROLLER))
        else:
            self.assignments.answered(answer(assigned, errors))

    def _store(self, assigned: dict[Replica, bytes], fate: str) -> dict[Replica, ErrorCode]:
        errors = {}
        for replica, directory in assigned.items():
            one = self.stored.get(replica[0], {}).get(replica[1])
            if one is None or NODE_ID not in one.replicas:
                errors[replica] = ErrorCode.UNKNOWN_TOPIC_ID
            elif fate in ("lost", "refused") or (fate == "some" and self.random.random() < 0.5):
                errors[replica] = ErrorCode.UNKNOWN_SERVER_ERROR
            else:
                self.stored[replica[0]][replica[1]] = partition(directory)
        return errors


@pytest.mark.parametrize("seed", range(40))
def test_controllers_learn_every_directory(seed: int) -> None:
    """Replicas move, topics are created and deleted, answers fail or are lost. In the end all directories agree."""
    cluster = Cluster(seed)
    for _ in range(200):
        cluster.step()
        if cluster.random.random() < 0.5:
            cluster.exchange(["lost", "refused", "answer lost", "some", "all"])
    cluster.publish()
    while cluster.assignments.pending:
        cluster.exchange(["all"])
        cluster.publish()
    assert cluster.lies_in == cluster.known()
