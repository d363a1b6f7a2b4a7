"""The metadata APIs answer as a real Kafka 4.3.1 does: both get the same requests in the same order.

Ids, ports and the cluster id differ, and are translated. Everything else is equal, error messages too.
"""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from odradek.protocol.messages.metadata import (
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)
from odradek.protocol.messages.quorum import DescribeQuorumRequest
from odradek.protocol.messages.quotas import DescribeClientQuotasRequest
from odradek.protocol.messages.structure import Message
from odradek.protocol.messages.topics import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from odradek.protocol.names.topics import OFFSETS_TOPIC
from support.brokers.our_broker import OurBroker
from support.eventually import eventually
from support.kafka.real_kafka import RealKafka
from support.kafka.wire import Wire

pytestmark = pytest.mark.java

SEEN_WITHIN_S = 60.0
OWN = {"throttleTimeMs", "clusterId", "port", "host", "topicId", "documentation", "replicaDirectoryId", "leaderEpoch"}
OWN |= {"logEndOffset", "highWatermark", "lastFetchTimestamp", "lastCaughtUpTimestamp"}
Topic = CreateTopicsRequest.CreatableTopic
Assignment = CreateTopicsRequest.CreatableReplicaAssignment
Config = CreateTopicsRequest.CreatableTopicConfig
More = CreatePartitionsRequest.CreatePartitionsTopic
MoreAssignment = CreatePartitionsRequest.CreatePartitionsAssignment
Altered = AlterConfigsRequest.AlterConfigsResource
AlteredConfig = AlterConfigsRequest.AlterableConfig
Changed = IncrementalAlterConfigsRequest.AlterConfigsResource
Change = IncrementalAlterConfigsRequest.AlterableConfig
Described = DescribeConfigsRequest.DescribeConfigsResource
Name = MetadataRequest.MetadataRequestTopic
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32


def named(*names: str) -> list[MetadataRequest.MetadataRequestTopic]:
    return [Name(name=name) for name in names]


def creations() -> list[tuple[Message, int]]:
    """Requests that create topics and partitions, with every error."""
    topics = [
        Topic("plain", 3, 1),
        Topic("default", -1, -1),
        Topic("configured", 1, 1, configs=[Config("cleanup.policy", "compact"), Config("segment.ms", "70000")]),
        Topic("assigned", -1, -1, [Assignment(0, [1]), Assignment(1, [1])]),
        Topic("with.dot", 1, 1),
    ]
    bad = [
        Topic("plain", 1, 1),
        Topic("with_dot", 1, 1),
        Topic("", 1, 1),
        Topic("..", 1, 1),
        Topic("x" * 250, 1, 1),
        Topic("sp ace", 1, 1),
        Topic("none", 0, 1),
        Topic("negative", -2, 1),
        Topic("nowhere", 1, 0),
        Topic("many", 1, 3),
        Topic("both", 1, -1, [Assignment(0, [1])]),
        Topic("both2", -1, 1, [Assignment(0, [1])]),
        Topic("empty", -1, -1, [Assignment(0, [])]),
        Topic("stranger", -1, -1, [Assignment(0, [7])]),
        Topic("twins", -1, -1, [Assignment(0, [1, 1])]),
        Topic("gap", -1, -1, [Assignment(0, [1]), Assignment(2, [1])]),
        Topic("null", 1, 1, configs=[Config("segment.ms", None)]),
        Topic("unknown", 1, 1, configs=[Config("no.such.key", "1")]),
        Topic("unparsable", 1, 1, configs=[Config("segment.ms", "soon")]),
        Topic("outside", 1, 1, configs=[Config("segment.bytes", "17")]),
        Topic("policy", 1, 1, configs=[Config("cleanup.policy", "burn")]),
        Topic("good", 1, 1),
    ]
    adding = [
        More("plain", 4, None),
        More("default", 1, None),
        More("assigned", 1, None),
        More("nowhere", 4, None),
        More("configured", 3, [MoreAssignment([1])]),
        More("with.dot", 2, [MoreAssignment([9])]),
    ]
    return [
        (CreateTopicsRequest(topics, 30_000), 7),
        (CreateTopicsRequest(bad, 30_000), 7),
        (CreateTopicsRequest([Topic("two", 1, 1), Topic("two", 1, 1), Topic("__cluster_metadata", 1, 1)], 30_000), 5),
        *((CreateTopicsRequest([Topic(f"v{version}", 2, 1)], 30_000), version) for version in range(2, 8)),
        (CreateTopicsRequest([Topic("checked", 1, 1), Topic("plain", 1, 1)], 30_000, validate_only=True), 6),
        (CreatePartitionsRequest(adding, 30_000), 3),
        (CreatePartitionsRequest([More("good", 3, None)], 30_000, validate_only=True), 2),
        (CreatePartitionsRequest([More("good", 2, [MoreAssignment([1])])], 30_000), 0),
        (CreatePartitionsRequest([More("v2", 9, None), More("v2", 8, None)], 30_000), 1),
    ]


def alterations() -> list[tuple[Message, int]]:
    """Requests that set, delete, append and subtract configs, by the old and the new API."""
    changes = [
        Changed(TOPIC, "plain", [Change("segment.ms", SET, "60000"), Change("cleanup.policy", APPEND, "compact")]),
        Changed(TOPIC, "configured", [Change("cleanup.policy", SUBTRACT, "compact"), Change("segment.ms", DELETE)]),
        Changed(TOPIC, "default", [Change("segment.ms", APPEND, "1")]),
        Changed(TOPIC, "nowhere", [Change("segment.ms", SET, "60000")]),
        Changed(TOPIC, "", [Change("segment.ms", SET, "60000")]),
        Changed(TOPIC, "bad name", [Change("segment.ms", SET, "60000")]),
        Changed(TOPIC, "good", [Change("segment.ms", SET, None)]),
        Changed(TOPIC, "v3", [Change("segment.ms", SET, "1"), Change("segment.ms", DELETE)]),
        Changed(TOPIC, "v4", [Change("no.such.key", SET, "1")]),
        Changed(TOPIC, "v6", [Change("min.compaction.lag.ms", SET, "9"), Change("max.compaction.lag.ms", SET, "8")]),
        Changed(BROKER, "1", [Change("log.cleaner.threads", SET, "2")]),
        Changed(BROKER, "", [Change("log.segment.bytes", SET, "2097152")]),
        Changed(BROKER, "7", [Change("log.cleaner.threads", SET, "2")]),
        Changed(BROKER, "one", [Change("log.cleaner.threads", SET, "2")]),
        Changed(GROUP, "g", [Change("consumer.session.timeout.ms", SET, "50000")]),
        Changed(GROUP, "", [Change("consumer.session.timeout.ms", SET, "50000")]),
        Changed(GROUP, "h", [Change("consumer.session.timeout.ms", SET, "5")]),
        Changed(METRICS, "m", [Change("interval.ms", SET, "5000")]),
        Changed(METRICS, "n", [Change("interval.ms", SET, "5")]),
        Changed(METRICS, "o", [Change("no.such.key", SET, "5")]),
        Changed(99, "x", [Change("segment.ms", SET, "60000")]),
    ]
    more = [
        Changed(BROKER, "1", [Change("node.id", SET, "2")]),
        Changed(BROKER, "", [Change("min.insync.replicas", DELETE)]),
        Changed(TOPIC, "v7", [Change("min.insync.replicas", SET, "2")]),
    ]
    again = [
        Changed(BROKER, "1", [Change("min.insync.replicas", SET, "1")]),
        Changed(BROKER, "", [Change("message.max.bytes", SET, "many")]),
        Changed(TOPIC, "v2", [Change("segment.ms", SET, "60000")]),
        Changed(TOPIC, "v2", [Change("segment.ms", SET, "60000")]),
    ]
    replaced = [
        Altered(TOPIC, "plain", [AlteredConfig("retention.ms", "60000")]),
        Altered(TOPIC, "configured", []),
        Altered(TOPIC, "nowhere", [AlteredConfig("retention.ms", "60000")]),
        Altered(TOPIC, "default", [AlteredConfig("retention.ms", None)]),
        Altered(TOPIC, "good", [AlteredConfig("retention.ms", "-7")]),
        Altered(LOGGER, "1", [AlteredConfig("kafka", "DEBUG")]),
        Altered(99, "x", []),
    ]
    checked = [Changed(TOPIC, "good", [Change("segment.ms", SET, "60000")])]
    return [
        (IncrementalAlterConfigsRequest(changes), 1),
        (IncrementalAlterConfigsRequest(more), 1),
        (IncrementalAlterConfigsRequest(again), 0),
        (IncrementalAlterConfigsRequest(checked, validate_only=True), 1),
        (AlterConfigsRequest(replaced), 2),
        (AlterConfigsRequest([Altered(TOPIC, "v3", [AlteredConfig("retention.ms", "9")])], validate_only=True), 1),
    ]


def questions() -> list[tuple[Message, int]]:
    """The requests that change nothing."""
    return [*about_topics(), *about_the_cluster_and_configs(), *about_quotas_and_quorum()]


def about_topics() -> list[tuple[Message, int]]:
    """Metadata and DescribeTopicPartitions."""
    everything = DescribeTopicPartitionsRequest([], 2000, None)
    cursor = DescribeTopicPartitionsRequest.Cursor
    asked = DescribeTopicPartitionsRequest.TopicRequest
    paged = [asked("plain"), asked("default"), asked("nowhere"), asked("sp ace")]
    return [
        *((MetadataRequest(named("plain", "configured"), False), version) for version in range(4, 14)),
        *((MetadataRequest(named("plain")), version) for version in range(4)),
        (MetadataRequest(None), 12),
        (MetadataRequest([]), 1),
        (MetadataRequest([]), 13),
        (MetadataRequest(named("nowhere", "sp ace"), False), 9),
        (MetadataRequest([Name(bytes(15) + b"\x07", None)], False), 12),
        (MetadataRequest([Name(bytes(15) + b"\x07", None)], False), 11),
        (MetadataRequest(named("plain", "nowhere"), False, True, True), 8),
        (MetadataRequest(named("plain"), False, False, True), 13),
        (everything, 0),
        (DescribeTopicPartitionsRequest(paged, 2000, None), 0),
        (DescribeTopicPartitionsRequest(paged, 2, None), 0),
        (DescribeTopicPartitionsRequest([], 2, cursor("plain", 1)), 0),
        (DescribeTopicPartitionsRequest(paged, 2, cursor("plain", 3)), 0),
        (DescribeTopicPartitionsRequest([asked("default")], 0, None), 0),
        (DescribeTopicPartitionsRequest([asked("default")], 9, cursor("plain", 1)), 0),
        (DescribeTopicPartitionsRequest([asked("plain")], 9, cursor("plain", -1)), 0),
    ]


def about_the_cluster_and_configs() -> list[tuple[Message, int]]:
    """DescribeCluster, DescribeConfigs and ListConfigResources."""
    resources = [Described(TOPIC, name, None) for name in ("plain", "configured", "default", "nowhere", "bad name")]
    others = [Described(BROKER, "7", None), Described(BROKER, "one", None), Described(BROKER, "", None)]
    others += [Described(LOGGER, "", None), Described(LOGGER, "7", None), Described(GROUP, "", None)]
    others += [Described(GROUP, "g", None), Described(METRICS, "m", None), Described(METRICS, "", None)]
    few = [Described(TOPIC, "plain", ["retention.ms", "no.such.key"]), Described(BROKER, "1", ["log.cleaner.threads"])]
    return [
        *((DescribeClusterRequest(), version) for version in range(3)),
        (DescribeClusterRequest(True, 1, True), 2),
        (DescribeClusterRequest(False, 2), 1),
        (DescribeClusterRequest(False, 9), 2),
        (DescribeConfigsRequest(resources, True, False), 4),
        (DescribeConfigsRequest(resources[:3]), 1),
        (DescribeConfigsRequest(others, True, False), 3),
        (DescribeConfigsRequest(few, False, False), 2),
        (DescribeConfigsRequest([Described(99, "x", None), Described(TOPIC, "plain", None)]), 4),
        (ListConfigResourcesRequest(), 0),
        (ListConfigResourcesRequest(), 1),
        (ListConfigResourcesRequest([TOPIC, GROUP]), 1),
        (ListConfigResourcesRequest([TOPIC, 99]), 1),
    ]


def about_quotas_and_quorum() -> list[tuple[Message, int]]:
    """Elections, quotas, reassignments and the quorum."""
    filters = DescribeClientQuotasRequest.ComponentData
    reassigning = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    quorum = DescribeQuorumRequest.TopicData
    quorum_partition = DescribeQuorumRequest.PartitionData
    return [
        (ElectLeadersRequest(0, None, 30_000), 2),
        (DescribeClientQuotasRequest([], False), 1),
        (DescribeClientQuotasRequest([filters("user", 2, None)], True), 0),
        (DescribeClientQuotasRequest([filters("", 0, "x")]), 1),
        (DescribeClientQuotasRequest([filters("user", 0, None)]), 1),
        (DescribeClientQuotasRequest([filters("planet", 0, "x")]), 1),
        (DescribeClientQuotasRequest([filters("user", 7, None)]), 1),
        (DescribeClientQuotasRequest([filters("user", 1, None), filters("ip", 1, None)]), 1),
        (ListPartitionReassignmentsRequest(30_000, None), 0),
        (ListPartitionReassignmentsRequest(30_000, [reassigning("plain", [0]), reassigning("nowhere", [0])]), 0),
        *(
            (DescribeQuorumRequest([quorum("__cluster_metadata", [quorum_partition(0)])]), version)
            for version in range(3)
        ),
        (DescribeQuorumRequest([quorum("plain", [quorum_partition(0)])]), 2),
    ]


def elections_and_deletions() -> list[tuple[Message, int]]:
    """The requests that are sent last: they elect leaders and delete topics."""
    electing = ElectLeadersRequest.TopicPartitions
    named_twice = [DeleteTopicsRequest.DeleteTopicState(name) for name in ("v2", "v3", "v2", "nowhere")]
    strange = [
        DeleteTopicsRequest.DeleteTopicState(None, bytes(16)),
        DeleteTopicsRequest.DeleteTopicState(None, bytes(15) + b"\x07"),
        DeleteTopicsRequest.DeleteTopicState("plain", bytes(15) + b"\x07"),
        DeleteTopicsRequest.DeleteTopicState("v4", bytes(16)),
    ]
    return [
        (ElectLeadersRequest(0, [electing("plain", [0, 9]), electing("nowhere", [0])], 30_000), 2),
        (ElectLeadersRequest(1, [electing("plain", [0])], 30_000), 1),
        (ElectLeadersRequest(0, [electing("plain", [1])], 30_000), 0),
        (DeleteTopicsRequest(named_twice, timeout_ms=30_000), 6),
        (DeleteTopicsRequest(strange, timeout_ms=30_000), 6),
        *(
            (DeleteTopicsRequest(topic_names=[f"v{version}", "nowhere"], timeout_ms=30_000), version)
            for version in (5, 2, 3, 1)
        ),
    ]


def comparable(answer: Any) -> Any:
    """An answer without the values that differ between brokers, with sorted lists."""
    if isinstance(answer, dict):
        return {key: comparable(value) for key, value in answer.items() if key not in OWN}
    if isinstance(answer, list):
        entries = [comparable(one) for one in answer if not _is_offsets_topic(one)]
        return sorted(entries, key=lambda one: json.dumps(one, sort_keys=True))
    return answer


def _is_offsets_topic(entry: Any) -> bool:
    """Whether an entry is the offsets topic. Ours exists from the start, Kafka's from the first group on."""
    return isinstance(entry, dict) and OFFSETS_TOPIC in (entry.get(key) for key in ("name", "topic", "resourceName"))


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """The differences between two answers."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif ours != theirs:
        yield f"{path}: ours {ours!r}, Kafka's {theirs!r}"


def compare(wire: Wire, ports: tuple[int, int], request: Message, version: int, again: bool) -> list[str]:
    """The differences between the answers. With ``again``, compares until Kafka sees its own changes."""
    ours = comparable(wire.ask(ports[0], request, version))

    def found() -> list[str]:
        return list(differences(ours, comparable(wire.ask(ports[1], request, version))))

    if again:
        with contextlib.suppress(AssertionError):  # the differences of all requests are reported together
            eventually("equal answers", lambda: not found(), patience_s=SEEN_WITHIN_S)
    return [f"{request.NAME} v{version} {one}" for one in found()]


def test_answers_are_those_of_a_real_kafka(tmp_path: Path) -> None:
    same = {"num.partitions": "2", "log.retention.hours": "3", "log.roll.ms": "86400000", "node.id": "1"}
    with Wire() as wire, OurBroker(tmp_path, same) as ours, RealKafka(tmp_path / "real", same) as real:
        ports = ours.port, real.port
        found = []
        for request, version in creations() + alterations():
            found += compare(wire, ports, request, version, again=False)
        for request, version in questions():
            found += compare(wire, ports, request, version, again=True)
        for request, version in elections_and_deletions():
            found += compare(wire, ports, request, version, again=False)
    assert not found, "\n".join(found)
