"""The scenario that each library goes through, with its default settings, and what it must show.

A program below ``programs/`` is called with a verb, and ends with 0 if all went well:

===================================  ==============================================================================
``create SERVERS TOPIC``             creates a topic of 3 partitions; without it confluent-kafka does
``produce SERVERS TOPIC VALUE...``   writes the values, and waits until all are acknowledged; without it
                                     confluent-kafka does
``consume SERVERS TOPIC GROUP N``    reads N records as a member of a group, from the start if nothing is committed,
                                     prints ``read VALUE`` for each, commits and leaves
``read SERVERS TOPIC N``             reads N records without a group, and prints them
``transact SERVERS TOPIC V W``       commits a transaction with V, aborts one with W
===================================  ==============================================================================
"""

from collections.abc import Sequence
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient

from support.brokers.python_clients import CLIENTS
from systems.committed import committed
from systems.libraries.installed import Program
from systems.process import SystemProcess

PARTITIONS = 3
PIECE = 20
TIMEOUT_S = 60.0


class Scenario:
    """One library at one broker. Its steps raise AssertionError with the output of the program."""

    def __init__(self, program: Program, verbs: Sequence[str], servers: str, directory: Path) -> None:
        """``directory``: the programs run there, and write their output there."""
        self._program = program
        self._verbs = verbs
        self._servers = servers
        self._directory = directory
        self._topic = "orders"
        self._group = "readers"
        self._written: list[str] = []

    def run(self) -> None:
        """Goes through all steps: a second reader of the group must get what was written after the first one left."""
        self._create()
        for _ in range(2):
            self._produce()
            self._consume()
        if "transact" in self._verbs:
            self._transact()

    def _create(self) -> None:
        if "create" in self._verbs:
            self._call("create", self._topic)
        else:
            CLIENTS["confluent-kafka"].create_topic(self._servers, self._topic, PARTITIONS)
        metadata = AdminClient({"bootstrap.servers": self._servers}).list_topics(self._topic, TIMEOUT_S)
        assert len(metadata.topics[self._topic].partitions) == PARTITIONS

    def _produce(self) -> None:
        start = len(self._written)
        values = [f"value-{number}" for number in range(start, start + PIECE)]
        if "produce" in self._verbs:
            self._call("produce", self._topic, *values)
        else:
            _produce(self._servers, self._topic, values)
        self._written += values
        assert sorted(committed(self._servers, self._topic, len(self._written))) == sorted(self._written)

    def _consume(self) -> None:
        if "consume" in self._verbs:
            output = self._call("consume", self._topic, self._group, str(PIECE))
            assert values_in(output) == sorted(self._written[-PIECE:]), f"consume: other records\n{output}"
            assert self._committed_offsets() == len(self._written), "consume: the commits are incomplete"
        elif "read" in self._verbs:
            output = self._call("read", self._topic, str(len(self._written)))
            assert values_in(output) == sorted(self._written), output

    def _committed_offsets(self) -> int:
        """The sum of the group's offsets: the number of records before them."""
        admin = AdminClient({"bootstrap.servers": self._servers})
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(self._group)])
        found = asked[self._group].result(TIMEOUT_S).topic_partitions or []
        return sum(max(one.offset, 0) for one in found)

    def _transact(self) -> None:
        self._call("transact", self._topic, "kept", "dropped")
        self._written.append("kept")
        assert sorted(committed(self._servers, self._topic, len(self._written))) == sorted(self._written)

    def _call(self, verb: str, *arguments: str) -> str:
        """The output of a step."""
        command = [*self._program.command, verb, self._servers, *arguments]
        number = len(list(self._directory.glob(f"{verb}-*.log")))
        with SystemProcess(command, self._directory, f"{verb}-{number}", self._program.variables) as process:
            code = process.wait()
        assert code == 0, f"{verb} ended with {code}\n{process.log()[-5000:]}"
        return process.log()


def _produce(servers: str, topic: str, values: Sequence[str]) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce(topic, value, value)
    assert producer.flush(TIMEOUT_S) == 0


def values_in(output: str) -> list[str]:
    """The values that a reader has printed, sorted."""
    return sorted(line.removeprefix("read ") for line in output.splitlines() if line.startswith("read "))
