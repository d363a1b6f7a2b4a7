"""What a reader of committed records finds in a topic."""

from confluent_kafka import Consumer, KafkaError, TopicPartition

PATIENCE_S = 120.0


def committed(servers: str, topic: str, count: int) -> list[str]:
    """At least ``count`` committed values of a topic, up to its end. In order if the topic has one partition."""
    settings = {"bootstrap.servers": servers, "group.id": "unused", "isolation.level": "read_committed"}
    consumer = Consumer({**settings, "enable.auto.commit": "false", "enable.partition.eof": "true"})
    partitions = consumer.list_topics(topic, PATIENCE_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    at_end: set[int | None] = set()
    found: list[str] = []
    try:
        while len(found) < count or len(at_end) < len(partitions):
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{len(found)} of {count}"
            error, value = message.error(), message.value()
            if error is None:
                assert value is not None
                found.append(value.decode())
                at_end.discard(message.partition())
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                at_end.add(message.partition())
        return found
    finally:
        consumer.close()
