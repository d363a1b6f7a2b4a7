"""The image of a broker of a cluster: a copied log, applied up to the high watermark. Seeded."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.broker.config.errors import ConfigError
from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.followed import DECODED_RECORDS_A_STEP, FollowedMetadata
from odradek.broker.metadata.image import MetadataDelta, MetadataImage, ResourceType
from odradek.broker.metadata.image_difference import difference
from odradek.broker.metadata.log_reader import MetadataLogError
from odradek.broker.metadata.service import MetadataService
from odradek.broker.metadata.snapshot_files import SnapshotId
from odradek.broker.metadata.snapshot_generator import SnapshotGenerator
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.codec import encode
from odradek.protocol.internal_records.metadata_serde import encode_record
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
from odradek.protocol.messages.snapshots import SnapshotFooterRecord, SnapshotHeaderRecord
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, encode_control_batch
from odradek.protocol.steps import run_to_end
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.files import Files
from odradek.storage.log.read_result import in_memory
from support.brokers.metadata_service import NOW_MS, open_service
from support.disks.simulated_disk import SimulatedDisk

from ..many_partitions import snapshot_of_partitions

FOLLOWER_ID = 71
CLUSTER_CONFIG = [
    f"node.id={FOLLOWER_ID}",
    "process.roles=broker",
    "controller.listener.names=CONTROLLER",
    "controller.quorum.voters=1@127.0.0.1:9093",
]


def history(chance: random.Random) -> Iterator[list[Message]]:
    """Commits of a controller: topics that come, change and go, configs, transactions that end or don't."""
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


@contextmanager
def following(path: Path, cluster_id: str, files: Files | None = None) -> Iterator[FollowedMetadata]:
    """A follower on a directory, which is let go as a crash does."""
    directory = LogDirectory.open(path, files or Files())
    try:
        if directory.meta is None:
            directory.format(cluster_id, FOLLOWER_ID, b"follower id 1234")
        config = ServerConfig.load(None, [*CLUSTER_CONFIG, "metadata.log.max.record.bytes.between.snapshots=1"], {})
        yield FollowedMetadata.open(directory, config, NOW_MS)
    finally:
        directory.abort()


def append_raw(service: MetadataService, records: list[Message]) -> None:
    """Appends to the leader's log alone: its image is what the follower is compared with at the end."""
    run_to_end(service.log.append(records, service.image.metadata_version, NOW_MS))


def whole_image(path: Path) -> MetadataImage:
    """The image that a start reads from a leader's log."""
    with open_image(path) as service:
        return service.image


@contextmanager
def open_image(path: Path) -> Iterator[MetadataService]:
    directory = LogDirectory.open(path)
    try:
        assert directory.meta is not None
        config = ServerConfig.load(None, [f"node.id={directory.meta.node_id}"], {})
        yield MetadataService.open(
            directory, config, directory_id=directory.meta.directory_id, now_ms=NOW_MS, random_uuid=lambda: bytes(16)
        )
    finally:
        directory.abort()


def same(left: MetadataImage, right: MetadataImage) -> bool:
    """Whether two images say the same, wherever they stand."""
    return replace(left, last_offset=0, last_epoch=0, last_timestamp_ms=0, shared=set()) == replace(
        right, last_offset=0, last_epoch=0, last_timestamp_ms=0, shared=set()
    )


def batches_of(service: MetadataService, offset: int, end: int) -> bytes:
    """The leader's batches from an offset to below another, both ends of batches."""
    data = in_memory(service.log._log.read(offset, 1 << 20).data)
    return b"".join(
        data[position : position + header.size_in_bytes]
        for position, header in iterate_headers(data)
        if offset <= header.base_offset < end
    )


def replace_by(followed: FollowedMetadata, snapshot_id: SnapshotId, snapshot: bytes) -> None:
    """Takes a snapshot of the controllers at once."""
    received = followed.log.receive_snapshot(snapshot_id)
    received.write(snapshot)
    run_to_end(followed.replace(received, followed.log.check_received(received), NOW_MS))


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
    # After a restart only the snapshot is known to be committed, until a controller tells the high watermark.
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
    """A power failure may lose any page that was not synced, and an observer syncs none."""
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


@pytest.mark.parametrize("in_background", [False, True])
def test_records_below_a_snapshot_survive_a_power_failure(tmp_path: Path, in_background: bool) -> None:
    """A start does not check them, and would keep a hole there for ever."""
    with open_service(tmp_path / "leader", crash=True) as service:
        for name in "abcdefgh":
            append_raw(service, [TopicRecord(name, name.encode() * 16)])
        end = service.log.log_end_offset
        copied, cluster_id = batches_of(service, 0, end), service.cluster_id
    (tmp_path / "follower").mkdir()
    disk = SimulatedDisk(tmp_path / "follower", NOW_MS)
    with following(tmp_path / "follower", cluster_id, disk) as followed:
        followed.log.append_fetched(copied, NOW_MS)
        run_to_end(followed.apply(end))
        assert followed.log.flusher.is_dirty, "an observer does not sync what it copies"
        if in_background:
            asyncio.run(generate(followed))
        else:
            followed.write_snapshot(NOW_MS)
        assert [one.end_offset for one in followed.log.snapshot_ids] == [end]
    for seed in range(10):
        survivors = disk.survivors(disk.root, random.Random(seed), has_power=False)
        assert b"".join(data for path, data in survivors.files_below(disk.root) if path.suffix == ".log") == copied
    with following(tmp_path / "follower", cluster_id, disk) as followed:
        assert followed.log.log_end_offset == end


async def generate(followed: FollowedMetadata) -> None:
    """Writes the snapshot that is due, in the background."""
    timers = LoopTimers(asyncio.get_running_loop())
    generator = SnapshotGenerator(followed, timers, lambda: NOW_MS)
    generator.start()
    await generator.idle()
    timers.close()


@pytest.mark.parametrize("seed", range(12))
def test_difference_of_images_is_what_records_would_have_told(seed: int, tmp_path: Path) -> None:
    """Between any two points of a history: the same topics, partitions and configs changed."""
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
        with pytest.raises(ConfigError, match="its own controller here"):
            FollowedMetadata.open(directory, ServerConfig.load(None, CLUSTER_CONFIG, {}), NOW_MS)
    finally:
        directory.abort()
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != ".lock"}
    assert {path: data for path, data in after.items() if path in before} == before


def test_topic_that_was_deleted_is_gone_before_one_of_its_name_comes(tmp_path: Path) -> None:
    """The files of both have the same directory: who hears of the deletion last would remove the new topic's."""
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


MANY = 20_000


def test_large_snapshot_is_replayed_in_short_steps_and_replaces_all_at_once(tmp_path: Path) -> None:
    """Readers and the log keep the old state until the last record was replayed."""
    snapshot = snapshot_of_partitions(MANY, FOLLOWER_ID, NOW_MS)
    heard: list[MetadataDelta] = []

    def subscriber(image: MetadataImage, delta: MetadataDelta) -> Iterator[None]:
        assert image is followed.image
        heard.append(delta)
        yield

    with open_service(tmp_path / "leader", crash=True) as service:
        old_id = service.log.snapshot_ids[-1]
        old = service.log._snapshots.read(old_id)
        cluster_id = service.cluster_id
    new_id = SnapshotId(50_000, 3)
    with following(tmp_path / "follower", cluster_id) as followed:
        replace_by(followed, old_id, old)
        followed.subscribe(subscriber)
        image, end_offset = followed.image, followed.log.log_end_offset
        received = followed.log.receive_snapshot(new_id)
        received.write(snapshot)
        steps = followed.replace(received, followed.log.check_received(received), NOW_MS)
        before = after = 0
        for _ in steps:
            if followed.image is image:
                before += 1
                assert followed.log.log_end_offset == end_offset
                assert followed.snapshot_reason(NOW_MS + (1 << 40)) is None
            else:
                after += 1
                assert followed.log.log_end_offset == new_id.end_offset == followed.applied_offset + 1
                assert sum(len(topic.partitions) for topic in followed.image.topics_by_id.values()) == MANY
        assert before > MANY // DECODED_RECORDS_A_STEP
        assert after
        assert sum(len(delta.changed_partitions) for delta in heard) == MANY
        image = followed.image
    with following(tmp_path / "follower", cluster_id) as followed:
        assert same(followed.image, image)
        assert followed.applied_offset == image.last_offset


def test_snapshot_with_a_record_that_cannot_be_replayed_leaves_everything_as_it_was(tmp_path: Path) -> None:
    lost = BatchBuilder(base_offset=1, partition_leader_epoch=1)
    lost.append(NOW_MS, None, encode_record(PartitionRecord(0, b"u" * 16, [1], [1], leader=1), 0))
    header = [(ControlRecordType.SNAPSHOT_HEADER, encode(SnapshotHeaderRecord(), 0))]
    footer = [(ControlRecordType.SNAPSHOT_FOOTER, encode(SnapshotFooterRecord(), 0))]
    with following(tmp_path, "c" * 22) as followed:
        received = followed.log.receive_snapshot(SnapshotId(10, 1))
        for part in (
            encode_control_batch(header, timestamp=NOW_MS, base_offset=0, partition_leader_epoch=1),
            lost.build(),
            encode_control_batch(footer, timestamp=NOW_MS, base_offset=2, partition_leader_epoch=1),
        ):
            received.write(part)
        snapshot = followed.log.check_received(received)
        with pytest.raises(MetadataLogError):
            run_to_end(followed.replace(received, snapshot, NOW_MS))
        assert followed.image.topics_by_id == {}
        assert followed.log.snapshot_ids == []
        assert followed.log.log_end_offset == 0
        received.discard()


def test_own_snapshot_that_ends_after_one_of_the_controllers_is_not_counted(tmp_path: Path) -> None:
    with open_service(tmp_path / "leader", crash=True) as service:
        first_id = service.log.snapshot_ids[-1]
        first = service.log._snapshots.read(first_id)
        end = service.log.log_end_offset
        batches = batches_of(service, first_id.end_offset, end)
        cluster_id = service.cluster_id
    later = SnapshotId(end + 100, 9)
    with following(tmp_path / "follower", cluster_id) as followed:
        replace_by(followed, first_id, first)
        followed.log.append_fetched(batches, NOW_MS)
        run_to_end(followed.apply(end))
        pending = followed.begin_snapshot(NOW_MS)
        assert pending is not None
        followed.log.write_snapshot(pending.snapshot_id, list(pending.batches))
        replace_by(followed, later, snapshot_of_partitions(1, FOLLOWER_ID, NOW_MS))
        followed.log.complete_snapshot(pending)
        assert followed.log.snapshot_ids == [later]
        assert followed.log.bytes_since_snapshot == 0
        assert pending.snapshot_id.file_name in {path.name for path in followed.log._log.directory.iterdir()}
    with following(tmp_path / "follower", cluster_id) as followed:
        assert followed.log.snapshot_ids == [later]
        assert pending.snapshot_id.file_name not in {path.name for path in followed.log._log.directory.iterdir()}
