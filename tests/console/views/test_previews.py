"""The command line of a preview does what the action would have done."""

import asyncio
import os
import sys
from pathlib import Path

from odradek.client.types import OffsetAndMetadata, TopicPartition
from odradek.console.context import Context

from .asking import get, post


async def run(context: Context, path: str, **arguments: object) -> None:
    """Runs the command line of a preview in a shell, with the broker's address."""
    line = (await post(context, path, **arguments))["command"]
    found = line.replace("here:9092", context.settings.bootstrap_servers)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_shell(
        found, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, env={**os.environ, "PATH": programs}
    )
    _, errors = await process.communicate()
    assert process.returncode == 0, (line, errors)


async def test_the_commands_of_previews(context: Context, name: str) -> None:
    await run(context, "/api/topics", name=name, partitions="2", configs=["cleanup.policy=compact,delete"])
    path = f"/api/topics/{name}"
    while name not in await context.admin.list_topics():
        pass
    configs = {one["name"]: one["value"] for one in await get(context, path + "/configs")}
    assert configs["cleanup.policy"] == "compact,delete"

    await run(
        context, path + "/configs", set=["cleanup.policy=delete,compact", "retention.ms=9"], remove=["segment.ms"]
    )
    while {one["name"]: one["value"] for one in await get(context, path + "/configs")}["retention.ms"] != "9":
        pass
    await run(context, path + "/configs", remove=["retention.ms"])
    await run(context, path + "/partitions", count="3")
    while len((await get(context, path))["partitions"]) < 3:
        pass

    await run(context, path + "/records", partition="2", key="it's", value='{"a": "$x `y`"}', headers=["h=1=2"])
    await run(context, path + "/records", partition="2", key="it's", valueKind="null")
    rows = (await get(context, path + "/records"))["rows"]
    assert [(row["partition"], row["key"]["text"], row["value"]["text"]) for row in rows] == [
        (2, "it's", '{"a": "$x `y`"}'),
        (2, "it's", None),
    ]
    detail = await get(context, path + "/partitions/2/records/0")
    assert [(one["name"], one["value"]["text"]) for one in detail["headers"]] == [("h", "1=2")]

    partition = TopicPartition(name, 2)
    await context.admin.alter_group_offsets(name, {partition: OffsetAndMetadata(1)})
    resets: list[tuple[dict[str, object], int]] = [
        ({"to": "latest", "partitions": ["2"]}, 2),
        ({"to": "shift", "amount": "-1", "partitions": ["2"]}, 1),
        ({"to": "offset", "amount": "2", "partitions": ["2"]}, 2),
        ({"to": "earliest"}, 0),
        ({"to": "time", "amount": "1000"}, 0),
    ]
    for arguments, after in resets:
        await run(context, f"/api/groups/{name}/offsets", topic=name, **arguments)
        assert (await context.admin.list_group_offsets(name))[partition].offset == after

    await run(context, path + "/delete")
    while name in await context.admin.list_topics():
        pass
