"""The observer with a model of a quorum: elections, divergence, snapshots, lost answers. Seeded."""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from odradek.broker.metadata.log.snapshot_files import SnapshotId
from odradek.broker.metadata.quorum.known_controllers import Address, KnownControllers
from odradek.broker.metadata.quorum.metadata_observer import (
    Append,
    Fatal,
    MetadataObserver,
    Retry,
    SnapshotPiece,
    Truncate,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.quorum import FetchSnapshotRequest, FetchSnapshotResponse

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
SEEDS = 300
STEPS = 120


class Entry(NamedTuple):
    """One record of a model log: its epoch and its value."""

    epoch: int
    value: int


def end_of_epoch(log: list[Entry], epoch: int) -> tuple[int, int]:
    """``ReplicatedLog.endOffsetForEpoch`` of a log that begins at offset 0."""
    found = [(one.epoch, offset + 1) for offset, one in enumerate(log) if one.epoch <= epoch]
    return found[-1] if found else (0, 0)


@dataclass
class Quorum:
    """The logs of two controllers, one of which is the leader. Records that both have are committed."""

    random: random.Random
    logs: list[list[Entry]] = field(default_factory=lambda: [[], []])
    leader: int = 0
    epoch: int = 1
    high_watermark: int = 0
    start: int = 0
    """The first offset of the log. Earlier records are only in a snapshot."""
    written: int = 0

    @property
    def log(self) -> list[Entry]:
        """The leader's log."""
        return self.logs[self.leader]

    def write(self) -> None:
        self.written += 1
        self.log.append(Entry(self.epoch, self.written))

    def replicate(self) -> None:
        other = self.logs[1 - self.leader]
        same = next((i for i, (a, b) in enumerate(zip(other, self.log, strict=False)) if a != b), len(other))
        del other[min(same, len(self.log)) :]
        other += self.log[len(other) : len(other) + self.random.randint(1, 3)]
        self.high_watermark = max(self.high_watermark, len(other))

    def elect(self) -> None:
        """Elects the other one. It has all committed records by definition."""
        self.leader = 1 - self.leader
        self.epoch += 1
        self.write()

    def compact(self) -> None:
        self.start = max(self.start, self.random.randint(0, self.high_watermark))

    def answer(self, request: FetchRequest) -> FetchResponse:
        """``KafkaRaftClient.handleFetchRequest``."""
        asked = request.topics[0].partitions[0]
        answer = FetchResponse.PartitionData(high_watermark=self.high_watermark)
        answer.current_leader = FetchResponse.LeaderIdAndEpoch(self.leader, self.epoch)
        nodes = [FetchResponse.NodeEndpoint(node, "127.0.0.1", 9000 + node) for node in range(2)]
        if asked.current_leader_epoch != self.epoch:
            behind = asked.current_leader_epoch < self.epoch
            answer.error_code = ErrorCode.FENCED_LEADER_EPOCH if behind else ErrorCode.UNKNOWN_LEADER_EPOCH
        elif asked.fetch_offset < self.start:
            answer.snapshot_id = FetchResponse.SnapshotId(self.start, self.log[self.start - 1].epoch)
        else:
            epoch, end = end_of_epoch(self.log, asked.last_fetched_epoch)
            if asked.fetch_offset and (epoch != asked.last_fetched_epoch or end < asked.fetch_offset):
                answer.diverging_epoch = FetchResponse.EpochEndOffset(epoch, end)
            else:
                answer.records = encoded(self.log[asked.fetch_offset : asked.fetch_offset + 4])
        return FetchResponse(
            responses=[FetchResponse.FetchableTopicResponse(partitions=[answer])], node_endpoints=nodes
        )

    def snapshot(self, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
        asked = request.topics[0].partitions[0]
        answer = FetchSnapshotResponse.PartitionSnapshot()
        answer.current_leader = FetchSnapshotResponse.LeaderIdAndEpoch(self.leader, self.epoch)
        if asked.current_leader_epoch != self.epoch:
            answer.error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif asked.snapshot_id.end_offset != self.start:
            answer.error_code = ErrorCode.SNAPSHOT_NOT_FOUND
        else:
            whole = encoded(self.log[: self.start])
            answer.size, answer.position = len(whole), asked.position
            answer.unaligned_records = whole[asked.position : asked.position + 5]
        return FetchSnapshotResponse(topics=[FetchSnapshotResponse.TopicSnapshot(partitions=[answer])])


def encoded(entries: list[Entry]) -> bytes:
    return b"".join(bytes((one.epoch, one.value >> 8, one.value & 255)) for one in entries)


def decoded(data: bytes) -> list[Entry]:
    return [Entry(data[i], data[i + 1] << 8 | data[i + 2]) for i in range(0, len(data), 3)]


@pytest.mark.parametrize("part", range(3))
def test_observer_follows_a_quorum_whatever_happens(part: int) -> None:
    for seed in range(part * SEEDS // 3, (part + 1) * SEEDS // 3):
        follow(seed)


def follow(seed: int) -> None:
    """One run. ``follow(seed)`` replays it."""
    chance = random.Random(seed)
    quorum = Quorum(chance)
    known = KnownControllers([], {0: Address("127.0.0.1", 9000), 1: Address("127.0.0.1", 9001)})
    copy: list[Entry] = []
    observer = MetadataObserver(known, 7, CLUSTER, bytes(16), lambda epoch: end_of_epoch(copy, epoch))
    committed: list[Entry] = []
    piece = b""

    def exchange() -> None:
        nonlocal piece
        request = observer.request(len(copy), copy[-1].epoch if copy else 0)
        if chance.random() < 0.1:
            observer.lost_connection()
            return
        if isinstance(request, FetchRequest):
            step = observer.take_fetch(quorum.answer(request))
        else:
            step = observer.take_snapshot(quorum.snapshot(request))
        assert not isinstance(step, Fatal), f"seed {seed}: {step}"
        if isinstance(step, Append):
            copy.extend(decoded(step.records))
        elif isinstance(step, Truncate):
            assert step.offset >= observer.high_watermark, f"seed {seed}"
            del copy[step.offset :]
        elif isinstance(step, SnapshotPiece):
            piece = (piece if step.position else b"") + step.records
            if step.is_last:
                copy[:] = decoded(piece)
                assert len(copy) == step.snapshot_id.end_offset
        applied = copy[: observer.high_watermark]
        assert applied[: len(committed)] == committed[: len(applied)], f"seed {seed}: applied records changed"
        if len(applied) > len(committed):
            committed[:] = applied
        assert observer.high_watermark <= quorum.high_watermark, f"seed {seed}"

    for _ in range(STEPS):
        chance.choice((quorum.write, quorum.write, quorum.replicate, quorum.replicate, exchange, exchange, exchange))()
        if chance.random() < 0.05:
            quorum.replicate()
            quorum.elect()
        if chance.random() < 0.05:
            quorum.compact()
    quorum.write()
    while quorum.high_watermark < len(quorum.log):
        quorum.replicate()
    for _ in range(3 * len(quorum.log) + 200):
        exchange()
    assert copy == quorum.log, f"seed {seed}: the copy differs from the leader's log"
    assert observer.high_watermark == len(copy), f"seed {seed}"
    assert observer.is_known


def observing(high_watermark: int = 0) -> tuple[MetadataObserver, KnownControllers]:
    known = KnownControllers([Address("127.0.0.1", 9000)], {0: Address("127.0.0.1", 9000)})
    return MetadataObserver(known, 7, CLUSTER, b"d" * 16, lambda epoch: (epoch, 10), high_watermark), known


def fetched(**fields: object) -> FetchResponse:
    data = FetchResponse.PartitionData()
    for name, value in fields.items():
        setattr(data, name, value)
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(partitions=[data])])


def test_first_request_says_what_kafkas_brokers_say() -> None:
    observer, _ = observing()
    request = observer.request(0, 0)
    assert isinstance(request, FetchRequest)
    partition = request.topics[0].partitions[0]
    assert (request.cluster_id, request.replica_state.replica_id, request.replica_state.replica_epoch) == (
        CLUSTER,
        7,
        -1,
    )
    assert (partition.fetch_offset, partition.last_fetched_epoch, partition.high_watermark) == (0, 0, -1)
    assert (request.max_wait_ms, request.session_epoch, partition.replica_directory_id) == (500, -1, b"d" * 16)


def test_another_clusters_controllers_are_fatal() -> None:
    observer, _ = observing()
    step = observer.take_fetch(FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID))
    assert isinstance(step, Fatal)
    assert CLUSTER in step.reason


def test_divergence_below_the_high_watermark_is_fatal() -> None:
    observer, _ = observing(high_watermark=20)
    step = observer.take_fetch(fetched(diverging_epoch=FetchResponse.EpochEndOffset(3, 9)))
    assert isinstance(step, Fatal)
    assert "below the high watermark 20" in step.reason


@pytest.mark.parametrize(("end_offset", "kept"), [(0, 0), (4, 4), (30, 20)])
def test_leader_without_an_epoch_so_low_names_epoch_0_and_its_offset_counts(end_offset: int, kept: int) -> None:
    """The observer's log has 20 records; those up to offset 10 are in the given epochs (``observing``)."""
    observer, _ = observing()
    observer.request(20, 3)
    assert observer.take_fetch(fetched(diverging_epoch=FetchResponse.EpochEndOffset(0, end_offset))) == Truncate(kept)


def test_epoch_0_below_the_high_watermark_is_fatal() -> None:
    observer, _ = observing(high_watermark=5)
    observer.request(20, 3)
    assert isinstance(observer.take_fetch(fetched(diverging_epoch=FetchResponse.EpochEndOffset(0, 4))), Fatal)


def test_standby_names_the_leader_and_it_is_asked_at_once() -> None:
    observer, known = observing()
    response = fetched(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=FetchResponse.LeaderIdAndEpoch(5, 9))
    response.node_endpoints = [FetchResponse.NodeEndpoint(5, "127.0.0.1", 9005)]
    reason = "127.0.0.1:9006 is not active, and names node 5 as the active controller"
    assert observer.take_fetch(response, Address("127.0.0.1", 9006)) == Retry(0, reason)
    assert known.active == Address("127.0.0.1", 9005)


def test_standby_that_knows_no_leader_is_quoted() -> None:
    observer, _ = observing()
    response = fetched(
        error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=FetchResponse.LeaderIdAndEpoch(-1, 9)
    )
    step = observer.take_fetch(response, Address("127.0.0.1", 9006))
    assert isinstance(step, Retry)
    assert step.reason.startswith("127.0.0.1:9006 knows no active controller")


def test_snapshot_that_is_gone_is_given_up() -> None:
    observer, _ = observing()
    observer.take_fetch(fetched(snapshot_id=FetchResponse.SnapshotId(40, 2)))
    request = observer.request(0, 0)
    assert isinstance(request, FetchSnapshotRequest)
    answer = FetchSnapshotResponse.PartitionSnapshot(error_code=ErrorCode.SNAPSHOT_NOT_FOUND)
    step = observer.take_snapshot(
        FetchSnapshotResponse(topics=[FetchSnapshotResponse.TopicSnapshot(partitions=[answer])])
    )
    assert isinstance(step, Retry)
    assert isinstance(observer.request(0, 0), FetchRequest)


def test_piece_of_another_place_is_not_written() -> None:
    observer, _ = observing()
    observer.take_fetch(fetched(snapshot_id=FetchResponse.SnapshotId(40, 2)))
    answer = FetchSnapshotResponse.PartitionSnapshot(size=100, position=50, unaligned_records=b"x")
    step = observer.take_snapshot(
        FetchSnapshotResponse(topics=[FetchSnapshotResponse.TopicSnapshot(partitions=[answer])])
    )
    assert isinstance(step, Retry)


def test_snapshot_raises_the_high_watermark() -> None:
    observer, _ = observing()
    observer.take_fetch(fetched(snapshot_id=FetchResponse.SnapshotId(40, 2)))
    answer = FetchSnapshotResponse.PartitionSnapshot(size=3, unaligned_records=b"abc")
    step = observer.take_snapshot(
        FetchSnapshotResponse(topics=[FetchSnapshotResponse.TopicSnapshot(partitions=[answer])])
    )
    assert step == SnapshotPiece(SnapshotId(40, 2), 0, b"abc", is_last=True)
    assert observer.high_watermark == 40
