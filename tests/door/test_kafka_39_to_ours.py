"""A directory moves from Apache Kafka 3.9.1 in KRaft mode to Odradek and back, and keeps its metadata.version."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient

from door.continuity import LivingProducer, assert_one_sequence
from door.security import AUTHORIZER, set_up, what_is_there
from door.snapshot import differences, take_snapshot
from door.topics import LIVING, PLANS, Plan
from door.transactions import MIXED, fill_with_transactions
from door.workload import CONFIGS, TIMEOUT_S, Producers, create
from odradek.protocol.common.wall_clock import clock_ms
from odradek.protocol.messages.metadata_records import (
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from support.brokers.our_broker import OurBroker
from support.door.metadata import SNAPSHOTS, latest_snapshot, metadata_end_offset, metadata_records
from support.kafka.java import OLD_KAFKA_VERSION, java_or_skip
from support.kafka.log import complaints
from support.kafka.real_kafka import RealKafka

pytestmark = [pytest.mark.java, pytest.mark.ci]

METADATA_VERSION = 21
"""3.9-IV0."""
CHOSEN = ("codec-zstd", "codecs-mixed", "append-time", "compacted-small", "segments", "many-partitions", "index-dense")
GROUP = "old-group"


def plans() -> list[Plan]:
    """Some plans of the workload. 3.9 allows small segments by ``segment.bytes``, not ``internal.segment.bytes``."""
    return [
        replace(plan, configs={key.removeprefix("internal."): value for key, value in plan.configs.items()})
        for plan in PLANS
        if plan.name in CHOSEN
    ]


def fill_old(servers: str) -> None:
    """Creates topics with records, a group with a static member and offsets, transactions, and security settings."""
    create(AdminClient({"bootstrap.servers": servers}), [*plans(), Plan(LIVING, partitions=1)])
    producers = Producers(servers)
    for plan in plans():
        producers.send_plan(plan, Random(39), clock_ms())
    fill_with_transactions(servers, {"segment.bytes": "3000"})
    set_up(servers, with_groups=False)
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": GROUP,
            "group.instance.id": "member",
            "session.timeout.ms": 1_800_000,
            "max.poll.interval.ms": 1_800_000,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe(["segments", MIXED])
    assert consumer.consume(50, TIMEOUT_S)
    consumer.commit(asynchronous=False)
    consumer.close()


def test_we_take_a_directory_of_kafka_39_over_and_it_has_it_again(tmp_path: Path) -> None:
    java_or_skip(OLD_KAFKA_VERSION)
    kafka = RealKafka(tmp_path, CONFIGS | AUTHORIZER, version=OLD_KAFKA_VERSION)
    ours = OurBroker(tmp_path, CONFIGS | SNAPSHOTS | {"node.id": "1"})
    ours.port = kafka.port
    servers = kafka.bootstrap_servers
    try:
        kafka.start()
        fill_old(servers)
        producer = LivingProducer(servers)
        producer.send()
        secured = what_is_there(servers, with_groups=False)
        before = take_snapshot(servers)
        kafka.stop()
        written, end_offset = len(metadata_records(tmp_path / "logs")), metadata_end_offset(tmp_path / "logs")
        ours.start()
        assert not differences(before, take_snapshot(servers))
        create(AdminClient({"bootstrap.servers": servers}), [Plan("ours", configs={"retention.ms": "3600000"})])
        producer.send()
        before = take_snapshot(servers)
        assert ours.stop() == 0
        assert_written_as_of_39(tmp_path / "logs", written)
        assert latest_snapshot(tmp_path / "logs") > end_offset, "3.9.1 reads what we have made of all its records"
        assert_one_sequence(ours.log_dir)
        logged = len(kafka.output)
        kafka.start()
        assert not differences(before, take_snapshot(servers))
        assert what_is_there(servers, with_groups=False) == secured
        producer.send()
        found = complaints(kafka.output[logged:])
        assert not found, found
    finally:
        kafka.kill()
        ours.__exit__(None, None, None)


def assert_written_as_of_39(log_dir: Path, first: int) -> None:
    """Asserts that no feature level was raised, and that our records have the versions of 3.9."""
    found = metadata_records(log_dir)
    levels = {record.name: record.feature_level for record, _ in found if isinstance(record, FeatureLevelRecord)}
    assert levels == {"metadata.version": METADATA_VERSION}
    ours = found[first:]
    versions = {
        kind: {version for record, version in ours if isinstance(record, kind)}
        for kind in (RegisterBrokerRecord, PartitionRecord, PartitionChangeRecord)
    }
    assert versions == {RegisterBrokerRecord: {3}, PartitionRecord: {1}, PartitionChangeRecord: {1}}
