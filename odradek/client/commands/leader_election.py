"""``odradek leader-election``: what ``kafka-leader-election.sh`` does, with its flags, its file and its output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

import click

from odradek.protocol.common.command_options import flag, included, option, takes
from odradek.protocol.common.lazy_imports import lazy_imports
from odradek.protocol.errors import ErrorCode

from ..types import TopicPartition
from .command_config import ConnectionOptions
from .java_errors import java_error
from .kafka_command import KafkaCommand
from .running import CommandError, main, run, timeout_option
from .topic_partitions import field, parse_json, partition_of, repeated

with lazy_imports:
    from ..admin import elections

if TYPE_CHECKING:
    from ..admin.elections import ElectionAdmin


@dataclass(frozen=True, kw_only=True)
class LeaderElectionOptions:
    """The arguments of the command."""

    connection: ConnectionOptions = included(ConnectionOptions)
    admin_config: str | None = option("--admin.config", type=click.Path(exists=True, dir_okay=False), hidden=True)
    election_type: str = option(
        "--election-type",
        type=click.Choice(["PREFERRED", "UNCLEAN"], case_sensitive=False),
        required=True,
        help="preferred: the first replica; unclean: any live replica of a partition without a leader.",
    )
    topic: str | None = option("--topic", metavar="NAME", help="The topic; needs --partition.")
    partition: int | None = option("--partition", type=int, metavar="N", help="The partition of --topic.")
    path_to_json_file: TextIO | None = option(
        "--path-to-json-file",
        type=click.File(encoding="utf-8"),
        metavar="FILE",
        help='The partitions: {"partitions": [{"topic": "foo", "partition": 1}]}.',
    )
    all_topic_partitions: bool = flag(
        "--all-topic-partitions", help="Elect leaders of all partitions that need the election."
    )
    timeout_ms: int = timeout_option()


@click.command(
    cls=KafkaCommand,
    help="Elect leaders of partitions: the preferred replica, or any live one.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
@takes(LeaderElectionOptions)
def command(options: LeaderElectionOptions) -> int:
    """Checks the arguments and elects."""
    if (options.topic is not None) + options.all_topic_partitions + (options.path_to_json_file is not None) != 1:
        raise click.UsageError(
            "One and only one of the following options is required: topic, all-topic-partitions, path-to-json-file"
        )
    if options.topic is not None and options.partition is None:
        raise click.UsageError("Missing required option(s): partition")
    if options.topic is None and options.partition is not None:
        raise click.UsageError("Option partition is only allowed if topic is used")
    if options.admin_config is not None and options.connection.command_config is not None:
        raise click.UsageError("--admin.config and --command-config cannot be used together")
    partitions = parse_partitions(options.path_to_json_file.read()) if options.path_to_json_file is not None else None
    if options.topic is not None and options.partition is not None:
        partitions = [TopicPartition(options.topic, options.partition)]
    connection = options.connection
    if options.admin_config is not None:
        connection = replace(connection, command_config=options.admin_config)
        click.echo(
            "Option --admin.config has been deprecated and will be removed in a future version. "
            "Use --command-config instead."
        )

    async def work() -> int | None:
        async with connection.admin(elections.ElectionAdmin, options.timeout_ms) as admin:
            return await elect(admin, options.election_type.upper(), partitions)

    return run(work)


def parse_partitions(text: str) -> list[TopicPartition]:
    """The partitions of the file. Raises CommandError."""
    document = parse_json(text, "Replica election data is empty")
    if "partitions" not in document:
        raise CommandError('Replica election data is missing "partitions" field')
    partitions = [partition_of(entry) for entry in field(document, "partitions", list)]
    twice = repeated(partitions)
    if twice:
        raise CommandError(f"Replica election data contains duplicate partitions: [{', '.join(map(str, twice))}]")
    return partitions


async def elect(admin: ElectionAdmin, election_type: str, partitions: list[TopicPartition] | None) -> int:
    """Elects and prints the outcome of each partition. Raises CommandError if an election failed."""
    results = await admin.elect_leaders(elections.ElectionType[election_type], partitions)
    elected = [str(partition) for partition, result in results.items() if not result.error_code]
    not_needed = [
        str(partition) for partition, result in results.items() if result.error_code == ErrorCode.ELECTION_NOT_NEEDED
    ]
    failed = {
        partition: result
        for partition, result in results.items()
        if result.error_code not in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED)
    }
    if elected:
        click.echo(f"Successfully completed leader election ({election_type}) for partitions {', '.join(elected)}")
    if not_needed:
        click.echo(f"Valid replica already elected for partitions {', '.join(not_needed)}")
    for partition, result in failed.items():
        click.echo(
            f"Error completing leader election ({election_type}) for partition: {partition}: {java_error(*result)}"
        )
    if failed:
        raise CommandError(f"{len(failed)} replica(s) could not be elected")
    return 0


def leader_election(arguments: list[str]) -> int:
    """Entry point: takes the arguments after ``odradek leader-election``, returns the exit code."""
    return main(command, "leader-election", arguments)
