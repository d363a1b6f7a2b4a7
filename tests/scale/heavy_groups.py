"""The rows of docs/developers/benchmarks.md in which members join, get partitions, and subscribe to many topics."""

import asyncio
import uuid
from collections.abc import Sequence

from odradek.broker.groups.streams.request_limits import MOST_PARTS, MOST_TASKS
from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as StreamsHeartbeat
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatResponse as StreamsHeartbeatResponse
from support.brokers.heavy_requests import Heavy, Prepared, Row, Scale, create
from support.eventually import eventually, eventually_in_loop
from support.groups.load import Line, RawConsumer, RawMember

CONNECTING_AT_ONCE = 100
PATIENCE_S = 600.0
MEMBERS = 2_000
PARTITIONS = 4_000
CONSUMERS = 400
CONSUMED_PARTITIONS = 800
TOPICS = 5_000
TOPICS_A_REQUEST = 1_000
PATTERNS = 10
STREAMS_GROUPS = 10
STREAMS_SUBTOPOLOGIES = 4
METADATA, HEARTBEAT = 12, 1
"""The versions that are sent."""


async def _lines(port: int, count: int) -> list[Line]:
    lines: list[Line] = []
    while len(lines) < count:
        lines += await asyncio.gather(*(Line.open(port) for _ in range(min(CONNECTING_AT_ONCE, count - len(lines)))))
    return lines


async def _join_and_settle(members: Sequence[RawMember | RawConsumer], partitions: int) -> None:
    """Lets all members join and send heartbeats until they are in one generation and own every partition, then ends
    them.
    """
    leave = asyncio.Event()

    async def live(member: RawMember | RawConsumer) -> None:
        await member.join()
        await member.live(leave)

    tasks = [asyncio.create_task(live(member)) for member in members]

    def is_settled() -> bool:
        for task in tasks:
            if task.done():
                task.result()
        assigned = sum(len(member.assigned) for member in members)
        return len({member.generation for member in members}) == 1 and assigned == partitions

    try:
        await eventually_in_loop("one generation that owns all", is_settled, patience_s=PATIENCE_S)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for member in members:
            member.line.close()


def _row_classic_group(port: int, scale: Scale) -> Prepared:
    count, partitions = scale.of(MEMBERS), scale.of(PARTITIONS)
    Heavy(port).ask(create(["many"], partitions), 5)

    async def join() -> None:
        members = [RawMember("large", "many", partitions, line) for line in await _lines(port, count)]
        await _join_and_settle(members, partitions)

    return lambda: asyncio.run(join())


def _consumer_group(port: int, count: int, partitions: int) -> Prepared:
    Heavy(port).ask(create(["many"], partitions), 5)
    topic_id = _topic_id(port, "many")

    async def join() -> None:
        owners: dict[int, str] = {}
        members = [RawConsumer("large", "many", topic_id, line, owners) for line in await _lines(port, count)]
        await _join_and_settle(members, partitions)

    return lambda: asyncio.run(join())


def _topic_id(port: int, name: str) -> bytes:
    answer = Heavy(port).answer(
        encode_request(MetadataRequest([MetadataRequest.MetadataRequestTopic(name=name)]), METADATA, 7, "heavy")
    )
    start = 4 + response_header_version(MetadataRequest.API_KEY, METADATA)
    [topic] = decode(MetadataResponse, METADATA, answer, start)[0].topics
    return bytes(topic.topic_id)


def _row_consumer_group(port: int, scale: Scale) -> Prepared:
    return _consumer_group(port, scale.of(CONSUMERS), scale.of(CONSUMED_PARTITIONS))


def _row_target_assignment(port: int, scale: Scale) -> Prepared:
    return _consumer_group(port, scale.of(MEMBERS), scale.of(PARTITIONS))


class _PatternMember:
    """A member of a consumer group that subscribes to a regular expression."""

    def __init__(self, client: Heavy, pattern: str) -> None:
        self._client = client
        self._pattern = pattern
        self._id = str(uuid.uuid4())
        self._epoch = 0
        self.owned: list[ConsumerGroupHeartbeatRequest.TopicPartitions] = []

    def heartbeat(self) -> None:
        """Sends all fields, and takes over the assignment in the answer."""
        request = ConsumerGroupHeartbeatRequest(
            "patterns",
            self._id,
            self._epoch,
            rebalance_timeout_ms=300_000,
            subscribed_topic_regex=self._pattern,
            topic_partitions=self.owned,
        )
        answer = self._client.answer(encode_request(request, HEARTBEAT, 7, "heavy"))
        start = 4 + response_header_version(ConsumerGroupHeartbeatRequest.API_KEY, HEARTBEAT)
        response = decode(ConsumerGroupHeartbeatResponse, HEARTBEAT, answer, start)[0]
        assert response.error_code == 0, response
        self._epoch = response.member_epoch
        if response.assignment is not None:
            self.owned = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(one.topic_id, one.partitions)
                for one in response.assignment.topic_partitions
            ]


def _row_patterns(port: int, scale: Scale) -> Prepared:
    count = scale.of(TOPICS)
    client = Heavy(port)
    names = [f"topic-{number}" for number in range(count)]
    for start in range(0, count, TOPICS_A_REQUEST):
        client.ask(create(names[start : start + TOPICS_A_REQUEST]), 5)

    def subscribe() -> None:
        members = [_PatternMember(client, f"topic-[0-9]+(x{{{number}}})?") for number in range(PATTERNS)]

        def owned() -> bool:
            for member in members:
                member.heartbeat()
            return all(member.owned for member in members) and sum(len(member.owned) for member in members) == count

        eventually("each topic has one owner", owned, patience_s=PATIENCE_S)

    return subscribe


def _streams_topology(parts: int) -> StreamsHeartbeat.Topology:
    """Subtopologies of three parts each: itself, its source and its changelog."""
    return StreamsHeartbeat.Topology(
        0,
        [
            StreamsHeartbeat.Subtopology(
                str(number),
                ["many"],
                state_changelog_topics=[StreamsHeartbeat.TopicInfo(f"{'changelog' * 8}-{number}")],
            )
            for number in range(parts // 3)
        ],
    )


def _streams_join(group: str, member: str, topology: StreamsHeartbeat.Topology) -> StreamsHeartbeat:
    request = StreamsHeartbeat(group, member, 0, topology=topology, rebalance_timeout_ms=300_000, process_id=member)
    request.active_tasks, request.standby_tasks, request.warmup_tasks = [], [], []
    return request


def _row_streams_topologies(port: int, scale: Scale) -> Prepared:
    client = Heavy(port)
    client.ask(create(["many"], 1), 5)
    topology = _streams_topology(scale.of(MOST_PARTS))

    def join() -> None:
        for number in range(STREAMS_GROUPS):
            for _ in range(2):
                client.ask(_streams_join(f"streams-{number}", "member", topology), HEARTBEAT)

    return join


def _row_streams_tasks(port: int, scale: Scale) -> Prepared:
    """Two members share as many tasks as there may be, and the first gives half of them up."""
    client = Heavy(port)
    partitions = scale.of(MOST_TASKS // STREAMS_SUBTOPOLOGIES)
    client.ask(create(["wide"], partitions), 5)
    topology = StreamsHeartbeat.Topology(
        0, [StreamsHeartbeat.Subtopology(str(number), ["wide"]) for number in range(STREAMS_SUBTOPOLOGIES)]
    )

    def beat(request: StreamsHeartbeat) -> StreamsHeartbeatResponse:
        answer = client.answer(encode_request(request, HEARTBEAT, 7, "heavy"))
        start = 4 + response_header_version(StreamsHeartbeat.API_KEY, HEARTBEAT)
        response: StreamsHeartbeatResponse = decode(StreamsHeartbeatResponse, HEARTBEAT, answer, start)[0]
        assert response.error_code == 0, response
        return response

    def share() -> None:
        epochs: dict[str, int] = {}
        owned: dict[str, list[StreamsHeartbeat.TaskIds]] = {}

        def go_on(member: str) -> None:
            request = _streams_join("tasks", member, topology)
            if member in epochs:
                request = StreamsHeartbeat("tasks", member, epochs[member])
                request.active_tasks, request.standby_tasks, request.warmup_tasks = owned[member], [], []
            response = beat(request)
            epochs[member] = response.member_epoch
            if response.active_tasks is not None:
                owned[member] = [
                    StreamsHeartbeat.TaskIds(each.subtopology_id, each.partitions) for each in response.active_tasks
                ]

        def halved() -> bool:
            for member in ("a", "b"):
                go_on(member)
            sizes = [sum(len(each.partitions) for each in owned[member]) for member in ("a", "b")]
            return sum(sizes) == STREAMS_SUBTOPOLOGIES * partitions and max(sizes) - min(sizes) <= 1

        go_on("a")
        eventually("each member has half of the tasks", halved, patience_s=PATIENCE_S)

    return share


ROWS: dict[str, Row] = {
    "2,000 members join a classic group": _row_classic_group,
    "400 members join a consumer group": _row_consumer_group,
    "2,000 members join a consumer group": _row_target_assignment,
    "10 regular expressions of a consumer group over 5,000 topics": _row_patterns,
    "10 streams groups with topologies of 3,000 parts": _row_streams_topologies,
    "20,000 tasks of a streams group for two members": _row_streams_tasks,
}
