"""``odradek log-dirs``: what ``kafka-log-dirs.sh`` does, with its flags and its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports

from .command_config import ConnectionOptions
from .java_errors import java_class
from .kafka_command import KafkaCommand
from .running import CommandError, main, run, timeout_option

with lazy_imports:
    from ..admin import log_dirs as admin_log_dirs

if TYPE_CHECKING:
    from ..admin.log_dirs import LogDirAdmin, LogDirDescription


@dataclass(frozen=True, kw_only=True)
class LogDirsOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    describe: bool = flag("--describe", help="Describe the log directories (the only action).")
    topic_list: str = option("--topic-list", default="", metavar="TOPIC,...", help="Only these topics. Default: all.")
    broker_list: str = option("--broker-list", default="", metavar="ID,...", help="Only these brokers. Default: all.")
    timeout_ms: int = timeout_option()


@click.command(
    cls=KafkaCommand,
    help="Show the partitions in the log directories of brokers, with their sizes.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(LogDirsOptions)
def command(options: LogDirsOptions) -> int:
    """Checks the arguments and prints one JSON document, as Kafka's tool does."""
    if not options.describe:
        raise click.UsageError("Command must include the action --describe")
    topics = {topic.strip() for topic in options.topic_list.split(",") if topic.strip()}
    try:
        brokers = [int(broker) for broker in options.broker_list.split(",") if broker.strip()]
    except ValueError:
        raise click.UsageError(f"--broker-list {options.broker_list}: must be numbers with commas") from None

    async def work() -> int | None:
        async with options.connection.admin(admin_log_dirs.LogDirAdmin, options.timeout_ms) as admin:
            return await print_log_dirs(admin, topics, brokers)

    return run(work)


async def print_log_dirs(admin: LogDirAdmin, topics: set[str], brokers: list[int]) -> int:
    """Queries each broker and prints the document."""
    known = [broker.node_id for broker in (await admin.describe_cluster()).brokers]
    unknown = sorted(set(brokers) - set(known))
    if unknown:
        raise CommandError(
            f"The given brokers do not exist from --broker-list: {','.join(map(str, unknown))}. "
            f"Current existent brokers: {','.join(map(str, sorted(known)))}"
        )
    asked = brokers or sorted(known)
    click.echo("Querying brokers for log directories information")
    described = await admin.describe_log_dirs(asked)
    click.echo(f"Received log directory information from brokers {','.join(map(str, described))}")
    document = {
        "version": 1,
        "brokers": [
            {"broker": broker, "logDirs": [log_dir_document(log_dir, topics) for log_dir in log_dirs]}
            for broker, log_dirs in described.items()
        ],
    }
    click.echo(json.dumps(document, separators=(",", ":"), ensure_ascii=False))
    return 0


def log_dir_document(log_dir: LogDirDescription, topics: set[str]) -> dict[str, Any]:
    """One directory as Kafka's tool prints it, with the partitions of ``topics`` (empty: of all)."""
    return {
        "partitions": [
            {
                "partition": f"{partition.topic}-{partition.partition}",
                "size": replica.size,
                "offsetLag": replica.offset_lag,
                "isFuture": replica.is_future,
            }
            for partition, replica in log_dir.replicas.items()
            if not topics or partition.topic in topics
        ],
        "error": java_class(log_dir.error) if log_dir.error else None,
        "logDir": log_dir.path,
    }


def log_dirs(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek log-dirs``, returns the exit code."""
    return main(command, "log-dirs", arguments)
