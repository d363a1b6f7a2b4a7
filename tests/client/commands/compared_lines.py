"""Runs rows of a table by Kafka's own tool and by ours, each against a broker of its own, and compares the results.

The brokers are ours and alike, and each gets all rows of a table in their order. So a row that changes something is
compared by the next rows that show it. The table is one of ``command_lines``, and a row means:

- its exit code is that of both programs. ``[2]``, wrong usage, is 1 in Kafka; ``[1 for 0]`` is 1 here and 0 in Kafka;
- a row that succeeds here and there prints the same lines to standard output, in any order, or, if it has lines, those;
- a row that fails here says why on standard error, without a traceback.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from .command_lines import Output, Row, Run, filled, invocation, problems, rows_of

PACKAGE = "org.apache.kafka.tools"
TOOLS = {
    "kafka-acls": f"{PACKAGE}.AclCommand",
    "kafka-broker-api-versions": f"{PACKAGE}.BrokerApiVersionsCommand",
    "kafka-client-metrics": f"{PACKAGE}.ClientMetricsCommand",
    "kafka-cluster": f"{PACKAGE}.ClusterTool",
    "kafka-configs": f"{PACKAGE}.ConfigCommand",
    "kafka-console-consumer": f"{PACKAGE}.consumer.ConsoleConsumer",
    "kafka-console-producer": f"{PACKAGE}.ConsoleProducer",
    "kafka-console-share-consumer": f"{PACKAGE}.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": f"{PACKAGE}.consumer.group.ConsumerGroupCommand",
    "kafka-delegation-tokens": f"{PACKAGE}.DelegationTokenCommand",
    "kafka-delete-records": f"{PACKAGE}.DeleteRecordsCommand",
    "kafka-dump-log": f"{PACKAGE}.DumpLogSegments",
    "kafka-features": f"{PACKAGE}.FeatureCommand",
    "kafka-get-offsets": f"{PACKAGE}.GetOffsetShell",
    "kafka-groups": f"{PACKAGE}.GroupsCommand",
    "kafka-leader-election": f"{PACKAGE}.LeaderElectionCommand",
    "kafka-log-dirs": f"{PACKAGE}.LogDirsCommand",
    "kafka-metadata-quorum": f"{PACKAGE}.MetadataQuorumCommand",
    "kafka-reassign-partitions": f"{PACKAGE}.reassign.ReassignPartitionsCommand",
    "kafka-share-groups": f"{PACKAGE}.consumer.group.ShareGroupCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-streams-application-reset": f"{PACKAGE}.StreamsResetter",
    "kafka-streams-groups": f"{PACKAGE}.streams.StreamsGroupCommand",
    "kafka-topics": f"{PACKAGE}.TopicCommand",
    "kafka-transactions": f"{PACKAGE}.TransactionsCommand",
}
"""Kafka's script -> its class."""
WRONG_USAGE = 2
OWN = (
    re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}"),  # ids of members
    re.compile(r"(?<![\w-])[\w-]{22}(?![\w-])"),  # ids of topics, clusters and directories
    re.compile(r"(?<!\S)[A-Za-z0-9+/]{22}(?!\S)"),  # ids of librdkafka's members
    re.compile(r"\b1[78]\d{11}\b"),  # times
)
"""What is different in each broker."""


CALLER = re.compile(r"\s+at (java\.base/|jdk\.internal\.|KafkaTools\.)")
"""A line of a stack trace below the tool's own main method."""
WARNING = re.compile(
    r"is deprecated and will be removed|has been deprecated and will be|^Warn: "
    r"|^Error: Streams group '.*' has no active members\.$"
)


class Side(NamedTuple):
    """One of the two programs."""

    run: Run
    places: Mapping[str, str]
    """The addresses and paths in the rows -> those of the program's broker."""


def compare_table(text: str, kafkas: Side, ours: Side) -> tuple[list[str], list[Output]]:
    """Runs the rows in order, in the working directory.

    Returns the differences from what the rows say, and the outputs of Kafka's tools.
    """
    rows, files = rows_of(text)
    wrong, outputs = [], []
    for row in rows:
        theirs, here = (_output(row, files, side) for side in (kafkas, ours))
        wrong += _told(row, differences(row, theirs, here))
        outputs.append(theirs)
    return wrong, outputs


def compare_recorded(text: str, outputs: Sequence[Output], ours: Side) -> list[str]:
    """Runs the rows by our program alone. Returns the differences from the rows and from recorded ``outputs``."""
    rows, files = rows_of(text)
    return [
        told
        for row, theirs in zip(rows, outputs, strict=True)
        for told in _told(row, differences(row, theirs, _output(row, files, ours)))
    ]


def _told(row: Row, problems: list[str]) -> list[str]:
    return [f"line {row.line}: {row.command}\n{problem}" for problem in problems]


class Recorded(NamedTuple):
    """What Kafka's tools printed for the rows of a table."""

    kafka: str
    commands: list[str]
    outputs: list[Output]

    def write(self, path: Path) -> None:
        """Writes a file of the corpus (docs/kafka-answers.md): of standard error its first line."""
        lines: list[object] = [{"format": 1, "kafka": self.kafka, "table": path.stem}]
        for command, output in zip(self.commands, self.outputs, strict=True):
            error = output.err.partition("\n")[0]
            lines.append({"command": command, "code": output.code, "out": output.out, "err": error})
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads a file of the corpus."""
        header, *rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert header["format"] == 1
        outputs = [Output(row["code"], row["out"], row["err"]) for row in rows]
        return cls(header["kafka"], [row["command"] for row in rows], outputs)


def _output(row: Row, files: Mapping[str, str], side: Side) -> Output:
    for name, content in files.items():
        Path(name).write_text(filled(content, side.places))
    asked = invocation(row.command, side.places)
    output = side.run(asked.words, asked.given)
    return output._replace(out=_common(output.out, side.places))


def _common(text: str, places: Mapping[str, str]) -> str:
    """A text without what is different in each broker."""
    for written, own in sorted(places.items(), key=lambda one: -len(one[1])):
        text = text.replace(own, written)
    for pattern in OWN:
        text = pattern.sub("#", text)
    return text


def differences(row: Row, kafkas: Output, ours: Output) -> list[str]:
    """The differences of the outputs from what the row says, and from each other."""
    found = problems(row, ours)
    expected = row.kafkas_code if row.kafkas_code is not None else 1 if row.code == WRONG_USAGE else row.code
    if kafkas.code != expected:
        found.append(f"Kafka's exit code {kafkas.code}, not {expected}\n{kafkas.out}{kafkas.err}")
    if row.code and ("Traceback" in ours.err or not (ours.err + ours.out).strip()):
        found.append(f"exit code {ours.code} without a reason: {ours.err}")
    if not row.out and kafkas.code == ours.code == 0 and results(kafkas.out) != results(ours.out):
        found.append(f"Kafka's standard output:\n{kafkas.out}--- ours:\n{ours.out}--- standard error:\n{ours.err}")
    return found


def results(text: str) -> list[str]:
    """The lines of a standard output, sorted, without those that Kafka's tools print there as warnings, and without the
    frames of the caller: how the JVM calls a method by reflection depends on how often it has."""
    lines = [line for line in text.splitlines() if line.strip() and not WARNING.search(line) and not CALLER.match(line)]
    return sorted(_json(line) if line.startswith("{") else _words(line) for line in lines)


def _words(line: str) -> str:
    """The words of a line. The configurations of a topic have no order."""
    head, found, configs = " ".join(line.split()).partition("Configs: ")
    return head + found + ",".join(sorted(configs.split(",")))


def _json(line: str) -> str:
    """A line of JSON with sorted keys, directories and partitions."""
    document = json.loads(line)
    for broker in document.get("brokers", ()):
        for log_dir in broker["logDirs"]:
            log_dir["partitions"].sort(key=str)
        broker["logDirs"].sort(key=lambda one: one["logDir"])
    return json.dumps(document, sort_keys=True)
