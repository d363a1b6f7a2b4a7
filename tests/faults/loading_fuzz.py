"""Loads logs with mutated records and then requests everything in them, in memory and in virtual time.

    GroupLives(seed).run(life)            # one coordinator's life, by the numbers that a failure prints

A life is one test run: the coordinators' own loader loads about a hundred mutated records. Records that it refuses are
left out; each refusal must be a ProtocolError or a KafkaError (another exception means that a check is missing). The
remaining log loads. Then clients ask about every group or transactional id, and time passes. No request may raise, and
every answer must be encodable. At the end the broker is killed, and the log with the records that it has added must
load again.
"""

import logging
import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, cast

from faults.lives import NOW_MS, RECORDS_PER_LIFE, SeededLives
from faults.metadata_lives import MetadataLives
from odradek.broker.coordinator.loading import UnloadableRecordError, load_steps
from odradek.broker.coordinator.shard import ShardState
from odradek.broker.replicas.partitions import Partitions
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.codec import encode
from odradek.protocol.errors import KafkaError, ProtocolError
from odradek.protocol.messages import consumer_groups, groups, share_groups, streams_groups, transactions
from odradek.protocol.messages.structure import Message
from odradek.protocol.names.topics import TRANSACTION_STATE_TOPIC
from odradek.protocol.records.builder import BatchBuilder
from odradek.protocol.records.control import ControlRecordType, EndTransactionMarker, encode_end_transaction_batch
from support.data.mutated_records import (
    GROUPS,
    INT32S,
    MEMBERS,
    TOPICS,
    TRANSACTIONAL_IDS,
    MutatedRecords,
    group_types,
    subscription,
    transaction_types,
)
from support.groups.harness import Harness
from support.transactions.harness import TransactionHarness

PRODUCERS = 3
"""The number of producer ids in the records and requests."""
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


class Batches:
    """A log of single batches that is read once, from an offset on."""

    def __init__(self, batches: list[bytes]) -> None:
        self._batches = iter(batches)

    def read_batches(self) -> Iterator[bytes]:
        yield from self._batches

    def place_of(self, offset: int) -> str:
        return "memory"


def loadable(core: Any, batches: list[bytes], now_ms: int) -> list[bytes]:
    """The batches that a core accepts, in order. Raises every exception that is not a refusal."""
    kept = []
    for batch in batches:
        try:
            for _ in load_steps(Batches([batch]), core, now_ms):  # type: ignore[arg-type]
                pass
        except UnloadableRecordError as refusal:
            if not isinstance(refusal.__cause__, (ProtocolError, KafkaError)):
                raise
        else:
            kept.append(batch)
    return kept


class Lives(SeededLives):
    """Lives of the core of a coordinator."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.records = self._mutated()

    def _live(self) -> None:
        fresh = self._start([])
        batches = loadable(fresh, [self._batch() for _ in range(RECORDS_PER_LIFE)], NOW_MS)
        self._start(batches)
        self._expect_active("after mutated records")
        self._use()
        self._restart()
        self._expect_active("after what was written over mutated records")

    def _batch(self) -> bytes:
        rng = self.random
        producer_id = rng.randrange(PRODUCERS) if rng.random() < 0.1 else -1
        if producer_id >= 0 and rng.random() < 0.3:
            kind = rng.choice((ControlRecordType.COMMIT, ControlRecordType.ABORT))
            return encode_end_transaction_batch(
                EndTransactionMarker(kind, 0), timestamp=NOW_MS, producer_id=producer_id, producer_epoch=0
            )
        if producer_id >= 0:
            builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        else:
            builder = BatchBuilder()
        builder.append(rng.choice((NOW_MS, -1, 0, 2**63 - 1)), *self.records.next())
        return builder.build()

    def _answered(self, version: int) -> Callable[[Any], None]:
        """Takes an answer at any time, which must be encodable."""
        self.asked += 1

        def take(response: Message) -> None:
            encode(response, version)

        return take

    @abstractmethod
    def _mutated(self) -> MutatedRecords: ...

    @abstractmethod
    def _start(self, batches: list[bytes]) -> Any:
        """Starts a broker on a log; returns its core."""

    @abstractmethod
    def _restart(self) -> None:
        """Kills the broker and starts it on the stored records."""

    @abstractmethod
    def _expect_active(self, when: str) -> None: ...

    @abstractmethod
    def _use(self) -> None:
        """Sends requests about everything, and lets time pass."""


class GroupLives(Lives):
    """Lives of a partition of ``__consumer_offsets``."""

    NAME = "groups"

    def _mutated(self) -> MutatedRecords:
        return MutatedRecords(self.random, group_types)

    def _start(self, batches: list[bytes]) -> Any:
        self.harness = harness = Harness()
        harness.timers.now_ms = NOW_MS
        for batch in batches:
            harness.log.append(batch, NOW_MS)
        self._restart()
        return harness.coordinator.shard_of("").core

    def _restart(self) -> None:
        self.harness.start()
        log = SimpleNamespace(producer_state=SimpleNamespace(has_open_transaction=lambda *_: True))
        self.harness.broker.partitions = cast(Partitions, SimpleNamespace(get=lambda *_: SimpleNamespace(log=log)))

    def _expect_active(self, when: str) -> None:
        assert self.harness.coordinator.shard_of("").state is ShardState.ACTIVE, f"the partition does not load {when}"

    def _use(self) -> None:
        self._look()
        for _ in range(60):
            self._ask(*self._request(self.random.choice(GROUPS)))
            if self.random.random() < 0.1:
                self.harness.timers.advance(self.random.choice((100, 5_000, 60_000)))
        self.harness.coordinator.topics_changed({"t"}, True)
        self.harness.timers.advance(8 * DAY_MS if self.random.random() < 0.01 else HOUR_MS // 6)
        self.harness.coordinator.topics_deleted({"u"})
        self._look()

    def _look(self) -> None:
        self._ask(ApiKey.LIST_GROUPS, 5, groups.ListGroupsRequest())
        for group in GROUPS:
            self._ask(ApiKey.DESCRIBE_GROUPS, 6, groups.DescribeGroupsRequest([group]))
            describe = consumer_groups.ConsumerGroupDescribeRequest([group])
            self._ask(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, describe)
            self._ask(ApiKey.SHARE_GROUP_DESCRIBE, 1, share_groups.ShareGroupDescribeRequest([group]))
            self._ask(ApiKey.STREAMS_GROUP_DESCRIBE, 0, streams_groups.StreamsGroupDescribeRequest([group]))
            everything = share_groups.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group)
            everything.topics = None
            offsets = share_groups.DescribeShareGroupOffsetsRequest([everything])
            self._ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 1, offsets)
            wanted = [groups.OffsetFetchRequest.OffsetFetchRequestTopics(name, bytes(16), [*INT32S]) for name in TOPICS]
            for topics in (wanted, None):
                one = groups.OffsetFetchRequest.OffsetFetchRequestGroup(group, topics=topics)
                self._ask(ApiKey.OFFSET_FETCH, 9, groups.OffsetFetchRequest(groups=[one]))

    def _ask(self, api: ApiKey, version: int, request: Any) -> None:
        self.harness.send("fuzz", api, version, request, self._answered(version))

    def _request(self, group: str) -> tuple[ApiKey, int, Any]:
        rng = self.random
        member = rng.choice((*MEMBERS, ""))
        epoch = rng.choice((-2, -1, 0, 1, 2, 3))
        instance = rng.choice((None, None, "i"))
        topic, partition = rng.choice(TOPICS), rng.choice(INT32S)
        match rng.randrange(14):
            case 0:
                protocols = [groups.JoinGroupRequest.JoinGroupRequestProtocol("range", subscription(rng))]
                join = groups.JoinGroupRequest(group, 10_000, 20_000, member, instance, "consumer", protocols)
                return ApiKey.JOIN_GROUP, rng.choice((3, 9)), join
            case 1:
                sync = groups.SyncGroupRequest(group, epoch, member, instance)
                return ApiKey.SYNC_GROUP, 4, sync
            case 2:
                return ApiKey.HEARTBEAT, 4, groups.HeartbeatRequest(group, epoch, member, instance)
            case 3:
                leaving = [groups.LeaveGroupRequest.MemberIdentity(member, instance)]
                return ApiKey.LEAVE_GROUP, 5, groups.LeaveGroupRequest(group, members=leaving)
            case 4:
                committed = groups.OffsetCommitRequest.OffsetCommitRequestPartition(partition, 5)
                topics = [groups.OffsetCommitRequest.OffsetCommitRequestTopic(topic, partitions=[committed])]
                return ApiKey.OFFSET_COMMIT, 9, groups.OffsetCommitRequest(group, epoch, member, instance, -1, topics)
            case 5:
                doomed = groups.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition)
                deleted = [groups.OffsetDeleteRequest.OffsetDeleteRequestTopic(topic, [doomed])]
                return ApiKey.OFFSET_DELETE, 0, groups.OffsetDeleteRequest(group, deleted)
            case 6:
                return ApiKey.DELETE_GROUPS, 2, groups.DeleteGroupsRequest([group])
            case 7:
                pending = transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition, 5)
                commits = [transactions.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(topic, partitions=[pending])]
                commit = transactions.TxnOffsetCommitRequest("x", group, rng.randrange(PRODUCERS), 0, epoch, member)
                commit.topics = commits
                return ApiKey.TXN_OFFSET_COMMIT, 3, commit
            case 8:
                names = rng.sample(TOPICS, 2) if epoch == 0 or rng.random() < 0.2 else None
                sharing = share_groups.ShareGroupHeartbeatRequest(group, member or "m9", epoch, instance, names)
                return ApiKey.SHARE_GROUP_HEARTBEAT, 1, sharing
            case 9:
                kind = share_groups.AlterShareGroupOffsetsRequest
                start = kind.AlterShareGroupOffsetsRequestPartition(partition, 5)
                altered = kind(group, [kind.AlterShareGroupOffsetsRequestTopic(topic, [start])])
                return ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, altered
            case 10:
                forgotten = share_groups.DeleteShareGroupOffsetsRequest.DeleteShareGroupOffsetsRequestTopic(topic)
                forget = share_groups.DeleteShareGroupOffsetsRequest(group, [forgotten])
                return ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, forget
            case 11 | 12:
                return ApiKey.STREAMS_GROUP_HEARTBEAT, 1, self._streams_heartbeat(group, member or "m9", epoch)
            case _:
                beat = consumer_groups.ConsumerGroupHeartbeatRequest(group, member or "m9", epoch, instance)
                if epoch == 0:
                    beat.rebalance_timeout_ms, beat.topic_partitions = 10_000, []
                    beat.subscribed_topic_names = rng.sample(TOPICS, 2)
                    beat.subscribed_topic_regex = rng.choice((None, "t.*"))
                return ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, beat

    def _streams_heartbeat(self, group: str, member: str, epoch: int) -> streams_groups.StreamsGroupHeartbeatRequest:
        rng, kind = self.random, streams_groups.StreamsGroupHeartbeatRequest
        beat = kind(group, member, epoch, instance_id=rng.choice((None, None, "i")))
        if epoch == 0 or rng.random() < 0.5:
            beat.active_tasks, beat.standby_tasks, beat.warmup_tasks = [], [], []
        if epoch == 0:
            internal = [kind.TopicInfo(rng.choice(("changelog", "u")))]
            part = kind.Subtopology("0", rng.sample(TOPICS, 2), state_changelog_topics=internal)
            beat.topology = kind.Topology(rng.choice((0, 1)), [part])
            beat.process_id, beat.rebalance_timeout_ms = rng.choice(("p", "q")), 10_000
            beat.user_endpoint = rng.choice((None, kind.Endpoint("here", 80)))
        elif beat.active_tasks is not None and rng.random() < 0.5:
            beat.active_tasks = [kind.TaskIds("0", [rng.choice(INT32S)])]
            beat.task_offsets = [kind.TaskOffset("0", rng.choice(INT32S), 5)]
        return beat


class TransactionLives(Lives):
    """Lives of a partition of ``__transaction_state``."""

    NAME = "transactions"

    def _mutated(self) -> MutatedRecords:
        return MutatedRecords(self.random, transaction_types)

    def _start(self, batches: list[bytes]) -> Any:
        self.harness = harness = TransactionHarness(transaction_version=self.random.choice((1, 2)))
        harness.timers.now_ms = NOW_MS
        for batch in batches:
            harness.partitions[TRANSACTION_STATE_TOPIC, 0].append(batch, NOW_MS)
        harness.start()
        return harness.coordinator.shard_of("").core

    def _restart(self) -> None:
        self.harness.start()

    def _expect_active(self, when: str) -> None:
        for coordinator in (self.harness.coordinator, self.harness.broker.group_coordinator):
            assert coordinator.shard_of("").state is ShardState.ACTIVE, f"the partition does not load {when}"

    def _use(self) -> None:
        self._look()
        for _ in range(60):
            self._ask(*self._request(self.random.choice(TRANSACTIONAL_IDS)))
            if self.random.random() < 0.1:
                self.harness.timers.advance(self.random.choice((100, 5_000, 60_000)))
        self.harness.timers.advance(8 * DAY_MS if self.random.random() < 0.01 else HOUR_MS // 6)
        self._look()

    def _look(self) -> None:
        self._ask(ApiKey.LIST_TRANSACTIONS, 1, transactions.ListTransactionsRequest())
        described = transactions.DescribeTransactionsRequest([*TRANSACTIONAL_IDS])
        self._ask(ApiKey.DESCRIBE_TRANSACTIONS, 0, described)

    def _ask(self, api: ApiKey, version: int, request: Any) -> None:
        self.harness.send(api, version, request, self._answered(version))

    def _request(self, name: str) -> tuple[ApiKey, int, Any]:
        rng = self.random
        known = self.harness.core.transactions.get(name)
        producer = (rng.randrange(5), rng.choice((0, 1, 32766, 32767)))
        if known is not None and rng.random() < 0.7:
            producer = (known.producer_id, known.producer_epoch)
        match rng.randrange(4):
            case 0:
                return ApiKey.INIT_PRODUCER_ID, 5, transactions.InitProducerIdRequest(name, 60_000, *producer)
            case 1:
                return ApiKey.INIT_PRODUCER_ID, 5, transactions.InitProducerIdRequest(name, 60_000)
            case 2:
                topics = [transactions.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic("t", [rng.choice(INT32S)])]
                added = transactions.AddPartitionsToTxnRequest(
                    v3_and_below_transactional_id=name,
                    v3_and_below_producer_id=producer[0],
                    v3_and_below_producer_epoch=producer[1],
                    v3_and_below_topics=topics,
                )
                return ApiKey.ADD_PARTITIONS_TO_TXN, 3, added
            case _:
                return (
                    ApiKey.END_TXN,
                    rng.choice((3, 5)),
                    transactions.EndTxnRequest(name, *producer, rng.random() < 0.5),
                )


KINDS: dict[str, type[Lives] | type[MetadataLives]] = {
    one.NAME: one for one in (GroupLives, TransactionLives, MetadataLives)
}


def main(kind: str, seed: str, life: str) -> None:
    """Replays one life."""
    logging.basicConfig(level=logging.INFO)
    KINDS[kind](int(seed)).run(int(life))


if __name__ == "__main__":
    main(*sys.argv[1:])
