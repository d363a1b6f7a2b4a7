"""Topics, groups of all types, the cluster, and the actions on them. Against ours and Apache Kafka."""

import asyncio
from typing import Any

import pytest

from odradek.client import Consumer, Producer, ShareConsumer
from odradek.client.errors import AdminError
from odradek.console.arguments import BadArgument, ConsoleError
from odradek.console.context import ClientSettings, Context
from odradek.console.views.broker_insights import ABSENT
from odradek.protocol.errors import KafkaError
from odradek.testing import KafkaCluster
from support.groups.streams_application import StreamsApplication

from .asking import create, get, post, stream


async def rows_of(context: Context, path: str, key: str) -> dict[str, Any]:
    return {row["name"]: row for row in (await get(context, path))[key]}


async def test_topics_with_sizes_and_configurations(context: Context, servers: str, name: str) -> None:
    await create(context, name, 3, retention_ms="60000")
    async with Producer(servers) as producer:
        for number in range(10):
            await producer.send(name, b"x" * 100, partition=number % 3)
    row = (await rows_of(context, "/api/topics", "topics"))[name]
    assert (row["partitions"], row["replicas"], row["isInternal"]) == (3, 1, False)
    assert (row["underReplicated"], row["offline"]) == (0, 0)
    details = (await get(context, "/api/topic-details", names=[name, "absent"]))[name]
    assert details["offsets"] == "10"
    assert int(details["bytes"]) > 1_000
    configs = {one["name"]: one for one in details["configs"]}
    assert configs["retention.ms"] == {"name": "retention.ms", "value": "60000", "source": "DYNAMIC_TOPIC_CONFIG"}
    assert configs["cleanup.policy"]["source"] == "DEFAULT_CONFIG"
    one = await get(context, f"/api/topics/{name}")
    assert [(part["partition"], part["replicas"], part["isr"]) for part in one["partitions"]] == [
        (number, [1], [1]) for number in range(3)
    ]
    offsets = await get(context, f"/api/topics/{name}/offsets", **{"from": "1"})
    assert [(part["partition"], part["start"], part["end"], part["stable"]) for part in offsets] == [
        (1, "0", "3", "3"),
        (2, "0", "3", "3"),
    ]
    all_configs = {one["name"]: one for one in await get(context, f"/api/topics/{name}/configs")}
    sources = [one["source"] for one in all_configs["retention.ms"]["synonyms"]]
    assert sources[0] == "DYNAMIC_TOPIC_CONFIG"
    assert all_configs["retention.ms"]["documentation"]


async def test_details_of_a_topic_that_is_gone(context: Context, name: str) -> None:
    assert await get(context, "/api/topic-details", names=[name]) == {
        name: {"offsets": None, "bytes": "0", "configs": []}
    }
    with pytest.raises(KafkaError, match=name):
        await get(context, f"/api/topics/{name}")


async def test_a_topic_is_created_changed_grown_and_deleted(context: Context, servers: str, name: str) -> None:
    asked = {"name": name, "partitions": "2", "configs": ["retention.ms = 1000"]}
    preview = await post(context, "/api/topics", **asked)
    assert preview["command"] == (
        f"odradek topics --bootstrap-server here:9092 --create --topic {name} --partitions 2 --config retention.ms=1000"
    )
    assert name not in await context.admin.list_topics()
    assert "Created topic" in (await post(context, "/api/topics", **asked, confirm=True))["done"]
    while name not in await context.admin.list_topics():
        pass
    with pytest.raises(AdminError, match="already exists"):
        await post(context, "/api/topics", **asked)

    path = f"/api/topics/{name}"
    change = {"set": ["retention.ms=500", "cleanup.policy=compact,delete"], "remove": ["segment.ms"]}
    preview = await post(context, path + "/configs", **change)
    assert preview["preview"][0] == "Sets retention.ms: 1000 (DYNAMIC_TOPIC_CONFIG) becomes 500."
    assert preview["command"].endswith(
        f"--topic {name} --add-config 'retention.ms=500,cleanup.policy=[compact,delete]' --delete-config segment.ms"
    )
    assert preview["warnings"] == [
        "A lower retention.ms deletes records that are kept today.",
        "Compaction keeps the last record of each key only. Records without a key are refused.",
    ]
    await post(context, path + "/configs", **change, confirm=True)
    wanted = {"retention.ms": "500", "cleanup.policy": "compact,delete"}
    while not wanted.items() <= {one["name"]: one["value"] for one in await get(context, path + "/configs")}.items():
        pass
    with pytest.raises(KafkaError, match="retention"):
        await post(context, path + "/configs", set=["retention.ms=soon"])
    with pytest.raises(BadArgument):
        await post(context, path + "/configs", set=["nonsense"])

    grown = await post(context, path + "/partitions", count="5")
    assert grown["preview"] == [f"Adds 3 partitions to topic {name}: 2 become 5."]
    with pytest.raises(AdminError):
        await post(context, path + "/partitions", count="1")
    await post(context, path + "/partitions", count="5", confirm=True)
    while len((await get(context, path))["partitions"]) < 5:
        pass

    async with Producer(servers) as producer:
        await producer.send_and_wait(name, b"x", b"key")
    async with Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest") as consumer:
        while not await consumer.poll(100):
            pass
        await consumer.commit()
        found = await post(context, path + "/delete")
        assert found["preview"][0].startswith(f"Deletes topic {name} with 5 partitions and 1 offsets, ")
        assert found["warnings"] == ["The records can't be restored.", f"Group {name} (Stable) reads this topic."]
        assert await get(context, path + "/readers") == [{"group": name, "state": "Stable"}]
    with pytest.raises(BadArgument, match="must be the name"):
        await post(context, path + "/delete", confirm=True)
    await post(context, path + "/delete", confirm=True, name=name)
    while name in await context.admin.list_topics():
        pass


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_a_group_with_members_assignment_and_lag(
    context: Context, servers: str, name: str, protocol: str
) -> None:
    await create(context, name, 4)
    async with Producer(servers) as producer:
        for number in range(20):
            await producer.send(name, b"%d" % number, partition=number % 4, timestamp_ms=1_000)
    async with Consumer(
        name,
        bootstrap_servers=servers,
        group_id=name,
        client_id="reader",
        group_protocol=protocol,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    ) as consumer:
        read = 0
        while read < 20:
            read += sum(map(len, (await consumer.poll(100)).values()))
        await consumer.commit()
        async with Producer(servers) as producer:
            await producer.send_and_wait(name, b"late", partition=2, timestamp_ms=2_000)
        row = (await rows_of(context, "/api/groups", "groups"))[name]
        assert (row["type"], row["state"]) == (protocol, "Stable")
        details = await get(context, "/api/group-details", names=[name, "absent"])
        assert details == {name: {"members": 1, "lag": "1", "topics": 1}, "absent": None}
        found = await get(context, f"/api/groups/{name}")
        assert (found["type"], found["memberCount"], found["lag"]) == (protocol, 1, "1")
        assert found["members"][0]["client"] == "reader"
        parts = [(part["committed"], part["end"], part["lag"], part["member"]) for part in found["partitions"]]
        assert parts == [("5", "5", "0", 0), ("5", "5", "0", 0), ("5", "6", "1", 0), ("5", "5", "0", 0)]
        seconds = [part["seconds"] for part in found["partitions"]]
        assert seconds[:2] == [0.0, 0.0]
        assert seconds[2] > 1_000_000_000
        history = await get(context, f"/api/groups/{name}/lag")
        assert [one["records"] for one in history["samples"]][-1] == "1"
        preview = await post(context, f"/api/groups/{name}/offsets", topic=name, to="earliest")
        assert preview["warnings"]


async def test_offsets_are_reset_after_their_preview(context: Context, servers: str, name: str) -> None:
    await create(context, name, 2)
    async with Producer(servers) as producer:
        for number in range(10):
            await producer.send(name, b"%d" % number, partition=number % 2, timestamp_ms=1_000 + number)
    async with Consumer(name, bootstrap_servers=servers, group_id=name, auto_offset_reset="earliest") as consumer:
        read = 0
        while read < 10:
            read += sum(map(len, (await consumer.poll(100)).values()))
        await consumer.commit()
    path = f"/api/groups/{name}/offsets"

    async def committed() -> list[str]:
        return [part["committed"] for part in (await get(context, f"/api/groups/{name}"))["partitions"]]

    preview = await post(context, path, topic=name, to="time", amount="1004")
    assert preview["preview"][1:] == ["Partition 0: 5 becomes 2.", "Partition 1: 5 becomes 2."]
    assert preview["command"] == (
        f"odradek groups --bootstrap-server here:9092 --reset-offsets --group {name} --topic {name}"
        " --to-datetime 1970-01-01T00:00:01.004 --execute"
    )
    assert await committed() == ["5", "5"]
    for kind, amount, after in [
        ("time", "1004", ["2", "2"]),
        ("shift", "-1", ["1", "1"]),
        ("offset", "99", ["5", "5"]),
        ("earliest", "0", ["0", "0"]),
    ]:
        await post(context, path, topic=name, to=kind, amount=amount, confirm=True)
        assert await committed() == after
    await post(context, path, topic=name, to="latest", partitions=["1"], confirm=True)
    assert await committed() == ["0", "5"]
    with pytest.raises(BadArgument):
        await post(context, path, topic=name, to="yesterday")
    with pytest.raises(ConsoleError, match="no group"):
        await post(context, "/api/groups/absent/offsets", topic=name, to="earliest")


async def test_a_share_group(context: Context, servers: str, name: str) -> None:
    await create(context, name, 2)
    async with ShareConsumer(name, bootstrap_servers=servers, group_id=name) as consumer:
        await consumer.poll(1_000)
        row = (await rows_of(context, "/api/groups", "groups"))[name]
        assert row["type"] == "share"
        found = await get(context, f"/api/groups/{name}")
        assert (found["type"], found["memberCount"]) == ("share", 1)
    with pytest.raises(BadArgument, match="share group"):
        await post(context, f"/api/groups/{name}/offsets", topic=name, to="shift", amount="1")
    await post(context, f"/api/groups/{name}/offsets", topic=name, to="earliest", confirm=True)
    found = await get(context, f"/api/groups/{name}")
    assert [part["committed"] for part in found["partitions"]] == ["0", "0"]


async def test_a_streams_group(context: Context, servers: str, name: str) -> None:
    """Of two subtopologies: its member owns the partitions of the input and of the repartition topic."""
    await create(context, f"{name}-in", 2)
    application = StreamsApplication(servers, name, f"{name}-in")
    await asyncio.to_thread(application.start)
    assert (await rows_of(context, "/api/groups", "groups"))[name]["type"] == "streams"
    found = await get(context, f"/api/groups/{name}")
    assert (found["type"], found["memberCount"]) == ("streams", 1)
    owned = {(part["topic"], part["partition"]) for part in found["partitions"] if part["member"] == 0}
    assert owned >= {(f"{name}-in", 0), (f"{name}-in", 1)}
    with pytest.raises(ConsoleError, match="odradek streams-groups"):
        await post(context, f"/api/groups/{name}/offsets", topic=f"{name}-in", to="earliest")
    await asyncio.to_thread(application.stop)


async def test_a_broker_of_three_is_gone(kafka_cluster: KafkaCluster) -> None:
    """Its replicas leave the ISR; records, topics and the other brokers' storage are shown all the same."""
    kafka_cluster.create_topic("t", 3)
    made = Context(ClientSettings(kafka_cluster.bootstrap_servers))
    await made.connect()
    try:
        async with Producer(kafka_cluster.bootstrap_servers) as producer:
            for number in range(3):
                await producer.send_and_wait("t", b"%d" % number, partition=number)
        before = await get(made, "/api/cluster")
        assert ([broker["id"] for broker in before["brokers"]], before["laggingCount"]) == ([0, 1, 2], 0)
        gone = kafka_cluster.brokers[2]
        await asyncio.to_thread(gone.kill)
        await asyncio.to_thread(kafka_cluster.wait_until_fenced, gone)
        while (found := await get(made, "/api/cluster"))["laggingCount"] < 3:
            pass
        assert [(part["partition"], sorted(part["isr"])) for part in found["lagging"] if part["topic"] == "t"] == [
            (number, [0, 1]) for number in range(3)
        ]
        assert [broker["id"] for broker in found["brokers"]] == [0, 1]
        topic = (await rows_of(made, "/api/topics", "topics"))["t"]
        assert (topic["underReplicated"], topic["offline"]) == (3, 0)
        records = await get(made, "/api/topics/t/records")
        assert sorted(row["value"]["text"] for row in records["rows"]) == ["0", "1", "2"]
        storage = await get(made, "/api/storage")
        assert [directory["broker"] for directory in storage["directories"]] == [0, 1]
    finally:
        await made.close()


async def test_the_cluster_and_its_storage(context: Context, name: str) -> None:
    await create(context, name, 2)
    cluster = await get(context, "/api/cluster")
    assert (len(cluster["brokers"]), cluster["brokers"][0]["id"], cluster["laggingCount"]) == (1, 1, 0)
    assert cluster["brokers"][0]["leads"] == cluster["partitions"] >= 2
    assert cluster["quorum"]["leader"] == 1
    assert "metadata.version" in [one["name"] for one in cluster["features"]]
    while not (directory := (await get(context, "/api/storage"))["directories"][0])["replicas"]:
        pass  # Kafka creates a replica after it has named its topic
    assert (directory["broker"], directory["error"], int(directory["total"]) > 0) == (1, "", True)
    sizes = [int(replica["size"]) for replica in directory["largest"]]
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == min(directory["replicas"], 200)
    overview = await get(context, "/api/overview")
    assert (overview["clusterId"], overview["hasInsights"]) == (cluster["clusterId"], False)


async def test_what_the_protocol_does_not_tell_has_a_reason(context: Context) -> None:
    for path in ("/api/connections", "/api/rebalances"):
        with pytest.raises(ConsoleError) as refusal:
            await get(context, path)
        assert (refusal.value.status, refusal.value.message) == (404, ABSENT)
    with pytest.raises(ConsoleError):
        await anext(stream(context, "/api/log"))
