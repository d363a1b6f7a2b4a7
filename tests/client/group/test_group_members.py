"""Members of groups of both protocols: how partitions are assigned, handed over, lost and kept."""

import asyncio
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from odradek.client.admin import Admin
from odradek.client.cluster.coordinator import CoordinatorConnection
from odradek.client.consumer import Consumer, RebalanceListener
from odradek.client.errors import ConfigurationError
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.protocol.messages.groups import LeaveGroupRequest, LeaveGroupResponse
from support.brokers.our_broker import OurBroker

from ..client_groups import Told, create_topic, poll_until, produce_numbers, read, shared_out

PROTOCOLS = ["classic", "consumer"]


def member(
    servers: str, name: str, protocol: str = "classic", strategy: str = "cooperative-sticky", **settings: Any
) -> Consumer:
    """A consumer that notices changes of its group quickly."""
    if protocol == "classic":
        settings = {"heartbeat_interval_ms": 100, "partition_assignment_strategy": [strategy]} | settings
    return Consumer(
        bootstrap_servers=servers, group_id=name, group_protocol=protocol, auto_offset_reset="earliest", **settings
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_only_what_goes_is_revoked(servers: str, name: str, protocol: str) -> None:
    partitions = await create_topic(servers, name, 4)
    await produce_numbers(servers, name, 4, range(40))
    first_told, second_told = Told(), Told()
    first, second = member(servers, name, protocol), member(servers, name, protocol)
    async with first:
        first.subscribe([name], first_told)
        records = await read([first], 40)
        async with second:
            second.subscribe([name], second_told)
            records += await poll_until([first, second], lambda: shared_out([first, second], partitions, [2, 2]))
            await produce_numbers(servers, name, 4, range(40, 80))
            records += await read([first, second], 80 - len(records))
            kept = {partition.partition for partition in first.assignment()}
        records += await poll_until([first], lambda: shared_out([first], partitions, [4]))
        await produce_numbers(servers, name, 4, range(80, 120))
        records += await read([first], 120 - len(records))
    assert sorted(int(record.value or b"") for record in records) == list(range(120)), "nothing lost, nothing twice"
    gone = sorted({0, 1, 2, 3} - kept)
    told = [event for event in first_told.events if event[1]]
    assert told == [
        ("assigned", [0, 1, 2, 3]),
        ("revoked", gone),
        ("assigned", gone),
        ("revoked", [0, 1, 2, 3]),
    ]
    assert [event for event in second_told.events if event[1]] == [("assigned", gone), ("revoked", gone)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_member_that_does_not_poll_leaves_and_comes_back(servers: str, name: str, protocol: str) -> None:
    partitions = await create_topic(servers, name, 2)
    idle_told = Told()
    idle, busy = member(servers, name, protocol, max_poll_interval_ms=1_000), member(servers, name, protocol)
    async with idle, busy:
        idle.subscribe([name], idle_told)
        await poll_until([idle], lambda: shared_out([idle], partitions, [2]))
        busy.subscribe([name])
        await poll_until([busy], lambda: shared_out([busy], partitions, [2]))
        assert len(idle.assignment()) == 2, "partitions change hands only inside poll"
        with pytest.raises(KafkaError):
            await idle.commit({partitions[0]: 1})
        await poll_until([idle, busy], lambda: shared_out([idle, busy], partitions, [1, 1]))
    told = [event for event in idle_told.events if event[1]]
    assert told[:2] == [("assigned", [0, 1]), ("lost", [0, 1])]
    assert told[2][0] == "assigned"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_static_member_finds_its_partitions_again(servers: str, name: str, protocol: str) -> None:
    partitions = await create_topic(servers, name, 4)
    staying_told = Told()
    staying = member(servers, name, protocol, group_instance_id="stays")
    async with staying:
        staying.subscribe([name], staying_told)
        async with member(servers, name, protocol, group_instance_id="returns") as returning:
            returning.subscribe([name])
            await poll_until([staying, returning], lambda: shared_out([staying, returning], partitions, [2, 2]))
            before = returning.assignment()
        events = list(staying_told.events)
        async with member(servers, name, protocol, group_instance_id="returns") as again:
            again.subscribe([name])
            await poll_until([staying, again], lambda: again.assignment() == before)
            await staying.poll(500)
        assert [event for event in staying_told.events if event[1]] == [e for e in events if e[1]], "no rebalance"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_of_two_members_with_one_instance_id_one_is_told(servers: str, name: str, protocol: str) -> None:
    await create_topic(servers, name)
    first = member(servers, name, protocol, group_instance_id="one")
    second = member(servers, name, protocol, group_instance_id="one")
    async with first, second:
        first.subscribe([name])
        await poll_until([first], lambda: len(first.assignment()) == 1)
        second.subscribe([name])
        loser = first if protocol == "classic" else second  # KIP-848 only admits the previous instance
        with pytest.raises(KafkaError) as caught:
            await poll_until([first, second], lambda: False)
        expected = ErrorCode.FENCED_INSTANCE_ID if protocol == "classic" else ErrorCode.UNRELEASED_INSTANCE_ID
        assert caught.value.error_code == expected
        with pytest.raises(KafkaError):
            await loser.poll(0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_topics_that_change_are_followed(servers: str, name: str, protocol: str) -> None:
    partitions = await create_topic(servers, name, 1)
    others = await create_topic(servers, f"{name}-other", 2)
    told = Told()
    async with member(servers, name, protocol, metadata_max_age_ms=200) as consumer:
        consumer.subscribe([name], told)
        await poll_until([consumer], lambda: shared_out([consumer], partitions, [1]))
        consumer.subscribe([name, f"{name}-other"])
        await poll_until([consumer], lambda: shared_out([consumer], partitions + others, [3]))
        async with Admin(servers) as admin:
            await admin.create_partitions({name: 3})
        partitions = [TopicPartition(name, number) for number in range(3)]
        await poll_until([consumer], lambda: shared_out([consumer], partitions + others, [5]))
        consumer.subscribe([f"{name}-other"])
        await poll_until([consumer], lambda: shared_out([consumer], others, [2]))
        await consumer.unsubscribe()
        assert consumer.assignment() == set()
        consumer.subscribe([name])
        await poll_until([consumer], lambda: shared_out([consumer], partitions, [3]))
    lengths = [(what, len(some)) for what, some in told.events if some]
    before = [("assigned", 1), ("assigned", 2), ("assigned", 2), ("revoked", 3), ("revoked", 2)]
    assert lengths == [*before, ("assigned", 3), ("revoked", 3)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_member_whose_broker_forgot_it_loses_its_partitions_and_joins_anew(
    servers: str, name: str, protocol: str
) -> None:
    partitions = await create_topic(servers, name, 2)
    told = Told()
    async with member(servers, name, protocol, group_instance_id="i") as consumer, Admin(servers) as admin:
        consumer.subscribe([name], told)
        await poll_until([consumer], lambda: shared_out([consumer], partitions, [2]))
        await throw_out(admin, name, consumer, protocol)
        await poll_until([consumer], lambda: ("lost", [0, 1]) in told.events and len(consumer.assignment()) == 2)
    told_of = [event for event in told.events if event[1]]
    assert told_of == [("assigned", [0, 1]), ("lost", [0, 1]), ("assigned", [0, 1]), ("revoked", [0, 1])]


async def throw_out(admin: Admin, group: str, consumer: Consumer, protocol: str) -> None:
    """Removes the member without the consumer's knowledge, as an administrator does."""
    connection = await CoordinatorConnection(admin._cluster, group).connection()
    request: LeaveGroupRequest | ConsumerGroupHeartbeatRequest
    metadata = consumer.group_metadata()
    if protocol == "classic":
        identity = LeaveGroupRequest.MemberIdentity(member_id=metadata.member_id, group_instance_id="i")
        request = LeaveGroupRequest(group_id=group, members=[identity])
        assert not (await connection.call(request, LeaveGroupResponse)).error_code
        return
    request = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=metadata.member_id, instance_id="i", member_epoch=-1
    )
    assert not (await connection.call(request, ConsumerGroupHeartbeatResponse)).error_code


async def test_an_eager_group_gives_up_everything_at_each_rebalance(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 4)
    told = Told()
    async with member(servers, name, strategy="sticky") as first:
        first.subscribe([name], told)
        await poll_until([first], lambda: shared_out([first], partitions, [4]))
        async with member(servers, name, strategy="sticky") as second:
            second.subscribe([name])
            await poll_until([first, second], lambda: shared_out([first, second], partitions, [2, 2]))
            kept = sorted(p.partition for p in first.assignment())
            first.enforce_rebalance()
            events = len(told.events)
            await poll_until([first, second], lambda: len(told.events) == events + 2)
            assert sorted(p.partition for p in first.assignment()) == kept, "sticky keeps what it can"
        await poll_until([first], lambda: shared_out([first], partitions, [4]))
    everything = [0, 1, 2, 3]
    assert told.events == [
        ("assigned", everything),
        ("revoked", everything),
        ("assigned", kept),
        ("revoked", kept),
        ("assigned", kept),
        ("revoked", kept),
        ("assigned", everything),
        ("revoked", everything),
    ]


async def test_a_listener_that_raises_is_heard_and_the_group_goes_on(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 2)

    class Clumsy(RebalanceListener):
        async def on_partitions_assigned(self, partitions: Collection[TopicPartition]) -> None:
            raise RuntimeError("dropped")

    async with member(servers, name) as consumer:
        consumer.subscribe([name], Clumsy())
        with pytest.raises(RuntimeError, match="dropped"):
            await poll_until([consumer], lambda: False)
        assert consumer.assignment() == set(partitions)
        await consumer.poll(0)


def test_settings_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="session_timeout_ms cannot be set"):
        Consumer(group_id="g", group_protocol="consumer", session_timeout_ms=10_000)
    with pytest.raises(ConfigurationError, match="group_remote_assignor"):
        Consumer(group_id="g", group_remote_assignor="uniform")
    with pytest.raises(ConfigurationError, match="classic, consumer"):
        Consumer(group_id="g", group_protocol="new")
    with pytest.raises(ConfigurationError, match="it can have range, roundrobin, sticky, cooperative-sticky"):
        Consumer(group_id="g", partition_assignment_strategy=["random"])
    with pytest.raises(ConfigurationError, match="lower than session_timeout_ms"):
        Consumer(group_id="g", session_timeout_ms=1_000, heartbeat_interval_ms=1_000)
    with pytest.raises(ConfigurationError, match="needs a group_id"):
        Consumer(group_instance_id="i")


async def test_records_come_and_commits_count_while_others_hold_a_rebalance_up(servers: str, name: str) -> None:
    partitions = await create_topic(servers, name, 4)
    async with (
        member(servers, name, enable_auto_commit=False) as working,
        member(servers, name) as holding,
        member(servers, name) as joining,
        Admin(servers) as admin,
    ):
        working.subscribe([name])
        holding.subscribe([name])
        await poll_until([working, holding], lambda: shared_out([working, holding], partitions, [2, 2]))
        joining.subscribe([name])
        async with asyncio.timeout(60):
            while (await admin.describe_groups([name]))[name].state != "PreparingRebalance":
                await asyncio.gather(working.poll(50), joining.poll(50))
        await produce_numbers(servers, name, 4, range(40))
        records = await read([working], 20)
        await working.commit()
        assert {p.partition for p in working.assignment()} == {record.partition for record in records}
        offsets = {p: o.offset for p, o in (await working.committed()).items()}
        assert offsets == dict.fromkeys(working.assignment(), 10)
        assert (await admin.describe_groups([name]))[name].state == "PreparingRebalance"
        members = [working, holding, joining]
        await poll_until(members, lambda: sorted(len(m.assignment()) for m in members) == [1, 1, 2])


@pytest.mark.ci
async def test_a_member_goes_on_after_its_broker_was_killed(tmp_path: Path, name: str) -> None:
    with OurBroker(tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        servers = broker.bootstrap_servers
        partitions = await create_topic(servers, name, 2)
        for protocol in PROTOCOLS:
            group, told = f"{name}-{protocol}", Told()
            async with member(servers, group, protocol, retry_backoff_max_ms=100) as consumer:
                consumer.subscribe([name], told)
                await poll_until([consumer], lambda: shared_out([consumer], partitions, [2]))
                await produce_numbers(servers, name, 2, range(10))
                records = await read([consumer], 10)
                await consumer.commit()
                broker.kill()
                await consumer.poll(100)
                await asyncio.to_thread(broker.start)
                await produce_numbers(servers, name, 2, range(10, 20))
                records += await read([consumer], 10)
                assert sorted(int(r.value or b"") for r in records) == list(range(20))
                await consumer.commit()
            assert [event for event in told.events if event[1]] == [("assigned", [0, 1]), ("revoked", [0, 1])]
            async with Admin(servers) as admin:
                await admin.delete_records(await ends(servers, partitions))


async def ends(servers: str, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
    async with Consumer(bootstrap_servers=servers) as consumer:
        return await consumer.end_offsets(partitions)


async def test_the_leader_watches_the_topics_of_all_members(servers: str, name: str) -> None:
    own = await create_topic(servers, f"{name}-own")
    others = await create_topic(servers, f"{name}-others")
    async with (
        member(servers, name, metadata_max_age_ms=200) as leader,
        member(servers, name) as other,  # by default it would notice after five minutes
        Admin(servers) as admin,
    ):
        leader.subscribe([f"{name}-own"])
        await poll_until([leader], lambda: leader.assignment() == set(own))
        other.subscribe([f"{name}-others"])
        await poll_until([leader, other], lambda: other.assignment() == set(others))
        await admin.create_partitions({f"{name}-others": 3})
        await poll_until([leader, other], lambda: len(other.assignment()) == 3)
