"""Fills a broker by real, unmodified clients, before another broker takes over its directory.

    fill(servers, seed=1, now_ms=...)                  # 30 topics, 20 groups; the broker needs CONFIGS
    fill_more(servers, seed=2, now_ms=...)             # later, on the broker that has the directory then

topics.py has the plans, snapshot.py the view of a client, and continuity.py the clients that stay connected while
brokers replace each other. This module waits only for the broker's answers.
"""

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from door.topics import DELETED, LIVING, PLANS, Plan, Sent, batch_of
from support.eventually import eventually

CONFIGS = {
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "300",
    "log.flush.start.offset.checkpoint.interval.ms": "300",
    "auto.create.topics.enable": "false",
}
"""The configs that a broker needs to be filled."""

TIMEOUT_S = 60.0
HOUR_MS = 3_600_000
STATIC_GROUPS, DYNAMIC_GROUPS, SIMPLE_GROUPS = 9, 8, 3
LONGEST_SESSION_MS = 1_800_000
"""group.max.session.timeout.ms: a static member stays in its group this long after its process has ended."""

Settings = dict[str, Any]


def fill(servers: str, *, seed: int, now_ms: int) -> None:
    """Creates, fills, changes and deletes topics and groups. ``now_ms``: the time of the records, near the present."""
    chance = Random(seed)
    admin = AdminClient({"bootstrap.servers": servers})
    producers = Producers(servers)
    create(admin, [*PLANS, *(Plan(name) for name in DELETED), Plan(LIVING, partitions=1)])
    for plan in PLANS:
        producers.send_plan(plan, chance, now_ms)
    _delete_and_recreate(admin, producers, chance, now_ms)
    _change_topics(admin, producers, chance, now_ms)
    _send_with_other_clients(servers, now_ms)
    _pass_retention(admin, producers, now_ms)
    _form_groups(admin, servers)


def fill_more(servers: str, *, seed: int, now_ms: int) -> None:
    """Adds to a filled broker: records in every topic, new committed offsets, and one more recreation of a topic."""
    chance = Random(seed)
    admin = AdminClient({"bootstrap.servers": servers})
    producers = Producers(servers)
    again = [plan for plan in PLANS if plan.name == "recreated"]
    _delete(admin, [plan.name for plan in again])
    create(admin, again)
    for plan in PLANS:
        if plan.name != "retained-by-size":  # retention would delete records during the comparison
            producers.send_plan(plan, chance, now_ms)
    _commit_by_hand(admin, chance.randrange(1, 20))


def create(admin: AdminClient, plans: Iterable[Plan]) -> None:
    """Creates topics. Raises KafkaException."""
    asked = [NewTopic(plan.name, plan.partitions, 1, config=plan.configs) for plan in plans]
    for future in admin.create_topics(asked).values():
        future.result(TIMEOUT_S)


# Records ---------------------------------------------------------------------


class Producers:
    """Producers by codec, created together, because each needs half a second to get its producer id."""

    def __init__(self, servers: str) -> None:
        most = {codec: max(plan.codecs.count(codec) for plan in PLANS) for plan in PLANS for codec in plan.codecs}
        self._idempotent = {codec: [_producer(servers, codec, True) for _ in range(n)] for codec, n in most.items()}
        self._plain = {codec: _producer(servers, codec, False) for codec in most}

    def of(self, plan: Plan) -> list[Any]:
        """The producers of a topic, one for each entry of its list of codecs. A codec may be listed twice."""
        if not plan.idempotent:
            return [self._plain[codec] for codec in plan.codecs]
        return [self._idempotent[codec][plan.codecs[:index].count(codec)] for index, codec in enumerate(plan.codecs)]

    def send_plan(self, plan: Plan, chance: Random, now_ms: int) -> None:
        """Sends a topic's batches. Each is acknowledged before the next batch to its partition is sent."""
        for producer in self.of(plan):
            for number in range(plan.batches):
                for partition in range(plan.partitions):
                    _send(producer, plan.name, partition, batch_of(plan, chance, now_ms - HOUR_MS // 2 + number * 1000))
                _flush(producer)


def _producer(servers: str, codec: str, idempotent: bool) -> Any:
    settings: Settings = {
        "bootstrap.servers": servers,
        "compression.type": codec,
        "enable.idempotence": idempotent,
        "message.max.bytes": 3_000_000,
        "linger.ms": 2,
    }
    return Producer(settings)


def _send(producer: Any, topic: str, partition: int, records: Iterable[Sent]) -> None:
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            partition,
            timestamp=record.timestamp_ms,
            headers=record.headers,
            on_delivery=_delivered,
        )


def _delivered(error: Any, message: Any) -> None:
    if error is not None:
        raise AssertionError(f"{message.topic()}-{message.partition()}: {error}")


def _flush(producer: Any) -> None:
    assert producer.flush(TIMEOUT_S) == 0, "not all records were acknowledged in time"


def _send_with_other_clients(servers: str, now_ms: int) -> None:
    """Sends records with kafka-python and aiokafka, each in every codec."""
    from aiokafka import AIOKafkaProducer
    from kafka import KafkaProducer

    for codec in (None, "gzip", "snappy", "lz4", "zstd"):
        with KafkaProducer(bootstrap_servers=servers, compression_type=codec) as producer:
            for number in range(10):
                headers = [("client", b"kafka-python")] if number % 2 else []
                producer.send(
                    "kafka-python", b"%d" % number * 9, key=b"k", headers=headers, timestamp_ms=now_ms + number
                )

    async def send() -> None:
        for codec in (None, "gzip", "snappy", "lz4", "zstd"):
            async with AIOKafkaProducer(
                bootstrap_servers=servers, compression_type=codec, enable_idempotence=True
            ) as producer:
                for number in range(10):
                    await producer.send("aiokafka", b"%d" % number * 9, timestamp_ms=now_ms + number)

    asyncio.run(send())


# Topics that change ----------------------------------------------------------


def _delete_and_recreate(admin: AdminClient, producers: Producers, chance: Random, now_ms: int) -> None:
    """Deletes topics with their records, and creates topics of the same names, which have other ids."""
    for name in DELETED:
        producers.send_plan(Plan(name), chance, now_ms)
    again = [plan for plan in PLANS if plan.name.startswith("recreated")]
    _delete(admin, [*DELETED, *(plan.name for plan in again)])
    create(admin, again)
    for plan in again:
        producers.send_plan(plan, chance, now_ms)


def _delete(admin: AdminClient, names: list[str]) -> None:
    for future in admin.delete_topics(names).values():
        future.result(TIMEOUT_S)
    eventually("the deleted topics to go", lambda: not set(names) & set(admin.list_topics(timeout=TIMEOUT_S).topics))


def _change_topics(admin: AdminClient, producers: Producers, chance: Random, now_ms: int) -> None:
    """Sets, changes, appends to and removes configs, adds partitions, and deletes records."""
    change = AlterConfigOpType
    changes = {
        "config-altered": [
            ConfigEntry("retention.ms", "1728000000", incremental_operation=change.SET),
            ConfigEntry("max.message.bytes", "2000000", incremental_operation=change.SET),
            ConfigEntry("cleanup.policy", "delete", incremental_operation=change.APPEND),
        ],
        "config-removed": [
            ConfigEntry("retention.ms", None, incremental_operation=change.DELETE),
            ConfigEntry("message.timestamp.type", "LogAppendTime", incremental_operation=change.SET),
        ],
    }
    resources = [
        ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries) for name, entries in changes.items()
    ]
    for future in admin.incremental_alter_configs(resources).values():
        future.result(TIMEOUT_S)
    for future in admin.create_partitions([NewPartitions("partitions-added", 3)]).values():
        future.result(TIMEOUT_S)
    for name in (*changes, "partitions-added"):
        producers.send_plan(next(plan for plan in PLANS if plan.name == name), chance, now_ms)
    # The new start of partition 0 is inside a segment. Partition 1 loses all records.
    cut = [TopicPartition("records-deleted", 0, 37), TopicPartition("records-deleted", 1, -1)]
    for deleted in admin.delete_records(cut).values():
        deleted.result(TIMEOUT_S)


def _pass_retention(admin: AdminClient, producers: Producers, now_ms: int) -> None:
    """Produces old records, and waits until retention deletes them, one partition after the other.

    After the last partition, a whole round of retention is complete, which includes retention by size."""
    old = Plan("retained-by-time", records=20)
    [producer] = producers.of(old)
    for partition in range(3):
        for age_ms in (5 * HOUR_MS, 4 * HOUR_MS, 0, 0):
            _send(producer, old.name, partition, batch_of(old, Random(partition), now_ms - age_ms))
            _flush(producer)
            if age_ms:
                eventually(f"retention of {old.name}-{partition}", partial(_is_cut, admin, old.name, partition))


def _is_cut(admin: AdminClient, topic: str, partition: int) -> bool:
    """Returns True if retention has deleted all records of a partition."""
    spec: Any = OffsetSpec
    found = []
    for question in (spec.earliest(), spec.latest()):
        [future] = admin.list_offsets({TopicPartition(topic, partition): question}).values()
        found.append(future.result(TIMEOUT_S).offset)
    return bool(found[0] == found[1])


# Groups ----------------------------------------------------------------------


def group_names() -> list[str]:
    """The names of the twenty groups."""
    return [
        *(f"static-{number}" for number in range(STATIC_GROUPS)),
        *(f"dynamic-{number}" for number in range(DYNAMIC_GROUPS)),
        *(f"simple-{number}" for number in range(SIMPLE_GROUPS)),
    ]


def _form_groups(admin: AdminClient, servers: str) -> None:
    """Members join, read, commit offsets with metadata, and end. Static members stay in their group."""
    read = [plan for plan in PLANS if plan.batches and plan.name != "big-records"]
    members = []
    for number, group in enumerate(name for name in group_names() if not name.startswith("simple")):
        for index in range(2 if group in ("static-0", "static-1", "dynamic-0") else 1):
            settings: Settings = {
                "bootstrap.servers": servers,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 100,
                "partition.assignment.strategy": ("range", "roundrobin", "cooperative-sticky")[number % 3],
            }
            if group.startswith("static"):
                settings |= {"group.instance.id": f"{group}-member-{index}", "session.timeout.ms": LONGEST_SESSION_MS}
                settings["max.poll.interval.ms"] = LONGEST_SESSION_MS
            consumer: Any = Consumer(settings)
            topics = [read[number % len(read)].name, read[(number + 5) % len(read)].name]
            consumer.subscribe(topics)
            members.append((group, consumer))
    _read_and_commit(admin, members)
    for _, consumer in members:
        consumer.close()
    _commit_by_hand(admin, 1)


def _commit_by_hand(admin: AdminClient, first: int) -> None:
    """Commits offsets of groups without members, as tools do."""
    for number in range(SIMPLE_GROUPS):
        partitions = [
            TopicPartition("codec-gzip", 0, number + first, f"by hand {number}"),
            TopicPartition("compacted", 1, 3),
        ]
        asked = [ConsumerGroupTopicPartitions(f"simple-{number}", partitions)]
        for future in admin.alter_consumer_group_offsets(asked).values():
            future.result(TIMEOUT_S)


def _read_and_commit(admin: AdminClient, members: list[tuple[str, Any]]) -> None:
    """Each member reads and commits something. In a group of two, both wait until both have partitions."""
    sizes = {group: sum(name == group for name, _ in members) for group, _ in members}
    waiting = dict(enumerate(members))
    committed: dict[int, dict[tuple[str, int], int]] = {number: {} for number in waiting}
    deadline = time.monotonic() + TIMEOUT_S
    while waiting:
        assert time.monotonic() < deadline, f"no records for {[group for group, _ in waiting.values()]}"
        for number, (group, consumer) in list(waiting.items()):
            for message in consumer.consume(20, 0.02):
                if message.error() is None:
                    committed[number][message.topic(), message.partition()] = message.offset() + 1
            if committed[number] and (sizes[group] == 1 or _is_stable(admin, group, sizes[group])):
                mine = {(p.topic, p.partition) for p in consumer.assignment()}
                offsets = [
                    TopicPartition(topic, partition, offset, f"{group}'s words")
                    for (topic, partition), offset in committed[number].items()
                    if (topic, partition) in mine
                ]
                if offsets:
                    consumer.commit(offsets=offsets, asynchronous=False)
                    del waiting[number]


def _is_stable(admin: AdminClient, group: str, members: int) -> bool:
    description = admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
    return description.state.name == "STABLE" and len(description.members) == members
