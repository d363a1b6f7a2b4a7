"""Processor time of `odradek perf` and of Kafka's performance tools: in turn, against one broker of ours.

    PYTHONPATH=tests:bench .venv/bin/python bench/perf_tools.py [--rounds 3] [--scale 1]

The time is user and system time of the tool's process, with the start of Python and of the JVM. For each case it prints
the least and the median of the rounds, and how many times the records a second of processor time of Kafka's tool.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

from brokers import odradek
from support.kafka.java import java_command, kafka_libs

OURS = Path(__file__).parent.parent / ".venv" / "bin" / "odradek"
CLASSES = {"produce": "ProducerPerformance", "consume": "ConsumerPerformance"}


class Case(NamedTuple):
    """One line of the table."""

    tool: str
    size: int
    records: int
    acks: str

    @property
    def topic(self) -> str:
        """Consumers read what the producers of their size have written."""
        return f"records-of-{self.size}"

    def arguments(self, bootstrap: str) -> list[str]:
        """The flags, which are the same for both tools."""
        common = ["--bootstrap-server", bootstrap, "--topic", self.topic, "--num-records", str(self.records)]
        if self.tool == "consume":
            return common
        values = ["--record-size", str(self.size), "--throughput", "-1"]
        return [*common, *values, "--command-property", f"acks={self.acks}"]


CASES = (
    Case("produce", 100, 3_000_000, "all"),
    Case("produce", 100, 3_000_000, "1"),
    Case("produce", 1024, 1_000_000, "all"),
    Case("produce", 1024, 1_000_000, "1"),
    Case("consume", 100, 6_000_000, ""),
    Case("consume", 1024, 2_000_000, ""),
)


def processor_seconds(command: list[str]) -> float:
    """Runs a command that must succeed. Returns its user and system time."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        assert process.returncode == 0, output.read().decode()[-2000:]
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Prints a line for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1, help="multiplies the numbers of records")
    options = parser.parse_args()
    java = [java_command(), "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", f"{kafka_libs()}/*"]
    print("least, median of the rounds in s; ratio of the least, of the medians")
    with tempfile.TemporaryDirectory() as directory, odradek(OURS, Path(directory)) as broker:
        for case in CASES:
            scaled = case._replace(records=int(case.records * options.scale))
            arguments = scaled.arguments(broker.bootstrap)
            kafka, ours = [], []
            for _ in range(options.rounds):
                kafka.append(processor_seconds([*java, f"org.apache.kafka.tools.{CLASSES[case.tool]}", *arguments]))
                ours.append(processor_seconds([str(OURS), "perf", case.tool, *arguments]))
            middle = statistics.median(kafka), statistics.median(ours)
            print(
                f"{case.tool} {scaled.records:,} of {case.size} bytes {case.acks and 'acks=' + case.acks}: "
                f"Kafka {min(kafka):.2f}, {middle[0]:.2f}; Odradek {min(ours):.2f}, {middle[1]:.2f}; "
                f"{min(kafka) / min(ours):.1f}, {middle[0] / middle[1]:.1f} times",
                flush=True,
            )


if __name__ == "__main__":
    main()
