"""The copy of the metadata log over a socket: damaged and truncated batches, damaged snapshots, refusals."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.log.snapshot_files import SnapshotId
from odradek.broker.metadata.publisher.followed import FollowedMetadata
from odradek.broker.metadata.quorum.known_controllers import Address, KnownControllers
from odradek.broker.metadata.quorum.metadata_fetcher import MetadataFetcher
from odradek.protocol.errors import ErrorCode
from odradek.protocol.internal_records.metadata_serde import encode_record
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.metadata_records import TopicRecord
from odradek.protocol.messages.quorum import FetchSnapshotRequest, FetchSnapshotResponse
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import METADATA_TOPIC, METADATA_TOPIC_ID
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.directory.log_directory import LogDirectory
from odradek.storage.files.files import Files
from support.brokers.fake_node import Answer, FakeNode
from support.brokers.metadata_service import NOW_MS, open_service
from support.disks.faulty_files import FaultyFiles

from ...many_partitions import snapshot_of_partitions

CONFIG = [
    "node.id=71",
    "process.roles=broker",
    "controller.listener.names=CONTROLLER",
    "controller.quorum.voters=1@127.0.0.1:9093",
]
EPOCH = 1


def batch(offset: int, name: str = "t") -> bytes:
    """A batch of one record: the topic ``t<offset>``, or that of the name."""
    builder = BatchBuilder(base_offset=offset, partition_leader_epoch=EPOCH)
    topic = TopicRecord(f"t{offset}" if name == "t" else name, offset.to_bytes(16, "big"))
    builder.append(NOW_MS, None, encode_record(topic, 0))
    return bytes(builder.build())


def damaged(data: bytes) -> bytes:
    return data[:-3] + bytes((data[-3] ^ 1,)) + data[-2:]


def fetched(partition: FetchResponse.PartitionData) -> FetchResponse:
    partition.current_leader = FetchResponse.LeaderIdAndEpoch(1, EPOCH)
    topic = FetchResponse.FetchableTopicResponse(METADATA_TOPIC, METADATA_TOPIC_ID, [partition])
    return FetchResponse(responses=[topic])


def offset_of(request: Message) -> int:
    assert isinstance(request, FetchRequest)
    return request.topics[0].partitions[0].fetch_offset


@contextmanager
def metadata_in(path: Path, files: Files | None = None) -> Iterator[FollowedMetadata]:
    directory = LogDirectory.open(path, files or Files())
    try:
        directory.format("c" * 22, 71, b"follower id 1234")
        yield FollowedMetadata.open(directory, ServerConfig.load(None, CONFIG, {}), NOW_MS)
    finally:
        directory.abort()


@asynccontextmanager
async def running(
    metadata: FollowedMetadata,
    node: FakeNode,
    *,
    applied: Callable[[int], None] = lambda _: None,
    fail: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[tuple[MetadataFetcher, asyncio.Future[None]]]:
    """A fetcher that copies from a node as long as the block lasts, and its task."""
    known = KnownControllers([], {1: Address("127.0.0.1", node.port)})
    fetcher = MetadataFetcher(metadata, known, applied=applied, fail=fail, clock_ms=lambda: NOW_MS)
    task = asyncio.ensure_future(fetcher.run())
    try:
        yield fetcher, task
    finally:
        task.cancel()


@asynccontextmanager
async def fetching(
    path: Path, answer: Callable[[Message], Answer], files: Files | None = None
) -> AsyncIterator[tuple[FollowedMetadata, FakeNode]]:
    """A fetcher on a new directory. Returns once it has caught up."""
    failures: list[str] = []
    with metadata_in(path, files) as metadata:
        async with FakeNode(answer) as node, running(metadata, node, fail=failures.append) as (fetcher, task):
            catching_up = asyncio.ensure_future(fetcher.caught_up.wait())
            await asyncio.wait((task, catching_up), return_when=asyncio.FIRST_COMPLETED)
            assert not failures
            yield metadata, node


async def test_damaged_and_cut_batches_are_fetched_again(tmp_path: Path) -> None:
    """Each answer ends with half of a batch, and every second answer is damaged."""
    asked: list[int] = []

    def answer(request: Message) -> Answer:
        offset = offset_of(request)
        asked.append(offset)
        records = batch(offset) + batch(offset + 1)[:40] if offset < 6 else b""
        if asked.count(offset) == 1:
            records = damaged(batch(offset))
        return fetched(FetchResponse.PartitionData(high_watermark=6, records=records))

    async with fetching(tmp_path, answer) as (metadata, _):
        assert metadata.image.topics_by_name.keys() == {f"t{offset}" for offset in range(6)}
        assert metadata.log.log_end_offset == 6
    assert [one for one in asked if one < 6] == [offset for offset in range(6) for _ in range(2)]


async def test_damaged_and_refused_answers_are_no_sign_of_life(tmp_path: Path) -> None:
    """Heartbeats depend on answers of the leader: see ``ClusterMembership``."""
    arrivals: list[float] = []
    fetchers: list[MetadataFetcher] = []
    answers = [
        fetched(FetchResponse.PartitionData(error_code=ErrorCode.BROKER_NOT_AVAILABLE)),
        fetched(FetchResponse.PartitionData(high_watermark=1, records=damaged(batch(0)))),
        fetched(FetchResponse.PartitionData(high_watermark=1, records=batch(0))),
    ]

    def answer(request: Message) -> Answer:
        arrivals.append(fetchers[0].arrived_s)
        return answers[min(len(arrivals), len(answers)) - 1]

    with metadata_in(tmp_path) as metadata:
        async with FakeNode(answer) as node, running(metadata, node) as (fetcher, _):
            fetchers.append(fetcher)  # before its task has begun
            await fetcher.caught_up.wait()
            assert len(set(arrivals[:3])) == 1
            assert fetcher.arrived_s > arrivals[0]


def snapshot_named(request: FetchRequest, snapshot_id: SnapshotId) -> FetchResponse:
    """A leader's answer to a fetch: at offset 0 it has a snapshot id, at others no records."""
    partition = FetchResponse.PartitionData(high_watermark=snapshot_id.end_offset)
    if not offset_of(request):
        partition.snapshot_id = FetchResponse.SnapshotId(*snapshot_id)
    return fetched(partition)


def piece_of(snapshot: bytes, snapshot_id: SnapshotId, position: int, size: int = 200) -> FetchSnapshotResponse:
    """A leader's answer with ``size`` bytes of a snapshot."""
    piece = FetchSnapshotResponse.PartitionSnapshot(
        snapshot_id=FetchSnapshotResponse.SnapshotId(*snapshot_id),
        current_leader=FetchSnapshotResponse.LeaderIdAndEpoch(1, EPOCH),
        size=len(snapshot),
        position=position,
        unaligned_records=snapshot[position : position + size],
    )
    return FetchSnapshotResponse(topics=[FetchSnapshotResponse.TopicSnapshot(METADATA_TOPIC, [piece])])


async def test_snapshot_that_was_damaged_on_its_way_is_fetched_again(tmp_path: Path) -> None:
    with open_service(tmp_path / "leader", crash=True) as service:
        service.write_snapshot(NOW_MS)
        snapshot_id = service.log.snapshot_ids[-1]
        snapshot = bytes(service.log._snapshots.read(snapshot_id))
        features = service.image.features
    attempts: list[int] = []

    def answer(request: Message) -> Answer:
        if isinstance(request, FetchRequest):
            return snapshot_named(request, snapshot_id)
        assert isinstance(request, FetchSnapshotRequest)
        position = request.topics[0].partitions[0].position
        attempts.append(position)
        data = damaged(snapshot) if attempts.count(0) == 1 else snapshot
        return piece_of(data, snapshot_id, position)

    async with fetching(tmp_path / "follower", answer) as (metadata, _):
        assert metadata.image.features == features
        assert metadata.log.log_end_offset == snapshot_id.end_offset == metadata.applied_offset + 1
        assert metadata.log.snapshot_ids == [SnapshotId(*snapshot_id)]
        assert metadata.log._snapshots.read(snapshot_id) == snapshot
    assert attempts.count(0) == 2


@pytest.mark.parametrize("operation", ["write", "create"])
async def test_full_disk_stops_nothing_but_the_copy(tmp_path: Path, operation: str) -> None:
    """The batch is fetched again until it fits. Also if the file of the leader's epoch can't be created."""
    files = FaultyFiles()
    asked: list[int] = []

    def answer(request: Message) -> Answer:
        asked.append(offset_of(request))
        if len(asked) == 1:
            files.fail(operation)
        if len(asked) == 4:
            files.repair()
        records = batch(asked[-1]) if asked[-1] < 3 else b""
        return fetched(FetchResponse.PartitionData(high_watermark=3, records=records))

    async with fetching(tmp_path, answer, files) as (metadata, _):
        assert metadata.image.topics_by_name.keys() == {f"t{offset}" for offset in range(3)}
    assert asked[:7] == [0, 0, 0, 0, 1, 2, 3]


async def test_snapshot_that_does_not_fit_is_fetched_anew(tmp_path: Path) -> None:
    with open_service(tmp_path / "leader", crash=True) as service:
        service.write_snapshot(NOW_MS)
        snapshot_id = service.log.snapshot_ids[-1]
        snapshot = bytes(service.log._snapshots.read(snapshot_id))
    files = FaultyFiles()
    positions: list[int] = []

    def answer(request: Message) -> Answer:
        if isinstance(request, FetchRequest):
            return snapshot_named(request, snapshot_id)
        assert isinstance(request, FetchSnapshotRequest)
        position = request.topics[0].partitions[0].position
        positions.append(position)
        if len(positions) == 2:
            files.fail("write")
        elif len(positions) == 3:
            assert not list((tmp_path / "follower" / f"{METADATA_TOPIC}-0").glob("*.part")), "it gives its space back"
            files.repair()
        return piece_of(snapshot, snapshot_id, position)

    async with fetching(tmp_path / "follower", answer, files) as (metadata, _):
        assert metadata.log._snapshots.read(snapshot_id) == snapshot
    assert positions[:4] == [0, 200, 0, 200]


async def test_log_that_the_leader_has_no_epoch_of_is_copied_anew(tmp_path: Path) -> None:
    """The leader answers epoch 0 and offset 0, as controllers do that have lost their disks."""
    offsets: list[int] = []

    def answer(request: Message) -> Answer:
        offset = offset_of(request)
        offsets.append(offset)
        if len(offsets) == 1:
            return fetched(FetchResponse.PartitionData(high_watermark=0, records=batch(0) + batch(1)))
        if offset == 2 and len(offsets) == 2:
            return fetched(FetchResponse.PartitionData(diverging_epoch=FetchResponse.EpochEndOffset(0, 0)))
        records = batch(0, "other") if offset == 0 else b""
        return fetched(FetchResponse.PartitionData(high_watermark=1, records=records))

    with metadata_in(tmp_path) as metadata:
        applied = asyncio.Event()

        def note(offset: int) -> None:
            if offset == 0:
                applied.set()

        async with FakeNode(answer) as node, running(metadata, node, applied=note):
            await applied.wait()
        assert metadata.image.topics_by_name.keys() == {"other"}
    assert offsets[:3] == [0, 2, 0]


async def test_large_snapshot_leaves_turns_to_heartbeats_and_batches_follow_it(tmp_path: Path) -> None:
    """A broker that loads a snapshot of 20,000 partitions, and then a batch, continues its other work."""
    snapshot = snapshot_of_partitions(20_000, 71, NOW_MS)
    snapshot_id = SnapshotId(50_000, EPOCH)
    progress: list[float] = []

    def answer(request: Message) -> Answer:
        if isinstance(request, FetchRequest):
            offset = offset_of(request)
            partition = FetchResponse.PartitionData(high_watermark=snapshot_id.end_offset + 1)
            if not offset:
                partition.snapshot_id = FetchResponse.SnapshotId(*snapshot_id)
            elif offset == snapshot_id.end_offset:
                partition.records = batch(offset)
            return fetched(partition)
        assert isinstance(request, FetchSnapshotRequest)
        position = request.topics[0].partitions[0].position
        if position + request.max_bytes >= len(snapshot):
            ticker.append(asyncio.ensure_future(tick()))
        return piece_of(snapshot, snapshot_id, position, request.max_bytes)

    async def tick() -> None:
        while not metadata.image.topics_by_id:
            progress.append(fetcher.arrived_s)
            await asyncio.sleep(0)

    ticker: list[asyncio.Task[None]] = []
    with metadata_in(tmp_path) as metadata:
        async with FakeNode(answer) as node, running(metadata, node) as (fetcher, _):
            await fetcher.caught_up.wait()
            await ticker[0]
        assert len(metadata.image.topics_by_id) == 201
        assert f"t{snapshot_id.end_offset}" in metadata.image.topics_by_name
        assert metadata.log.log_end_offset == snapshot_id.end_offset + 1 == metadata.applied_offset + 1
    assert len(set(progress)) > 20, "turns of other work, each after a part of the snapshot was applied"
