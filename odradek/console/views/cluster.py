"""The cluster: brokers with what they lead and hold, partitions that miss replicas, log directories, features."""

import asyncio
from collections import Counter

from odradek.client.errors import ClientError
from odradek.protocol.errors import ErrorCode, KafkaError

from ..arguments import ViewArguments
from ..context import Context, Json

MOST_PARTITIONS = 500
MOST_REPLICAS = 200


async def overview(context: Context, arguments: ViewArguments) -> Json:
    """What the frame of the page shows: the cluster, and what this session can do."""
    described = await context.admin.describe_cluster()
    return {
        "clusterId": described.cluster_id,
        "controller": described.controller_id,
        "brokers": len(described.brokers),
        "commandOptions": list(context.settings.command_options),
        "user": context.user,
        "allowsChanges": context.allows_changes,
        "hasInsights": context.insights is not None,
    }


async def cluster(context: Context, arguments: ViewArguments) -> Json:
    """Brokers with the partitions that they lead and hold, and the partitions without leader or below their ISR."""
    described = await context.admin.describe_cluster()
    topics = await context.cluster.list_topics()
    leaders: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    lagging: list[Json] = []
    count = 0
    for topic in topics:
        for part in topic.partitions.values():
            leaders[part.leader] += 1
            replicas.update(part.replicas)
            if part.leader >= 0 and len(part.isr) >= len(part.replicas):
                continue
            count += 1
            if count <= MOST_PARTITIONS:
                lagging.append(
                    {
                        "topic": topic.name,
                        "partition": part.partition,
                        "leader": part.leader,
                        "replicas": list(part.replicas),
                        "isr": list(part.isr),
                    }
                )
    return {
        "clusterId": described.cluster_id,
        "controller": described.controller_id,
        "topics": len(topics),
        "partitions": sum(len(topic.partitions) for topic in topics),
        "brokers": [
            {
                "id": broker.node_id,
                "address": f"{broker.host}:{broker.port}",
                "rack": broker.rack,
                "leads": leaders[broker.node_id],
                "replicas": replicas[broker.node_id],
            }
            for broker in sorted(described.brokers)
        ],
        "lagging": lagging,
        "laggingCount": count,
        **await _versions(context),
        "quorum": await _quorum(context),
    }


async def _versions(context: Context) -> dict[str, Json]:
    found = await context.admin.describe_features()
    return {
        "features": [
            {"name": name, "level": found.finalized.get(name, 0), "supported": list(levels)}
            for name, levels in sorted(found.supported.items())
        ]
    }


async def _quorum(context: Context) -> Json:
    """The controllers' quorum; None if this user may not ask, or the cluster has none."""
    try:
        found = await context.admin.describe_metadata_quorum()
    except (KafkaError, ClientError):
        return None
    return {
        "leader": found.leader_id,
        "epoch": found.leader_epoch,
        "highWatermark": str(found.high_watermark),
        "voters": [{"id": one.node_id, "end": str(one.log_end_offset)} for one in found.voters],
        "observers": [{"id": one.node_id, "end": str(one.log_end_offset)} for one in found.observers],
    }


async def storage(context: Context, arguments: ViewArguments) -> Json:
    """The log directories of all brokers, with their largest replicas. Raises KafkaError."""
    await context.cluster.refresh([])
    brokers = sorted(context.cluster.metadata.brokers)
    answers = await asyncio.gather(
        *(context.admin.describe_log_dirs([broker]) for broker in brokers), return_exceptions=True
    )
    rows: list[Json] = []
    for broker, answer in zip(brokers, answers, strict=True):
        if isinstance(answer, KafkaError | ClientError) and len(brokers) > 1:
            rows.append({"broker": broker, "path": None, "error": str(answer), "largest": []})
            continue
        if isinstance(answer, BaseException):
            raise answer
        for directory in answer[broker]:
            by_size = sorted(directory.replicas.items(), key=lambda item: (-item[1].size, item[0]))
            rows.append(
                {
                    "broker": broker,
                    "path": directory.path,
                    "error": "" if directory.error == ErrorCode.NONE else directory.error.name,
                    "total": str(directory.total_bytes),
                    "usable": str(directory.usable_bytes),
                    "used": str(sum(replica.size for replica in directory.replicas.values())),
                    "replicas": len(directory.replicas),
                    "largest": [
                        {
                            "topic": partition.topic,
                            "partition": partition.partition,
                            "size": str(replica.size),
                            "offsetLag": str(replica.offset_lag),
                            "isFuture": replica.is_future,
                        }
                        for partition, replica in by_size[:MOST_REPLICAS]
                    ],
                }
            )
    return {"directories": rows}
