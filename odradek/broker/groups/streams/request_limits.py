"""Limits of what a heartbeat of a streams group may contain. Kafka has none: there a large request takes all memory.

Pure. Owns: the limits, and their errors. Never does: looking at names. No application is expected to reach them: one
with 300 subtopologies, four topics and a copartition group each has 2,400 parts.
"""

from collections.abc import Iterable, Sequence

from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request

MOST_PARTS = 3_000
"""Subtopologies, topics, copartition groups and the indexes in these: each costs some 20 us in one turn of the event
loop, and more in slices."""
MOST_CONFIGS = 10_000
"""The configs of internal topics, in one topology."""
MOST_TASKS = 20_000
"""The tasks of a topology, and those that a member reports: each costs some 3 us in one turn of the event loop."""
MOST_CLIENT_TAGS = 1_000


def refuse_large(request: Request) -> None:
    """Raises KafkaError INVALID_REQUEST if a heartbeat is larger than these limits."""
    if request.topology is not None:
        _refuse_large_topology(request.topology)
    reported = (request.active_tasks, request.standby_tasks, request.warmup_tasks)
    _refuse(_sum(1 + len(each.partitions) for tasks in reported for each in tasks or ()), MOST_TASKS, "tasks")
    for offsets in (request.task_offsets, request.task_end_offsets):
        _refuse(len(offsets or ()), MOST_TASKS, "offsets of tasks")
    _refuse(len(request.client_tags or ()), MOST_CLIENT_TAGS, "client tags")


def _refuse_large_topology(topology: Request.Topology) -> None:
    parts = configs = 0
    for each in topology.subtopologies:
        topics: tuple[Sequence[object], ...] = (
            each.source_topics,
            each.source_topic_regex,
            each.repartition_sink_topics,
            each.repartition_source_topics,
            each.state_changelog_topics,
            each.copartition_groups,
        )
        parts += 1 + sum(map(len, topics))
        _refuse(parts, MOST_PARTS, "parts of a topology")
        for group in each.copartition_groups:
            parts += len(group.source_topics) + len(group.source_topic_regex) + len(group.repartition_source_topics)
        for internal in (each.repartition_source_topics, each.state_changelog_topics):
            configs += sum(len(topic.topic_configs) for topic in internal)
    _refuse(parts, MOST_PARTS, "parts of a topology")
    _refuse(configs, MOST_CONFIGS, "configs of internal topics")


def _sum(counts: Iterable[int]) -> int:
    """The sum, or a number above all limits as soon as that is known."""
    found = 0
    for count in counts:
        found += count
        if found > MOST_TASKS:
            break
    return found


def _refuse(count: int, most: int, what: str) -> None:
    if count > most:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The request has too many {what}. At most {most} are served.")
