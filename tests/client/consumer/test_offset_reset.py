"""Our consumer starts at the position of ``auto.offset.reset``, also if its offset is outside of the log."""

import pytest

from odradek.client.admin import Admin
from odradek.client.consumer import Consumer
from odradek.client.consumer.durations import parse_duration_ms
from odradek.client.consumer.offset_reset import OffsetReset, parse_offset_reset
from odradek.client.errors import ConfigurationError, LogTruncationError, NoOffsetForPartitionError
from odradek.client.producer import Producer
from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.protocol.common.wall_clock import clock_ms

from ..client_groups import create_topic, poll_until, produce_numbers, read

HOUR_MS = 3_600_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        # java.time.Duration.parse: days, hours, minutes, seconds; signs; upper and lower case; a comma or a point.
        ("PT20.345S", 20_345),
        ("PT15M", 900_000),
        ("P2D", 172_800_000),
        ("P2DT3H4M", 183_840_000),
        ("PT-6H3M", -21_420_000),
        ("-PT-6H+3M", 21_420_000),
        ("pt0,5s", 500),
        ("PT-0.5S", -500),
        ("P-1DT1S", -86_399_000),
        ("PT-0.0005S", -1),
        ("P0D", 0),
    ],
)
def test_durations_are_javas(text: str, milliseconds: int) -> None:
    assert parse_duration_ms(text) == milliseconds


@pytest.mark.parametrize("text", ["", "P", "PT", "P1DT", "P1W", "P1M", "1D", "PT1S1M", "PT.5S", "PT1.0000000001S"])
def test_what_java_does_not_take_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="not an ISO 8601 duration"):
        parse_duration_ms(text)


def test_the_setting() -> None:
    assert parse_offset_reset("by_duration:PT1H") == OffsetReset("by_duration", HOUR_MS)
    assert parse_offset_reset("by_duration:PT1H").timestamp(5 * HOUR_MS) == 4 * HOUR_MS
    for wrong in ("by_duration", "by_duration:", "by_duration:-PT1H", "newest", "Latest"):
        with pytest.raises(ConfigurationError):
            parse_offset_reset(wrong)


async def test_by_duration_starts_with_the_first_record_that_is_young_enough(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 3)
    now_ms = clock_ms()
    async with Producer(servers) as producer:
        for hours in (5, 3, 1):
            await producer.send(name, str(hours).encode(), partition=0, timestamp_ms=now_ms - hours * HOUR_MS)
        await producer.send(name, b"5", partition=1, timestamp_ms=now_ms - 5 * HOUR_MS)
    async with Consumer(
        name, bootstrap_servers=servers, group_id=name, auto_offset_reset="by_duration:PT4H"
    ) as consumer:
        await poll_until([consumer], lambda: len(consumer.positions()) == 3)
        records = await poll_until([consumer], lambda: consumer.positions()[partitions[0]] == 3)
        del records
        assert [consumer.positions()[p] for p in partitions] == [3, 1, 0], "nothing young: the end"
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="by_duration:PT4H") as consumer:
        consumer.assign(partitions)
        assert [record.value for record in await read([consumer], 2)] == [b"3", b"1"]


async def test_none_without_an_offset_is_an_error(servers: str, name: str) -> None:
    (here,) = await create_topic(servers, name)
    async with Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="none") as consumer:
        with pytest.raises(NoOffsetForPartitionError, match="commit or seek"):
            await poll_until([consumer], lambda: False)
        await consumer.commit({here: 0})
    await produce_numbers(servers, name, 1, range(3))
    async with Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="none") as consumer:
        assert len(await read([consumer], 3)) == 3


@pytest.mark.parametrize(("reset", "first"), [("earliest", 4), ("latest", 10)])
async def test_an_offset_that_retention_overtook_is_reset(servers: str, name: str, reset: str, first: int) -> None:
    (here,) = await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(10))
    async with Admin(servers) as admin:
        await admin.alter_group_offsets(name, {here: OffsetAndMetadata(1)})
        await admin.delete_records({here: 4})
    async with Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset=reset) as consumer:
        await poll_until([consumer], lambda: consumer.positions().get(here, 1) >= first)
        await produce_numbers(servers, name, 1, [10])
        await poll_until([consumer], lambda: consumer.positions()[here] == 11)


async def leader_epoch_of(servers: str, here: TopicPartition) -> int:
    async with Admin(servers) as admin:
        return (await admin.describe_topics([here.topic]))[here.topic].partitions[0].leader_epoch


@pytest.mark.parametrize("reset", ["earliest", "latest"])
async def test_an_offset_behind_the_end_without_an_epoch_is_reset(servers: str, name: str, reset: str) -> None:
    (here,) = await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(10))
    async with Consumer(bootstrap_servers=servers, auto_offset_reset=reset) as consumer:
        consumer.assign([here])
        consumer.seek(here, 100)
        await poll_until([consumer], lambda: consumer.positions().get(here) == 10)


@pytest.mark.parametrize("reset", ["earliest", "none"])
async def test_a_log_that_lost_what_was_read_is_noticed(servers: str, name: str, reset: str) -> None:
    (here,) = await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(10))
    epoch = await leader_epoch_of(servers, here)
    async with Admin(servers) as admin:
        # As committed by a member that read 90 more records from a leader whose log was then truncated.
        await admin.alter_group_offsets(name, {here: OffsetAndMetadata(100, "", epoch)})
    async with Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset=reset) as consumer:
        if reset == "none":
            with pytest.raises(LogTruncationError, match="agree up to offset 10") as caught:
                await poll_until([consumer], lambda: False)
            assert caught.value.diverging == OffsetAndMetadata(10, "", epoch)
            consumer.seek(here, OffsetAndMetadata(10, "", epoch))
        await poll_until([consumer], lambda: consumer.positions().get(here) == 10)
        await produce_numbers(servers, name, 1, [10])
        records = await read([consumer], 1)
        assert [record.offset for record in records] == [10], "from the first record that differs, not from the start"


async def test_a_position_with_its_epoch_is_kept_when_the_log_has_it(servers: str, name: str) -> None:
    (here,) = await create_topic(servers, name)
    await produce_numbers(servers, name, 1, range(10))
    epoch = await leader_epoch_of(servers, here)
    async with Consumer(bootstrap_servers=servers, auto_offset_reset="none") as consumer:
        consumer.assign([here])
        consumer.seek(here, OffsetAndMetadata(6, "", epoch))
        assert [record.offset for record in await read([consumer], 4)] == [6, 7, 8, 9]
