"""Members of groups, of both protocols: how partitions are shared, handed over, lost and kept."""

import pytest

from odradek.client.consumer import Consumer
from support.client_groups import Told, create_topic, poll_until, produce_numbers, read, shared_out

PROTOCOLS = ["classic", "consumer"]


def member(
    servers: str, name: str, protocol: str = "classic", strategy: str = "cooperative-sticky", **settings
) -> Consumer:  # type: ignore[no-untyped-def]
    """A consumer that notices quickly what happens in its group."""
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
