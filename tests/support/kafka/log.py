"""The warnings and errors that a real Kafka has logged, without those that do not concern its directory.

The tests' Kafka logs WARN and above (support/kafka/java.py), in lines like ``[thread] LEVEL logger - text``.
"""

import re
from typing import NamedTuple

_LINE = re.compile(r"\[(?P<thread>[^\]]*)\] (?P<level>WARN|ERROR|FATAL) (?P<logger>\S+) - (?P<text>.*)")


class Allowed(NamedTuple):
    """A line that is allowed in the log."""

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
"""Lines of a Kafka that starts on a directory of a Kafka that was stopped cleanly or killed."""

BUSY = (
    Allowed(
        "org.apache.kafka.controller.EventPerformanceMonitor",
        r"\[QuorumController id=\d+\] Exceptionally slow controller event",
        "the machine was so busy that an event took seconds",
    ),
    Allowed(
        "org.apache.kafka.controller.ReplicationControlManager",
        r"\[QuorumController id=\d+\] processExpiredBrokerHeartbeat: controller event queue overloaded",
        "the machine was so busy that a heartbeat waited for two seconds",
    ),
    Allowed(
        "org.apache.kafka.server.BrokerLifecycleManager",
        r"\[BrokerLifecycleManager id=\d+\] Broker \d+ sent a heartbeat request but received error REQUEST_TIMED_OUT",
        "the same, as the broker sees it",
    ),
    Allowed(
        "kafka.server.ControllerApis",
        r"\[ControllerApis nodeId=\d+\] Unexpected error handling request "
        r"RequestHeader\(apiKey=CONTROLLER_REGISTRATION,.*",
        "the machine was so busy that a controller registered before it had become active: NotControllerException; it "
        "registers again",
    ),
)
"""Lines about the machine."""

SERVING = (
    Allowed(
        "state.change.logger",
        r"\[Broker id=\d+\] Expected partition \S+ with topic id \S+ to exist, but it was missing\. Creating",
        "partitions were added to a topic (CreatePartitions): Kafka says this of its own requests too",
    ),
)
"""Lines about the actions of clients."""

AFTER_A_KILL = (
    Allowed(
        "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime",
        r"\[\w+ id=\d+\] Failed to load metadata from \S+ with epoch \d+ due to Stopped loading records from \S+ "
        "because the partition is not online or is no longer the leader",
        "a killed broker, a Kafka too, leaves itself as the leader: on a busy machine the next one begins to load its "
        "coordinators before its controller has elected anew",
    ),
)
"""Lines of a Kafka that starts on the directory of a broker that was killed."""


def complaints(output: str, *allowed: Allowed) -> list[str]:
    """The warnings and errors in the output of a Kafka, without those in ``ALWAYS``, ``BUSY`` or ``allowed``."""
    found = []
    is_allowed = False
    for line in output.splitlines():
        match = _LINE.match(line)
        if match is not None:
            is_allowed = any(
                match["logger"] == one.logger and re.match(one.text, match["text"])
                for one in (*ALWAYS, *BUSY, *allowed)
            )
            if not is_allowed:
                found.append(line)
        elif not is_allowed and re.match(r"\S+(Exception|Error)\b", line):
            found.append(line)  # a stack trace that follows no log line
    return found
