"""The rebalance of a large group: the row of docs/limits.md in which thousands of members join."""

import asyncio
from collections.abc import Sequence

from odradek.protocol.codec import decode
from odradek.protocol.codec.header import encode_request, response_header_version
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse
from support.brokers.heavy_requests import Heavy, Prepared, Row, Scale, create
from support.eventually import eventually_in_loop
from support.groups.load import Line, RawConsumer, RawMember

CONNECTING_AT_ONCE = 100
PATIENCE_S = 600.0
MEMBERS = 2_000
PARTITIONS = 4_000
CONSUMERS = 400
CONSUMED_PARTITIONS = 800
METADATA = 12


async def _lines(port: int, count: int) -> list[Line]:
    lines: list[Line] = []
    while len(lines) < count:
        lines += await asyncio.gather(*(Line.open(port) for _ in range(min(CONNECTING_AT_ONCE, count - len(lines)))))
    return lines


async def _join_and_settle(members: Sequence[RawMember | RawConsumer], partitions: int) -> None:
    """All members join and live, until they are of one generation and own every partition; then they are gone."""
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


ROWS: dict[str, Row] = {
    "2,000 members join a classic group": _row_classic_group,
    "400 members join a consumer group": _row_consumer_group,
}
