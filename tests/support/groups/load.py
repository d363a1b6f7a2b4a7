"""Thousands of group members in one event loop, for the load tests of the coordinator.

Each member has its own connection and uses our own codec. A member of a classic group joins (after it got its member
id), synchronises, heartbeats, and rejoins when a heartbeat is answered with REBALANCE_IN_PROGRESS. A member of a
consumer group (KIP-848) heartbeats, gives up and takes over partitions as the answers say, and reports that in its
next heartbeat.
"""

import asyncio
import struct
import uuid
from dataclasses import dataclass, field
from typing import Any

from odradek.protocol.codec import decode, decoder, encode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages import message_class
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from odradek.protocol.messages.group_records import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from odradek.protocol.messages.structure import Message

JOIN, SYNC, HEARTBEAT, LEAVE = 9, 5, 4, 5
CONSUMER_HEARTBEAT = 1
"""The versions that the Java client of 4.3 sends."""
HEARTBEAT_INTERVAL_S = 3.0
"""Kafka's default."""
PROTOCOL = 3
"""The version of the consumer's own messages within a group."""
_SIZE = struct.Struct(">i")


class Line(asyncio.Protocol):
    """One connection with one request in flight at a time."""

    def __init__(self) -> None:
        self._received = bytearray()
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, port: int) -> "Line":
        """Connects to a port of 127.0.0.1."""
        _, line = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return line

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if len(self._received) >= 4 and len(self._received) >= 4 + _SIZE.unpack_from(self._received)[0]:
            frame, self._received = bytes(self._received), bytearray()
            assert self._answer is not None
            if not self._answer.done():  # its task may have been cancelled
                self._answer.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionResetError("the broker closed the connection"))

    async def exchange(self, frame: bytes) -> bytes:
        """Sends a frame; returns the frame of the answer, with its size."""
        assert self._transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(frame)
        return await self._answer

    async def ask(self, request: Message, version: int) -> Any:
        """Sends a request; returns the response."""
        frame = await self.exchange(encode_request(request, version, 7, "load"))
        response_class = message_class(request.NAME.replace("Request", "Response"))
        start = 8 + response_header_version(request.API_KEY, version)
        return decoder(response_class, version)(frame, start)[0]

    def close(self) -> None:
        """Closes the connection."""
        assert self._transport is not None
        self._transport.close()


@dataclass
class RawMember:
    """A member of a classic group with the range assignor; its fields hold what it has seen."""

    group: str
    topic: str
    partitions: int
    line: Line
    member_id: str = ""
    generation: int = -1
    assigned: list[int] = field(default_factory=list)
    rejoins: int = 0
    """The number of times it had to rejoin."""

    async def join(self) -> None:
        """Joins and synchronises, again after each REBALANCE_IN_PROGRESS. Raises AssertionError for other errors."""
        while True:
            joined = await self.line.ask(self._join_request(), JOIN)
            if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self.member_id = joined.member_id
                continue
            assert joined.error_code == ErrorCode.NONE, ErrorCode(joined.error_code)
            self.generation = joined.generation_id
            assignments = self._share(joined) if joined.leader == self.member_id else []
            request = SyncGroupRequest(
                self.group, self.generation, self.member_id, None, "consumer", "range", assignments
            )
            synced = await self.line.ask(request, SYNC)
            if synced.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
                self.rejoins += 1
                continue
            assert synced.error_code == ErrorCode.NONE, ErrorCode(synced.error_code)
            [owned] = decode(ConsumerProtocolAssignment, PROTOCOL, synced.assignment, 2)[0].assigned_partitions
            self.assigned = owned.partitions
            return

    def _join_request(self) -> JoinGroupRequest:
        subscription = _versioned(ConsumerProtocolSubscription(topics=[self.topic], generation_id=self.generation))
        protocol = JoinGroupRequest.JoinGroupRequestProtocol("range", subscription)
        return JoinGroupRequest(self.group, 45_000, 300_000, self.member_id, None, "consumer", [protocol])

    def _share(self, joined: Any) -> list[SyncGroupRequest.SyncGroupRequestAssignment]:
        """The leader's assignment: each member gets a range of partitions; sizes differ by one at most."""
        members = sorted(member.member_id for member in joined.members)
        bounds = [self.partitions * index // len(members) for index in range(len(members) + 1)]
        assignments = []
        for index, member_id in enumerate(members):
            owned = list(range(bounds[index], bounds[index + 1]))
            shared = ConsumerProtocolAssignment([ConsumerProtocolAssignment.TopicPartition(self.topic, owned)])
            assignments.append(SyncGroupRequest.SyncGroupRequestAssignment(member_id, _versioned(shared)))
        return assignments

    async def heartbeat(self) -> ErrorCode:
        """Sends one heartbeat."""
        request = HeartbeatRequest(self.group, self.generation, self.member_id, None)
        return ErrorCode((await self.line.ask(request, HEARTBEAT)).error_code)

    async def live(self, leave: asyncio.Event) -> None:
        """Heartbeats every 3 s, and rejoins if necessary, until it must leave. Raises AssertionError for any other
        error.
        """
        while not leave.is_set():
            try:
                await asyncio.wait_for(leave.wait(), HEARTBEAT_INTERVAL_S)
            except TimeoutError:
                error = await self.heartbeat()
                if error is ErrorCode.REBALANCE_IN_PROGRESS:
                    self.rejoins += 1
                    await self.join()
                else:
                    assert error is ErrorCode.NONE, error
        identity = LeaveGroupRequest.MemberIdentity(self.member_id)
        left = await self.line.ask(LeaveGroupRequest(self.group, "", [identity]), LEAVE)
        assert left.error_code == ErrorCode.NONE
        self.line.close()


JOINING, LEAVING = 0, -1
"""Special values of the member epoch in requests."""
_Owned = ConsumerGroupHeartbeatRequest.TopicPartitions


@dataclass
class RawConsumer:
    """A member of a consumer group. All members share ``owners``: partition -> the member that owns it."""

    group: str
    topic: str
    topic_id: bytes
    line: Line
    owners: dict[int, str]
    member_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    generation: int = JOINING
    """Its member epoch."""
    assigned: list[int] = field(default_factory=list)
    interval_s: float = 0.0

    async def join(self) -> None:
        """Becomes a member, and takes its assigned partitions."""
        await self._beat(subscribed_topic_names=[self.topic], rebalance_timeout_ms=300_000, topic_partitions=[])

    async def live(self, leave: asyncio.Event) -> None:
        """Heartbeats at the interval that the broker sets, until it must leave. Raises AssertionError for any error."""
        while not leave.is_set():
            try:
                await asyncio.wait_for(leave.wait(), self.interval_s)
            except TimeoutError:
                await self._beat()
        self._own([])
        self.generation = LEAVING
        await self._ask()
        self.line.close()

    async def _beat(self, **facts: Any) -> None:
        """Sends a heartbeat, and repeats it at once while its owned partitions change."""
        answer = await self._ask(**facts)
        while answer.assignment is not None:
            before = self.assigned
            self._own([index for one in answer.assignment.topic_partitions for index in one.partitions])
            if self.assigned == before:
                return
            owned = [_Owned(self.topic_id, self.assigned)] if self.assigned else []
            answer = await self._ask(topic_partitions=owned)

    async def _ask(self, **facts: Any) -> Any:
        request = ConsumerGroupHeartbeatRequest(self.group, self.member_id, self.generation, **facts)
        answer = await self.line.ask(request, CONSUMER_HEARTBEAT)
        assert answer.error_code == ErrorCode.NONE, (ErrorCode(answer.error_code), answer.error_message)
        self.generation = answer.member_epoch
        self.interval_s = answer.heartbeat_interval_ms / 1000
        return answer

    def _own(self, partitions: list[int]) -> None:
        """Gives up and takes partitions. Raises AssertionError if another member still owns a new one."""
        for partition in set(self.assigned) - set(partitions):
            del self.owners[partition]
        for partition in partitions:
            owner = self.owners.setdefault(partition, self.member_id)
            assert owner == self.member_id, f"partition {partition} belongs to {owner} and {self.member_id}"
        self.assigned = sorted(partitions)


def _versioned(message: Message) -> bytes:
    """One of the messages of the consumer protocol, after its version."""
    return PROTOCOL.to_bytes(2, "big") + encode(message, PROTOCOL)
