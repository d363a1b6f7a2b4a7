"""Clients of three libraries, configured for the broker of a test, and closed at its end.

Owns: the clients that it has made. Never does: importing a library that the test does not use. The arguments are those
of each library; the caller's take precedence over the ones set here. A consumer reads from the beginning, in a new
group unless ``group`` names one.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    import aiokafka
    import confluent_kafka
    import confluent_kafka.admin
    import kafka


def _own_group(group: str | None) -> str:
    return group or f"test-{uuid4()}"


class KafkaPythonClients:
    """Makes clients of kafka-python."""

    def __init__(self, bootstrap_servers: str, at_end: ExitStack) -> None:
        """``at_end`` closes them."""
        self._address = {"bootstrap_servers": bootstrap_servers}
        self._at_end = at_end

    def producer(self, **settings: Any) -> "kafka.KafkaProducer":
        """A ``KafkaProducer``."""
        from kafka import KafkaProducer

        return self._closed(KafkaProducer(**{**self._address, **settings}))

    def consumer(self, *topics: str, group: str | None = None, **settings: Any) -> "kafka.KafkaConsumer":
        """A ``KafkaConsumer`` that subscribes to topics."""
        from kafka import KafkaConsumer

        ours = {**self._address, "group_id": _own_group(group), "auto_offset_reset": "earliest"}
        return self._closed(KafkaConsumer(*topics, **{**ours, **settings}))

    def admin(self, **settings: Any) -> "kafka.KafkaAdminClient":
        """A ``KafkaAdminClient``."""
        from kafka import KafkaAdminClient

        return self._closed(KafkaAdminClient(**{**self._address, **settings}))

    def _closed(self, client: Any) -> Any:
        self._at_end.callback(client.close)
        return client


class ConfluentKafkaClients:
    """Makes clients of confluent-kafka. ``settings`` are librdkafka's, which have dots in their names."""

    def __init__(self, bootstrap_servers: str, at_end: ExitStack) -> None:
        """``at_end`` closes them."""
        self._address = {"bootstrap.servers": bootstrap_servers}
        self._at_end = at_end

    def producer(self, settings: dict[str, Any] | None = None) -> "confluent_kafka.Producer":
        """A ``Producer``. It is flushed at the end of the test, for 10 s at most."""
        from confluent_kafka import Producer

        producer = Producer({**self._address, **(settings or {})})
        self._at_end.callback(producer.flush, 10)
        return producer

    def consumer(
        self, *topics: str, group: str | None = None, settings: dict[str, Any] | None = None
    ) -> "confluent_kafka.Consumer":
        """A ``Consumer`` that subscribes to topics."""
        from confluent_kafka import Consumer

        ours = {**self._address, "group.id": _own_group(group), "auto.offset.reset": "earliest"}
        consumer = Consumer({**ours, **(settings or {})})
        self._at_end.callback(consumer.close)
        if topics:
            consumer.subscribe(list(topics))
        return consumer

    def admin(self, settings: dict[str, Any] | None = None) -> "confluent_kafka.admin.AdminClient":
        """An ``AdminClient``."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({**self._address, **(settings or {})})


class AiokafkaClients:
    """Makes clients of aiokafka. The test starts and stops them: ``async with clients.producer() as producer``."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._address = {"bootstrap_servers": bootstrap_servers}

    def producer(self, **settings: Any) -> "aiokafka.AIOKafkaProducer":
        """An ``AIOKafkaProducer``."""
        from aiokafka import AIOKafkaProducer

        return AIOKafkaProducer(**{**self._address, **settings})

    def consumer(self, *topics: str, group: str | None = None, **settings: Any) -> "aiokafka.AIOKafkaConsumer":
        """An ``AIOKafkaConsumer`` that subscribes to topics."""
        from aiokafka import AIOKafkaConsumer

        ours = {**self._address, "group_id": _own_group(group), "auto_offset_reset": "earliest"}
        return AIOKafkaConsumer(*topics, **{**ours, **settings})
