"""What a real Kafka has logged: its warnings and errors, but for those that say nothing about the directory.

The tests' Kafka logs from WARN on (support/java.py), a line as ``[thread] LEVEL logger - text``.
"""

import re
from typing import NamedTuple

_LINE = re.compile(r"\[(?P<thread>[^\]]*)\] (?P<level>WARN|ERROR|FATAL) (?P<logger>\S+) - (?P<text>.*)")


class Allowed(NamedTuple):
    """A line that may be there."""

    logger: str
    text: str
    """A regular expression for the beginning of the text."""
    why: str


ALWAYS = (
    Allowed(
        "org.apache.kafka.controller.QuorumController",
        r"\[QuorumController id=\d+\] Performing controller activation\.",
        "every controller that becomes active says so as a warning",
    ),
)
"""Lines of a Kafka that starts on a directory that a Kafka of its own has left, cleanly or killed."""

SERVING = (
    Allowed(
        "state.change.logger",
        r"\[Broker id=\d+\] Expected partition \S+ with topic id \S+ to exist, but it was missing\. Creating",
        "partitions were added to a topic (CreatePartitions): Kafka says this of its own requests too",
    ),
)
"""Lines of what clients did while it ran."""


def complaints(output: str, *allowed: Allowed) -> list[str]:
    """The warnings and errors in what a Kafka has printed, without those that are ``ALWAYS`` or ``allowed``."""
    found = []
    for line in output.splitlines():
        match = _LINE.match(line)
        if match is not None and not any(
            match["logger"] == one.logger and re.match(one.text, match["text"]) for one in (*ALWAYS, *allowed)
        ):
            found.append(line)
        elif match is None and re.match(r"\S+(Exception|Error)\b", line):
            found.append(line)  # a stack trace of its own
    return found
