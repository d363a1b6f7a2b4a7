"""Apache Kafka's command line tools, many calls in one JVM (java/KafkaTools.java): a call takes 50 ms, not 2 s."""

from typing import NamedTuple

from support.kafka.java import KAFKA_VERSION
from support.kafka.java_program import JavaProgram

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
TRANSACTIONS = "org.apache.kafka.tools.TransactionsCommand"


class ToolOutput(NamedTuple):
    """The output of a tool, and its exit code."""

    code: int
    out: str
    err: str


class KafkaTools(JavaProgram):
    """The JVM, which runs during the block."""

    NAME = "KafkaTools"

    def __init__(self, release: str = KAFKA_VERSION) -> None:
        """``release``: the Kafka whose tools are called."""
        super().__init__()
        self.RELEASE = release

    def run(self, tool: str, bootstrap_servers: str, *arguments: str) -> ToolOutput:
        """Calls a tool's main method; its exit code does not end the JVM."""
        order = {"tool": tool, "arguments": ["--bootstrap-server", bootstrap_servers, *arguments]}
        return ToolOutput(**self.order(order))

    def help(self, tool: str) -> str:
        """The text that a tool prints about its options. The tool then ends with exit code 1."""
        output = ToolOutput(**self.order({"tool": tool, "arguments": ["--help"]}))
        return output.out + output.err
