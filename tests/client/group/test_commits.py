"""Committed offsets of our consumer: automatic commits, their order, and the errors of refused commits."""

import asyncio

import pytest

from odradek.client.admin import Admin
from odradek.client.consumer import Consumer
from odradek.client.errors import ConfigurationError, RetriableCommitError
from odradek.client.group.offset_commits import Offsets
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError

from ..client_groups import WAIT_S, create_topic, poll_until, produce_numbers, read

PROTOCOLS = ["classic", "consumer"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_automatic_commits_come_by_time_and_at_the_end(servers: str, name: str, protocol: str) -> None:
    (here,) = await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(10))
    consumer = Consumer(
        name,
        bootstrap_servers=servers,
        group_id=name,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        auto_commit_interval_ms=100,
        max_poll_records=4,
    )
    async with consumer, Admin(servers) as admin:
        assert len(await read([consumer], 4)) == 4
        # Only the next polls commit, because only they show that these records were processed.
        committed: dict[TopicPartition, OffsetAndMetadata] = {}
        async with asyncio.timeout(WAIT_S):
            while committed.get(here, OffsetAndMetadata(0)).offset < 4:
                await consumer.poll(50, max_records=0)
                committed = await admin.list_group_offsets(name)
        assert committed[here].offset == 4
        assert len(await read([consumer], 4)) == 4
    async with Admin(servers) as admin:
        assert (await admin.list_group_offsets(name))[here].offset == 8, "stop() commits"


async def test_without_automatic_commits_nothing_is_committed(servers: str, name: str) -> None:
    await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(5))
    settings = {"bootstrap_servers": servers, "group_id": name, "auto_offset_reset": "earliest"}
    async with Consumer(name, **settings, enable_auto_commit=False, auto_commit_interval_ms=1) as consumer:  # type: ignore[arg-type]
        await read([consumer], 5)
        await consumer.poll(50)
    async with Admin(servers) as admin:
        assert await admin.list_group_offsets(name) == {}


async def test_assigned_partitions_are_committed_too(servers: str, name: str) -> None:
    (here,) = await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(5))
    async with Consumer(bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest") as consumer:
        consumer.assign([here])
        await read([consumer], 5)
    async with Admin(servers) as admin:
        assert (await admin.list_group_offsets(name))[here].offset == 5


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_commits_keep_their_order(servers: str, name: str, protocol: str) -> None:
    (here,) = await create_topic(servers, name)
    done: list[int] = []

    def noted(offsets: Offsets, failure: Exception | None) -> None:
        assert failure is None
        done.append(offsets[here].offset)

    consumer = Consumer(
        name, bootstrap_servers=servers, group_id=name, group_protocol=protocol, enable_auto_commit=False
    )
    async with consumer:
        await poll_until([consumer], lambda: consumer.assignment() == {here})
        tasks = [consumer.commit_async({here: n}, noted) for n in range(1, 20)]
        await consumer.commit({here: OffsetAndMetadata(20, "last")})
        assert done == list(range(1, 20)), "a commit comes after all that were asked for before it"
        assert await consumer.committed() == {here: OffsetAndMetadata(20, "last")}
        await asyncio.gather(*tasks)
        last = consumer.commit_async({here: 21})
    assert last.done(), "stop() waits for commits that are under way"
    async with Admin(servers) as admin:
        assert (await admin.list_group_offsets(name))[here].offset == 21


async def test_what_becomes_of_an_asynchronous_commit_is_told(
    servers: str, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (here,) = await create_topic(servers, name)
    heard: list[Exception | None] = []
    first = Consumer(name, bootstrap_servers=servers, group_id=name, group_instance_id="i", enable_auto_commit=False)
    second = Consumer(name, bootstrap_servers=servers, group_id=name, group_instance_id="i", enable_auto_commit=False)
    async with first, second:
        await poll_until([first], lambda: first.assignment() == {here})
        await poll_until([second], lambda: second.assignment() == {here})
        with pytest.raises(KafkaError) as caught:
            await first.commit_async({here: 5}, lambda _offsets, failure: heard.append(failure))
        assert caught.value.error_code == ErrorCode.FENCED_INSTANCE_ID
        assert heard == [caught.value]
        with pytest.raises(KafkaError):
            await first.commit_async({here: 6})
        assert "asynchronous commit" in caplog.text, "no caller gets the error, so it is logged"
        with pytest.raises(KafkaError) as caught:
            await first.poll(0)
        assert caught.value.error_code == ErrorCode.FENCED_INSTANCE_ID


async def test_an_asynchronous_commit_is_tried_once(odradek: str, name: str) -> None:
    (here,) = await create_topic(odradek, name)
    async with Consumer(bootstrap_servers=odradek, group_id=name, request_timeout_ms=1_000) as consumer:
        consumer.assign([here])
        await consumer.commit({here: 1})
        for connection in list(consumer._cluster._connections.values()):
            connection.close()
        failed = consumer.commit_async({here: 2})
        await consumer.commit({here: 3})  # this one connects again, and so may the first: both are allowed
        failure = (await asyncio.gather(failed, return_exceptions=True))[0]
        assert failure is None or isinstance(failure, RetriableCommitError)
        assert (await consumer.committed(here))[here].offset == 3


async def test_offsets_are_committed_before_partitions_go(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 2)
    await produce_numbers(servers, name, 2, range(20))

    def member() -> Consumer:
        return Consumer(
            name,
            bootstrap_servers=servers,
            group_id=name,
            auto_offset_reset="earliest",
            auto_commit_interval_ms=600_000,
            heartbeat_interval_ms=100,
            partition_assignment_strategy=["cooperative-sticky"],
        )

    async with member() as first:
        records = await read([first], 20)
        async with member() as second:
            await poll_until(
                [first, second], lambda: [len(m.assignment()) for m in (first, second)] == [1, 1], records=records
            )
            (gone,) = second.assignment()
            assert await second.position(gone) == 10
            await produce_numbers(servers, name, 2, range(20, 24))
            records += await read([first, second], 24 - len(records))
    assert len(records) == 24
    async with Admin(servers) as admin:
        assert {p: o.offset for p, o in (await admin.list_group_offsets(name)).items()} == dict.fromkeys(partitions, 12)


async def test_commits_without_a_group_are_refused(odradek: str) -> None:
    async with Consumer(bootstrap_servers=odradek) as consumer:
        with pytest.raises(ConfigurationError):
            await consumer.commit()
        with pytest.raises(ConfigurationError):
            consumer.commit_async()
        with pytest.raises(ConfigurationError):
            consumer.group_metadata()
    with pytest.raises(ConfigurationError):
        Consumer(enable_auto_commit=True)
