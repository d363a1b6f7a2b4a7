"""Apache Kafka's tools and our commands, run with the same arguments against the same servers."""

import re
from collections.abc import Callable
from importlib import import_module

import pytest

from odradek.__main__ import COMMANDS
from support.kafka.tools import KafkaTools, ToolOutput

PACKAGE = "org.apache.kafka.tools"
TOOLS = {
    "topics": f"{PACKAGE}.TopicCommand",
    "configs": f"{PACKAGE}.ConfigCommand",
    "client-metrics": f"{PACKAGE}.ClientMetricsCommand",
    "acls": f"{PACKAGE}.AclCommand",
    "delegation-tokens": f"{PACKAGE}.DelegationTokenCommand",
    "groups": f"{PACKAGE}.consumer.group.ConsumerGroupCommand",
    "get-offsets": f"{PACKAGE}.GetOffsetShell",
    "log-dirs": f"{PACKAGE}.LogDirsCommand",
    "delete-records": f"{PACKAGE}.DeleteRecordsCommand",
    "leader-election": f"{PACKAGE}.LeaderElectionCommand",
    "broker-api-versions": f"{PACKAGE}.BrokerApiVersionsCommand",
    "cluster": f"{PACKAGE}.ClusterTool",
    "features": f"{PACKAGE}.FeatureCommand",
    "metadata-quorum": f"{PACKAGE}.MetadataQuorumCommand",
    "share-groups": f"{PACKAGE}.consumer.group.ShareGroupCommand",
    "streams-application-reset": f"{PACKAGE}.StreamsResetter",
    "reassign-partitions": f"{PACKAGE}.reassign.ReassignPartitionsCommand",
}
"""Our command -> the tool of Kafka 4.4."""
TIME_MS = re.compile(r"\b1\d{12}\b|\b\d+(?= ms ago)")
OFFSET_AND_EPOCH = re.compile(r"(?<=HighWatermark:)\s+\d+|(?<=\t)\d+ +(?=\t0 +\t)|(?<=Epoch: )\d+")

Run = Callable[..., ToolOutput]
"""Runs a command with its arguments and returns its output."""


class BothTools:
    """Runs Kafka's tool and our command with the same arguments."""

    def __init__(self, tools: KafkaTools, capfd: pytest.CaptureFixture[str]) -> None:
        self._tools, self._capfd = tools, capfd

    def ours(self, command: str, *arguments: str) -> ToolOutput:
        """Our exit code and output."""
        module, _, function = COMMANDS[command][0].partition(":")
        self._capfd.readouterr()
        code = getattr(import_module(module), function)(list(arguments))
        return ToolOutput(code, *self._capfd.readouterr())

    def theirs(self, command: str, *arguments: str) -> ToolOutput:
        """The exit code and output of Kafka's tool."""
        return ToolOutput(**self._tools.order({"tool": TOOLS[command], "arguments": list(arguments)}))

    def same(self, command: str, *arguments: str, of: Callable[[str], object] | None = None) -> str:
        """The output of both. Fails if exit codes or lines differ. ``of``: what is compared, see :func:`lines`."""
        compared = of or lines
        theirs, ours = self.theirs(command, *arguments), self.ours(command, *arguments)
        assert (ours.code, compared(ours.out)) == (theirs.code, compared(theirs.out)), (ours.err, theirs.err)
        return ours.out


def lines(text: str) -> list[str]:
    """The lines, sorted, without what changes between two calls: times, and offsets of a growing log."""
    return sorted(OFFSET_AND_EPOCH.sub("#", TIME_MS.sub("#", line)).rstrip() for line in text.splitlines())


def words(text: str) -> list[list[str]]:
    """The words of each line; tables may have their rows in another order."""
    return sorted(line.split() for line in text.splitlines() if line.strip())
