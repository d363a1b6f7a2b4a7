"""A start writes no log line for each partition of the internal topics."""

import logging

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.testing import InProcessBroker

PARTITIONS = 50


@pytest.mark.kafka(configs={"offsets.topic.num.partitions": PARTITIONS})
def test_a_restart_writes_no_line_for_each_partition_with_groups(
    kafka: InProcessBroker, caplog: pytest.LogCaptureFixture
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    producer.produce("orders", b"one")
    assert producer.flush(60) == 0
    for number in range(2 * PARTITIONS):
        consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": f"group-{number}"})
        consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
        consumer.close()
    used = sum(1 for path in kafka.log_dir.glob("__consumer_offsets-*/*.log") if path.stat().st_size)
    assert used > PARTITIONS / 2
    with caplog.at_level(logging.INFO):
        kafka.restart()
    assert len(caplog.records) < 5, caplog.text
