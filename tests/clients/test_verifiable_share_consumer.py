"""Kafka's VerifiableProducer and VerifiableShareConsumer with our broker, over a restart and a kill.

Three share groups read the topic, one for each acknowledgement mode of the tool, with two consumers each. A record
that the broker has acknowledged to the producer is given to each group. While the broker runs it is given once.
A restart ends the locks, so a record that was not yet acknowledged then comes again; one that was, never does: the
tool reports each acknowledgement with its result, and a group has at most one success for a record.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.kafka.java import java_arguments, java_or_skip
from support.kafka.share_lags import share_lags
from systems.process import SystemProcess

pytestmark = [pytest.mark.java, pytest.mark.ci]

MODES = ("auto", "sync", "async")
TOPIC = "verified"
PARTITIONS = 4
CALM = 500
STORMY = 3_000
THROUGHPUT = 600
"""Records a second: the second producer takes five seconds, so both faults come while it sends."""

Place = tuple[int, int]
"""Partition and offset of a record."""


class Tool(SystemProcess):
    """One of the tools. It prints an event on each line; its log has a file of its own, so that no line is torn."""

    def __init__(self, name: str, directory: Path, tool: str, *arguments: str) -> None:
        log = f"-Dorg.slf4j.simpleLogger.logFile={directory / f'{name}.stderr'}"
        command = [*java_arguments(heap="128m"), log, f"org.apache.kafka.tools.{tool}", *arguments]
        super().__init__(command, directory, name)

    def events(self, name: str) -> Iterator[Any]:
        """The events so far that have a name."""
        lines = self.log().split("\n")[:-1]  # the last one may not be complete
        for event in (json.loads(line) for line in lines if line.startswith("{")):
            if event["name"] == name:
                yield event


class Writer(Tool):
    """A VerifiableProducer, which does not retry: a record that was not acknowledged may be there or not."""

    def __init__(self, broker: OurBroker, directory: Path, name: str, records: int, throughput: int) -> None:
        config = directory / "producer.properties"
        config.write_text("partitioner.class=org.apache.kafka.clients.producer.RoundRobinPartitioner\n")
        sizes = ("--max-messages", str(records), "--throughput", str(throughput), "--command-config", str(config))
        server = ("--bootstrap-server", broker.bootstrap_servers, "--topic", TOPIC)
        super().__init__(name, directory, "VerifiableProducer", *server, *sizes)

    def acknowledged(self) -> set[Place]:
        return {(event["partition"], event["offset"]) for event in self.events("producer_send_success")}


class Group:
    """The two VerifiableShareConsumers of a share group."""

    def __init__(self, stack: ExitStack, broker: OurBroker, directory: Path, mode: str) -> None:
        server = ("--bootstrap-server", broker.bootstrap_servers, "--topic", TOPIC, "--group-id", mode)
        ways = ("--acknowledgement-mode", mode, "--offset-reset-strategy", "earliest")
        names = (f"{mode}-1", f"{mode}-2")
        self.mode = mode
        self.consumers = [
            stack.enter_context(Tool(name, directory, "VerifiableShareConsumer", *server, *ways)) for name in names
        ]

    def wait_for(self, what: str, look: Callable[[], bool]) -> None:
        self.consumers[0].wait_for(f"{self.mode}: {what}", look)

    def stop(self) -> None:
        """Stops the consumers, which acknowledge what they hold."""
        for consumer in self.consumers:
            consumer.stop()

    def given(self) -> Counter[Place]:
        """The number of times that each record was given to a consumer."""
        return self._places("records_consumed")

    def accepted(self) -> Counter[Place]:
        """The number of confirmed acknowledgements of each record."""
        return self._places("offsets_acknowledged", success=True)

    def _places(self, name: str, **fields: object) -> Counter[Place]:
        return Counter(
            (one["partition"], offset)
            for consumer in self.consumers
            for event in consumer.events(name)
            if fields.items() <= event.items()
            for one in event["partitions"]
            for offset in one["offsets"]
        )


def has(group: Group, written: set[Place]) -> bool:
    return written <= group.given().keys()


def has_once(group: Group, written: set[Place]) -> bool:
    return group.accepted() == dict.fromkeys(written, 1)


def test_each_acknowledged_record_is_consumed_once(tmp_path: Path) -> None:
    java_or_skip()
    keys = {"group.share.heartbeat.interval.ms": "1000", "group.share.min.heartbeat.interval.ms": "1000"}
    with ExitStack() as stack:
        broker = stack.enter_context(OurBroker(tmp_path, keys))
        CLIENTS["confluent-kafka"].create_topic(broker.bootstrap_servers, TOPIC, PARTITIONS)
        groups = [Group(stack, broker, tmp_path, mode) for mode in MODES]
        calm = stack.enter_context(Writer(broker, tmp_path, "calm", CALM, -1))
        assert calm.wait() == 0
        written = calm.acknowledged()
        assert len(written) == CALM
        for group in groups:
            group.wait_for("all are accepted", partial(has_once, group, written))
            assert group.given() == dict.fromkeys(written, 1)

        stormy = stack.enter_context(Writer(broker, tmp_path, "stormy", STORMY, THROUGHPUT))
        stormy.wait_for("a sixth is written", lambda: len(stormy.acknowledged()) > STORMY // 6)
        assert broker.stop() == 0
        broker.start()
        stormy.wait_for("half is written", lambda: len(stormy.acknowledged()) > STORMY // 2)
        broker.kill()
        broker.start()
        stormy.wait()  # the exit code is 1 if a record was refused
        written |= stormy.acknowledged()
        for group in groups:
            group.wait_for("all are given", partial(has, group, written))
            group.stop()
            assert max(group.accepted().values()) == 1
        lags = share_lags(broker.bootstrap_servers)
        assert lags == {(mode, TOPIC, index): "0" for mode in MODES for index in range(PARTITIONS)}
        assert " ERROR " not in broker.log()
