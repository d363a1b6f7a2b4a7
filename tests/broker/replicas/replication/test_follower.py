"""The follower with a model of leaders: elections that lose records, retention, late answers. Seeded."""

import random
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from odradek.broker.replicas.replication.follower import (
    AppendToCopy,
    EndOfEpoch,
    Fail,
    FetchPosition,
    FollowedPartition,
    ListOffsets,
    Pause,
    Step,
    StopFetching,
    TruncateCopy,
    TruncateFully,
)
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.records.batch import iterate_headers
from odradek.protocol.records.buffers import Buffer
from odradek.protocol.records.builder import BatchBuilder

SEEDS = 200
STEPS = 150
TOPIC = bytes(15) + b"\x07"


class Entry(NamedTuple):
    """A batch of one record: its leader epoch and its value."""

    epoch: int
    value: int


@dataclass
class ModelLog:
    """A log of one-record batches from ``start`` on."""

    start: int = 0
    entries: list[Entry] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.start + len(self.entries)

    @property
    def last_epoch(self) -> int:
        return self.entries[-1].epoch if self.entries else -1

    def end_of_epoch(self, epoch: int) -> tuple[int, int] | None:
        """``LeaderEpochFileCache.endOffsetFor``."""
        if not self.entries or epoch > self.last_epoch:
            return None
        found = [(one.epoch, self.start + place + 1) for place, one in enumerate(self.entries) if one.epoch <= epoch]
        return found[-1] if found else (epoch, self.start)

    def truncate(self, offset: int) -> None:
        del self.entries[max(0, offset - self.start) :]

    def batches(self, offset: int, count: int) -> bytes:
        return b"".join(
            batch(offset + place, one) for place, one in enumerate(self.entries[offset - self.start :][:count])
        )


def batch(offset: int, entry: Entry) -> bytes:
    builder = BatchBuilder(partition_leader_epoch=entry.epoch)
    builder.append(entry.value, None, b"")
    builder.move_to(offset)
    return bytes(builder.build())


@dataclass
class Cluster:
    """Two possible leaders. An election may lose records that only the old leader had (acks=1)."""

    chance: random.Random
    leaders: tuple[ModelLog, ModelLog] = field(default_factory=lambda: (ModelLog(), ModelLog()))
    leading: int = 0
    epoch: int = 0
    written: int = 0

    @property
    def log(self) -> ModelLog:
        return self.leaders[self.leading]

    def write(self) -> None:
        self.written += 1
        self.log.entries.append(Entry(self.epoch, self.written))

    def elect(self) -> None:
        """Elects the other one, with a prefix, perhaps a short one, of the log that both had."""
        other = self.leaders[1 - self.leading]
        common = self.chance.randint(self.log.start, self.log.end)
        other.start, other.entries = self.log.start, self.log.entries[: common - self.log.start]
        self.leading, self.epoch = 1 - self.leading, self.epoch + 1

    def retain(self) -> None:
        offset = self.chance.randint(self.log.start, self.log.end)
        del self.log.entries[: offset - self.log.start]
        self.log.start = offset

    def answer(self, asked: FetchRequest.FetchPartition, epoch: int) -> FetchResponse.PartitionData:
        """``Partition.readRecords`` for a follower."""
        log, answer = self.log, FetchResponse.PartitionData(asked.partition)
        own = log.end_of_epoch(asked.last_fetched_epoch) if asked.last_fetched_epoch >= 0 else (-1, asked.fetch_offset)
        if epoch != self.epoch:
            late = epoch < self.epoch
            answer.error_code = ErrorCode.FENCED_LEADER_EPOCH if late else ErrorCode.UNKNOWN_LEADER_EPOCH
        elif own is None:
            answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        elif own[0] < asked.last_fetched_epoch or own[1] < asked.fetch_offset:
            answer.diverging_epoch = FetchResponse.EpochEndOffset(*own)
        elif not log.start <= asked.fetch_offset <= log.end:
            answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            answer.records = log.batches(asked.fetch_offset, self.chance.randint(0, 4))
        answer.high_watermark, answer.log_start_offset = log.end, log.start
        return answer


def append(copy: ModelLog, records: Buffer) -> None:
    for position, header in iterate_headers(records):
        assert header.base_offset == copy.end, "batches follow the end of the copy"
        copy.entries.append(Entry(header.partition_leader_epoch, header.base_timestamp))
        assert position >= 0


@pytest.mark.parametrize("part", range(4))
def test_copy_becomes_the_leaders_log_whatever_happened(part: int) -> None:
    for seed in range(part * SEEDS // 4, (part + 1) * SEEDS // 4):
        try:
            follow(seed)
        except AssertionError as error:
            raise AssertionError(f"follow({seed}) replays it: {error}") from error


class Follower:
    """A follower of the cluster, with answers that are late."""

    def __init__(self, cluster: Cluster, chance: random.Random) -> None:
        self.cluster, self.chance = cluster, chance
        self.copy = ModelLog()
        self.partition = FollowedPartition(TOPIC, 0, 0, 1_000)
        self.late: list[tuple[FetchResponse.PartitionData, FetchPosition]] = []

    def fetch(self) -> None:
        copy = self.copy
        if not self.partition.is_due(0):
            return
        request = self.partition.request(copy.end, copy.last_epoch, copy.start)
        answer = self.cluster.answer(request, self.partition.leader_epoch)
        if self.chance.random() < 0.1:
            self.late.append((answer, self.position))
        else:
            self.carry_out(self.step_after(answer, self.position))

    @property
    def position(self) -> FetchPosition:
        return FetchPosition(self.copy.end, self.partition.leader_epoch)

    def step_after(self, answer: FetchResponse.PartitionData, fetched_at: FetchPosition) -> Step | None:
        end_of_epoch: EndOfEpoch = self.copy.end_of_epoch
        return self.partition.process_partition_data(answer, fetched_at, self.copy.end, end_of_epoch)

    def carry_out(self, step: Step | None) -> None:
        copy = self.copy
        if isinstance(step, AppendToCopy):
            append(copy, step.records)
            if copy.start < step.log_start_offset <= copy.end:
                del copy.entries[: step.log_start_offset - copy.start]
                copy.start = step.log_start_offset
        elif isinstance(step, TruncateCopy):
            copy.truncate(step.offset)
        elif isinstance(step, TruncateFully):
            copy.start, copy.entries = step.offset, []
        elif isinstance(step, ListOffsets):
            self.carry_out(self.partition.out_of_range(copy.end, self.cluster.log.start, self.cluster.log.end))

    def take_late(self) -> None:
        """The oldest late answer arrives: it is used only if nothing has changed since its request."""
        answer, fetched_at = self.late.pop(0)
        before = list(self.copy.entries), self.copy.end
        step = self.step_after(answer, fetched_at)
        if fetched_at != self.position:
            assert step is None, "an old answer was used"
            assert before == (self.copy.entries, self.copy.end)
        else:
            self.carry_out(step)

    def hear(self) -> None:
        """The metadata names the leader of the newest epoch."""
        if self.partition.leader_epoch != self.cluster.epoch:
            self.partition = FollowedPartition(TOPIC, 0, self.cluster.epoch, 1_000)


def follow(seed: int) -> None:
    """One life. ``follow(seed)`` replays it."""
    chance = random.Random(seed)
    cluster = Cluster(chance)
    follower = Follower(cluster, chance)
    fetch = follower.fetch
    for _ in range(STEPS):
        chance.choice((cluster.write, cluster.write, fetch, fetch, fetch, follower.hear))()
        if chance.random() < 0.05:
            cluster.elect()
        if chance.random() < 0.03:
            cluster.retain()
        if follower.late and chance.random() < 0.3:
            follower.take_late()
        assert follower.partition.leader_epoch <= cluster.epoch
    follower.hear()
    for _ in range(300):
        fetch()
    log, copy = cluster.log, follower.copy
    kept = max(copy.start, log.start)
    assert copy.end == log.end, f"seed {seed}"
    assert copy.entries[kept - copy.start :] == log.entries[kept - log.start :], f"seed {seed}"


def processed(answer: FetchResponse.PartitionData, *, epoch: int = 5, end: int = 10) -> Step | None:
    partition = FollowedPartition(TOPIC, 0, epoch, 1_000)
    return partition.process_partition_data(answer, FetchPosition(end, epoch), end, lambda asked: (min(asked, 3), 7))


def test_nothing_of_a_later_leader_epoch_is_appended() -> None:
    """KAFKA-18723: a leader that was elected again has appended in its new epoch before it answers the old request."""
    records = batch(10, Entry(4, 1)) + batch(11, Entry(5, 2)) + batch(12, Entry(6, 3))
    step = processed(FetchResponse.PartitionData(records=records, high_watermark=11, log_start_offset=2))
    assert step == AppendToCopy(batch(10, Entry(4, 1)) + batch(11, Entry(5, 2)), 11, 2)


def test_batch_that_is_cut_waits_for_the_next_answer() -> None:
    records = batch(10, Entry(5, 1)) + batch(11, Entry(5, 2))[:-3]
    step = processed(FetchResponse.PartitionData(records=records))
    assert isinstance(step, AppendToCopy)
    assert step.records == batch(10, Entry(5, 1))


@pytest.mark.parametrize(
    ("epoch", "leaders_end", "offset"),
    [(3, 9, 7), (3, 5, 5), (2, 9, 7), (4, 9, 7)],
    ids=["our end is earlier", "the leader's end is earlier", "another epoch of ours", "an epoch that we lack"],
)
def test_divergence_truncates_to_where_the_logs_part(epoch: int, leaders_end: int, offset: int) -> None:
    diverging = FetchResponse.EpochEndOffset(epoch, leaders_end)
    assert processed(FetchResponse.PartitionData(diverging_epoch=diverging)) == TruncateCopy(offset)


def test_errors() -> None:
    def refused(code: int) -> Step | None:
        return processed(FetchResponse.PartitionData(error_code=code))

    assert refused(ErrorCode.OFFSET_OUT_OF_RANGE) == ListOffsets()
    assert refused(ErrorCode.KAFKA_STORAGE_ERROR) == Fail("it answers KAFKA_STORAGE_ERROR")
    assert refused(9_999) == Fail("it answers error 9999"), "an error of a newer Kafka"
    partition = FollowedPartition(TOPIC, 0, 5, 1_000)
    answer = FetchResponse.PartitionData(error_code=ErrorCode.FENCED_LEADER_EPOCH)
    assert isinstance(
        partition.process_partition_data(answer, FetchPosition(10, 5), 10, lambda epoch: None), StopFetching
    )
    assert not partition.is_due(10**9), "nothing is asked before the metadata names the new epoch"


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ],
)
def test_pause_is_short_while_the_leader_may_lack_news_and_grows(code: ErrorCode) -> None:
    """It grows up to replica.fetch.backoff.ms, and is short again after an answer."""
    partition = FollowedPartition(TOPIC, 0, 5, 100)

    def pause(error_code: ErrorCode) -> int:
        answer = FetchResponse.PartitionData(error_code=error_code)
        step = partition.process_partition_data(answer, FetchPosition(10, 5), 10, lambda epoch: None)
        return step.delay_ms if isinstance(step, Pause) else 0

    assert [pause(code) for _ in range(5)] == [20, 40, 80, 100, 100]
    assert [pause(ErrorCode.NONE), pause(code)] == [0, 20]


def test_copy_beyond_the_leaders_log_is_cut_and_one_before_it_begins_again() -> None:
    partition = FollowedPartition(TOPIC, 0, 5, 1_000)
    assert partition.out_of_range(10, earliest=0, latest=6) == TruncateCopy(6)
    assert partition.out_of_range(10, earliest=20, latest=30) == TruncateFully(20)
    assert isinstance(partition.out_of_range(10, earliest=5, latest=30), Fail)
