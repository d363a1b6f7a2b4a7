"""The group coordinator with large numbers. Prints measurements. Fails if a client gets an error or memory grows too
much.

``make test-long-group-scale``; processor time is the broker's own, so a busy machine changes it little.
"""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest

from odradek.protocol.codec.header import encode_request
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import HeartbeatRequest, OffsetFetchRequest
from odradek.protocol.messages.metadata import MetadataRequest
from scale.many_offsets import TOPIC, group_name, offset_of, write_offsets
from support.brokers.asking import Asking
from support.brokers.our_broker import OurBroker, resident_bytes
from support.brokers.processor_time import cpu_seconds
from support.eventually import eventually, eventually_in_loop
from support.groups.load import HEARTBEAT, HEARTBEAT_INTERVAL_S, Line, RawConsumer, RawMember

pytestmark = pytest.mark.long

MEMBERS = int(os.environ.get("SCALE_MEMBERS", "1000"))
PARTITIONS = 2 * MEMBERS
GROUPS = int(os.environ.get("SCALE_GROUPS", "5000"))
MEASURED_S = 60.0
OFFSETS = int(os.environ.get("SCALE_OFFSETS", "10000000"))
OFFSETS_A_GROUP = 1_000
BYTES_OF_AN_OFFSET = 150
LOADING_TIMEOUT_S = 3600.0
ANSWER_TIMEOUT_S = 600.0
MB = 10**6
CONNECTING_AT_ONCE = 100


async def opened(port: int, count: int) -> list[Line]:
    """Opens ``count`` connections, a hundred at a time."""
    lines: list[Line] = []
    while len(lines) < count:
        lines += await asyncio.gather(*(Line.open(port) for _ in range(min(CONNECTING_AT_ONCE, count - len(lines)))))
    return lines


class Member(Protocol):
    """The common interface of the members of both protocols."""

    generation: int
    assigned: list[int]

    async def join(self) -> None:
        """Joins the group."""

    async def live(self, leave: asyncio.Event) -> None:
        """Heartbeats and follows the coordinator's answers until it is asked to leave."""


class LargeGroup:
    """All members of one group, in one event loop. ``member`` creates one for a connection."""

    def __init__(self, port: int, member: Callable[[Line], Member]) -> None:
        self._port = port
        self._member = member
        self._leave: dict[int, asyncio.Event] = {}
        self.tasks: list[asyncio.Task[None]] = []
        self.members: list[Member] = []

    async def join(self, count: int) -> None:
        """Adds members; returns when all have joined."""
        new = [self._member(line) for line in await opened(self._port, count)]
        self.members += new
        await asyncio.gather(*(member.join() for member in new))
        for member in new:
            leave = self._leave[id(member)] = asyncio.Event()
            self.tasks.append(asyncio.create_task(member.live(leave)))

    def leave(self, count: int) -> None:
        """Lets members leave."""
        for member in self.members[:count]:
            self._leave[id(member)].set()
        del self.members[:count]

    async def settled(self) -> None:
        """Waits until all are in one generation and own every partition once. Raises the first error of a member."""
        await eventually_in_loop("one generation that owns all", self._is_settled, patience_s=ANSWER_TIMEOUT_S)

    def _is_settled(self) -> bool:
        for task in self.tasks:
            if task.done():
                task.result()
        if len({member.generation for member in self.members}) != 1:
            return False
        owned = Counter(partition for member in self.members for partition in member.assigned)
        return len(owned) == PARTITIONS and set(owned.values()) == {1}

    async def end(self) -> None:
        """Makes all members leave."""
        self.leave(len(self.members))
        await asyncio.gather(*self.tasks)


async def grow_and_shrink(broker: OurBroker, member: Callable[[Line], Member]) -> list[str]:
    """Lets all join, some leave, more join, and all leave; returns the measurements."""
    numbers = []
    group = LargeGroup(broker.port, member)
    few = MEMBERS // 20

    async def measure(what: str, change: Awaitable[None]) -> None:
        began, cpu = time.monotonic(), cpu_seconds(broker.pid)
        await change
        await group.settled()
        numbers.append(
            f"{what}: settled in {time.monotonic() - began:.1f} s, {cpu_seconds(broker.pid) - cpu:.2f} s of the "
            f"broker's processor time, {resident_bytes(broker.pid) // MB} MB"
        )

    async def some_leave() -> None:
        group.leave(few)

    try:
        await measure(f"{MEMBERS} members join, {PARTITIONS} partitions", group.join(MEMBERS))
        await measure(f"{few} members leave", some_leave())
        await measure(f"{few} members come", group.join(few))
        await group.end()
    finally:
        for task in group.tasks:
            task.cancel()
    return numbers


async def test_a_thousand_members_of_a_classic_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With Kafka's defaults (session timeout 45 s, initial rebalance delay 3 s), no session expires."""
    with OurBroker(tmp_path, {"offsets.topic.num.partitions": "1"}) as broker:
        assert Asking(broker.port, ANSWER_TIMEOUT_S).create("many", PARTITIONS) == 0
        numbers = await grow_and_shrink(broker, lambda line: RawMember("large", "many", PARTITIONS, line))
        assert "session has expired" not in broker.log()
        assert " ERROR " not in broker.log()
    with capsys.disabled():
        print("\n" + "\n".join(numbers))


async def test_a_thousand_members_of_a_consumer_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same with the consumer protocol and the broker's assignor, with heartbeats every 5 s, Kafka's default."""
    with OurBroker(tmp_path, {"offsets.topic.num.partitions": "1", "group.consumer.max.size": str(MEMBERS)}) as broker:
        assert Asking(broker.port, ANSWER_TIMEOUT_S).create("many", PARTITIONS) == 0
        [topic] = (
            Asking(broker.port).ask(MetadataRequest([MetadataRequest.MetadataRequestTopic(name="many")]), 12).topics
        )
        owners: dict[int, str] = {}
        topic_id = bytes(topic.topic_id)
        numbers = await grow_and_shrink(broker, lambda line: RawConsumer("large", "many", topic_id, line, owners))
        assert not owners, "who has left has given everything up"
        assert " ERROR " not in broker.log()
    with capsys.disabled():
        print("\n" + "\n".join(numbers))


async def test_thousands_of_groups_that_heartbeat(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has one member, which sends a heartbeat every 3 s. Prints the share of a core that the broker needs."""
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        assert Asking(broker.port).create("many", 1) == 0
        lines = await opened(broker.port, GROUPS)
        members = [RawMember(f"group-{number}", "many", 1, line) for number, line in enumerate(lines)]
        began, cpu = time.monotonic(), cpu_seconds(broker.pid)
        for start in range(0, GROUPS, CONNECTING_AT_ONCE):
            await asyncio.gather(*(member.join() for member in members[start : start + CONNECTING_AT_ONCE]))
        joined_s, joined_cpu_s = time.monotonic() - began, cpu_seconds(broker.pid) - cpu
        loop = asyncio.get_running_loop()
        start_s = loop.time() + 1.0
        rounds = int(MEASURED_S / HEARTBEAT_INTERVAL_S)

        async def live(number: int, member: RawMember) -> None:
            request = HeartbeatRequest(member.group, member.generation, member.member_id, None)
            frame = encode_request(request, HEARTBEAT, 7, "load")
            for round_ in range(rounds):
                due_s = start_s + (round_ + number / GROUPS) * HEARTBEAT_INTERVAL_S
                await asyncio.sleep(due_s - loop.time())
                answer = await member.line.exchange(frame)
                # Size, correlation id, no tagged fields, throttle time, error code.
                assert answer[13:15] == b"\0\0", ErrorCode(int.from_bytes(answer[13:15], "big", signed=True))

        began, cpu = time.monotonic(), cpu_seconds(broker.pid)
        await asyncio.gather(*(live(number, member) for number, member in enumerate(members)))
        passed_s, used_s = time.monotonic() - began, cpu_seconds(broker.pid) - cpu
        each_s = used_s / (GROUPS * rounds)
        memory = resident_bytes(broker.pid) // MB
        for line in lines:
            line.close()
        assert " ERROR " not in broker.log()
    with capsys.disabled():
        print(
            f"\n{GROUPS} groups joined in {joined_s:.1f} s, {joined_cpu_s:.2f} s of the broker's processor time"
            f"\n{GROUPS * rounds} heartbeats in {passed_s:.1f} s: {each_s * 1e6:.0f} us of the broker's processor "
            f"time each, {each_s * GROUPS / HEARTBEAT_INTERVAL_S:.3f} of a core, {memory} MB"
        )


def fetched(port: int, group: int) -> dict[int, int]:
    """The committed offsets of a group by partition; empty while they are being loaded."""
    wanted = OffsetFetchRequest.OffsetFetchRequestGroup(group_name(group), topics=None)
    [answer] = Asking(port, ANSWER_TIMEOUT_S).ask(OffsetFetchRequest(groups=[wanted]), 9).groups
    if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return {}
    assert answer.error_code == ErrorCode.NONE, ErrorCode(answer.error_code)
    return {one.partition_index: one.committed_offset for topic in answer.topics for one in topic.partitions}


def test_millions_of_committed_offsets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Millions of committed offsets are loaded and served. Prints the memory and the time that this takes."""
    groups = OFFSETS // OFFSETS_A_GROUP
    broker = OurBroker(tmp_path, {"offsets.retention.minutes": "5256000"})
    broker.start()
    try:
        assert Asking(broker.port).create(TOPIC, 1) == 0
        assert fetched(broker.port, 0) == {}, "this makes the offsets topic"
        empty = resident_bytes(broker.pid)
        assert broker.stop() == 0
        written = write_offsets(broker.log_dir, groups, OFFSETS_A_GROUP, now_ms=clock_ms())
        began = time.monotonic()
        broker.start(LOADING_TIMEOUT_S)
        started_s, cpu_s = time.monotonic() - began, cpu_seconds(broker.pid)
        eventually(
            "all offsets are loaded",
            lambda: all(fetched(broker.port, group) for group in range(0, groups, groups // 100)),
            patience_s=LOADING_TIMEOUT_S,
            every_s=0.5,
        )
        loaded_s, loaded_cpu_s = time.monotonic() - began, cpu_seconds(broker.pid)
        grown = resident_bytes(broker.pid) - empty
        for group in range(0, groups, max(1, groups // 200)):
            assert fetched(broker.port, group) == {index: offset_of(group, index) for index in range(OFFSETS_A_GROUP)}
        assert " ERROR " not in broker.log()
    finally:
        broker.kill()
        for path in broker.log_dir.glob("__consumer_offsets-*/*"):
            path.unlink()
    with capsys.disabled():
        print(
            f"\n{OFFSETS} offsets of {groups} groups, {written // MB} MB of log: serves after {started_s:.1f} s "
            f"({cpu_s:.1f} s of processor time), all loaded after {loaded_s:.1f} s ({loaded_cpu_s:.1f} s), "
            f"{grown // MB} MB more than an empty broker's {empty // MB} MB, {grown / OFFSETS:.0f} bytes an offset"
        )
    assert grown <= OFFSETS * BYTES_OF_AN_OFFSET
