"""Actions on topics: create, change, add partitions, delete. Each shows first what it does."""

from collections.abc import Mapping

from odradek.client.admin import NewTopic
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError

from ..arguments import BadArgument, ViewArguments
from ..context import Context, Json
from .places import offsets_in
from .plan import ActionPlan, carried_out, command
from .topics import sizes_of

MOST_CONFIGS = 100
MOST_GROUPS = 200
"""The groups that are asked whether they read a topic."""


async def create(context: Context, arguments: ViewArguments) -> Json:
    """Creates a topic. The preview is checked by the broker (``validate_only``)."""
    name = arguments.text("name")
    partitions = arguments.number("partitions", -1, -1, 100_000)
    replicas = arguments.number("replicas", -1, -1, 32_767)
    configs = _configs(arguments, "configs")
    new = NewTopic(name, partitions, replicas, configs=configs)
    if not arguments.is_confirmed:
        await context.admin.create_topics([new], validate_only=True)

    async def do() -> str:
        made = (await context.admin.create_topics([new]))[name]
        return f"Created topic {name} with {made.num_partitions} partitions and {made.replication_factor} replicas."

    plan = ActionPlan(
        [
            f"Creates topic {name}.",
            f"Partitions: {_or_default(partitions)}. Replicas of each: {_or_default(replicas)}.",
            *(f"Sets {key} = {value}." for key, value in configs.items()),
        ],
        command(
            context.settings.command_options,
            "topics",
            "--create",
            ["--topic", name],
            ["--partitions", str(partitions)] if partitions > 0 else [],
            ["--replication-factor", str(replicas)] if replicas > 0 else [],
            *(["--config", f"{key}={value}"] for key, value in configs.items()),
        ),
        [],
        do,
    )
    return await carried_out(arguments, plan)


async def change(context: Context, arguments: ViewArguments) -> Json:
    """Sets and removes configurations of a topic. The preview is checked by the broker (``validate_only``)."""
    name = arguments.text("topic")
    added, removed = _configs(arguments, "set"), arguments.items("remove", MOST_CONFIGS)
    if not added and not removed:
        raise BadArgument("set", "names no configuration")
    if not arguments.is_confirmed:
        await context.admin.incremental_alter_configs(
            "topic", name, set_configs=added, delete_configs=removed, validate_only=True
        )
    found = await context.admin.describe_configs("topic", [name])
    before = {entry.name: entry for entry in found[name]}

    async def do() -> str:
        await context.admin.incremental_alter_configs("topic", name, set_configs=added, delete_configs=removed)
        return f"Changed {len(added) + len(removed)} configurations of topic {name}."

    def old(key: str) -> str:
        return f"{before[key].value} ({before[key].source})" if key in before else "not set"

    plan = ActionPlan(
        [
            *(f"Sets {key}: {old(key)} becomes {value}." for key, value in added.items()),
            *(f"Removes {key}: {old(key)} becomes the default." for key in removed),
        ],
        command(
            context.settings.command_options,
            "configs",
            "--alter",
            ["--topic", name],
            ["--add-config", ",".join(f"{key}={_listed(value)}" for key, value in added.items())] if added else [],
            ["--delete-config", ",".join(removed)] if removed else [],
        ),
        _warnings_of(added, before={key: entry.value for key, entry in before.items()}),
        do,
    )
    return await carried_out(arguments, plan)


async def add_partitions(context: Context, arguments: ViewArguments) -> Json:
    """Raises the number of partitions. The preview is checked by the broker (``validate_only``)."""
    name = arguments.text("topic")
    count = arguments.number("count", None, 1, 100_000)
    if not arguments.is_confirmed:
        await context.admin.create_partitions({name: count}, validate_only=True)
    await context.cluster.refresh([name])
    now = len((await context.cluster.topic(name, timeout_ms=0)).partitions)

    async def do() -> str:
        await context.admin.create_partitions({name: count})
        return f"Topic {name} has {count} partitions now."

    plan = ActionPlan(
        [f"Adds {count - now} partitions to topic {name}: {now} become {count}."],
        command(context.settings.command_options, "topics", "--alter", ["--topic", name], ["--partitions", str(count)]),
        [
            "Records with a key go to other partitions from now on.",
            "The number of partitions can't be lowered again.",
        ],
        do,
    )
    return await carried_out(arguments, plan)


async def delete(context: Context, arguments: ViewArguments) -> Json:
    """Deletes a topic. Confirmed, ``name`` must be its name once more."""
    name = arguments.text("topic")
    confirmed = arguments.is_confirmed
    if confirmed and arguments.text("name", "") != name:
        raise BadArgument("name", f"must be the name of the topic, {name}")

    async def do() -> str:
        await context.admin.delete_topics([name])
        await context.cluster.refresh([name])
        return f"Deleted topic {name}."

    line = command(context.settings.command_options, "topics", "--delete", ["--topic", name])
    if confirmed:
        return await carried_out(arguments, ActionPlan([], line, [], do))
    await context.cluster.refresh([name])
    partitions = [
        TopicPartition(name, number) for number in (await context.cluster.topic(name, timeout_ms=0)).available
    ]
    count = await offsets_in(context.admin, partitions)
    sizes = await sizes_of(context, [name])
    size = "" if sizes is None else f", {sum(sizes.get(name, {}).values())} bytes on each replica"
    found = await readers_of(context, name)
    plan = ActionPlan(
        [f"Deletes topic {name} with {len(partitions)} partitions and {count} offsets{size}."],
        line,
        [
            "The records can't be restored.",
            *(f"Group {group} ({state}) reads this topic." for group, state in found.items()),
        ],
        do,
    )
    return await carried_out(arguments, plan)


async def readers(context: Context, arguments: ViewArguments) -> Json:
    """The groups that have committed offsets of a topic."""
    found = await readers_of(context, arguments.text("topic"))
    return [{"group": group, "state": state} for group, state in found.items()]


async def readers_of(context: Context, topic: str) -> dict[str, str]:
    """Group -> its state, of the groups that have offsets of a topic. Asks MOST_GROUPS groups at most."""
    found: dict[str, str] = {}
    for listed in (await context.admin.list_groups())[:MOST_GROUPS]:
        try:
            if listed.group_type.lower() == "share":
                of_share = await context.admin.list_share_group_offsets([listed.group_id])
                partitions = set(of_share[listed.group_id])
            else:
                partitions = set(await context.admin.list_group_offsets(listed.group_id))
        except KafkaError as error:
            if error.error_code not in (ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.GROUP_ID_NOT_FOUND):
                raise
            continue
        if any(partition.topic == topic for partition in partitions):
            found[listed.group_id] = listed.state
    return found


def _configs(arguments: ViewArguments, name: str) -> dict[str, str]:
    """Lines of ``key=value``. Raises BadArgument."""
    found: dict[str, str] = {}
    for line in arguments.items(name, MOST_CONFIGS):
        key, separator, value = line.partition("=")
        if not separator or not key.strip():
            raise BadArgument(name, f"has a line that is not KEY=VALUE: {line[:100]}")
        found[key.strip()] = value.strip()
    return found


def _listed(value: str) -> str:
    return f"[{value}]" if "," in value else value


def _or_default(number: int) -> str:
    return "the broker's default" if number < 0 else str(number)


def _warnings_of(added: Mapping[str, str], before: Mapping[str, str | None]) -> list[str]:
    """Changes that lose records soon."""
    warnings = []
    for key in ("retention.ms", "retention.bytes"):
        old, new = before.get(key), added.get(key)
        if new is not None and _limit(new) < _limit(old or "-1"):
            warnings.append(f"A lower {key} deletes records that are kept today.")
    if "compact" in added.get("cleanup.policy", "") and "compact" not in (before.get("cleanup.policy") or ""):
        warnings.append("Compaction keeps the last record of each key only. Records without a key are refused.")
    return warnings


def _limit(value: str) -> float:
    """A retention as a number; -1 is without limit."""
    try:
        number = int(value)
    except ValueError:
        return float("inf")
    return float("inf") if number < 0 else number
