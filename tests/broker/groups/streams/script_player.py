"""Plays scripts of streams groups (:mod:`..scripts`). Commands and fields beside those of classic groups:

own g streams.num.standby.replicas=1     the group gets a config of its own
topic t 3                                creates a topic, or gives it more partitions
drop t                                   deletes a topic

topology=0:t,u>c;1:<c^s                  subtopologies: source topics, > repartition sinks, < repartition topics that
                                         it reads, ^ changelog topics. ``epoch=`` sets its epoch, after it
active=0:0,1;1:0  standby=…  warmup=…    tasks; nothing after the sign is an empty list
tags=zone:1  endpoint=host:1             of a client
offsets=0:1@5                            the offset of a task
"""

from typing import Any

from odradek.broker.groups.config import GroupCoordinatorConfig
from odradek.broker.groups.records import CoordinatorRecord
from odradek.protocol.apis.api_keys import ApiKey
from odradek.protocol.messages.group_records import (
    GroupMetadataKey,
    OffsetCommitKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMetadataValue,
)
from odradek.protocol.messages.streams_groups import StreamsGroupHeartbeatRequest as Request
from support.groups.harness import START_MS, Harness

from ..scripts import ScriptPlayer, describe


class StreamsScriptPlayer(ScriptPlayer):
    """The topics are t with 4 partitions and u with 2. A group waits for nothing before its first assignment."""

    def __init__(self) -> None:
        super().__init__()
        self._config = GroupCoordinatorConfig(
            offsets_topic_num_partitions=1,
            group_streams_initial_rebalance_delay_ms=0,
            group_streams_assignment_interval_ms=0,
        )
        self._start()

    def request(self, api_key: ApiKey, fields: str) -> Any:
        if api_key is not ApiKey.STREAMS_GROUP_HEARTBEAT:
            return super().request(api_key, fields)
        request = Request()
        for setting in fields.split():
            name, _, text = setting.partition("=")
            _set(request, name, text)
        return request

    def describe_record(self, record: CoordinatorRecord) -> str:
        if isinstance(record.key, GroupMetadataKey | OffsetCommitKey):
            return super().describe_record(record)
        name = type(record.key).__name__.removesuffix("Key")
        if record.value is None:
            return f"log: {name} {describe(record.key)} tombstone"
        if isinstance(record.value, StreamsGroupMetadataValue):
            record.value.metadata_hash = int(record.value.metadata_hash != 0)  # the value itself says nothing
        elif isinstance(record.value, StreamsGroupTargetAssignmentMetadataValue):
            record.value.assignment_timestamp -= START_MS * (record.value.assignment_timestamp > 0)
        return f"log: {name} {describe(record.key)}: {describe(record.value)}"

    def describe_group(self, harness: Harness, group_id: str) -> str:
        group = harness.core.groups.streams.get(group_id)
        if group is None:
            return "none"
        members = " ".join(f"{one.member_id}@{one.member_epoch}" for one in group.members.values())
        return f"{group.state} epoch={group.group_epoch} assignment={group.assignment_epoch} {members}".rstrip()

    def play_other(self, harness: Harness, word: str, rest: str) -> None:
        if word == "own":
            group_id, _, setting = rest.partition(" ")
            key, _, value = setting.partition("=")
            harness.group_configs.setdefault(group_id, {})[key] = value
        elif word == "topic":
            name, _, count = rest.partition(" ")
            harness.put_topic(name, int(count))
        elif word == "drop":
            harness.delete_topic(rest)
        else:
            super().play_other(harness, word, rest)


def _set(request: Request, name: str, text: str) -> None:
    """Sets a field of a request."""
    match name:
        case "topology":
            request.topology = Request.Topology(0, [_subtopology(part) for part in text.split(";")])
        case "epoch":
            assert request.topology is not None
            request.topology.epoch = int(text)
        case "active" | "standby" | "warmup":
            setattr(request, f"{name}_tasks", _tasks(text))
        case "tags":
            request.client_tags = [Request.KeyValue(*tag.split(":")) for tag in text.split(",") if tag]
        case "endpoint":
            host, _, port = text.partition(":")
            request.user_endpoint = Request.Endpoint(host, int(port))
        case "offsets":
            request.task_offsets = [_offset(task) for task in text.split(",")]
        case "shutdown":
            request.shutdown_application = text == "true"
        case "member_epoch" | "rebalance_timeout_ms" | "endpoint_information_epoch":
            setattr(request, name, int(text))
        case "group_id" | "member_id" | "instance_id" | "process_id" | "rack_id":
            setattr(request, name, text)
        case _:
            raise ValueError(f"unknown field {name}")


def _subtopology(text: str) -> Request.Subtopology:
    name, _, rest = text.partition(":")
    part = Request.Subtopology(name)
    sign, word = "", ""
    for letter in rest + "\n":
        if letter not in "><^\n":
            word += letter
            continue
        topics = [topic for topic in word.split(",") if topic]
        infos = [Request.TopicInfo(topic, 0, 1, []) for topic in topics]
        match sign:
            case "":
                part.source_topics = topics
            case ">":
                part.repartition_sink_topics = topics
            case "<":
                part.repartition_source_topics = infos
            case "^":
                part.state_changelog_topics = infos
        sign, word = letter, ""
    return part


def _tasks(text: str) -> list[Request.TaskIds]:
    parts = (part.partition(":") for part in text.split(";") if part)
    return [Request.TaskIds(name, [int(index) for index in indexes.split(",")]) for name, _, indexes in parts]


def _offset(text: str) -> Request.TaskOffset:
    task, _, offset = text.partition("@")
    name, _, index = task.partition(":")
    return Request.TaskOffset(name, int(index), int(offset))
