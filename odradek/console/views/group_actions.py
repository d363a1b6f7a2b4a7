"""Resets the offsets of a group. The preview lists each partition with its old and new offset."""

from datetime import UTC, datetime

from odradek.client.types import OffsetAndMetadata, TopicPartition

from ..arguments import BadArgument, ConsoleError, ViewArguments
from ..context import Context, Json
from .groups import SHARE, STREAMS, described, positions_of
from .places import bounds_of
from .plan import ActionPlan, carried_out, command

SHOWN_PARTITIONS = 100
KINDS = ("earliest", "latest", "offset", "time", "shift")


async def reset_offsets(context: Context, arguments: ViewArguments) -> Json:
    """Sets the offsets of one topic to the start, the end, an offset, a time, or by a number of offsets from here."""
    name, topic = arguments.text("group"), arguments.text("topic")
    kind = arguments.choice("to", None, KINDS)
    amount = arguments.number("amount", 0, -(2**62), 2**62)
    found = await described(context, name)
    group_type = found.group_type.lower()
    if group_type == STREAMS:
        raise ConsoleError(400, "the offsets of a streams group are reset by odradek streams-groups")
    if group_type == SHARE and kind in ("offset", "shift"):
        raise BadArgument("to", "is earliest, latest or time for a share group")
    chosen = {int(number) for number in arguments.items("partitions", 10_000) if number.isdigit()}
    numbers = sorted((await context.cluster.topic(topic, timeout_ms=0)).available)
    numbers = [number for number in numbers if not chosen or number in chosen]
    if not numbers:
        raise BadArgument("partitions", f"names no partition of {topic}")
    positions = {p.partition: p.committed for p in await positions_of(context, found)}
    targets = await _targets(context, topic, numbers, kind, amount, positions)

    async def do() -> str:
        if group_type == SHARE:
            await context.admin.alter_share_group_offsets(name, targets)
        else:
            committed = {partition: OffsetAndMetadata(offset) for partition, offset in targets.items()}
            await context.admin.alter_group_offsets(name, committed)
        return f"Reset the offsets of group {name} in {len(targets)} partitions of {topic}."

    def line(partition: TopicPartition, offset: int) -> str:
        old = positions.get(partition)
        return f"Partition {partition.partition}: {'none' if old is None else old} becomes {offset}."

    more = len(targets) - SHOWN_PARTITIONS
    warnings = [f"Group {name} has {len(found.members)} members: stop them first, or the broker refuses."]
    plan = ActionPlan(
        [
            f"Resets the offsets of group {name} in topic {topic}.",
            *(line(partition, offset) for partition, offset in list(targets.items())[:SHOWN_PARTITIONS]),
            *([f"{more} more partitions."] if more > 0 else []),
        ],
        command(
            context.settings.command_options,
            "share-groups" if group_type == SHARE else "groups",
            "--reset-offsets",
            ["--group", name],
            ["--topic", topic + (":" + ",".join(map(str, sorted(chosen))) if chosen else "")],
            _option(kind, amount),
            "--execute",
        ),
        warnings if found.members else [],
        do,
    )
    return await carried_out(arguments, plan)


async def _targets(
    context: Context,
    topic: str,
    numbers: list[int],
    kind: str,
    amount: int,
    positions: dict[TopicPartition, int | None],
) -> dict[TopicPartition, int]:
    """Each partition's new offset, between its start and its end (``OffsetsUtils``)."""
    bounds = await bounds_of(context.admin, topic, numbers)
    times = {}
    if kind == "time":
        times = await context.admin.list_offsets({TopicPartition(topic, number): amount for number in numbers})
    targets = {}
    for number in numbers:
        partition, bound = TopicPartition(topic, number), bounds[number]
        if kind == "earliest":
            offset = bound.start
        elif kind == "latest":
            offset = bound.end
        elif kind == "offset":
            offset = amount
        elif kind == "time":
            offset = times[partition].offset if times[partition].offset >= 0 else bound.end
        else:
            current = positions.get(partition)
            offset = (bound.end if current is None else current) + amount
        targets[partition] = max(bound.start, min(offset, bound.end))
    return targets


def _option(kind: str, amount: int) -> list[str]:
    if kind == "offset":
        return ["--to-offset", str(amount)]
    if kind == "shift":
        return ["--shift-by", str(amount)]
    if kind == "time":
        moment = datetime.fromtimestamp(amount / 1000, UTC).isoformat(timespec="milliseconds")
        return ["--to-datetime", moment.replace("+00:00", "")]
    return [f"--to-{kind}"]
