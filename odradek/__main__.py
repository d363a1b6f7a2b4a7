"""The ``odradek`` command: maps each command's name to the function that runs it.

Only the module of the called command is imported, so that every command starts fast and the command line
breaks no import rule between the packages. A command is a function that takes its arguments (without the program's and
the command's name) and returns the exit code.
"""

import gc
import os
import sys
from importlib import import_module

from . import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("odradek.broker.server.serve_options:serve", "run a broker"),
    "test-broker": (
        "odradek.testing.admin.options:test_broker",
        "run a broker for tests in any language, controlled over HTTP",
    ),
    "console": (
        "odradek.console.server.command:console",
        "serve a page in the browser that shows a cluster and changes it",
    ),
    "topics": ("odradek.client.commands.topics:topics", "create, delete, describe, list or change topics"),
    "produce": ("odradek.client.commands.produce:produce", "send a record for each line of input"),
    "consume": ("odradek.client.commands.consume:consume", "print the records of a topic"),
    "groups": (
        "odradek.client.commands.groups.command:groups",
        "consumer groups: offsets and lag, members, reset, delete",
    ),
    "share-groups": (
        "odradek.client.commands.share_groups.command:share_groups",
        "share groups: start offsets and lag, members, reset, delete",
    ),
    "streams-groups": (
        "odradek.client.commands.streams_groups.command:streams_groups",
        "streams groups: lag, members, topology, reset, delete",
    ),
    "transactions": (
        "odradek.client.commands.transactions.command:transactions",
        "show transactions, find and end hanging ones",
    ),
    "configs": ("odradek.client.commands.configs:configs", "show or change configurations"),
    "client-metrics": (
        "odradek.client.commands.client_metrics:client_metrics",
        "show or change the client metrics subscriptions",
    ),
    "acls": ("odradek.client.commands.acls:acls", "add, remove or list access control lists"),
    "delegation-tokens": (
        "odradek.client.commands.delegation_tokens:delegation_tokens",
        "create, renew, expire or describe delegation tokens",
    ),
    "get-offsets": ("odradek.client.commands.get_offsets:get_offsets", "show the offsets of partitions"),
    "log-dirs": ("odradek.client.commands.log_dirs:log_dirs", "show the partitions in the log directories of brokers"),
    "delete-records": (
        "odradek.client.commands.delete_records:delete_records",
        "delete the records of partitions before an offset",
    ),
    "leader-election": (
        "odradek.client.commands.leader_election:leader_election",
        "elect leaders of partitions",
    ),
    "broker-api-versions": (
        "odradek.client.commands.broker_api_versions:broker_api_versions",
        "show the API versions that brokers serve",
    ),
    "cluster": ("odradek.client.commands.cluster:cluster", "show the id and nodes of a cluster, unregister a broker"),
    "features": ("odradek.client.commands.features:features", "show or change the levels of features"),
    "metadata-quorum": (
        "odradek.client.commands.metadata_quorum:metadata_quorum",
        "describe the metadata quorum",
    ),
    "reassign-partitions": (
        "odradek.client.commands.reassign.command:reassign_partitions",
        "move partitions to other brokers or log directories",
    ),
    "streams-application-reset": (
        "odradek.client.commands.streams_application_reset:streams_application_reset",
        "reset a Kafka Streams application",
    ),
    "perf": (
        "odradek.client.commands.perf.command:perf",
        "measure a cluster: produce, consume, end-to-end latency",
    ),
    "verify": (
        "odradek.client.commands.verify.command:verify",
        "try a cluster: loss, duplicates, order, aborted transactions, latency",
    ),
    "health": ("odradek.client.commands.health:health", "check that a broker serves"),
    "doctor": (
        "odradek.client.commands.doctor.command:doctor",
        "find out why a client does not work: name, port, TLS, login, advertised addresses, topic, group",
    ),
    "storage": ("odradek.storage.subcommands:storage", "log directories: format, info, check, repair, explain, adopt"),
    "dump-log": ("odradek.storage.dump.command:dump_log", "print the files of a log directory, report damage"),
    "audit": ("odradek.pipeline.audit.command:audit", "check log directories: damage, indexes, groups and their lag"),
    "export": ("odradek.pipeline.export.command:export", "write topics of log directories as Parquet"),
    "compact": ("odradek.pipeline.compact.command:compact", "compact a topic in a log directory, offline"),
    "import": (
        "odradek.pipeline.importing.command:import_topics",
        "write topics of Parquet or JSON lines into a log directory",
    ),
    "protocol": ("odradek.protocol.show.command:protocol", "print the Kafka protocol, decode its bytes"),
}
"""Command name -> (``module:function``, one line of help)."""


RENAMED_TOOLS = {
    "kafka-console-consumer": "consume",
    "kafka-console-producer": "produce",
    "kafka-console-share-consumer": "consume --share",
    "kafka-consumer-groups": "groups",
    "kafka-consumer-perf-test": "perf consume",
    "kafka-e2e-latency": "perf end-to-end",
    "kafka-groups": "groups --all-types",
    "kafka-producer-perf-test": "perf produce",
    "kafka-server-start": "serve",
}
"""Tools of Kafka whose command here has another name; a second word is an action or a flag of the command."""
SAME_NAMES = (
    "acls",
    "broker-api-versions",
    "client-metrics",
    "cluster",
    "configs",
    "delegation-tokens",
    "delete-records",
    "dump-log",
    "features",
    "get-offsets",
    "leader-election",
    "log-dirs",
    "metadata-quorum",
    "reassign-partitions",
    "share-groups",
    "storage",
    "streams-application-reset",
    "streams-groups",
    "topics",
    "transactions",
)
"""Commands that are called as Kafka's tool without ``kafka-``."""
KAFKA_TOOLS = {**RENAMED_TOOLS, **{f"kafka-{name}": name for name in SAME_NAMES}}
"""Tool of Kafka -> the command that does the same. The program takes either name (``kafka-topics``,
``kafka-topics.sh``), so that the image has the tools under the paths that scripts call."""
LIKENESS = 0.62
"""The least similarity of a name to the command that it suggests: ``dump`` suggests ``dump-log``, ``stop`` does not
suggest ``topics``."""
PREFIXES_OF_KAFKA = ("kafka-", "connect-", "zookeeper-")


def asked(program: str, arguments: list[str]) -> list[str]:
    """The command with its arguments: a program with the name of one of Kafka's tools is that command.

    Other names of Kafka's programs stay before the arguments, and are refused with what to use instead.
    """
    name = os.path.basename(program)
    command = KAFKA_TOOLS.get(name.removesuffix(".sh"))
    if command is not None:
        return [*command.split(), *arguments]
    return [name, *arguments] if name.startswith(PREFIXES_OF_KAFKA) else arguments


def usage() -> str:
    """The text of ``odradek --help``: one line for each command."""
    width = max((len(name) for name in COMMANDS), default=0)
    lines = [f"  {name:<{width}}  {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: odradek COMMAND [ARGUMENTS]",
            "",
            "commands:",
            *lines,
            "",
            "Run odradek COMMAND --help for a command's options, odradek --version for the version.",
        ]
    )


def main() -> int:
    """Runs the command named by the first argument; returns its exit code (2 for wrong usage, 130 after Ctrl-C).

    If the reader of the output has ended (``odradek --help | head -1``), the command ends with exit code 1.
    """
    open_closed_streams()
    try:
        try:
            return run_command(asked(sys.argv[0], sys.argv[1:]))
        finally:
            sys.stdout.flush()
            gc.freeze()  # so that the collection at exit, a tenth of a short command's time, has nothing to look at
    except BrokenPipeError:
        # Python's flush at exit is discarded, because it would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:  # before the command has a handler of its own: while its modules are imported
        return 130


def open_closed_streams() -> None:
    """Opens /dev/null for standard streams that were closed before the start (``odradek serve >&- 2>&-``).

    Otherwise a socket or a log segment gets their number: libuv aborts when it closes such a socket, and what is
    written to standard error would go into the segment.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


def run_command(arguments: list[str]) -> int:
    """Runs the command named by the first argument. Returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else 2
    if arguments[0] == "-V" or "--version" in arguments:
        print(f"odradek {__version__}")
        return 0
    if arguments[0] == "--kafka-tools":
        print("\n".join(sorted(KAFKA_TOOLS)))
        return 0
    if arguments[0].removesuffix(".sh") in KAFKA_TOOLS:
        arguments = asked(arguments[0], arguments[1:])
    if arguments[0] not in COMMANDS:
        return unknown(arguments)
    # numpy's OpenBLAS starts a thread for each core when it is imported, and no command does linear algebra.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module, _, function = COMMANDS[arguments[0]][0].partition(":")
    run = getattr(import_module(module), function)
    return int(run(arguments[1:]) or 0)


def unknown(arguments: list[str]) -> int:
    """Says what to use in place of a command that does not exist. Returns the exit code."""
    from difflib import get_close_matches

    from odradek.client.commands.absent_tools import COMMAND_OF_WORD, instead_of

    given = arguments[0]
    if given.startswith("-"):
        print(f"odradek: {given}: options follow a command. 'odradek --help' lists the commands.", file=sys.stderr)
        return 2
    instead = instead_of(arguments)
    if instead is not None:
        print(f"odradek: {given} is not here: {instead}", file=sys.stderr)
        return 2
    name = given.removesuffix(".sh")
    command = KAFKA_TOOLS.get(f"kafka-{name}") or COMMAND_OF_WORD.get(name)
    meant = [command] if command else get_close_matches(name, [*COMMANDS, *KAFKA_TOOLS], 1, LIKENESS)
    hint = f" Did you mean 'odradek {meant[0]}'?" if meant else ""
    print(f"odradek: unknown command '{given}'.{hint} 'odradek --help' lists the commands.", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
