"""The share consumer of the client: acknowledgements, releases and members that end, against our broker."""

from collections.abc import Sequence

import pytest

from odradek.client.admin import Admin, NewTopic
from odradek.client.errors import ConfigurationError
from odradek.client.producer import Producer
from odradek.client.share import ShareConsumer, ShareRecord
from odradek.client.share.share_consumer import AcknowledgeType
from odradek.client.types import TopicPartition

COUNT = 12
POLL_MS = 1_000
ALL_GONE_MS = 300


@pytest.fixture
async def topic(odradek: str, name: str) -> str:
    """A topic with two partitions and numbered records; the share group of the same name begins at its start."""
    async with Admin(odradek) as admin:
        await admin.create_topics([NewTopic(name, 2, 1)])
        await admin.alter_share_group_offsets(name, {TopicPartition(name, 0): 0, TopicPartition(name, 1): 0})
    async with Producer(odradek) as producer:
        for number in range(COUNT):
            await producer.send_and_wait(name, b"%d" % number, partition=number % 2)
    return name


async def lag_of(odradek: str, group: str) -> int:
    """The records of all partitions that the group has not finished."""
    async with Admin(odradek) as admin:
        offsets = (await admin.list_share_group_offsets([group]))[group]
    return sum(at.lag or 0 for at in offsets.values() if at is not None)


async def taken(consumer: ShareConsumer, count: int, kind: AcknowledgeType | None = None) -> list[ShareRecord]:
    """Polls until ``count`` records have come; acknowledges each, if ``kind`` is given."""
    records: list[ShareRecord] = []
    while len(records) < count:
        polled = await consumer.poll(POLL_MS)
        records += polled
        for record in polled:
            if kind is not None:
                consumer.acknowledge(record, kind)
    return records


def values(records: Sequence[ShareRecord]) -> list[int]:
    return sorted(int(record.record.value or b"") for record in records)


async def test_the_next_poll_or_the_end_accepts(odradek: str, topic: str) -> None:
    async with ShareConsumer(topic, group_id=topic, bootstrap_servers=odradek) as consumer:
        records = await taken(consumer, COUNT)
        assert values(records) == list(range(COUNT))
        assert {record.delivery_count for record in records} == {1}
    assert await lag_of(odradek, topic) == 0


async def test_commit_accepts_at_once(odradek: str, topic: str) -> None:
    async with ShareConsumer(topic, group_id=topic, bootstrap_servers=odradek) as consumer:
        await taken(consumer, COUNT)
        results = await consumer.commit()
        assert set(results.values()) == {None}
        assert await lag_of(odradek, topic) == 0
        assert await consumer.commit() == {}


async def test_explicit_acknowledgements_are_needed_once(odradek: str, topic: str) -> None:
    async with ShareConsumer(
        topic, group_id=topic, bootstrap_servers=odradek, share_acknowledgement_mode="explicit", max_poll_records=1
    ) as consumer:
        (record,) = await taken(consumer, 1)
        with pytest.raises(ConfigurationError, match="before the next poll"):
            await consumer.poll()
        consumer.acknowledge(record)
        with pytest.raises(ConfigurationError, match="not a record of the last poll"):
            consumer.acknowledge(record)
        rest = await taken(consumer, COUNT - 1, AcknowledgeType.ACCEPT)
        assert values([record, *rest]) == list(range(COUNT))
    assert await lag_of(odradek, topic) == 0


async def test_what_is_released_comes_again_with_a_higher_count(odradek: str, topic: str) -> None:
    async with ShareConsumer(
        topic, group_id=topic, bootstrap_servers=odradek, share_acknowledgement_mode="explicit"
    ) as consumer:
        await taken(consumer, COUNT, AcknowledgeType.RELEASE)
        await consumer.commit()
        again = await taken(consumer, COUNT, AcknowledgeType.ACCEPT)
        assert values(again) == list(range(COUNT))
        assert {record.delivery_count for record in again} == {2}
    assert await lag_of(odradek, topic) == 0


async def test_what_is_rejected_never_comes_again(odradek: str, topic: str) -> None:
    async with ShareConsumer(
        topic, group_id=topic, bootstrap_servers=odradek, share_acknowledgement_mode="explicit"
    ) as consumer:
        await taken(consumer, COUNT, AcknowledgeType.REJECT)
        assert set((await consumer.commit()).values()) == {None}
        assert await consumer.poll(ALL_GONE_MS) == []
    assert await lag_of(odradek, topic) == 0


async def test_a_member_that_stops_releases_what_it_holds(odradek: str, topic: str) -> None:
    async with ShareConsumer(
        topic, group_id=topic, bootstrap_servers=odradek, share_acknowledgement_mode="explicit"
    ) as first:
        held = await taken(first, COUNT)
        first.acknowledge(held[0])
    async with ShareConsumer(topic, group_id=topic, bootstrap_servers=odradek) as second:
        rest = await taken(second, COUNT - 1)
        assert values([held[0], *rest]) == list(range(COUNT))
        assert {record.delivery_count for record in rest} == {2}
    assert await lag_of(odradek, topic) == 0


async def test_two_members_share_the_records(odradek: str, topic: str) -> None:
    """Each record goes to one of them, whatever the broker assigns to each."""
    first = ShareConsumer(topic, group_id=topic, bootstrap_servers=odradek)
    second = ShareConsumer(topic, group_id=topic, bootstrap_servers=odradek)
    async with first, second:
        records: list[ShareRecord] = []
        while len(records) < COUNT:
            for consumer in (first, second):
                records += await consumer.poll(ALL_GONE_MS)
        assert values(records) == list(range(COUNT))
        async with Admin(odradek) as admin:
            group = (await admin.describe_share_groups([topic]))[topic]
        assert (group.state, len(group.members)) == ("Stable", 2)
        assert {partition for member in group.members for partition in member.assignment} == {
            TopicPartition(topic, 0),
            TopicPartition(topic, 1),
        }
    assert await lag_of(odradek, topic) == 0


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="group_id"):
        ShareConsumer("t", group_id="")
    with pytest.raises(ConfigurationError, match="share_acquire_mode"):
        ShareConsumer("t", group_id="g", share_acquire_mode="some")
