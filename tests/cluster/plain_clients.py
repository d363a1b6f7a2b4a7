"""Creates topics and produces records with librdkafka's defaults, for tests that need no special client."""

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

TIMEOUT_S = 60


def create_topic(servers: str, topic: str, replicas: list[list[int]], **config: str) -> None:
    """Creates a topic; ``replicas`` are the brokers of each partition. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": servers})
    new = NewTopic(topic, len(replicas), replica_assignment=replicas, config=config)
    admin.create_topics([new])[topic].result(TIMEOUT_S)


def create_unassigned_topic(servers: str, topic: str, partitions: int = 1) -> None:
    """Creates a topic with one replica, which the controllers place. Raises KafkaException."""
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, partitions, 1)], request_timeout=TIMEOUT_S)[topic].result(TIMEOUT_S)


def produce_numbers(servers: str, topic: str, count: int) -> None:
    """Produces the numbers below ``count`` as an idempotent producer; returns when all are acknowledged."""
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number in range(count):
        producer.produce(topic, str(number))
    assert producer.flush(TIMEOUT_S) == 0
