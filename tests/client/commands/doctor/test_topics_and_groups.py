"""Mistakes with topics, groups, transactions and replicas: the doctor names each, of our broker and of a real Kafka."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from odradek.client.admin.quorum import QuorumDescription, QuorumReplica
from odradek.client.cluster.metadata import PartitionMetadata, TopicMetadata
from odradek.client.commands.doctor.cluster_checks import judge_quorum, judge_replication, judge_versions
from odradek.client.commands.doctor.diagnosis import Verdict
from odradek.client.commands.doctor.record_check import judge_clocks, judge_refusal, judge_unwritten
from odradek.client.commands.doctor.topic_checks import HELD_MS, judge_topic
from odradek.protocol.errors import ErrorCode, KafkaError
from odradek.testing.broker.in_process import InProcessBroker
from support.eventually import eventually

from .running import Doctor

DAY_MS = 24 * 3_600_000


def create(bootstrap: str, topic: str, **configs: str) -> None:
    """Creates a topic with one partition."""
    given = {key.replace("_", "."): value for key, value in configs.items()}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config=given)])[topic].result(30)
    eventually(lambda: f"{topic} is known", lambda: topic in admin.list_topics(timeout=10).topics)


def produce(bootstrap: str, topic: str, *times_ms: int) -> None:
    """Writes a record with each of these times."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for time_ms in times_ms:
        producer.produce(topic, b"value", partition=0, timestamp=time_ms)
    assert producer.flush(30) == 0


def commit(bootstrap: str, group: str, topic: str, offset: int) -> None:
    """Commits an offset for a group without members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})

    def is_committed() -> bool:
        try:
            consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
        except KafkaException:  # a real Kafka's coordinator loads its first groups
            return False
        return True

    eventually(lambda: f"{group} has a commit", is_committed)
    consumer.close()


def now_ms() -> int:
    """The time."""
    return int(time.time() * 1000)


def test_nothing_is_wrong(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name)
    produce(bootstrap, name, now_ms(), now_ms())
    commit(bootstrap, name, name, 1)
    report = doctor.examine(bootstrap, "--topic", name, "--group", name, "--record-bytes", "1000")
    assert not report.of("error", "warning", "skipped")
    assert ("group", f"{name} is Empty; members: none; 1 records behind", "") in report.of("ok")


def test_a_misspelt_topic(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, f"{name}-orders")
    check, text, step = doctor.examine(bootstrap, "--no-record", "--topic", f"{name}-ordres").the_mistake()
    assert (check, text, step) == ("topic", f"no topic is called {name}-ordres", f"Did you mean {name}-orders?")


def test_fewer_replicas_than_have_to_be_in_sync(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name, min_insync_replicas="2")
    produce(bootstrap, name, now_ms())
    assert not doctor.examine(bootstrap, "--no-record", "--topic", name).of("error", "warning")


def test_brokers_that_are_down() -> None:
    alone = PartitionMetadata(0, leader=1, leader_epoch=5, replicas=(1, 2, 3), isr=(1,))
    lost = PartitionMetadata(1, leader=-1, leader_epoch=5, replicas=(2, 3), isr=(3,))
    well = PartitionMetadata(2, leader=1, leader_epoch=5, replicas=(1, 2, 3), isr=(1, 2))
    topic = TopicMetadata("orders", bytes(16), False, {0: alone, 1: lost, 2: well})
    assert [diagnosis.text for diagnosis in judge_topic(topic, {"min.insync.replicas": "2"}, None)] == [
        "partition 1 of orders has no leader: it takes and gives no records",
        "partition 0 of orders refuses acks=all: fewer in sync than min.insync.replicas, 2",
    ]
    offsets = replace(topic, name="__consumer_offsets")
    configs = {"offsets.topic.replication.factor": "3", "min.insync.replicas": "2"}
    assert [diagnosis.text for diagnosis in judge_replication(1, configs, {"__consumer_offsets": offsets})] == [
        "1 of 3 partitions of __consumer_offsets have no leader: consumer groups stand still",
        "1 of 3 partitions of __consumer_offsets have fewer replicas in sync than 2 (min.insync.replicas): "
        "consumer groups stand still",
    ]


def test_a_record_that_is_not_taken() -> None:
    refused = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, "orders-0")
    assert "fewer replicas than min.insync.replicas" in judge_unwritten(refused).text
    assert judge_unwritten(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "")).verdict is Verdict.SKIPPED
    assert judge_refusal(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "")).verdict is Verdict.SKIPPED
    assert judge_refusal(KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, "")).verdict is Verdict.ERROR


def test_a_record_that_is_too_large(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name, max_message_bytes="1000")
    asked = ("--no-record", "--topic", name, "--record-bytes")
    _, text, _ = doctor.examine(bootstrap, *asked, "1400").the_mistake()
    assert text == f"a record of 1,400 bytes is too large: {name} takes batches of 1,000 bytes"
    assert not doctor.examine(bootstrap, *asked, "900").of("error", "warning")


def test_times_in_seconds(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name, retention_ms="-1")
    produce(bootstrap, name, now_ms() // 1000)
    _, text, step = doctor.examine(bootstrap, "--no-record", "--topic", name).the_mistake()
    assert "looks like seconds, not ms" in text
    assert "message.timestamp.type=LogAppendTime" in step


def test_times_in_the_future(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name, message_timestamp_after_max_ms=str(1 << 62))
    produce(bootstrap, name, now_ms(), now_ms() + 400 * DAY_MS)
    _, text, _ = doctor.examine(bootstrap, "--no-record", "--topic", name).the_mistake()
    assert f"{name}-0 has a record of " in text
    assert "in the future" in text


def test_a_misspelt_group(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name)
    commit(bootstrap, f"{name}-billing", name, 0)
    _, text, step = doctor.examine(bootstrap, "--no-record", "--group", f"{name}-biling").the_mistake()
    assert (text, step) == (f"no group is called {name}-biling", f"Did you mean {name}-billing?")


def test_a_group_that_skips_records(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name)
    create(bootstrap, f"{name}-new")
    produce(bootstrap, f"{name}-new", now_ms(), now_ms())
    commit(bootstrap, name, name, 0)
    asked = ("--no-record", "--group", name, "--topic", f"{name}-new")
    _, text, step = doctor.examine(bootstrap, *asked).the_mistake()
    assert text.endswith("with auto.offset.reset=latest, the default, a consumer skips its 2 records")
    assert "--reset-offsets" in step


def test_commits_that_the_log_has_not(bootstrap: str, name: str, doctor: Doctor) -> None:
    create(bootstrap, name)
    produce(bootstrap, name, *[now_ms()] * 5)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    commit(bootstrap, name, name, 1)
    [deleted] = admin.delete_records([TopicPartition(name, 0, 3)]).values()
    deleted.result(30)
    _, text, _ = doctor.examine(bootstrap, "--no-record", "--group", name).the_mistake()
    assert text.startswith(f"the commit for {name}-0, 1, is before the log's start, 3: 2 offsets are gone")
    commit(bootstrap, name, name, 9)
    _, text, _ = doctor.examine(bootstrap, "--no-record", "--group", name).the_mistake()
    assert text.startswith(f"the commit for {name}-0, 9, is after the log's end, 5")


def test_a_transaction_that_holds_consumers(tmp_path: Path, doctor: Doctor) -> None:
    with InProcessBroker(tmp_path) as broker:
        broker.create_topic("orders")
        # The producer's records have a time of long ago, as they would have if it had been silent since then.
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "billing"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("orders", b"value", partition=0, timestamp=now_ms() - 2 * HELD_MS)
        producer.flush(30)
        _, text, step = doctor.examine(broker.bootstrap_servers, "--no-record", "--topic", "orders").the_mistake()
        producer.abort_transaction(30)
        assert text.startswith(
            "read_committed consumers of orders-0 stand at 0, 1 before the end: the open transaction"
        )
        assert "(billing) has written nothing for 12" in text
        assert step.endswith("odradek transactions abort --topic orders --partition 0 --start-offset 0")
        assert not doctor.examine(broker.bootstrap_servers, "--no-record", "--topic", "orders").of("warning")


def test_replication_factors_that_the_brokers_can_not_meet(tmp_path: Path, doctor: Doctor) -> None:
    with InProcessBroker(tmp_path, {"offsets.topic.replication.factor": "3"}) as broker:
        report = doctor.examine(broker.bootstrap_servers)
    _, text, _ = report.the_mistake()
    assert text == "offsets.topic.replication.factor is 3, and 1 brokers are alive: consumer groups can't begin"
    assert ("record", "ok") in [(one["check"], one["verdict"]) for one in report.diagnoses]


def test_brokers_of_other_times() -> None:
    assert judge_versions({1: (0, 8)}).verdict is Verdict.WARNING
    assert judge_versions({1: (4, 18)}).verdict is Verdict.OK


def test_controllers() -> None:
    def quorum(leader: int, *caught_up_ms: int) -> QuorumDescription:
        voters = [QuorumReplica(100 + number, bytes(16), 9, at, at) for number, at in enumerate(caught_up_ms)]
        return QuorumDescription(leader, 1, 9, voters, [], {})

    assert judge_quorum(quorum(100, 50_000, 49_900, 49_800)).verdict is Verdict.OK
    behind = judge_quorum(quorum(100, 50_000, 49_900, 10_000))
    assert (behind.verdict, behind.text) == (
        Verdict.WARNING,
        "controller 102 of 3 does not follow the active one",
    )
    assert judge_quorum(quorum(-1)).verdict is Verdict.ERROR


@pytest.mark.parametrize("factor", ["1", "2"])
def test_new_topics(factor: str) -> None:
    found = list(judge_replication(1, {"default.replication.factor": factor}, {}))
    assert [diagnosis.verdict for diagnosis in found] == [Verdict.WARNING] * (factor == "2")


def test_clocks_that_differ() -> None:
    assert judge_clocks(1_000_000, 1_000_300, 20).verdict is Verdict.OK
    assert "differ by 60 s" in judge_clocks(1_000_000, 1_060_000, 20).text
