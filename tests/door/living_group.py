"""Groups of both protocols whose members keep running while brokers replace each other on one port."""

import time
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from door.topics import Plan
from door.workload import LONGEST_SESSION_MS, TIMEOUT_S, create
from support.brokers.python_clients import generation_of

PROTOCOLS = ("classic", "consumer")
LONG_SESSIONS = {
    "group.consumer.max.session.timeout.ms": str(LONGEST_SESSION_MS),
    "group.consumer.session.timeout.ms": str(LONGEST_SESSION_MS),
}
"""Configs of both brokers: no session ends while one broker replaces the other."""
MEMBERS, PARTITIONS, RECORDS = 2, 4, 12


class LivingGroup:
    """Two members, one of them static. They keep their generation and partitions, and lose no record.

    Their partitions are paused while the broker is replaced. A Kafka that stops answers Metadata without any broker.
    librdkafka 2.16 then drops all brokers, also those of bootstrap.servers, and never connects again (its issue 5301).
    With paused partitions it sends no Fetch. No Fetch is refused, so librdkafka does not request Metadata at that time.
    """

    def __init__(self, servers: str, protocol: str) -> None:
        self.name = f"living-group-{protocol}"
        self._topic = f"{self.name}-reads"
        create(AdminClient({"bootstrap.servers": servers}), [Plan(self._topic, partitions=PARTITIONS)])
        shared: dict[str, Any] = {
            "bootstrap.servers": servers,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 2,
        }
        self._producer: Any = Producer(shared)
        settings = shared | {
            "group.id": self.name,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "max.poll.interval.ms": LONGEST_SESSION_MS,
        }
        if protocol == "classic":
            settings |= {"session.timeout.ms": LONGEST_SESSION_MS, "heartbeat.interval.ms": 1000}
            settings |= {"partition.assignment.strategy": "range"}
        static = {"group.instance.id": f"{self.name}-1"}
        self._members: list[Any] = [Consumer(settings | (static if number else {})) for number in range(MEMBERS)]
        for member in self._members:
            member.subscribe([self._topic])
        self._sent = 0
        self._received: list[int] = []
        self._generation = 0
        self._wait_for_partitions()

    def _wait_for_partitions(self) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while any(len(member.assignment()) != PARTITIONS // MEMBERS for member in self._members):
            assert time.monotonic() < deadline, [member.assignment() for member in self._members]
            for member in self._members:
                self._take(member)
        self._generation = generation_of(self._members[0])

    def go_on(self) -> None:
        """Asserts that each member receives the new records of its partitions, and commits in the same generation."""
        for number in range(self._sent, self._sent + RECORDS):
            self._producer.produce(self._topic, b"%d" % number, partition=number % PARTITIONS)
        assert self._producer.flush(TIMEOUT_S) == 0, "not acknowledged in time"
        self._sent += RECORDS
        for member in self._members:
            member.resume(member.assignment())
        deadline = time.monotonic() + TIMEOUT_S
        while len(self._received) < self._sent:
            assert time.monotonic() < deadline, f"the living group has {len(self._received)} of {self._sent}"
            for member in self._members:
                self._take(member)
        assert sorted(self._received) == list(range(self._sent))
        for member in self._members:
            committed = member.commit(asynchronous=False)
            assert not [one.error for one in committed if one.error is not None]
            assert generation_of(member) == self._generation, "the group has rebalanced"
            member.pause(member.assignment())

    def _take(self, member: Any) -> None:
        for message in member.consume(RECORDS, 0.05):
            if message.error() is None:
                self._received.append(int(message.value()))
            else:
                assert message.error().retriable() or not message.error().fatal(), message.error()

    def close(self) -> None:
        """Closes the members, which leave the group."""
        for member in self._members:
            member.close()
