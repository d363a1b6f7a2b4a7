"""Retention and compaction run when a test requests them."""

import pytest

from odradek.protocol.errors import KafkaError
from odradek.testing import InProcessBroker

DAY_MS = 24 * 60 * 60 * 1000


def test_a_compacted_topic_has_the_last_record_of_each_key(kafka: InProcessBroker) -> None:
    """The active segment is compacted, too, and offsets stay as they were."""
    kafka.create_topic("prices", configs={"cleanup.policy": "compact"})
    for value in ("1", "2", "3"):
        kafka.produce("prices", value, key="tea")
    kafka.produce("prices", "7", key="milk")
    kafka.compact("prices")
    assert [(record.offset, record.value) for record in kafka.records("prices")] == [(2, b"3"), (3, b"7")]
    kafka.produce("prices", "4", key="tea")
    kafka.compact()
    assert [(record.offset, record.value) for record in kafka.records("prices")] == [(3, b"7"), (4, b"4")]


def test_a_tombstone_goes_when_its_time_has_passed(kafka: InProcessBroker) -> None:
    """The first compaction keeps it for delete.retention.ms, as in Kafka."""
    kafka.create_topic("prices", configs={"cleanup.policy": "compact", "delete.retention.ms": DAY_MS})
    kafka.produce("prices", "1", key="tea")
    kafka.produce("prices", None, key="tea")
    kafka.compact("prices")
    assert [record.value for record in kafka.records("prices")] == [None]
    kafka.advance(days=2)
    kafka.compact("prices")
    assert kafka.records("prices") == []


def test_records_are_compacted_after_their_lag(kafka: InProcessBroker) -> None:
    """min.compaction.lag.ms protects young records until the clock has passed it."""
    kafka.create_topic("prices", configs={"cleanup.policy": "compact", "min.compaction.lag.ms": DAY_MS})
    kafka.produce("prices", "1", "2", key="tea")
    kafka.compact("prices")
    assert len(kafka.records("prices")) == 2
    kafka.advance(days=2)
    kafka.compact("prices")
    assert [record.value for record in kafka.records("prices")] == [b"2"]


def test_compaction_after_a_restart(kafka: InProcessBroker) -> None:
    """Logs that are not open yet are compacted as well."""
    kafka.create_topic("prices", configs={"cleanup.policy": "compact"})
    kafka.produce("prices", "1", "2", key="tea")
    kafka.restart()
    kafka.compact("prices")
    assert [record.value for record in kafka.records("prices")] == [b"2"]


def test_what_can_not_be_compacted(kafka: InProcessBroker, kafka_broker_factory) -> None:  # type: ignore[no-untyped-def]
    """A topic without the policy, one that does not exist, and a broker without a cleaner are refused by name."""
    kafka.create_topic("orders")
    with pytest.raises(ValueError, match=r"orders has no cleanup\.policy=compact"):
        kafka.compact("orders")
    with pytest.raises(KafkaError, match="'nothing' does not exist"):
        kafka.compact("nothing")
    with pytest.raises(ValueError, match=r"log\.cleaner\.enable is false"):
        kafka_broker_factory({"log.cleaner.enable": False}).compact()


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_retention_by_time(kafka: InProcessBroker, policy: str) -> None:
    """Records older than retention.ms are removed, and the log continues at its end."""
    kafka.create_topic("orders", configs={"cleanup.policy": policy, "retention.ms": DAY_MS})
    kafka.produce("orders", "one", "two", key="k")
    kafka.apply_retention()
    assert len(kafka.records("orders")) == 2
    kafka.advance(days=2)
    kafka.apply_retention()
    assert kafka.records("orders") == []
    assert [metadata.offset for metadata in kafka.produce("orders", "three", key="k")] == [2]
