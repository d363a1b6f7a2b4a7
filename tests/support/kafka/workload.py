"""A workload that fills every kind of file of a broker: each codec, transactions, groups of both protocols."""

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from support.transactions.ended import wait_until_transactions_end

TIMEOUT_S = 60.0
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
INTERNAL_TOPICS = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
SMALL = {f"{name}.num.partitions": "2" for name in INTERNAL_TOPICS} | {"log.index.interval.bytes": "500"}
"""Configurations that keep a directory small, with many index entries."""


def produce(bootstrap_servers: str) -> None:
    """Fills topics `t` (two partitions) and `u` (LogAppendTime): records, tombstones, four transactions."""
    settings: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers}
    topics = [NewTopic("t", 2, 1), NewTopic("u", 1, 1, config={"message.timestamp.type": "LogAppendTime"})]
    admin = AdminClient(settings)
    for created in admin.create_topics(topics).values():
        created.result(TIMEOUT_S)
    for codec in CODECS:
        producer = Producer(settings | {"compression.type": codec, "enable.idempotence": True})
        for number in range(300):
            headers: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("hé", None)] if number % 3 else []
            producer.produce("t", codec.encode() * (number % 40), b"%d" % number, partition=number % 2, headers=headers)
        producer.produce("u", None, b"deleted")
        assert producer.flush(TIMEOUT_S) == 0
    producer = Producer(settings | {"transactional.id": "transactions"})
    producer.init_transactions(TIMEOUT_S)
    for number in range(4):
        producer.begin_transaction()
        producer.produce("t", b"%d" % number, partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        if number % 2:
            producer.commit_transaction(TIMEOUT_S)
        else:
            producer.abort_transaction(TIMEOUT_S)
    wait_until_transactions_end(bootstrap_servers, ["t"])


def consume(bootstrap_servers: str, protocol: str) -> None:
    """A group named after its protocol (classic, consumer) that reads 50 records and commits."""
    settings = {"group.id": protocol, "group.protocol": protocol, "group.instance.id": "first"}
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "auto.offset.reset": "earliest", **settings})
    try:
        consumer.subscribe(["t"])
        assert len(consumer.consume(50, TIMEOUT_S)) == 50
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()


def consume_in_transactions(bootstrap_servers: str, group: str) -> None:
    """A group whose offsets are committed by a producer: one transaction is aborted, the next one committed."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap_servers, "group.id": group, "auto.offset.reset": "earliest"}
        | {"enable.auto.commit": False}
    )
    producer = Producer({"bootstrap.servers": bootstrap_servers, "transactional.id": group})
    producer.init_transactions(TIMEOUT_S)
    try:
        consumer.subscribe(["t"])
        for is_committed in (False, True):
            assert len(consumer.consume(20, TIMEOUT_S)) == 20
            producer.begin_transaction()
            positions = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)
            if is_committed:
                producer.commit_transaction(TIMEOUT_S)
            else:
                producer.abort_transaction(TIMEOUT_S)
            wait_until_transactions_end(bootstrap_servers, ["__consumer_offsets"])
    finally:
        consumer.close()
