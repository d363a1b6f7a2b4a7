"""``odradek.acks.all.fsync`` with unmodified clients: they wait for the disk and notice nothing else."""

from pathlib import Path

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from support.brokers.our_broker import OurBroker

RECORDS = 300
LARGE_BYTES = 200_000
TIMEOUT_S = 60.0
TOPIC = "kept"


def value_of(number: int) -> bytes:
    """The value of a record. Every tenth is so large that a thread writes it."""
    return b"%d:" % number + b"x" * (LARGE_BYTES if number % 10 == 0 else number)


def read_all(bootstrap_servers: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "reader", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values: list[bytes] = []
    while len(values) < count:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, f"{len(values)} of {count} records"
        assert message.error() is None, message.error()
        value = message.value()
        assert isinstance(value, bytes)
        values.append(value)
    consumer.close()
    return values


def test_clients_get_what_is_on_disk_and_keep_it_when_the_broker_is_killed(tmp_path: Path) -> None:
    with OurBroker(tmp_path, {"odradek.acks.all.fsync": "true", "log.segment.bytes": "1048576"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for created in admin.create_topics([NewTopic(TOPIC, 1, 1)]).values():
            created.result(TIMEOUT_S)
        acknowledged: list[int] = []

        def delivered(error: object, message: Message) -> None:
            assert error is None, error
            offset = message.offset()
            assert offset is not None
            acknowledged.append(offset)

        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1})
        for number in range(RECORDS):
            producer.produce(TOPIC, value_of(number), partition=0, on_delivery=delivered)
            producer.poll(0)
        assert producer.flush(TIMEOUT_S) == 0
        assert acknowledged == list(range(RECORDS))
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 7)], asynchronous=False)
        consumer.close()
        expected = [value_of(number) for number in range(RECORDS)]
        assert read_all(broker.bootstrap_servers, RECORDS) == expected
        broker.kill()
        broker.start()
        assert read_all(broker.bootstrap_servers, RECORDS) == expected
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        [committed] = consumer.committed([TopicPartition(TOPIC, 0)], timeout=TIMEOUT_S)
        assert committed.offset == 7
        consumer.close()
        assert broker.stop() == 0
