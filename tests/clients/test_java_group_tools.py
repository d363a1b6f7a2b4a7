"""Kafka's own tools for share and streams groups with our broker, while a member of the group lives and after it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.brokers.our_broker import OurBroker
from support.brokers.python_clients import CLIENTS
from support.kafka.java import java_arguments, java_or_skip, streams_arguments, streams_class
from support.kafka.tools import ALL_GROUPS, KafkaTools
from systems.process import SystemProcess

pytestmark = [pytest.mark.java, pytest.mark.ci]

TOOLS = "org.apache.kafka.tools"
SHARE_GROUPS = f"{TOOLS}.consumer.group.ShareGroupCommand"
STREAMS_GROUPS = f"{TOOLS}.streams.StreamsGroupCommand"
RECORDS = 1_000
LINES = 60
KEYS = {"group.streams.initial.rebalance.delay.ms": "0"}


class Tool:
    """Calls one of Kafka's tools."""

    def __init__(self, tools: KafkaTools, name: str, servers: str) -> None:
        self._tools = tools
        self._name = name
        self._servers = servers

    def rows(self, *arguments: str) -> list[list[str]]:
        """The words of each line that the tool prints; it must exit with 0."""
        done = self._tools.run(self._name, self._servers, *arguments)
        assert done.code == 0, done
        return [line.split() for line in done.out.splitlines() if line]

    def text(self, *arguments: str) -> str:
        """All that the tool prints, whatever its exit code: for some errors it is 0."""
        done = self._tools.run(self._name, self._servers, *arguments)
        return done.out + done.err


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    """One broker for this module."""
    with OurBroker(tmp_path_factory.mktemp("groups"), KEYS) as started:
        yield started
        assert " ERROR " not in started.log()


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    """One JVM for the tools of this module."""
    java_or_skip()
    with KafkaTools() as running:
        yield running


def test_a_share_group(broker: OurBroker, tools: KafkaTools, tmp_path: Path) -> None:
    servers = broker.bootstrap_servers
    CLIENTS["confluent-kafka"].create_topic(servers, "shared", 2)
    CLIENTS["confluent-kafka"].produce(servers, "shared", "none", range(RECORDS), {})
    configs = Tool(tools, f"{TOOLS}.ConfigCommand", servers)
    for name in ("measured", "console"):
        entity = ("--entity-type", "groups", "--entity-name", name)
        configs.rows("--alter", *entity, "--add-config", "share.auto.offset.reset=earliest")
    performance = Tool(tools, f"{TOOLS}.ShareConsumerPerformance", servers)
    measured = performance.rows("--topic", "shared", "--group", "measured", "--num-records", str(RECORDS))
    assert int(measured[-1][-2].rstrip(",")) == RECORDS

    groups = Tool(tools, SHARE_GROUPS, servers)
    group = ("--group", "console")
    options = ("--bootstrap-server", servers, "--topic", "shared", *group)
    formats = ("--formatter-property", "print.delivery=true", "--formatter-property", "print.offset=true")
    log = f"-Dorg.slf4j.simpleLogger.logFile={tmp_path / 'console.stderr'}"
    command = [*java_arguments(heap="128m"), log, f"{TOOLS}.consumer.ConsoleShareConsumer", *options, *formats]
    with SystemProcess(command, tmp_path, "console") as consumer:
        consumer.wait_for("all records are printed", lambda: consumer.log().count("\n") == RECORDS)
        assert consumer.log().count("\tDelivery:1\t") == RECORDS
        assert sorted(groups.rows("--list")) == [["console"], ["measured"]]
        assert sorted(groups.rows("--list", "--state"))[1:] == [["console", "Stable"], ["measured", "Empty"]]
        rows = sorted(groups.rows("--describe", *group)[1:])
        assert [row[:3] for row in rows] == [["console", "shared", "0"], ["console", "shared", "1"]]
        [member] = groups.rows("--describe", *group, "--members")[1:]
        assert member[2:] == ["/127.0.0.1", "console-share-consumer", "2", "shared:0,1"]
        [state] = groups.rows("--describe", *group, "--state")[1:]
        assert state[-2:] == ["Stable", "1"]
        assert "Share group 'console' is not EMPTY." in groups.text("--delete", *group)
        reset = ("--reset-offsets", *group, "--all-topics", "--to-earliest", "--execute")
        assert "Share group 'console' is not empty." in groups.text(*reset)
        assert "The group is not empty." in groups.text("--delete-offsets", *group, "--topic", "shared")
        consumer.stop()

    assert {row[4] for row in groups.rows("--describe", *group)[1:]} == {"0"}, "all is acknowledged"
    assert sorted(groups.rows(*reset)[1:]) == [["console", "shared", "0", "0"], ["console", "shared", "1", "0"]]
    assert sum(int(row[4]) for row in groups.rows("--describe", *group)[1:]) == RECORDS
    assert groups.rows("--delete-offsets", *group, "--topic", "shared")[1:] == [["shared", "Successful"]]
    assert "was successful" in groups.text("--delete", *group)
    assert groups.rows("--list") == [["measured"]]


def test_a_streams_group(broker: OurBroker, tools: KafkaTools, tmp_path: Path) -> None:
    servers = broker.bootstrap_servers
    CLIENTS["confluent-kafka"].create_topic(servers, "lines", 3)
    CLIENTS["confluent-kafka"].create_topic(servers, "counts", 3)
    CLIENTS["confluent-kafka"].produce(servers, "lines", "none", range(LINES), {})
    groups = Tool(tools, STREAMS_GROUPS, servers)
    group = ("--group", "word-count")
    ready = tmp_path / "ready"
    arguments = [servers, str(tmp_path / "state"), str(ready), "streams", "1"]
    command = [*streams_arguments(), streams_class("WordCount"), *arguments]
    with SystemProcess(command, tmp_path, "streams") as application:
        application.wait_for("it runs", ready.exists)
        assert groups.rows("--list", "--state")[1:] == [["word-count", "Stable"]]

        def has_read_all() -> bool:
            rows = groups.rows("--describe", *group, "--verbose")[1:]
            return sum(int(row[3]) for row in rows if row[1] == "lines" and row[3] != "-") == LINES

        application.wait_for("its offsets are committed", has_read_all)
        rows = groups.rows("--describe", *group)[1:]
        topics = ("lines", "word-count-store-repartition")
        assert {(row[1], row[2]) for row in rows} == {(topic, str(index)) for topic in topics for index in range(3)}
        members = groups.rows("--describe", *group, "--members")[1:]
        assert len(members) == 2
        assert all(row[4] == "ACTIVE:" for row in members)
        [state] = groups.rows("--describe", *group, "--state")[1:]
        assert state[-3:] == ["sticky", "Stable", "2"]
        assert ["word-count", "Streams", "streams"] in Tool(tools, ALL_GROUPS, servers).rows("--list")
        assert "Streams group 'word-count' is not EMPTY." in groups.text("--delete", *group)
        reset = ("--reset-offsets", *group, "--all-input-topics", "--to-earliest", "--execute")
        assert "the current state is Stable" in groups.text(*reset)
        deletion = ("--delete-offsets", *group, "--input-topic", "lines")
        assert groups.text(*deletion).count("GroupSubscribedToTopicException") == 3
        application.stop()

    [state] = groups.rows("--describe", *group, "--state")[-1:]
    assert state[-2:] == ["Empty", "0"]
    assert sorted(groups.rows(*reset)[1:]) == [["word-count", "lines", str(index), "0"] for index in range(3)]
    assert sorted(groups.rows(*deletion)[-3:]) == [["lines", str(index), "Successful"] for index in range(3)]
    assert "was successful" in groups.text("--delete", *group)
    assert groups.rows("--list") == []
