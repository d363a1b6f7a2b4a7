"""Topics: their names, what is known of the rows in sight, one topic with its partitions and configurations.

Names come first, in one answer for all topics. Sizes and offsets are asked for rows in sight only, because each costs
requests to the leaders of all partitions.
"""

import asyncio
from collections.abc import Collection, Sequence

from odradek.client.cluster.metadata import TopicMetadata
from odradek.client.types import TopicPartition
from odradek.protocol.errors import ErrorCode, KafkaError

from ..arguments import ViewArguments
from ..context import Context, Json
from .places import bounds_of, offsets_in

ROWS_AT_ONCE = 50
PARTITIONS_AT_ONCE = 200
SHOWN_CONFIGS = ("cleanup.policy", "retention.ms", "retention.bytes", "min.insync.replicas")


async def topics(context: Context, arguments: ViewArguments) -> Json:
    """All topics: name, partitions, replicas, and the partitions without a leader or below their replicas."""
    found = await context.cluster.list_topics()
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": len(topic.partitions),
                "replicas": max((len(part.replicas) for part in topic.partitions.values()), default=0),
                "isInternal": topic.is_internal,
                "underReplicated": _under_replicated(topic),
                "offline": sum(part.leader < 0 for part in topic.partitions.values()),
                "error": ErrorCode(topic.error_code).name if topic.error_code else "",
            }
            for topic in sorted(found, key=lambda topic: topic.name)
        ]
    }


def _under_replicated(topic: TopicMetadata) -> int:
    return sum(len(part.isr) < len(part.replicas) for part in topic.partitions.values())


async def details(context: Context, arguments: ViewArguments) -> Json:
    """What the rows in sight show: records, bytes, configurations with their sources. Names: up to 50."""
    names = arguments.items("names")[:ROWS_AT_ONCE]
    counted = await asyncio.gather(*(_offsets_in_all(context, name) for name in names))
    sizes = await sizes_of(context, names)
    configs = await _configs_of(context, names)
    return {
        name: {
            "offsets": records,
            "bytes": None if sizes is None else str(sum(sizes.get(name, {}).values())),
            "configs": configs.get(name, []),
        }
        for name, records in zip(names, counted, strict=True)
    }


async def _offsets_in_all(context: Context, name: str) -> str | None:
    """The number of offsets from start to end in all partitions; None if a partition has no leader."""
    try:
        topic = await context.cluster.topic(name, timeout_ms=0)
        if len(topic.available) < len(topic.partitions):
            return None
        return str(await offsets_in(context.admin, [TopicPartition(name, number) for number in topic.partitions]))
    except KafkaError:
        return None


async def sizes_of(context: Context, names: Collection[str]) -> dict[str, dict[int, int]] | None:
    """Topic -> partition -> bytes of the largest replica. None if this user may not ask (DESCRIBE of the cluster)."""
    partitions = [TopicPartition(name, number) for name in names for number in await _numbers_of(context, name)]
    try:
        described = await context.admin.describe_log_dirs(sorted(context.cluster.metadata.brokers), partitions)
    except KafkaError as error:
        if error.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return None
        raise
    sizes: dict[str, dict[int, int]] = {}
    for directory in (directory for of_broker in described.values() for directory in of_broker):
        for (topic, number), replica in directory.replicas.items():
            if not replica.is_future:
                known = sizes.setdefault(topic, {})
                known[number] = max(known.get(number, 0), replica.size)
    return sizes


async def _numbers_of(context: Context, name: str) -> list[int]:
    try:
        return sorted((await context.cluster.topic(name, timeout_ms=0)).partitions)
    except KafkaError:
        return []


async def _configs_of(context: Context, names: Sequence[str]) -> dict[str, Json]:
    """The configurations of SHOWN_CONFIGS with their sources; nothing for topics that this user may not ask about."""
    found = await asyncio.gather(
        *(context.admin.describe_configs("topic", [name]) for name in names), return_exceptions=True
    )
    shown: dict[str, Json] = {}
    for name, answer in zip(names, found, strict=True):
        if isinstance(answer, KafkaError):
            continue
        if isinstance(answer, BaseException):
            raise answer
        shown[name] = [
            {"name": entry.name, "value": entry.value, "source": entry.source}
            for entry in answer[name]
            if entry.name in SHOWN_CONFIGS
        ]
    return shown


async def topic(context: Context, arguments: ViewArguments) -> Json:
    """One topic: its id, and each partition's leader, replicas and ISR."""
    name = arguments.text("topic")
    await context.cluster.refresh([name])
    found = await context.cluster.topic(name, timeout_ms=0)
    return {
        "name": name,
        "id": found.topic_id.hex(),
        "isInternal": found.is_internal,
        "partitions": [
            {
                "partition": part.partition,
                "leader": part.leader,
                "leaderEpoch": part.leader_epoch,
                "replicas": list(part.replicas),
                "isr": list(part.isr),
                "offline": list(part.offline_replicas),
            }
            for part in found.partitions.values()
        ],
    }


async def offsets(context: Context, arguments: ViewArguments) -> Json:
    """Start, end, last stable offset and bytes of up to 200 partitions, from the number ``from`` on."""
    name = arguments.text("topic")
    first = arguments.number("from", 0, 0, 2**31 - 1)
    count = arguments.number("count", PARTITIONS_AT_ONCE, 1, PARTITIONS_AT_ONCE)
    found = await context.cluster.topic(name, timeout_ms=0)
    numbers = [number for number in sorted(found.available) if first <= number < first + count]
    bounds = await bounds_of(context.admin, name, numbers)
    sizes = await sizes_of(context, [name])
    of_topic = None if sizes is None else sizes.get(name, {})
    return [
        {
            "partition": number,
            "start": str(bound.start),
            "end": str(bound.end),
            "stable": str(bound.stable),
            "bytes": None if of_topic is None else str(of_topic.get(number, 0)),
        }
        for number, bound in bounds.items()
    ]


async def configs(context: Context, arguments: ViewArguments) -> Json:
    """All configurations of a topic: value, source, and the places that set it, by precedence."""
    name = arguments.text("topic")
    found = await context.admin.describe_configs("topic", [name], synonyms=True, documentation=True)
    return [
        {
            "name": entry.name,
            "value": None if entry.is_sensitive else entry.value,
            "source": entry.source,
            "isSensitive": entry.is_sensitive,
            "isReadOnly": entry.is_read_only,
            "documentation": entry.documentation or "",
            "synonyms": [
                {"name": one.name, "value": None if entry.is_sensitive else one.value, "source": one.source}
                for one in entry.synonyms
            ],
        }
        for entry in sorted(found[name], key=lambda entry: entry.name)
    ]
