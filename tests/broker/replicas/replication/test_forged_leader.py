"""A leader that answers anything: no answer ends the follower, or stops another partition. Seeded.

``ODRADEK_FORGED_SEED=7 pytest tests/broker/replicas/replication/test_forged_leader.py -k given_seed`` replays one seed.
"""

import asyncio
import logging
import os
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from odradek.broker.config.server_config import ServerConfig
from odradek.broker.metadata.image.image import BrokerRegistration, Endpoint, MetadataImage
from odradek.broker.metadata.publisher.published import PublishedMetadata
from odradek.broker.replicas.following import Following
from odradek.broker.replicas.group_commit import GroupCommit
from odradek.broker.replicas.replication.replica_fetchers import ReplicaFetchers
from odradek.broker.replicas.replication_throttle import FOLLOWER_KEYS, ReplicationQuota, ReplicationThrottle
from odradek.broker.timers.loop_timers import LoopTimers
from odradek.broker.timers.work import KINDS as KINDS_OF_WORK
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.protocol.messages.structure import Message
from odradek.storage.log.log import Log
from odradek.storage.log.log_config import LogConfig
from support.brokers.fake_node import SERVED, Answer, Changed, FakeNode
from support.eventually import eventually_in_loop

from .forged_answers import (
    EPOCH,
    KINDS,
    NOW_MS,
    OUT_OF_RANGE,
    Frame,
    Kind,
    Listed,
    ListedTopic,
    Offsets,
    Part,
    PartitionData,
    Records,
    TopicResponse,
    Whole,
    batch,
)

FORGED, HONEST = 2, 3
"""Broker ids of the two leaders."""
BATCHES = 8
A_FETCH = 2
"""The batches in one answer: the copies need some fetches."""
BAD, GOOD, ELSEWHERE = (bytes(15) + bytes([number]) for number in (7, 8, 9))
"""Topic ids: of the partition whose answers are forged, of another one there, and of one of the honest leader."""
NAMES = {BAD: "bad", GOOD: "good", ELSEWHERE: "elsewhere"}
MUTATIONS = int(os.environ.get("ODRADEK_FORGED_MUTATIONS", "1000"))
QUICK = "replica.fetch.backoff.ms=1\nreplica.fetch.wait.max.ms=20\nreplica.socket.timeout.ms=1000\n"


def honest(request: Message) -> FetchResponse | ListOffsetsResponse:
    """The answer of a leader with BATCHES batches of one record in each partition."""
    if isinstance(request, ListOffsetsRequest):
        (topic,) = request.topics
        (asked,) = topic.partitions
        answer = Listed(
            asked.partition_index, offset=0 if asked.timestamp == -2 else BATCHES, timestamp=asked.timestamp
        )
        return ListOffsetsResponse(topics=[ListedTopic(topic.name, [answer])])
    assert isinstance(request, FetchRequest)
    answers = [TopicResponse("", topic.topic_id, list(map(_part, topic.partitions))) for topic in request.topics]
    return FetchResponse(responses=answers)


def _part(asked: FetchRequest.FetchPartition) -> PartitionData:
    if not 0 <= asked.fetch_offset <= BATCHES:
        return PartitionData(asked.partition, OUT_OF_RANGE)
    offsets = range(asked.fetch_offset, min(asked.fetch_offset + A_FETCH, BATCHES))
    records = b"".join(map(batch, offsets))
    return PartitionData(asked.partition, high_watermark=BATCHES, log_start_offset=0, records=records)


class Leader:
    """Forges answers as long as ``is_forging`` says."""

    def __init__(self, kind: Kind, is_forging: Callable[[], bool]) -> None:
        self.forged = 0
        self._kind = kind
        self._is_forging = is_forging

    def answer(self, request: Message) -> Answer:
        response = honest(request)
        if not self._is_forging():
            return response
        kind = self._kind
        if isinstance(response, ListOffsetsResponse):
            if isinstance(kind, Offsets):
                self.forged += 1
                if kind.change is None:
                    return b""
                kind.change(response)
            return response
        if isinstance(kind, Frame):
            self.forged += 1
            return kind.raw if kind.change is None else Changed(response, kind.change)
        if isinstance(kind, Whole):
            self.forged += 1
            kind.change(response)
            return response
        assert isinstance(request, FetchRequest)
        for topic, asked in zip(response.responses, request.topics, strict=True):
            if topic.topic_id == BAD:
                self._forge(kind, topic.partitions[0], asked.partitions[0].fetch_offset)
        return response

    def _forge(self, kind: Records | Part | Offsets, data: PartitionData, offset: int) -> None:
        if isinstance(kind, Offsets):
            data.error_code, data.records = OUT_OF_RANGE, b""
            return
        self.forged += 1
        if isinstance(kind, Part):
            kind.change(data)
        elif not data.error_code:
            data.records = kind.bytes_at(offset)


class Follower:
    """The fetchers of a broker whose two leaders listen on these ports, with a copy of each topic."""

    def __init__(self, place: Path, ports: dict[int, int]) -> None:
        image = MetadataImage()
        for broker_id, port in ports.items():
            listeners = {"PLAINTEXT": Endpoint("PLAINTEXT", "127.0.0.1", port)}
            image.brokers[broker_id] = BrokerRegistration(
                broker_id, 17, bytes(16), listeners, {}, None, False, False, ()
            )
        metadata = cast(PublishedMetadata, SimpleNamespace(node_id=1, image=image))
        throttle = ReplicationThrottle(1, lambda: image, ReplicationQuota(11, 1_000), FOLLOWER_KEYS)
        commit = GroupCommit([], LoopTimers(asyncio.get_running_loop()), lambda: NOW_MS)
        config = ServerConfig.load(QUICK)
        self.fetchers = ReplicaFetchers(metadata, config, lambda: 17, throttle, commit, lambda: NOW_MS)
        self.logs: dict[bytes, Log] = {}
        for topic_id, name in NAMES.items():
            log = Log.open(place / f"{name}-0", LogConfig(), now_ms=NOW_MS)
            log.appender.append_as_follower(batch(0), NOW_MS)
            self.logs[topic_id] = log
            leader_id = HONEST if topic_id == ELSEWHERE else FORGED
            self.fetchers.follow(Following(name, topic_id, 0, leader_id, EPOCH, log, lambda size: None))

    def has_all(self, *topic_ids: bytes) -> bool:
        return all(self.logs[topic_id].log_end_offset == BATCHES for topic_id in topic_ids)

    def is_copy(self, topic_id: bytes) -> bool:
        stored = b"".join(path.read_bytes() for path in sorted(self.logs[topic_id].directory.glob("*.log")))
        return stored == b"".join(map(batch, range(BATCHES)))

    async def close(self) -> None:
        self.fetchers.close()
        await asyncio.sleep(0)
        for log in self.logs.values():
            log.close()


async def follow(place: Path, kind: Kind, *, may_differ: bool = False) -> None:
    """Forges until the copies that this kind does not concern are complete. Then all must be.

    ``may_differ``: a mutated frame may hold other records of any partition of this leader.
    """
    reached: list[Callable[[], bool]] = []
    concerned = (ELSEWHERE,) if isinstance(kind, Frame | Whole) else (GOOD, ELSEWHERE)
    leader = Leader(kind, lambda: leader.forged < 2 or not reached or not reached[0]())
    async with FakeNode(leader.answer, {**SERVED, ApiKey.LIST_OFFSETS: (1, 11)}) as forged, FakeNode(honest) as other:
        follower = Follower(place, {FORGED: forged.port, HONEST: other.port})
        reached.append(partial(follower.has_all, *concerned))
        try:
            await eventually_in_loop("the others are copied", lambda: leader.forged >= 2 and reached[0]())
            await eventually_in_loop("it heals", lambda: follower.has_all(BAD, GOOD, ELSEWHERE))
            await eventually_in_loop(
                "no failure is left", lambda: not any(one.has_failed for one in follower.fetchers.followed())
            )
            assert follower.is_copy(ELSEWHERE)
            assert may_differ or follower.is_copy(GOOD)
            assert may_differ or getattr(kind, "is_stored", False) or follower.is_copy(BAD)
        finally:
            await follower.close()


@pytest.mark.parametrize("name", KINDS)
async def test_a_forged_answer_stops_nothing_else(tmp_path: Path, name: str) -> None:
    await follow(tmp_path, KINDS[name])


def test_there_are_enough_kinds() -> None:
    assert len(KINDS) >= 51


async def test_failure_is_named_counted_and_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The log names leader, offset and cause; the metric counts the partition until it is copied again."""
    kind = KINDS["records-crc"]
    before = KINDS_OF_WORK["replica-fetch"].failures
    is_shown = asyncio.Event()
    leader = Leader(kind, lambda: not is_shown.is_set())
    async with FakeNode(leader.answer, SERVED) as forged, FakeNode(honest) as other:
        follower = Follower(tmp_path, {FORGED: forged.port, HONEST: other.port})
        failed = await eventually_in_loop(
            "it is shown", lambda: [one.topic for one in follower.fetchers.followed() if one.has_failed]
        )
        is_shown.set()
        await eventually_in_loop("it heals", lambda: follower.has_all(BAD, GOOD, ELSEWHERE))
        await follower.close()
    assert failed == ["bad"]
    assert KINDS_OF_WORK["replica-fetch"].failures > before
    lines = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert lines[0].startswith(
        "replica-fetch: bad-0 from broker 2 at offset 1: CORRUPT_MESSAGE: Record is corrupt (stored crc = 7"
    )
    assert lines[0].endswith("failure 1 in a row, fetching it again in 1 ms")


def mutation(seed: int) -> Kind:
    """A random change of an answer's bytes: some other bytes, some less, some more, or a number that is large."""
    chance = random.Random(seed)

    def change(data: bytes, first: int) -> bytes:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 2, 8))):
            place = chance.randrange(first, len(changed))
            how = chance.randrange(5)
            if how == 0:
                changed[place] = chance.randrange(256)
            elif how == 1:
                changed[place] ^= 1 << chance.randrange(8)
            elif how == 2:
                del changed[place : place + chance.randrange(1, 20)]
            elif how == 3:
                changed[place:place] = chance.randbytes(chance.randrange(1, 20))
            else:
                extreme = chance.choice((b"\x7f" + b"\xff" * 7, b"\xff" * 8, b"\x80" + bytes(7), bytes(8)))
                changed[place : place + 8] = extreme[: chance.choice((1, 2, 4, 8))]
            if len(changed) <= first:
                break
        return bytes(changed)

    if seed % 2:
        return Records(lambda offset: change(batch(offset) + batch(offset + 1), 0), is_stored=True)

    def frame(data: bytes) -> bytes:
        body = change(data, 8)[4:]
        return len(body).to_bytes(4, "big") + body

    return Frame(frame)


async def mutated(place: Path, seeds: range) -> None:
    for seed in seeds:
        try:
            await follow(place / str(seed), mutation(seed), may_differ=True)
        except BaseException:
            this_file = "tests/broker/replicas/replication/test_forged_leader.py"
            print(f"ODRADEK_FORGED_SEED={seed} pytest {this_file} -k given_seed")
            raise


async def test_mutated_answers_stop_nothing_else(tmp_path: Path) -> None:
    await mutated(tmp_path, range(30))


@pytest.mark.long
async def test_a_thousand_mutated_answers_stop_nothing_else(tmp_path: Path) -> None:
    await mutated(tmp_path, range(30, 30 + MUTATIONS))


async def test_given_seed(tmp_path: Path) -> None:
    await mutated(tmp_path, range(seed := int(os.environ.get("ODRADEK_FORGED_SEED", "0")), seed + 1))
