"""The fetcher of one leader on a socket: its fetch session, and what ends it."""

import asyncio
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.metadata.image.image import BrokerRegistration, Endpoint, MetadataImage, ResourceType
from odradek.broker.network.broker_client import BrokerClient
from odradek.broker.network.node_client import NodeUnavailableError
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.replication.copy import Copy
from odradek.broker.replicas.replication.follower import FollowedPartition
from odradek.broker.replicas.replication.leader_fetcher import FetcherSettings, LeaderFetcher
from odradek.broker.replicas.replication_throttle import FOLLOWER_KEYS, ReplicationQuota, ReplicationThrottle
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.structure import Message
from odradek.protocol.records.builder import BatchBuilder
from odradek.storage.files.files import EXISTING, Files
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from odradek.storage.log.log_health import AppendGate
from support.brokers.fake_node import Answer, FakeNode
from support.disks.faulty_files import FaultyFiles
from support.eventually import eventually_in_loop

NOW_MS = 1_700_000_000_000
TOPIC = bytes(15) + b"\x07"
PartitionData = FetchResponse.PartitionData
SETTINGS = FetcherSettings(wait_max_ms=500, min_bytes=1, response_max_bytes=1 << 20, backoff_ms=1, timeout_ms=60_000)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW_MS)
    yield log
    log.close()


def group_commit() -> GroupCommit:
    return GroupCommit([], LoopTimers(asyncio.get_running_loop()), lambda: NOW_MS)


def batch(offset: int) -> bytes:
    builder = BatchBuilder(partition_leader_epoch=3)
    builder.append(NOW_MS, None, b"value")
    builder.move_to(offset)
    return bytes(builder.build())


def answer(session_id: int, *partitions: PartitionData) -> FetchResponse:
    topics = [FetchResponse.FetchableTopicResponse(topic_id=TOPIC, partitions=list(partitions))] if partitions else []
    return FetchResponse(session_id=session_id, responses=topics)


Summary = tuple[int, int, list[int], list[int]]


def summary(request: Message) -> Summary:
    """Session id and epoch, the fetch offsets, and the forgotten partitions."""
    assert isinstance(request, FetchRequest)
    offsets = [one.fetch_offset for topic in request.topics for one in topic.partitions]
    forgotten = [index for topic in request.forgotten_topics_data for index in topic.partitions]
    return request.session_id, request.session_epoch, offsets, forgotten


async def test_session_is_incremental_and_starts_anew_after_each_failure(log: Log) -> None:
    answers: list[Answer] = [
        answer(7, PartitionData(records=batch(0), high_watermark=1, log_start_offset=0)),
        answer(7),
        FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
        answer(8, PartitionData(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER)),
        answer(0),
        answer(9, PartitionData(high_watermark=1, log_start_offset=0)),
        b"",  # the connection closes
    ]
    is_over = asyncio.Event()

    def next_answer(_: Message) -> Answer:
        if answers:
            return answers.pop(0)
        is_over.set()
        return None

    throttle = ReplicationThrottle(1, MetadataImage, ReplicationQuota(11, 1_000), FOLLOWER_KEYS)
    async with FakeNode(next_answer) as node:
        fetcher = LeaderFetcher(2, lambda: ("127.0.0.1", node.port), 1, lambda: 17, SETTINGS, throttle, lambda: NOW_MS)
        fetcher.follow(Copy("t", FollowedPartition(TOPIC, 0, 3, 1), log, group_commit(), lambda size: None))
        task = asyncio.ensure_future(fetcher.run())
        await is_over.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert [summary(request) for request in node.received] == [
            (0, 0, [0], []),
            (7, 1, [1], []),
            (7, 2, [], []),
            (0, 0, [1], []),
            (8, 1, [], [0]),
            (0, 0, [1], []),
            (9, 1, [], []),
            (9, 0, [1], []),
        ]
    assert (log.log_end_offset, log.high_watermark) == (1, 1)


@pytest.mark.parametrize(("error", "is_followed"), [(errno.ENOSPC, True), (errno.EIO, False)])
async def test_full_disk_is_a_state_and_another_error_an_end(tmp_path: Path, error: int, is_followed: bool) -> None:
    """A batch that did not fit is fetched again. A failed directory is not used any more."""
    files = FaultyFiles()
    log = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW_MS, files=files)
    files.fail("write", error=error)
    asked: list[Summary] = []
    is_over = asyncio.Event()

    def next_answer(request: Message) -> Answer:
        asked.append(summary(request))
        offsets = asked[-1][2]
        if len(asked) == 4:
            files.repair()
        if log.log_end_offset:
            is_over.set()
            return None
        return answer(0, *(PartitionData(records=batch(0), high_watermark=1, log_start_offset=0) for _ in offsets))

    throttle = ReplicationThrottle(1, MetadataImage, ReplicationQuota(11, 1_000), FOLLOWER_KEYS)
    async with FakeNode(next_answer) as node:
        fetcher = LeaderFetcher(2, lambda: ("127.0.0.1", node.port), 1, lambda: 17, SETTINGS, throttle, lambda: NOW_MS)
        copy = Copy("t", FollowedPartition(TOPIC, 0, 3, 1), log, group_commit(), lambda size: None)
        fetcher.follow(copy)
        task = asyncio.ensure_future(fetcher.run())
        if is_followed:
            await is_over.wait()
        else:
            await eventually_in_loop("it has stopped", lambda: copy.partition.is_stopped)
        assert copy.partition.is_stopped == (not is_followed)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert log.log_end_offset == (1 if is_followed else 0)
    assert len(asked) > 3 or not is_followed
    log.abort()


class NoDescriptors(Files):
    """The system calls of a process that has no descriptor left, while ``is_exhausted``."""

    is_exhausted = False

    def open(self, path: Path, flags: int = EXISTING) -> int:
        self._take()
        return super().open(path, flags)

    def sync_directory(self, path: Path) -> None:
        self._take()
        super().sync_directory(path)

    def _take(self) -> None:
        if self.is_exhausted:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


async def test_truncation_that_finds_no_descriptor_is_completed_later(tmp_path: Path) -> None:
    """The leader has no records after those of the copy: the answer that ends the pause completes the truncation."""
    files = NoDescriptors()
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=300), now_ms=NOW_MS, files=files)
    for offset in range(10):
        log.appender.append_as_follower(batch(offset), NOW_MS)
    files.is_exhausted = True
    is_over = asyncio.Event()
    fetched_from: list[int] = []

    def next_answer(request: Message) -> Answer:
        if not files.is_exhausted and fetched_from:
            is_over.set()  # the answer before this request has completed the truncation
            return None
        offsets = summary(request)[2]
        if not offsets:
            return answer(7)
        fetched_from.extend(offsets)
        diverging = FetchResponse.EpochEndOffset(3, 2) if offsets == [10] else FetchResponse.EpochEndOffset()
        files.is_exhausted = fetched_from.count(2) < 2
        return answer(7, PartitionData(high_watermark=2, log_start_offset=0, diverging_epoch=diverging))

    throttle = ReplicationThrottle(1, MetadataImage, ReplicationQuota(11, 1_000), FOLLOWER_KEYS)
    async with FakeNode(next_answer) as node:
        fetcher = LeaderFetcher(2, lambda: ("127.0.0.1", node.port), 1, lambda: 17, SETTINGS, throttle, lambda: NOW_MS)
        copy = Copy("t", FollowedPartition(TOPIC, 0, 3, 1), log, group_commit(), lambda size: None)
        fetcher.follow(copy)
        task = asyncio.ensure_future(fetcher.run())
        await is_over.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert fetched_from == [10, 2, 2]
    assert not copy.partition.is_stopped
    assert (log.health.failure, log.log_end_offset, log.high_watermark) == (None, 2, 2)
    assert b"".join(path.read_bytes() for path in sorted(log.directory.glob("*.log"))) == batch(0) + batch(1)
    log.close()


async def test_throttled_partition_leaves_the_session_and_comes_back(log: Log) -> None:
    """Its first records exceed the rate, until that is removed."""
    image = MetadataImage()
    image.configs[ResourceType.TOPIC, "t"] = {FOLLOWER_KEYS.replicas: "0:1"}
    image.configs[ResourceType.BROKER, "1"] = {FOLLOWER_KEYS.rate: "0"}
    answers = [
        answer(7, PartitionData(records=batch(0), high_watermark=2, log_start_offset=0)),
        answer(0),
        answer(8, PartitionData(records=batch(1), high_watermark=2, log_start_offset=0)),
    ]
    left_out: Summary = (7, 1, [], [0])
    is_over = asyncio.Event()

    def next_answer(request: Message) -> Answer:
        if summary(request) == left_out:
            image.configs.clear()
        if answers:
            return answers.pop(0)
        is_over.set()
        return None

    throttle = ReplicationThrottle(1, lambda: image, ReplicationQuota(11, 3_600_000), FOLLOWER_KEYS)
    async with FakeNode(next_answer) as node:
        fetcher = LeaderFetcher(2, lambda: ("127.0.0.1", node.port), 1, lambda: 17, SETTINGS, throttle, lambda: NOW_MS)
        fetcher.follow(Copy("t", FollowedPartition(TOPIC, 0, 3, 1), log, group_commit(), lambda size: None))
        task = asyncio.ensure_future(fetcher.run())
        await is_over.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        received = [summary(request) for request in node.received]
    assert received == [(0, 0, [0], []), left_out, (0, 0, [1], []), (8, 1, [2], [])]


@pytest.mark.parametrize(
    ("fenced", "reason"),
    [
        (None, "it is fenced or not registered"),
        (True, "it is fenced or not registered"),
        (False, "it has no listener PEERS: inter.broker.listener.name must be a listener of every broker"),
    ],
    ids=["unknown", "fenced", "lacks-the-listener"],
)
async def test_leader_without_an_address_is_named_with_the_reason(fenced: bool | None, reason: str) -> None:
    image = MetadataImage()
    if fenced is not None:
        clients = {"CLIENTS": Endpoint("CLIENTS", "127.0.0.1", 9092)}
        image.brokers[2] = BrokerRegistration(2, 17, bytes(16), clients, {}, None, fenced, False, ())
    client = BrokerClient(lambda: image.address(2, "PEERS"), "test")
    with pytest.raises(NodeUnavailableError, match=reason):
        await client.send(FetchRequest(), FetchResponse, 60)


async def test_copy_without_room_withdraws_once_and_fetches_when_there_is_room(tmp_path: Path) -> None:
    """The withdrawal has the next broker epoch, so no leader counts on the copy. Other partitions are fetched on."""
    files = FaultyFiles()
    gate = AppendGate()
    small = Log.open(tmp_path / "t-0", LogConfig(), now_ms=NOW_MS, files=files)
    other = Log.open(tmp_path / "t-1", LogConfig(), now_ms=NOW_MS)
    small.health.gate = gate
    files.fail("write", error=errno.ENOSPC)
    gate.refusal = "full"
    asked: list[tuple[int, list[int]]] = []
    is_stuck: list[str] = []
    is_over = asyncio.Event()

    def next_answer(request: Message) -> Answer:
        assert isinstance(request, FetchRequest)
        indexes = [one.partition for topic in request.topics for one in topic.partitions]
        asked.append((request.replica_state.replica_epoch, indexes))
        if len(asked) == 5:
            files.repair()
            gate.refusal = None
        if small.log_end_offset:
            is_over.set()
            return None
        data = [
            PartitionData(index, records=b"" if index else batch(0), high_watermark=1, log_start_offset=0)
            for index in indexes
        ]
        return answer(0, *data)

    throttle = ReplicationThrottle(1, MetadataImage, ReplicationQuota(11, 1_000), FOLLOWER_KEYS)
    async with FakeNode(next_answer) as node:
        fetcher = LeaderFetcher(
            2,
            lambda: ("127.0.0.1", node.port),
            1,
            lambda: 17,
            SETTINGS,
            throttle,
            lambda: NOW_MS,
            out_of_space=lambda copy: is_stuck.append(copy.name),
        )
        for index, one in enumerate((small, other)):
            fetcher.follow(Copy("t", FollowedPartition(TOPIC, index, 3, 1), one, group_commit(), lambda size: None))
        task = asyncio.ensure_future(fetcher.run())
        await is_over.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert asked[:2] == [(17, [0, 1]), (18, [0])]
    assert is_stuck == ["t-0"]
    assert all(request == (17, [1]) for request in asked[2:5])
    assert any(0 in indexes for _, indexes in asked[5:])
    assert {epoch for epoch, _ in asked[2:]} == {17}
    small.close()
    other.close()
