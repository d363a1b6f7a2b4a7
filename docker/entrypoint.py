#!/opt/odradek/bin/python
"""The image's entry point: takes KAFKA_… variables as Apache Kafka's image does, then becomes `odradek`.

KAFKA_LISTENERS=… sets `listeners`: the prefix goes, ___ becomes -, __ becomes _, _ becomes a dot, letters small.
Variables that configure Kafka's JVM, its scripts or the image itself are none of the broker's keys and are left out.
"""

import os
import sys

PREFIX = "KAFKA_"
NOT_KEYS = frozenset(
    "KAFKA_HEAP_OPTS KAFKA_JVM_PERFORMANCE_OPTS KAFKA_GC_LOG_OPTS KAFKA_LOG4J_OPTS KAFKA_LOG4J_LOGGERS"
    " KAFKA_LOG4J_ROOT_LOGLEVEL KAFKA_TOOLS_LOG4J_LOGLEVEL KAFKA_OPTS KAFKA_DEBUG KAFKA_JMX_OPTS KAFKA_JMX_PORT"
    " KAFKA_JMX_HOSTNAME KAFKA_HOME KAFKA_VERSION KAFKA_USER KAFKA_CLUSTER_ID".split()
)


def key_of(variable: str) -> str:
    """The configuration key that a variable sets."""
    name = variable.removeprefix(PREFIX).lower()
    return name.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def main() -> None:
    """Replaces this process by the broker (or by the odradek command asked for), so that signals reach it."""
    arguments = sys.argv[1:] or ["serve"]
    if arguments[0] == "serve":
        for variable, value in sorted(os.environ.items()):
            if variable.startswith(PREFIX) and variable not in NOT_KEYS:
                arguments += ["--override", f"{key_of(variable)}={value}"]
    os.execvp("odradek", ["odradek", *arguments])  # noqa: S606


main()
