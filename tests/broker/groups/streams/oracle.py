"""Questions to Kafka's own classes of streams groups (``StreamsGroupOracle.java``), and tasks in the form of both."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from odradek.broker.groups.streams.member import StreamsGroupMember
from odradek.broker.groups.streams.tasks import MemberTasks, SubtopologyTasks, Tasks
from support.kafka.java import java_class, java_or_skip, run_class

Json = dict[str, Any]


def ask_kafka(questions: Iterable[Json]) -> list[Json]:
    """Kafka's answers in the order of the questions, from one JVM."""
    java_or_skip()
    lines = "\n".join(map(json.dumps, questions))
    result = run_class(java_class("StreamsGroupOracle"), standard_input=lines, timeout_s=1_200)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def plain(tasks: SubtopologyTasks | Mapping[str, Mapping[int, int]]) -> Json:
    return {subtopology_id: sorted(partitions) for subtopology_id, partitions in tasks.items()}


def plain_target(tasks: Tasks) -> Json:
    return {"active": plain(tasks.active), "standby": plain(tasks.standby), "warmup": plain(tasks.warmup)}


def plain_held(tasks: MemberTasks) -> Json:
    active = {each: {str(key): epoch for key, epoch in epochs.items()} for each, epochs in tasks.active.items()}
    return {"active": active, "standby": plain(tasks.standby), "warmup": plain(tasks.warmup)}


def plain_member(member: StreamsGroupMember) -> Json:
    return {
        "process": member.process_id,
        "epoch": member.member_epoch,
        "previous": member.previous_member_epoch,
        "state": int(member.state),
        "assigned": plain_held(member.assigned),
        "pending": plain_held(member.pending_revocation),
    }
