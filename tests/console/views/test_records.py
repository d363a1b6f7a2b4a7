"""Browse, search, tail; transactions and control records; one record; batches. Against ours and Apache Kafka."""

from typing import Any

import pytest

from odradek.client import Producer
from odradek.console.arguments import BadArgument, ConsoleError
from odradek.console.context import Attachment, Context

from .asking import create, get, post, stream


async def produce(servers: str, topic: str, values: list[bytes], partition: int = 0, time_ms: int = 1_000) -> None:
    async with Producer(servers, linger_ms=0) as producer:
        for number, value in enumerate(values):
            await producer.send_and_wait(topic, value, partition=partition, timestamp_ms=time_ms + number)


def places(found: Any) -> list[tuple[int, str]]:
    return [(row["partition"], row["offset"]) for row in found["rows"]]


async def test_browse_in_both_directions_page_by_page(context: Context, servers: str, name: str) -> None:
    await create(context, name)
    await produce(servers, name, [b"%d" % n for n in range(7)])
    path = f"/api/topics/{name}/records"

    forward = await get(context, path, limit="3")
    assert places(forward) == [(0, "0"), (0, "1"), (0, "2")]
    assert (forward["isFinished"], forward["order"], forward["partitions"]) == (False, "offset", 1)
    second = await get(context, path, limit="3", cursor=forward["cursor"])
    assert places(second) == [(0, "3"), (0, "4"), (0, "5")]
    third = await get(context, path, limit="3", cursor=second["cursor"])
    assert (places(third), third["isFinished"]) == ([(0, "6")], True)

    backward = await get(context, path, limit="3", direction="backward", start="latest")
    assert places(backward) == [(0, "6"), (0, "5"), (0, "4")]
    rest = await get(context, path, limit="5", direction="backward", cursor=backward["cursor"])
    assert (places(rest), rest["isFinished"]) == ([(0, "3"), (0, "2"), (0, "1"), (0, "0")], True)


async def test_start_at_an_offset_and_at_a_time(context: Context, servers: str, name: str) -> None:
    await create(context, name)
    await produce(servers, name, [b"%d" % n for n in range(5)], time_ms=5_000)
    path = f"/api/topics/{name}/records"
    assert places(await get(context, path, start="offset:3")) == [(0, "3"), (0, "4")]
    assert places(await get(context, path, start="offset:3", direction="backward", limit="2")) == [(0, "3"), (0, "2")]
    assert places(await get(context, path, start="time:5002", limit="1")) == [(0, "2")]
    assert places(await get(context, path, start="time:5002", direction="backward", limit="1")) == [(0, "1")]
    assert places(await get(context, path, start="time:9999")) == []
    assert places(await get(context, path, start="offset:99")) == []


async def test_partitions_are_merged_by_time(context: Context, servers: str, name: str) -> None:
    await create(context, name, 3)
    await produce(servers, name, [b"a", b"b"], 0, 1_000)
    await produce(servers, name, [b"c", b"d"], 2, 1_001)
    path = f"/api/topics/{name}/records"
    first = await get(context, path, limit="3")
    assert places(first) == [(0, "0"), (0, "1"), (2, "0")]
    assert (first["order"], first["partitions"], first["allPartitions"]) == ("time", 2, 3)
    assert places(await get(context, path, limit="3", cursor=first["cursor"])) == [(2, "1")]
    back = await get(context, path, limit="2", direction="backward", start="latest")
    assert places(back) == [(2, "1"), (2, "0")]
    more = await get(context, path, limit="9", direction="backward", cursor=back["cursor"])
    assert places(more) == [(0, "1"), (0, "0")]
    assert places(await get(context, path, partitions=["2"])) == [(2, "0"), (2, "1")]


@pytest.mark.parametrize(
    "arguments",
    [
        {"start": "now"},
        {"start": "offset:x"},
        {"direction": "up"},
        {"limit": "0"},
        {"partitions": ["9"]},
        {"partitions": ["-1"]},
        {"cursor": "0"},
        {"cursor": "7:0"},
        {"cursor": "0:" + "9" * 40},
    ],
)
async def test_bad_places_are_refused(context: Context, name: str, arguments: dict[str, object]) -> None:
    await create(context, name)
    with pytest.raises(BadArgument):
        await get(context, f"/api/topics/{name}/records", **arguments)


async def test_transactions_and_control_records_are_marked(context: Context, servers: str, name: str) -> None:
    await create(context, name)
    async with Producer(servers, transactional_id=name) as producer:
        await producer.init_transactions()
        await producer.begin_transaction()
        await producer.send(name, b"kept")
        await producer.commit_transaction()
        await producer.begin_transaction()
        await producer.send(name, b"dropped")
        await producer.flush()
        await producer.abort_transaction()
        await producer.begin_transaction()
        await producer.send(name, b"open")
        await producer.flush()
        path = f"/api/topics/{name}/records"
        while (await get(context, path))["offsets"][0]["stable"] != "4":  # a broker writes markers after its answer
            pass
        found = await get(context, path)
        states = [(row["state"], row["control"].partition(",")[0], row["value"]["text"]) for row in found["rows"]]
        assert [state[:2] for state in states] == [
            ("committed", ""),
            ("", "COMMIT"),
            ("aborted", ""),
            ("", "ABORT"),
            ("unstable", ""),
        ]
        assert [state[2] for state in states[::2]] == ["kept", "dropped", "open"]
        back = await get(context, path, direction="backward", start="latest")
        assert [row["state"] for row in back["rows"]] == ["unstable", "", "aborted", "", "committed"]
        marker = await get(context, f"/api/topics/{name}/partitions/0/records/1")
        assert (marker["control"], marker["batchOffset"]) == ("COMMIT, coordinator epoch 0", "1")
        states_of_producers = await get(context, f"/api/topics/{name}/partitions/0/producers")
        assert [state["openSince"] for state in states_of_producers] == ["4"]
        listed = await get(context, "/api/transactions")
        assert {one["name"]: one["state"] for one in listed["transactions"]}[name] == "Ongoing"
        details = await get(context, "/api/transaction-details", names=[name])
        assert details[name]["partitions"] == [f"{name}-0"]
        await producer.abort_transaction()


async def test_search_says_how_far_it_looked_and_resumes(context: Context, servers: str, name: str) -> None:
    await create(context, name, 2)
    for partition in range(2):
        await produce(servers, name, [b"needle %d" % n if n % 3 == 0 else b"hay" for n in range(9)], partition)
    path = f"/api/topics/{name}/search"
    values = [value async for value in stream(context, path, text="NEEDLE", limit="4")]
    assert [value["isDone"] for value in values] == [False] * (len(values) - 1) + [True]
    assert sum(len(value["rows"]) for value in values) == 4
    last = values[-1]
    assert (last["isFinished"], last["partitions"]) == (False, 2)
    assert int(last["records"]) > 0 < int(last["bytes"])
    rest = [value async for value in stream(context, path, text="NEEDLE", cursor=last["cursor"])]
    found = [place for value in [*values, *rest] for place in places(value)]
    assert sorted(found) == [(partition, offset) for partition in range(2) for offset in "036"]
    assert rest[-1]["isFinished"]
    back = [value async for value in stream(context, path, text="needle", direction="backward", start="latest")]
    assert sorted(place for value in back for place in places(value)) == sorted(found)
    nothing = [value async for value in stream(context, path, text="needle", **{"in": ["key"]})]
    assert (sum(len(value["rows"]) for value in nothing), nothing[-1]["records"]) == (0, "18")


async def test_tail_shows_what_comes_afterwards(context: Context, servers: str, name: str) -> None:
    await create(context, name, 2)
    await produce(servers, name, [b"before"])
    values = stream(context, f"/api/topics/{name}/tail")
    first = await anext(values)
    assert first["rows"] == []
    await produce(servers, name, [b"after 1", b"after 2"], 1)
    seen: list[str] = []
    while len(seen) < 2:
        seen += [row["value"]["text"] for row in (await anext(values))["rows"]]
    await values.aclose()
    assert seen == ["after 1", "after 2"]


async def test_tail_follows_every_partition_of_a_wide_topic(context: Context, servers: str, name: str) -> None:
    await create(context, name, 250)
    values = stream(context, f"/api/topics/{name}/tail")
    assert ((await anext(values))["partitions"], (await anext(values))["leftOut"]) == (250, 0)
    await produce(servers, name, [b"last"], 249)
    while not (rows := (await anext(values))["rows"]):
        pass
    await values.aclose()
    assert [(row["partition"], row["value"]["text"]) for row in rows] == [(249, "last")]


async def test_a_big_value_is_cut_and_can_be_downloaded(context: Context, servers: str, name: str) -> None:
    await create(context, name)
    value = bytes(range(97, 123)) * 10_000
    await produce(servers, name, [value])
    row = (await get(context, f"/api/topics/{name}/records"))["rows"][0]
    assert (row["value"]["size"], row["value"]["isCut"], len(row["value"]["text"])) == ("260000", True, 512)
    detail = await get(context, f"/api/topics/{name}/partitions/0/records/0")
    assert (len(detail["value"]["text"]), detail["value"]["isCut"]) == (65_536, True)
    found = await get(context, f"/api/topics/{name}/partitions/0/records/0/download")
    assert found == Attachment(f"{name}-0-0.value", value)
    with pytest.raises(ConsoleError, match="the key is null"):
        await get(context, f"/api/topics/{name}/partitions/0/records/0/download", part="key")
    with pytest.raises(ConsoleError, match="no record at offset 1"):
        await get(context, f"/api/topics/{name}/partitions/0/records/1")


async def test_a_record_is_produced_after_its_preview(context: Context, name: str) -> None:
    await create(context, name, 2)
    path = f"/api/topics/{name}/records"
    asked: dict[str, object] = {"partition": "1", "key": "k", "value": "it's", "headers": ["trace=a=b", "flag"]}
    preview = await post(context, path, **asked)
    assert preview["preview"][0] == f"Writes one record to topic {name}, to partition 1."
    assert preview["command"].startswith("# odradek produce can't write a header with a null value")
    asked["headers"] = ["trace=a=b"]
    assert (await post(context, path, **asked))["command"] == (
        f"printf '%s\\n' 'it'\"'\"'s' | odradek produce --bootstrap-server here:9092 --topic {name} --partition 1"
        " --key k --header trace=a=b"
    )
    assert (await get(context, path))["rows"] == []
    assert (await post(context, path, **asked, confirm=True))["done"] == "Wrote the record to partition 1 at offset 0."
    await post(context, path, key="00ff", keyKind="hex", valueKind="null", partition="1", confirm=True)
    rows = [await get(context, f"/api/topics/{name}/partitions/1/records/{offset}") for offset in range(2)]
    assert [(row["key"]["hex"], row["value"]["text"], row["value"]["isNull"]) for row in rows] == [
        ("6b", "it's", False),
        ("00 ff", None, True),
    ]
    assert [(one["name"], one["value"]["text"]) for one in rows[0]["headers"]] == [("trace", "a=b")]
    with pytest.raises(BadArgument, match="partition"):
        await post(context, path, value="x", partition="2")


async def test_the_headers_of_batches(context: Context, servers: str, name: str) -> None:
    await create(context, name)
    async with Producer(servers, compression_type="gzip", linger_ms=1_000) as producer:
        for number in range(10):
            await producer.send(name, b"%d" % number, timestamp_ms=50 + number)
    await produce(servers, name, [b"one"], time_ms=70)
    found = await get(context, f"/api/topics/{name}/partitions/0/batches")
    first, second = found["rows"]
    assert (first["baseOffset"], first["lastOffset"], first["records"], first["compression"]) == ("0", "9", 10, "gzip")
    assert (first["maxTime"], first["magic"], first["isSound"], first["isControl"]) == ("59", 2, True, False)
    assert (second["baseOffset"], second["compression"], int(second["producerId"]) >= 0) == ("10", "none", True)
    assert (found["start"], found["end"], found["next"]) == ("0", "11", None)
    page = await get(context, f"/api/topics/{name}/partitions/0/batches", limit="1")
    assert (len(page["rows"]), page["next"]) == (1, "10")
    after = await get(context, f"/api/topics/{name}/partitions/0/batches", **{"from": "10"})
    assert [row["baseOffset"] for row in after["rows"]] == ["10"]
