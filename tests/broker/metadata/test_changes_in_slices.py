"""Changes of the metadata in slices: the length of a turn, what readers see in between, the order of changes."""

import random
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.broker.metadata.controller.auto_topic_creation import AutoTopicCreation
from odradek.broker.metadata.controller.own_controller import ProducerIds
from odradek.broker.metadata.controller.topic_changes import create_partitions, delete_topics
from odradek.broker.metadata.controller.topics import create_topics
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from odradek.broker.metadata.publisher.decision import Decision
from odradek.broker.metadata.publisher.published import Turns
from odradek.broker.metadata.publisher.service import MetadataService
from odradek.broker.timers.slices import Slices
from odradek.protocol.common.steps import Steps, run_to_end
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    RemoveAccessControlEntryRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from support.brokers.metadata_images import Topic
from support.brokers.metadata_service import NOW_MS, controller_of, open_service

PARTITIONS = 5_000


class CountedLoop:
    """An event loop whose clock advances by one at each read, so that a slice is one step on any machine."""

    def __init__(self) -> None:
        self.soon: deque[Callable[[], object]] = deque()
        self._now_ms = 0.0
        self.slices = Slices(self.soon.append, self._look)
        self.turns = 0

    def _look(self) -> float:
        self._now_ms += 1.0
        return self._now_ms

    def turn(self) -> None:
        """Runs the callbacks that are due now."""
        self.turns += 1
        for _ in range(len(self.soon)):
            self.soon.popleft()()

    def run(self) -> None:
        """Runs until nothing is due."""
        while self.soon:
            self.turn()


def serve(service: MetadataService) -> CountedLoop:
    """Makes a service work in slices from now on."""
    loop = CountedLoop()
    service.run_with(loop.slices.start)
    return loop


def creation(service: MetadataService, name: str, partitions: int) -> Callable[[], Steps[Decision[object]]]:
    """Decides to create a topic."""
    request = CreateTopicsRequest([Topic(name, partitions, 1)])
    return lambda: create_topics(service.image, request, controller_of())  # type: ignore[return-value]


def deletion(service: MetadataService, name: str) -> Callable[[], Steps[Decision[object]]]:
    """Decides to delete a topic."""
    request = DeleteTopicsRequest(topic_names=[name])
    return lambda: delete_topics(service.image, request, 5, controller_of())  # type: ignore[return-value]


def test_large_topic_takes_many_turns_and_is_whole_when_it_is_seen(tmp_path: Path) -> None:
    answers: list[object] = []
    with open_service(tmp_path) as service:
        loop = serve(service)
        service.change(creation(service, "wide", PARTITIONS), NOW_MS, answers.append)
        while loop.soon:
            seen = service.image.topics_by_name.get("wide")
            assert seen is None or len(seen.partitions) == PARTITIONS
            assert seen is not None or not answers
            loop.turn()
        assert len(answers) == 1
        assert len(service.image.topics_by_name["wide"].partitions) == PARTITIONS
        assert loop.turns > PARTITIONS / 64, "placed, encoded and replayed in steps of 64 at most"


def test_partitions_are_added_all_or_none_to_readers(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        run_to_end(service.carry_out(run_to_end(creation(service, "t", 2)()), NOW_MS))
        loop = serve(service)
        request = CreatePartitionsRequest([CreatePartitionsRequest.CreatePartitionsTopic("t", 1_000, None)])
        service.change(lambda: create_partitions(service.image, request, controller_of()), NOW_MS, lambda _: None)
        counts = set()
        while loop.soon:
            counts.add(len(service.image.topics_by_name["t"].partitions))
            loop.turn()
        assert counts <= {2, 1_000}
        assert len(service.image.topics_by_name["t"].partitions) == 1_000


def test_the_second_creation_of_a_name_is_refused_although_the_first_is_under_way(tmp_path: Path) -> None:
    codes: list[tuple[str, int]] = []

    def note(who: str) -> Callable[[object], None]:
        return lambda answer: codes.append((who, answer.topics[0].error_code))  # type: ignore[attr-defined]

    with open_service(tmp_path) as service:
        loop = serve(service)
        service.change(creation(service, "t", 1_000), NOW_MS, note("first"))
        service.change(creation(service, "t", 1), NOW_MS, note("second"))
        loop.run()
        assert codes == [("first", ErrorCode.NONE), ("second", ErrorCode.TOPIC_ALREADY_EXISTS)]
        assert len(service.image.topics_by_name["t"].partitions) == 1_000


def test_topics_are_served_before_they_are_seen_and_dropped_after(tmp_path: Path) -> None:
    order: list[str] = []

    def prepare(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        yield
        order.extend(f"prepared {topic.name in image.topics_by_name}" for topic in delta.drafts.values())

    def changed(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        yield
        order.extend(f"created {topic.name in image.topics_by_name}" for topic in delta.created_topics.values())
        order.extend(f"deleted {topic.name in image.topics_by_name}" for topic in delta.deleted_topics.values())

    with open_service(tmp_path) as service:
        loop = serve(service)
        service.prepare(prepare)
        service.subscribe(changed)
        service.change(creation(service, "t", 3), NOW_MS, lambda _: order.append("answered"))
        loop.run()
        service.change(deletion(service, "t"), NOW_MS, lambda _: order.append("answered"))
        loop.run()
    assert order == ["prepared False", "created True", "answered", "deleted False", "answered"]


@pytest.mark.parametrize("failure", [KafkaError(ErrorCode.KAFKA_STORAGE_ERROR), ZeroDivisionError("a bug")])
def test_change_that_fails_is_answered_and_the_next_one_goes_on(tmp_path: Path, failure: Exception) -> None:
    answers: list[object] = []

    def fail() -> Steps[Decision[object]]:
        yield
        raise failure

    with open_service(tmp_path) as service:
        loop = serve(service)
        service.change(fail, NOW_MS, answers.append)
        service.change(creation(service, "t", 1), NOW_MS, answers.append)
        loop.run()
        assert "t" in service.image.topics_by_name
    error = answers[0]
    assert isinstance(error, KafkaError)
    wanted = ErrorCode.KAFKA_STORAGE_ERROR if isinstance(failure, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
    assert error.error_code is wanted
    assert len(answers) == 2


def test_producer_ids_are_given_out_while_a_change_is_under_way(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        loop = serve(service)
        service.change(creation(service, "t", 1_000), NOW_MS, lambda _: None)
        given = []
        producer_ids = ProducerIds(service, controller_of())
        while loop.soon:
            given.append(producer_ids.next_id(NOW_MS))
            loop.turn()
        assert given == sorted(set(given))
    with open_service(tmp_path) as again:
        assert len(again.image.topics_by_name["t"].partitions) == 1_000
        assert ProducerIds(again, controller_of()).next_id(NOW_MS) > given[-1]


def test_topic_of_the_brokers_own_is_asked_for_again_while_a_change_is_under_way(tmp_path: Path) -> None:
    with open_service(tmp_path) as service:
        loop = serve(service)
        service.change(creation(service, "t", 100), NOW_MS, lambda _: None)
        with pytest.raises(KafkaError) as raised:
            AutoTopicCreation(service, controller_of()).ensure("__transaction_state", NOW_MS)
        assert raised.value.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
        loop.run()
        AutoTopicCreation(service, controller_of()).ensure("__transaction_state", NOW_MS)
        assert len(service.image.topics_by_name["__transaction_state"].partitions) == 50


@pytest.mark.parametrize("seed", range(20))
def test_kill_in_the_middle_leaves_all_of_a_change_or_none(tmp_path: Path, seed: int) -> None:
    """Replay: pytest tests/broker/metadata/test_changes_in_slices.py -k 'middle and SEED'."""
    chance = random.Random(seed)
    with open_service(tmp_path, crash=True) as service:
        loop = serve(service)
        answers: list[object] = []
        service.change(creation(service, "wide", 300), NOW_MS, answers.append)
        for _ in range(chance.randrange(60)):
            loop.turn()
    with open_service(tmp_path) as again:
        found = again.image.topics_by_name.get("wide")
        assert found is not None or not answers, "what was answered is there"
        assert found is None or len(found.partitions) == 300


def test_no_snapshot_is_taken_of_an_image_that_lacks_what_the_log_has(tmp_path: Path) -> None:
    with open_service(tmp_path, "metadata.log.max.record.bytes.between.snapshots=1") as service:
        loop = serve(service)
        reasons = []
        service.change(creation(service, "t", 1_000), NOW_MS, lambda _: None)
        while loop.soon:
            ahead = service.log.log_end_offset - 1 > service.image.last_offset
            reasons.append((ahead, service.snapshot_reason(NOW_MS) is None))
            loop.turn()
        assert (True, True) in reasons
        assert (True, False) not in reasons


def test_turns_come_in_order_and_end_with_the_broker() -> None:
    turns, begun = Turns(), []
    for number in range(3):
        turns.acquire(lambda number=number: begun.append(number))  # type: ignore[misc]
    assert (begun, len(turns)) == ([0], 2)
    turns.release()
    assert begun == [0, 1]
    turns.close()
    turns.release()
    assert (begun, turns.is_acquired) == ([0, 1], False)


def test_images_that_subscribers_hold_never_change(tmp_path: Path) -> None:
    held: list[tuple[MetadataImage, str]] = []

    def hold(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        held.append((image, repr(image)))
        yield

    def still_same() -> bool:
        return all(repr(image) == was for image, was in held)

    entity = [ClientQuotaRecord.EntityData("user", None)]
    changes: list[list[Message]] = [
        [ConfigRecord(ResourceType.GROUP, "g", "k", "v")],
        [ClientQuotaRecord(entity, "producer_byte_rate", 1.0)],
        [ClientQuotaRecord(entity, "consumer_byte_rate", 2.0)],
        [AccessControlEntryRecord(id=b"a" * 16, resource_name="r")],
        [RemoveAccessControlEntryRecord(b"a" * 16)],
        [FeatureLevelRecord("share.version", 1)],
        [ClearElrRecord()],
    ]
    with open_service(tmp_path) as service:
        service.prepare(hold)
        service.subscribe(hold)
        loop = serve(service)
        epoch = service.image.brokers[1].epoch
        changes += [[BrokerRegistrationChangeRecord(1, epoch, fenced=fenced)] for fenced in (1, -1)]
        for decide in (creation(service, "t", 200), creation(service, "u", 1), deletion(service, "t")):
            service.change(decide, NOW_MS, lambda _: None)
            while loop.soon:
                loop.turn()
                assert still_same()
        for records in changes:
            service.commit(records, NOW_MS)
            assert still_same(), records
        assert len({was for _, was in held}) >= len(changes) + 3
