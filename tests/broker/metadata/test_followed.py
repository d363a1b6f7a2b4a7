"""The image of a broker of a cluster: a copied log, applied up to the high watermark. Seeded."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import MetadataDelta, MetadataImage, ResourceType
from odradek.broker.metadata.image.image_difference import difference
from odradek.broker.metadata.log.log_reader import MetadataLogError
from odradek.broker.metadata.publisher.followed import FollowedMetadata
from odradek.protocol.common.steps import run_to_end
from odradek.protocol.messages.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from odradek.protocol.messages.structure import Message
from odradek.storage.directory.log_directory import LogDirectory
from support.brokers.metadata_service import NOW_MS, open_service

from .followers import CLUSTER_CONFIG, FOLLOWER_ID, append_raw, batches_of, following, replace_by, same, whole_image


def history(chance: random.Random) -> Iterator[list[Message]]:
    """Commits of a controller: topics are created, changed and deleted; configs; complete and open transactions."""
    topics: list[bytes] = []
    for number in range(40):
        kind = chance.choice(
            ("again", "create", "create", "change", "remove", "config", "idle", "transaction", "abort")
        )
        topic_id = number.to_bytes(16, "big")
        create: list[Message] = [
            TopicRecord(f"t{number}", topic_id),
            *(
                PartitionRecord(index, topic_id, [1], [1], leader=1, directories=[bytes(16)])
                for index in range(chance.randint(1, 3))
            ),
        ]
        if kind == "create":
            topics.append(topic_id)
            yield create
        elif kind == "again" and topics:
            yield [RemoveTopicRecord(topics[0])]
            name = f"t{int.from_bytes(topics[0], 'big')}"
            topics[0] = (1000 + number).to_bytes(16, "big")
            yield [TopicRecord(name, topics[0]), PartitionRecord(0, topics[0], [1], [1], leader=1)]
            topics.pop(0)
        elif kind == "change" and topics:
            yield [PartitionChangeRecord(0, chance.choice(topics), leader=chance.choice((-1, 1)))]
        elif kind == "remove" and topics:
            yield [RemoveTopicRecord(topics.pop(chance.randrange(len(topics))))]
        elif kind == "config":
            yield [ConfigRecord(ResourceType.TOPIC, "t0", "retention.ms", str(number))]
        elif kind == "transaction":
            topics.append(topic_id)
            yield [BeginTransactionRecord("t")]
            yield create
            yield [EndTransactionRecord()]
        elif kind == "abort":
            yield [BeginTransactionRecord("t")]
            yield create
            yield [AbortTransactionRecord("no")]
        else:
            yield [NoOpRecord()]


@pytest.mark.parametrize("seed", range(12))
def test_copied_log_gives_the_leaders_image(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    ends: list[int] = []
    with open_service(tmp_path / "leader", crash=True) as service:
        service.write_snapshot(NOW_MS)
        first = service.log.log_end_offset
        for commit in history(chance):
            append_raw(service, commit)
            ends.append(service.log.log_end_offset)
        cluster_id = service.cluster_id
        snapshot = service.log._snapshots.read(service.log.snapshot_ids[-1])
        snapshot_id = service.log.snapshot_ids[-1]
        log = [batches_of(service, start, end) for start, end in zip([first, *ends], ends, strict=False)]
    copied = applied = 0

    def go_on(followed: FollowedMetadata, until: int) -> None:
        nonlocal copied, applied
        while applied < until:
            take = min(len(log) - copied, chance.randint(0, 4))
            followed.log.append_fetched(b"".join(log[copied : copied + take]), NOW_MS)
            copied += take
            committed = chance.randint(applied, copied)
            run_to_end(followed.apply(ends[committed - 1] if committed else first))
            applied = committed

    with following(tmp_path / "follower", cluster_id) as followed:
        replace_by(followed, snapshot_id, snapshot)
        assert followed.log.log_end_offset == first == followed.applied_offset + 1
        go_on(followed, len(log) // 2)
    # After a restart only the snapshot is known to be committed, until a controller sends the high watermark.
    with following(tmp_path / "follower", cluster_id) as followed:
        assert followed.applied_offset + 1 == first
        copied = sum(end <= followed.log.log_end_offset for end in ends)
        applied = 0
        go_on(followed, len(log))
        assert same(followed.image, whole_image(tmp_path / "leader")), f"seed {seed}"
        followed.write_snapshot(NOW_MS)
        image = followed.image
    with following(tmp_path / "follower", cluster_id) as followed:
        assert same(followed.image, image)
        assert followed.applied_offset == image.last_offset


def test_batches_after_a_hole_are_fetched_again(tmp_path: Path) -> None:
    """A power failure may lose any unsynced page, and an observer does not sync."""
    with open_service(tmp_path / "leader", crash=True) as service:
        first = service.log.log_end_offset
        for name in ("a", "b", "c"):
            append_raw(service, [TopicRecord(name, name.encode() * 16)])
        log = [batches_of(service, offset, offset + 1) for offset in range(first, service.log.log_end_offset)]
        before, cluster_id = batches_of(service, 0, first), service.cluster_id
    with following(tmp_path / "follower", cluster_id) as followed:
        followed.log.append_fetched(before + b"".join(log), NOW_MS)
    segment = tmp_path / "follower" / "__cluster_metadata-0" / f"{0:020}.log"
    data = segment.read_bytes()
    segment.write_bytes(data.replace(log[1], bytes(len(log[1]))))
    with following(tmp_path / "follower", cluster_id) as followed:
        assert followed.log.log_end_offset == first + 1
        followed.log.append_fetched(log[1] + log[2], NOW_MS)
    assert segment.read_bytes() == data


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (PartitionRecord(0, b"t" * 16, [1], [1], leader=1, leader_epoch=-3), "leader epoch -3"),
        (TopicRecord("n" * 3000, b"n" * 16), "3,000 bytes"),
        (PartitionRecord(0, b"x" * 16, [1], [1], leader=1, leader_epoch=0), "no topic has the id"),
    ],
    ids=["leader epoch", "name", "topic id"],
)
def test_record_that_contradicts_is_named_with_its_place(tmp_path: Path, record: Message, says: str) -> None:
    with open_service(tmp_path / "leader", crash=True) as service:
        append_raw(service, [TopicRecord("t", b"t" * 16)])
        offset = service.log.log_end_offset
        append_raw(service, [record])
        log, cluster_id = batches_of(service, 0, offset + 1), service.cluster_id
    with following(tmp_path / "follower", cluster_id) as followed:
        followed.log.append_fetched(log, NOW_MS)
        with pytest.raises(MetadataLogError, match=rf"{0:020}\.log, byte \d+ \(offset {offset}\): .*{says}.*copy"):
            run_to_end(followed.apply(offset + 1))


@pytest.mark.parametrize("seed", range(12))
def test_difference_of_images_is_what_records_would_have_told(seed: int, tmp_path: Path) -> None:
    """Between any two points of a history, the same topics, partitions and configs have changed."""
    chance = random.Random(seed)
    with open_service(tmp_path, crash=True) as service:
        old = service.image
        heard: list[MetadataDelta] = []

        def subscriber(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
            heard.append(delta)
            yield

        service.subscribe(subscriber)
        for commit in history(chance):
            if not isinstance(commit[0], BeginTransactionRecord | EndTransactionRecord | AbortTransactionRecord):
                service.commit(commit, NOW_MS)
        new = service.image
    found = run_to_end(difference(old, new))
    created = {topic_id for topic_id in new.topics_by_id if topic_id not in old.topics_by_id}
    assert found.created_topics.keys() == created == found.drafts.keys()
    assert not found.deleted_topics
    assert {topic_id for topic_id, _ in found.changed_partitions} == created
    assert run_to_end(difference(new, old)).deleted_topics.keys() == created
    configs = {key for delta in heard for key in delta.changed_configs if new.configs.get(key) != old.configs.get(key)}
    assert found.changed_configs.keys() == configs
    assert run_to_end(difference(new, new)) == MetadataDelta()


def test_directory_that_is_not_formatted_is_refused_with_what_to_do(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path)
    try:
        with pytest.raises(ConfigError, match="odradek storage format"):
            FollowedMetadata.open(directory, ServerConfig.load(None, CLUSTER_CONFIG, {}), NOW_MS)
    finally:
        directory.abort()


def test_directory_of_an_own_controller_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    with open_service(tmp_path, node_id=FOLLOWER_ID):
        pass
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"}
    directory = LogDirectory.open(tmp_path)
    try:
        with pytest.raises(ConfigError, match="broker was its own controller"):
            FollowedMetadata.open(directory, ServerConfig.load(None, CLUSTER_CONFIG, {}), NOW_MS)
    finally:
        directory.abort()
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"}
    assert {path: data for path, data in after.items() if path in before} == before


def test_topic_that_was_deleted_is_gone_before_one_of_its_name_comes(tmp_path: Path) -> None:
    """Both topics have the same directory. A deletion that is published last would remove the new topic's files."""
    old_id, new_id = b"o" * 16, b"n" * 16
    with open_service(tmp_path / "leader", crash=True) as service:
        first = service.log.log_end_offset
        append_raw(service, [TopicRecord("t", old_id), PartitionRecord(0, old_id, [71], [71], leader=71)])
        middle = service.log.log_end_offset
        append_raw(service, [RemoveTopicRecord(old_id)])
        append_raw(service, [TopicRecord("t", new_id), PartitionRecord(0, new_id, [71], [71], leader=71)])
        end = service.log.log_end_offset
        whole = batches_of(service, 0, end)
        cluster_id = service.cluster_id
    heard: list[tuple[str, bytes]] = []

    def preparer(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        heard.extend(("served", topic_id) for topic_id in delta.drafts)
        yield

    def subscriber(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        heard.extend(("dropped", topic_id) for topic_id in delta.deleted_topics)
        yield

    with following(tmp_path / "follower", cluster_id) as followed:
        followed.log.append_fetched(whole, NOW_MS)
        run_to_end(followed.apply(middle))
        followed.prepare(preparer)
        followed.subscribe(subscriber)
        run_to_end(followed.apply(end))
        assert followed.image.topics_by_name["t"].topic_id == new_id
    assert first < middle
    assert heard == [("dropped", old_id), ("served", new_id)]
