"""Every option of Kafka 4.4's scripts is an option of ours, or is listed with the reason. Our additional options are
listed.

The options come from the help of Kafka's own classes.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from odradek.__main__ import COMMANDS
from odradek.client.commands.running import NOT_SERVED
from support.kafka.java import TABLE_VERSION, run_class
from support.kafka.tools import KafkaTools

pytestmark = pytest.mark.java

SCRIPTS = {
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "org.apache.kafka.tools.ConfigCommand",
    "acls": "org.apache.kafka.tools.AclCommand",
    "delegation-tokens": "org.apache.kafka.tools.DelegationTokenCommand",
    "produce": "org.apache.kafka.tools.ConsoleProducer",
    "consume": "org.apache.kafka.tools.consumer.ConsoleConsumer",
}
OPTION = re.compile(r"^(--[a-z][\w.-]*)", re.MULTILINE)
OF_EVERY_COMMAND = {"--help", "--version"}
OURS_ALONE = {
    "topics": {"--command-property", "--json", "--timeout"},
    "configs": {"--command-property", "--json", "--timeout"},
    "acls": {"-C", "-b", "--command-property", "--json", "--timeout"},
    "delegation-tokens": {"--command-property", "--json", "--timeout"},
    "produce": {
        "--acks", "--compression-type", "--file", "--header", "--json", "--key", "--linger-ms", "--partition",
        "--tombstone",
    },
    "consume": {
        "--json", "--reject", "--reject-message-on-error", "--release", "--share", "--until-end", "--until-offset",
        "--until-time",
    },
}  # fmt: skip
TOOLS = "org.apache.kafka.tools"
OTHER_SCRIPTS = {
    "groups": f"{TOOLS}.consumer.group.ConsumerGroupCommand",
    "get-offsets": f"{TOOLS}.GetOffsetShell",
    "log-dirs": f"{TOOLS}.LogDirsCommand",
    "delete-records": f"{TOOLS}.DeleteRecordsCommand",
    "leader-election": f"{TOOLS}.LeaderElectionCommand",
    "reassign-partitions": f"{TOOLS}.reassign.ReassignPartitionsCommand",
    "client-metrics": f"{TOOLS}.ClientMetricsCommand",
    "share-groups": f"{TOOLS}.consumer.group.ShareGroupCommand",
    "streams-groups": f"{TOOLS}.streams.StreamsGroupCommand",
    "streams-application-reset": f"{TOOLS}.StreamsResetter",
    "broker-api-versions": f"{TOOLS}.BrokerApiVersionsCommand",
    "perf produce": f"{TOOLS}.ProducerPerformance",
    "perf consume": f"{TOOLS}.ConsumerPerformance",
}
"""Scripts of which only missing options are looked for. Some print their help indented, with a short form first."""
SCRIPTS_WITH_ACTIONS = {
    "cluster": f"{TOOLS}.ClusterTool",
    "features": f"{TOOLS}.FeatureCommand",
    "metadata-quorum": f"{TOOLS}.MetadataQuorumCommand",
}
"""Scripts whose help names their actions. Their parser ends the JVM, so each help takes one of its own."""
ACTIONS = re.compile(r"^  \{([a-z,-]+)\}", re.MULTILINE)
INDENTED_OPTION = re.compile(r"^ {0,2}(?:-\w[^-\n]*, *)?(--[a-z][\w.-]*)", re.MULTILINE)
DOCUMENTATION = Path(__file__).parents[3] / "docs" / "commands.md"


@pytest.fixture(scope="module")
def tools() -> Iterator[KafkaTools]:
    with KafkaTools() as tools:
        yield tools


def ours(command: str) -> set[str]:
    name, _, action = command.partition(" ")
    found = import_module(COMMANDS[name][0].partition(":")[0]).command
    if action:
        assert isinstance(found, click.Group)
        found = found.commands[action]
    assert isinstance(found, click.Command)
    return {flag for parameter in found.params for flag in parameter.opts}


@pytest.mark.parametrize("command", OTHER_SCRIPTS)
def test_no_option_of_another_script_is_missing(tools: KafkaTools, command: str) -> None:
    theirs = set(INDENTED_OPTION.findall(tools.help(OTHER_SCRIPTS[command]))) - OF_EVERY_COMMAND
    assert "--bootstrap-server" in theirs, "the help was read"
    assert theirs - ours(command) - NOT_SERVED.keys() == set()


@pytest.mark.parametrize("command", SCRIPTS_WITH_ACTIONS)
def test_no_action_is_missing_and_none_of_its_options(command: str) -> None:
    script = SCRIPTS_WITH_ACTIONS[command]
    (actions,) = ACTIONS.findall(run_class(script, "--help", version=TABLE_VERSION).stdout)
    for action in actions.split(","):
        theirs = set(INDENTED_OPTION.findall(run_class(script, action, "--help", version=TABLE_VERSION).stdout))
        assert "--help" in theirs, "the help was read"
        assert theirs - ours(f"{command} {action}") - OF_EVERY_COMMAND == set(), action


@pytest.mark.parametrize("command", SCRIPTS)
def test_every_option_of_kafkas_script_is_served_or_named_with_the_reason(tools: KafkaTools, command: str) -> None:
    theirs = set(OPTION.findall(tools.help(SCRIPTS[command]))) - OF_EVERY_COMMAND
    assert {"--bootstrap-server", "--command-config"} <= theirs, "the help was read"
    served = ours(command)
    assert theirs - served - NOT_SERVED.keys() == set()
    assert not theirs & served & NOT_SERVED.keys(), "what is served is not named as missing"
    assert served - theirs == OURS_ALONE[command]


def test_what_is_not_served_is_documented_with_the_reason() -> None:
    page = DOCUMENTATION.read_text()
    missing = [flag for flag in NOT_SERVED if f"`{flag}`" not in page]
    assert not missing


@pytest.mark.parametrize("command", SCRIPTS)
def test_what_is_not_served_is_said_on_the_command_line(
    tools: KafkaTools, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    theirs = set(OPTION.findall(tools.help(SCRIPTS[command])))
    module, _, function = COMMANDS[command][0].partition(":")
    for flag in sorted((theirs & NOT_SERVED.keys()) - ours(command)):
        assert getattr(import_module(module), function)([flag, "x"]) == 2
        assert f"'{flag}' of Kafka's script is not supported: {NOT_SERVED[flag]}." in capfd.readouterr().err
