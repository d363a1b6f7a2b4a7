"""Apache Kafka's own command line tools, many calls in one JVM (java/KafkaTools.java): a call costs 50 ms, not 2 s."""

import json
import subprocess
from types import TracebackType
from typing import NamedTuple

from support.java import java_arguments, java_or_skip, java_source

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


class ToolOutput(NamedTuple):
    """What a tool printed, and its exit code."""

    code: int
    out: str
    err: str


class KafkaTools:
    """The JVM, as long as the block lasts."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "KafkaTools":
        java_or_skip()
        command = [*java_arguments(), str(java_source("KafkaTools"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        finally:
            self._process.kill()

    def run(self, tool: str, bootstrap_servers: str, *arguments: str) -> ToolOutput:
        """Calls a tool's main method; its exit code does not end the JVM."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"tool": tool, "arguments": ["--bootstrap-server", bootstrap_servers, *arguments]}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"Kafka's tool ended the JVM: {order}"
        return ToolOutput(**json.loads(answer))
