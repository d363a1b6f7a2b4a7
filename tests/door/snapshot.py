"""A snapshot of a broker as a client sees it, to compare after another broker has taken over the directory.

    before = take_snapshot(servers)
    ...
    assert not differences(before, take_snapshot(servers))

An unmodified confluent-kafka reads everything: every record with offset, time, key, value, headers and leader epoch;
the start, end and offsets by time of each partition; topic ids and configs; groups with members and offsets.
"""

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, OffsetSpec, ResourceType  # type: ignore[attr-defined]

from support.eventually import eventually

TIMEOUT_S = 60.0
MOST_SHOWN = 20
SPEC: Any = OffsetSpec
STARTING = (
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
    KafkaError._TRANSPORT,
)
"""Errors that a broker answers before its leaders and groups are loaded."""


class Seen(NamedTuple):
    """A record. The timestamp type is 1 for CreateTime, 2 for LogAppendTime."""

    offset: int
    timestamp_type: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    leader_epoch: int | None


@dataclass(slots=True)
class PartitionSeen:
    """One partition."""

    start: int
    end: int
    records: list[Seen] = field(default_factory=list)
    by_time: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The (offset, time) that ListOffsets answers, by "max" or by a time."""


@dataclass(slots=True)
class TopicSeen:
    """One topic. ``configs``: its own configs, without defaults."""

    topic_id: str
    configs: dict[str, str]
    partitions: dict[int, PartitionSeen]


@dataclass(slots=True)
class GroupSeen:
    """One group. Members are (instance id, assigned partitions); offsets are (offset, metadata, leader epoch)."""

    state: str
    members: list[tuple[str | None, tuple[tuple[str, int], ...]]]
    offsets: dict[tuple[str, int], tuple[int, str | None, int | None]]


@dataclass(slots=True)
class Snapshot:
    """The state of a broker as clients see it. Internal topics are listed without their records."""

    topics: dict[str, TopicSeen]
    groups: dict[str, GroupSeen]

    @property
    def records(self) -> int:
        """The number of records."""
        return sum(len(p.records) for topic in self.topics.values() for p in topic.partitions.values())


def take_snapshot(servers: str, *, isolation_level: str = "read_uncommitted") -> Snapshot:
    """Reads everything from a broker. Raises the client's errors, and AssertionError if records are missing."""
    admin = AdminClient({"bootstrap.servers": servers})
    wait_until_settled(admin)
    return Snapshot(_topics(admin, servers, isolation_level), _groups(admin))


def wait_until_settled(admin: AdminClient) -> None:
    """Waits until every partition has a leader and every group is loaded.

    A Kafka that has just started answers some requests with retriable errors, which librdkafka's admin client does not
    retry.
    """
    refusals: list[KafkaException] = []

    def is_settled() -> bool:
        try:
            topics = admin.list_topics(timeout=TIMEOUT_S).topics
            _offsets(admin, [(name, i) for name, topic in topics.items() for i in topic.partitions], SPEC.latest())
            for error in admin.list_consumer_groups().result(TIMEOUT_S).errors:
                raise KafkaException(error)
        except KafkaException as error:
            if error.args[0].code() not in STARTING:
                raise
            refusals.append(error)
            return False
        return True

    eventually(lambda: f"a settled cluster; it answers {refusals[-1]}", is_settled)


def _topics(admin: AdminClient, servers: str, isolation_level: str) -> dict[str, TopicSeen]:
    names = sorted(admin.list_topics(timeout=TIMEOUT_S).topics)
    described = admin.describe_topics(TopicCollection(names))
    configs = topic_configs(admin, names)
    descriptions = {name: future.result(TIMEOUT_S) for name, future in described.items()}
    indexes = {name: sorted(int(one.id) for one in found.partitions) for name, found in descriptions.items()}
    everything = [(name, i) for name in indexes for i in indexes[name]]
    starts, ends = _offsets(admin, everything, SPEC.earliest()), _offsets(admin, everything, SPEC.latest())
    topics = {}
    for name, description in descriptions.items():
        internal = description.is_internal
        partitions = {
            i: PartitionSeen(0, 0) if internal else PartitionSeen(starts[name, i][0], ends[name, i][0])
            for i in indexes[name]
        }
        topics[name] = TopicSeen(str(description.topic_id), configs[name], partitions)
    _read_records(servers, topics, isolation_level)
    _ask_times(admin, topics)
    return topics


def topic_configs(admin: AdminClient, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Each topic's own configs, without defaults."""
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    found = {}
    for resource, future in admin.describe_configs(resources).items():
        entries = future.result(TIMEOUT_S).values()
        source = ConfigSource.DYNAMIC_TOPIC_CONFIG
        found[resource.name] = {e.name: e.value for e in entries if ConfigSource(e.source) is source}
    return found


def _offsets(
    admin: AdminClient, partitions: Iterable[tuple[str, int]], spec: Any
) -> dict[tuple[str, int], tuple[int, int]]:
    """The (offset, timestamp) of each partition for the same offset spec."""
    return _answers(admin, dict.fromkeys(partitions, spec))


def _answers(admin: AdminClient, questions: Mapping[tuple[str, int], Any]) -> dict[tuple[str, int], tuple[int, int]]:
    """The (offset, timestamp) of each partition for its own offset spec, in one request."""
    asked = {TopicPartition(topic, index): spec for (topic, index), spec in questions.items()}
    found = {}
    for partition, future in admin.list_offsets(asked).items():
        answer = future.result(TIMEOUT_S)
        found[partition.topic, partition.partition] = (answer.offset, answer.timestamp)
    return found


def _read_records(servers: str, topics: Mapping[str, TopicSeen], isolation_level: str) -> None:
    """Reads every partition from its start to its end."""
    wanted = {
        (name, index): partition
        for name, topic in topics.items()
        for index, partition in topic.partitions.items()
        if partition.end > partition.start
    }
    if not wanted:
        return
    settings: dict[str, Any] = {
        "bootstrap.servers": servers,
        "group.id": f"snapshot-{uuid.uuid4()}",  # the consumer never joins or commits
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "check.crcs": True,
        "isolation.level": isolation_level,
        "auto.offset.reset": "error",
    }
    consumer: Any = Consumer(settings)
    try:
        consumer.assign([TopicPartition(name, index, seen.start) for (name, index), seen in wanted.items()])
        waiting = set(wanted)
        deadline = time.monotonic() + TIMEOUT_S
        while waiting:
            assert time.monotonic() < deadline, f"no records from {sorted(waiting)[:5]} within {TIMEOUT_S} s"
            for message in consumer.consume(1000, 0.5):
                key = message.topic(), message.partition()
                if message.error() is None:
                    wanted[key].records.append(_seen(message))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    waiting.discard(key)
                else:
                    raise AssertionError(f"{key}: {message.error()}")
    finally:
        consumer.close()


def _seen(message: Any) -> Seen:
    kind, timestamp_ms = message.timestamp()
    headers = tuple(message.headers() or ())
    return Seen(message.offset(), kind, timestamp_ms, message.key(), message.value(), headers, message.leader_epoch())


def _ask_times(admin: AdminClient, topics: Mapping[str, TopicSeen]) -> None:
    """Looks up two offsets: of the maximum timestamp, and of the first record at or after the middle record's time."""
    filled = [(n, i) for n, t in topics.items() for i, p in t.partitions.items() if p.records]
    for key, answer in _offsets(admin, filled, SPEC.max_timestamp()).items():
        topics[key[0]].partitions[key[1]].by_time["max"] = answer
    middles = {}
    for topic, index in filled:
        records = topics[topic].partitions[index].records
        middles[topic, index] = records[len(records) // 2].timestamp_ms
    for key, answer in _answers(admin, {key: SPEC.for_timestamp(middle) for key, middle in middles.items()}).items():
        topics[key[0]].partitions[key[1]].by_time[str(middles[key])] = answer


def _groups(admin: AdminClient) -> dict[str, GroupSeen]:
    listed = [group.group_id for group in admin.list_consumer_groups().result(TIMEOUT_S).valid]
    groups = {}
    described = admin.describe_consumer_groups(listed) if listed else {}
    for group, future in described.items():
        description = future.result(TIMEOUT_S)
        members = []
        for member in description.members:
            assigned = sorted((p.topic, p.partition) for p in member.assignment.topic_partitions)
            members.append((member.group_instance_id, tuple(assigned)))
        groups[group] = GroupSeen(description.state.name, sorted(members, key=repr), _committed(admin, group))
    return groups


def _committed(admin: AdminClient, group: str) -> dict[tuple[str, int], tuple[int, str | None, int | None]]:
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    partitions = asked[group].result(TIMEOUT_S).topic_partitions
    return {(p.topic, p.partition): (p.offset, p.metadata or None, p.leader_epoch) for p in partitions}


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """The differences of ``after``, one line each, at most twenty."""
    lines = _named("topic", before.topics, after.topics)
    for name in sorted(before.topics.keys() & after.topics.keys()):
        one, other = before.topics[name], after.topics[name]
        lines += _unequal(f"topic {name}: id", one.topic_id, other.topic_id)
        lines += _unequal(f"topic {name}: configs", one.configs, other.configs)
        lines += _named(f"topic {name}: partition", one.partitions, other.partitions)
        for index in sorted(one.partitions.keys() & other.partitions.keys()):
            lines += _partition_differences(f"{name}-{index}", one.partitions[index], other.partitions[index])
    lines += _named("group", before.groups, after.groups)
    for name in sorted(before.groups.keys() & after.groups.keys()):
        lines += _group_differences(f"group {name}", before.groups[name], after.groups[name])
    more = [f"... {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return lines[:MOST_SHOWN] + more


def _partition_differences(name: str, one: PartitionSeen, other: PartitionSeen) -> list[str]:
    lines = _unequal(f"{name}: start", one.start, other.start) + _unequal(f"{name}: end", one.end, other.end)
    lines += _unequal(f"{name}: offsets by time", one.by_time, other.by_time)
    if one.records == other.records:
        return lines
    ours, theirs = {r.offset: r for r in one.records}, {r.offset: r for r in other.records}
    for offset in sorted(ours.keys() | theirs.keys()):
        if ours.get(offset) != theirs.get(offset):
            lines.append(
                f"{name}: first other record at {offset}: {_short(ours.get(offset))} -> {_short(theirs.get(offset))}"
            )
            break
    else:
        lines.append(f"{name}: the same records in another order or twice")
    return lines


def _group_differences(name: str, one: GroupSeen, other: GroupSeen) -> list[str]:
    lines = _unequal(f"{name}: state", one.state, other.state)
    lines += _unequal(f"{name}: members", one.members, other.members)
    for key in sorted(one.offsets.keys() | other.offsets.keys()):
        lines += _unequal(f"{name}: offset of {key}", one.offsets.get(key), other.offsets.get(key))
    return lines


def _named(what: str, one: Mapping[Any, object], other: Mapping[Any, object]) -> list[str]:
    gone = [f"{what} {name} is gone" for name in sorted(one.keys() - other.keys())]
    return gone + [f"{what} {name} is new" for name in sorted(other.keys() - one.keys())]


def _unequal(what: str, one: object, other: object) -> list[str]:
    return [] if one == other else [f"{what}: {_short(one)} -> {_short(other)}"]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 300 else f"{text[:300]}..."
